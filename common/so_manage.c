/*
 * Administration that writes. See so_manage.h.
 */
#include "so_manage.h"

#include "so_mailbox.h"
#include "so_names.h"
#include "so_options.h"
#include "so_read.h"
#include "so_room.h"
#include "so_send.h"
#include "so_visit.h"
#include "so_write.h"

/* The message that is meant, and its actor, in a piece of work. */
static so_code so_managed_message(so_session *s, int64_t id, so_message *message, const so_type **type)
{
    bool found;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_message_read(s, id, message, &found);
    if (code != SO_OK)
        return code;
    *type = found ? so_type_by_id(s, message->type) : NULL;
    return *type != NULL ? SO_OK : so_unknown_message(s, id);
}

static so_code so_cancel_waiting(so_session *s, so_visit *visit, so_message *message, bool *cancelled)
{
    so_slot *slot = &visit->actor.slot;
    bool heads = slot->kind == SO_SLOT_QUEUED && slot->head == message->id;
    int64_t taken = 0;
    so_code code = SO_OK;
    *cancelled = slot->kind != SO_SLOT_CLAIMED || !so_slot_holds(s, slot, message->id);
    if (!*cancelled)
        return SO_OK;
    if (!heads)
    {
        so_value mail[] = {SO_VALUE_INT(visit->type->id), SO_VALUE_STR(message->key),
                           SO_VALUE_INT(message->id)};
        so_value later[] = {SO_VALUE_INT(message->due_ms), SO_VALUE_INT(message->id)};
        code = s->port->methods->change(s->port, SO_STMT_MAIL_DELETE, mail, &taken);
        if (code == SO_OK && taken == 0)
            code = s->port->methods->change(s->port, SO_STMT_LATER_DELETE, later, &taken);
    }
    if (code != SO_OK)
        return code;
    message->attempts = heads ? slot->attempts : message->attempts;
    message->error = heads ? slot->error : message->error;
    code = so_visit_close_message(visit, message, SO_MESSAGE_CANCELLED);
    if (code == SO_OK && heads)
        code = so_slot_next(s, visit->type->id, visit->actor.key, slot);
    return code == SO_OK ? so_visit_close(visit) : code;
}

static so_code so_cancel_work(so_session *s, int64_t id, so_value *result)
{
    so_visit visit;
    so_message message;
    const so_type *type;
    bool cancelled = false;
    so_code code = so_managed_message(s, id, &message, &type);
    int64_t now_ms = so_now_ms(s);
    if (code == SO_OK && message.status == SO_MESSAGE_UNFINISHED)
    {
        if (id >= s->newest.inbox)
            code = so_mailbox_sort(s, now_ms, INT64_MAX);
        if (code == SO_OK)
            code = so_visit_open(&visit, s, s->arena, type, message.key, now_ms);
        const so_slot *slot = &visit.actor.slot;
        if (code == SO_OK && slot->kind == SO_SLOT_CLAIMED && slot->expires_ms <= now_ms)
        {
            code = so_visit_expire(&visit);
            if (code == SO_OK)
                code = so_visit_close(&visit);
        }
        if (code == SO_OK)
            code = so_message_read(s, id, &message, &cancelled);
        cancelled = false;
        if (code == SO_OK && message.status == SO_MESSAGE_UNFINISHED)
            code = so_cancel_waiting(s, &visit, &message, &cancelled);
    }
    *result = SO_VALUE_INT(cancelled);
    return code;
}

so_code so_fn_cancel(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t id;
    so_code code = so_id_argument(s, &args[0], &id);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_cancel_work(s, id, result)) : code;
}

static so_code so_retry_work(so_session *s, int64_t id, so_value *result)
{
    so_message dead;
    const so_type *type;
    so_operation *operation;
    bool stored = true;
    so_code code = so_managed_message(s, id, &dead, &type);
    if (code == SO_OK && dead.status != SO_MESSAGE_DEAD)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "so_status tells what became of it.",
                            "message %lld is not a dead letter", (long long)id);
    if (code == SO_OK && dead.replacement == 0)
    {
        so_message fresh = {.status = SO_MESSAGE_UNFINISHED,
                            .type = dead.type,
                            .key = dead.key,
                            .operation = dead.operation,
                            .created_ms = so_now_ms(s),
                            .max_attempts = dead.max_attempts,
                            .keep = dead.keep,
                            .args = dead.args,
                            .only_to = SO_TO_ANYBODY};
        code = so_operation_find(s, type, dead.operation, &operation);
        if (code == SO_OK)
            code = so_message_allowed(s, operation);
        if (code == SO_OK)
            code = so_inbox_shorten(s);
        if (code == SO_OK)
            code = so_mailbox_room(s, NULL, operation->type, dead.key, 1);
        if (code == SO_OK)
            code = so_append(s, &fresh, s->newest.stamp, INT64_MAX, INT64_MAX, &dead.replacement, &stored);
        if (code == SO_OK && !stored)
            code = so_error_set(&s->err, SO_BLOCKED, "Try again.", "the definitions keep changing");
        so_value params[] = {SO_VALUE_INT(id), SO_VALUE_INT(dead.replacement)};
        if (code == SO_OK)
            code = so_db_change(s, SO_STMT_REPLACE, params);
        if (code == SO_OK)
            so_message_ring(s, &fresh);
    }
    *result = SO_VALUE_INT(dead.replacement);
    return code;
}

so_code so_fn_retry(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t id;
    so_code code = so_id_argument(s, &args[0], &id);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_retry_work(s, id, result)) : code;
}

/* Something that is done to one actor, which need not exist: *done tells whether it made a difference. */
typedef so_code (*so_manage_fn)(so_visit *visit, bool *done);

static so_code so_manage_actor(so_session *s, const so_value *args, so_manage_fn fn, so_value *result)
{
    so_visit visit;
    so_str type_name;
    so_str key;
    const so_type *type;
    bool done = false;
    so_code code = so_actor_check(args, &type_name, &key, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code == SO_OK)
        code = so_visit_open(&visit, s, s->arena, type, key, so_now_ms(s));
    if (code == SO_OK)
        code = fn(&visit, &done);
    code = so_work_end(s, code);
    *result = SO_VALUE_INT(done);
    return code;
}

static so_code so_pause_set(so_visit *visit, bool *done)
{
    *done = !visit->actor.slot.paused;
    visit->actor.slot.paused = true;
    return so_visit_close(visit);
}

static so_code so_pause_end(so_visit *visit, bool *done)
{
    so_session *s = visit->session;
    so_slot *slot = &visit->actor.slot;
    so_code code = SO_OK;
    *done = slot->paused;
    slot->paused = false;
    /* It goes to the back of its lane; a retry keeps its time. */
    if (*done && slot->kind == SO_SLOT_QUEUED && slot->lane != SO_LANE_TIMED)
    {
        code = so_slot_rank(s, visit->type->id, slot);
        s->port->methods->ring(s->port, SO_BELL_MESSAGE, slot->head, true);
    }
    return code == SO_OK ? so_visit_close(visit) : code;
}

static so_code so_destroy_now(so_visit *visit, bool *done) { return so_visit_destroy(visit, 0, done); }

so_code so_fn_pause(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    return so_manage_actor(s, args, so_pause_set, result);
}

so_code so_fn_resume(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    return so_manage_actor(s, args, so_pause_end, result);
}

so_code so_fn_destroy(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    return so_manage_actor(s, args, so_destroy_now, result);
}

typedef struct so_tick_options
{
    int64_t max_ms;
} so_tick_options;

static const so_option so_tick_table[] = {
    {"max_ms", SO_OPTION_INT, offsetof(so_tick_options, max_ms), 1, INT64_C(31536000000), SO_OPTION_UNTOLD},
    {.name = NULL}};

/* One bounded piece; *more: there may be more that is due. */
static so_code so_tick_work(so_session *s, so_brought *brought, bool *more)
{
    so_brought now = {0};
    so_code code = so_definitions_refresh(s);
    int64_t now_ms = so_now_ms(s);
    s->expiry_looked_ms = 0; /* every lease is looked at */
    if (code == SO_OK)
        code = so_mailbox_sort(s, now_ms, INT64_MAX);
    if (code == SO_OK)
        code = so_mailbox_due(s, now_ms, &now);
    *more = now.retries >= SO_DUE_CHUNK || now.leases >= SO_DUE_CHUNK;
    if (code != SO_OK)
        return code;
    brought->delayed += now.delayed;
    brought->retries += now.retries;
    brought->leases += now.leases;
    return SO_OK;
}

so_code so_fn_tick(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_tick_options options = {.max_ms = INT64_MAX};
    so_brought brought = {0};
    bool more = true;
    so_code code = so_options_read(s->arena, &args[0], "so_tick", so_tick_table, &options, &s->err);
    int64_t start = s->port->methods->ticks_ms(s->port);
    while (code == SO_OK && more)
    {
        s->arena = &s->turn_arena;
        so_arena_reset(s->arena);
        code = so_worker_begin(s);
        if (code == SO_OK)
            code = so_work_end(s, so_tick_work(s, &brought, &more));
        more = more && s->port->methods->ticks_ms(s->port) - start < options.max_ms;
    }
    s->arena = &s->call_arena;
    if (code != SO_OK)
        return code;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_write_number(&buffer, "{\"delayed\":", brought.delayed, true);
    so_write_number(&buffer, ",\"retries\":", brought.retries, true);
    so_write_number(&buffer, ",\"leases\":", brought.leases, true);
    return so_write_result(s, &buffer, '}', result);
}
