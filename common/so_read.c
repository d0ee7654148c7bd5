/*
 * so_result, so_status, so_snapshot. See so_read.h.
 */
#include "so_read.h"

#include <stdio.h>
#include <string.h>

#include "so_call.h"
#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"
#include "so_when.h"
#include "so_write.h"

so_code so_unknown_message(so_session *s, int64_t id)
{
    return so_error_set(&s->err, SO_UNKNOWN_MESSAGE,
                        "It was destroyed with its actor, left no history, was pruned, or was never sent.",
                        "there is no message %lld", (long long)id);
}

so_code so_result_read(so_session *s, int64_t id, bool *finished, so_message *message, so_value *result)
{
    bool found;
    so_code code = so_message_read(s, id, message, &found);
    if (code != SO_OK)
        return code;
    if (!found)
        return so_unknown_message(s, id);
    *finished = message->status != SO_MESSAGE_UNFINISHED;
    switch (message->status)
    {
    case SO_MESSAGE_COMPLETED:
        *result = SO_VALUE_JSON(message->result);
        return SO_OK;
    case SO_MESSAGE_REJECTED:
        return so_rejection_error(s, message->error);
    case SO_MESSAGE_DEAD:
        return so_error_set(&s->err, SO_FAILED, "It used up its attempts and is a dead letter.",
                            "message %lld failed: %.*s", (long long)id, (int)message->error.n,
                            message->error.p);
    case SO_MESSAGE_CANCELLED:
        return so_error_set(&s->err, SO_FAILED, "Send it again if it is still wanted.",
                            "message %lld was cancelled", (long long)id);
    default:
        return SO_OK;
    }
}

so_code so_fn_result(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t id;
    bool finished;
    so_message message;
    so_code code = so_id_argument(s, &args[0], &id);
    if (code == SO_OK && s->turn == NULL)
        code = so_definitions_ensure(s);
    return code == SO_OK ? so_result_read(s, id, &finished, &message, result) : code;
}

bool so_slot_holds(so_session *s, const so_slot *slot, int64_t id)
{
    char text[32];
    so_json_iter iter;
    so_str element;
    bool held = slot->head == id;
    if (slot->more.p == NULL)
        return held;
    int n = snprintf(text, sizeof text, "%lld", (long long)id);
    so_json_iter_init(&iter, s->arena, slot->more);
    while (!held && so_json_iter_next(&iter, NULL, &element))
        held = so_str_equal(element, (so_str){text, (size_t)n});
    return held;
}

/* What was charged to it before it was a head is with the message. */
static void so_standing_head(const so_slot *slot, so_standing *standing)
{
    standing->attempts = slot->attempts;
    if (slot->error.p != NULL)
        standing->error = slot->error;
}

static void so_standing_claimed(const so_slot *slot, const so_message *message, so_standing *standing)
{
    char moment[32];
    so_when_format(slot->expires_ms, moment);
    standing->status = "claimed";
    if (slot->head == message->id)
        so_standing_head(slot, standing);
    snprintf(standing->reason, sizeof standing->reason,
             slot->worker.n > 0 ? "the worker %.*s holds it until %s"
                                : "%.*sa worker runs it, at the latest until %s",
             (int)slot->worker.n, slot->worker.n > 0 ? slot->worker.p : "", moment);
}

/* A message that is first, or that nobody has sorted and nothing is in front of. */
static void so_standing_first(so_session *s, const so_slot *slot, const so_message *message, int64_t now_ms,
                              so_standing *standing)
{
    const so_type *type = so_type_by_id(s, message->type);
    const so_operation *operation = type == NULL ? NULL : so_operation_by_name(type, message->operation);
    const char *reason;
    bool retries = standing->attempts > 0;
    if (slot->paused)
    {
        retries = false;
        reason = "its actor is paused";
    }
    else if (slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_TIMED)
    {
        retries = true;
        standing->due_ms = slot->rank;
        reason = slot->rank > now_ms ? "it waits for its next attempt" : "it waits for a worker";
    }
    else if (operation == NULL || so_lane_of(operation) == SO_LANE_STUCK)
    {
        retries = false;
        reason = "its operation is missing";
    }
    else
        reason = operation->handler.p == NULL ? "it waits for an external worker (so_claim)"
                                              : "it waits for a worker (so_run)";
    if (retries)
        standing->status = "retrying";
    snprintf(standing->reason, sizeof standing->reason, "%s", reason);
}

void so_standing_of(so_session *s, const so_actor *actor, const so_message *message, int64_t now_ms,
                    so_standing *standing)
{
    const so_slot *slot = &actor->slot;
    *standing = (so_standing){.status = "waiting", .attempts = message->attempts, .error = message->error};
    if (slot->kind == SO_SLOT_CLAIMED && so_slot_holds(s, slot, message->id))
        so_standing_claimed(slot, message, standing);
    else if (slot->kind == SO_SLOT_QUEUED && slot->head == message->id)
    {
        so_standing_head(slot, standing);
        so_standing_first(s, slot, message, now_ms, standing);
    }
    else if (message->due_ms > now_ms)
    {
        char moment[32];
        so_when_format(message->due_ms, moment);
        standing->status = "delayed";
        standing->due_ms = message->due_ms;
        snprintf(standing->reason, sizeof standing->reason, "it is not due before %s", moment);
    }
    else if (slot->kind != SO_SLOT_NONE)
        snprintf(standing->reason, sizeof standing->reason, "message %lld of the same actor comes first",
                 (long long)slot->head);
    else
        so_standing_first(s, slot, message, now_ms, standing);
}

static so_code so_standing_read(so_session *s, const so_message *message, so_standing *standing)
{
    so_actor actor;
    so_newest newest;
    so_message unfinished = *message;
    int64_t now_ms = so_now_ms(s);
    so_code code = s->port->methods->look(s->port, message->type, message->key, &actor, &newest);
    /* It may have joined, and the clock been set back since. */
    if (code == SO_OK && message->due_ms > now_ms && message->id < newest.inbox)
    {
        so_value params[] = {SO_VALUE_INT(message->due_ms), SO_VALUE_INT(message->id)};
        so_value column;
        bool later;
        code = so_db_row(s, SO_STMT_LATER_HAS, params, &column, &later);
        if (code == SO_OK && !later)
            unfinished.due_ms = 0;
    }
    if (code == SO_OK)
        so_standing_of(s, &actor, &unfinished, now_ms, standing);
    return code;
}

so_code so_timeout_error(so_session *s, int64_t id)
{
    so_message message;
    so_standing standing;
    bool found;
    so_code code = so_message_read(s, id, &message, &found);
    if (code == SO_OK && !found)
        code = so_unknown_message(s, id);
    if (code == SO_OK)
        code = so_standing_read(s, &message, &standing);
    if (code != SO_OK)
        return code;
    return so_error_set(&s->err, SO_TIMEOUT,
                        "The message stays in the mailbox; ask again with so_wait or so_result.",
                        "message %lld is not finished: %s", (long long)id, standing.reason);
}

static so_code so_status_work(so_session *s, int64_t id, so_value *result)
{
    so_message message;
    bool found;
    so_standing standing = {0};
    so_buffer buffer;
    so_code code = so_message_read(s, id, &message, &found);
    if (code != SO_OK)
        return code;
    so_buffer_init(&buffer, s->arena);
    so_write_number(&buffer, "{\"message\":", id, true);
    if (!found)
    {
        so_buffer_add_text(&buffer,
                           ",\"status\":\"gone\",\"reason\":\"it was pruned, destroyed or never there\"");
        return so_write_result(s, &buffer, '}', result);
    }
    bool finished = message.status != SO_MESSAGE_UNFINISHED;
    if (!finished)
        code = so_standing_read(s, &message, &standing);
    if (code != SO_OK)
        return code;
    const so_type *type = so_type_by_id(s, message.type);
    const so_operation *operation = type == NULL ? NULL : so_operation_by_name(type, message.operation);
    so_write_type(s, &buffer, ",\"type\":", message.type);
    so_write_text(&buffer, ",\"key\":", message.key);
    so_write_text(&buffer, ",\"operation\":", message.operation);
    so_buffer_add_text(&buffer, ",\"status\":\"");
    so_buffer_add_text(&buffer, finished ? so_status_word(message.status) : standing.status);
    so_write_text(&buffer, "\",\"reason\":",
                  finished ? (so_str){0} : (so_str){standing.reason, strlen(standing.reason)});
    so_write_number(&buffer, ",\"attempts\":", finished ? message.attempts : standing.attempts, true);
    so_write_number(&buffer, ",\"max_attempts\":", so_attempts_allowed(type, operation, &message), true);
    so_write_end(&buffer, message.status, finished ? message.error : standing.error);
    so_write_moment(&buffer, ",\"created_at\":", message.created_ms);
    so_write_moment(&buffer, ",\"due_at\":", finished ? 0 : standing.due_ms);
    so_write_moment(&buffer, ",\"finished_at\":", message.finished_ms);
    so_write_number(&buffer, ",\"turn\":", message.turn, message.turn != 0);
    so_write_number(&buffer, ",\"revision\":", message.revision, message.status == SO_MESSAGE_COMPLETED);
    so_write_number(&buffer, ",\"incarnation\":", message.incarnation, message.incarnation != 0);
    so_write_number(&buffer, ",\"replacement\":", message.replacement, message.replacement != 0);
    return so_write_result(s, &buffer, '}', result);
}

so_code so_fn_status(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t id;
    const so_type *any;
    so_code code = so_id_argument(s, &args[0], &id);
    if (code == SO_OK)
        code = so_reading_begin(s, (so_str){0}, &any);
    return code == SO_OK ? so_work_end(s, so_status_work(s, id, result)) : code;
}

static so_code so_snapshot_work(so_session *s, const so_type *type, so_str key, so_value *result)
{
    so_visit visit;
    so_actor actor;
    so_str state;
    so_code code = s->port->methods->look(s->port, type->id, key, &actor, &s->newest);
    if (code != SO_OK || !actor.exists)
        return code;
    so_visit_resume(&visit, s, s->arena, type, &actor, so_now_ms(s));
    code = so_visit_state(&visit);
    if (code == SO_OK)
        code = so_state_assemble(&visit.state, (so_str){0}, &state);
    if (code != SO_OK)
        return code;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_write_json(&buffer, "{\"state\":", state);
    so_write_number(&buffer, ",\"revision\":", visit.actor.revision, true);
    so_write_number(&buffer, ",\"incarnation\":", visit.actor.incarnation, true);
    so_write_moment(&buffer, ",\"created_at\":", visit.actor.created_ms);
    so_write_moment(&buffer, ",\"updated_at\":", visit.actor.updated_ms);
    return so_write_result(s, &buffer, '}', result);
}

so_code so_fn_snapshot(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name;
    so_str key;
    const so_type *type;
    so_code code = so_actor_check(args, &name, &key, &s->err);
    if (code == SO_OK)
        code = so_reading_begin(s, name, &type);
    return code == SO_OK ? so_work_end(s, so_snapshot_work(s, type, key, result)) : code;
}
