/*
 * External workers. See so_claim.h.
 *
 * A claim's text is MESSAGE.NONCE. The nonce is fresh for each claim, so that no late holder, no worker of
 * the same name and no copy of the database from before can pass for the current one.
 */
#include "so_claim.h"

#include <stdlib.h>
#include <string.h>

#include "so_due.h"
#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"
#include "so_options.h"
#include "so_read.h"
#include "so_wait.h"
#include "so_when.h"
#include "so_write.h"

enum
{
    SO_FAIL_TEXT_BYTES = 8192
};

typedef struct so_claim_options
{
    so_str types;
    so_str operations;
    int64_t max;
    int64_t batch;
    int64_t lease_ms;
    int64_t wait_ms;
} so_claim_options;

static const so_option so_claim_table[] = {
    {"types", SO_OPTION_NAMES, offsetof(so_claim_options, types), 0, 0, SO_OPTION_UNTOLD},
    {"operations", SO_OPTION_NAMES, offsetof(so_claim_options, operations), 0, 0, SO_OPTION_UNTOLD},
    {"max", SO_OPTION_INT, offsetof(so_claim_options, max), 1, 1000, SO_OPTION_UNTOLD},
    {"batch", SO_OPTION_INT, offsetof(so_claim_options, batch), 1, 1000, SO_OPTION_UNTOLD},
    {"lease_ms", SO_OPTION_INT, offsetof(so_claim_options, lease_ms), 1, INT64_C(31536000000),
     SO_OPTION_UNTOLD},
    {"wait_ms", SO_OPTION_INT, offsetof(so_claim_options, wait_ms), 0, 86400000, SO_OPTION_UNTOLD},
    {.name = NULL}};

typedef struct so_fail_options
{
    bool retry;
    int64_t delay_ms;
} so_fail_options;

static const so_option so_fail_table[] = {
    {"retry", SO_OPTION_BOOL, offsetof(so_fail_options, retry), 0, 0, SO_OPTION_UNTOLD},
    {"delay_ms", SO_OPTION_INT, offsetof(so_fail_options, delay_ms), 0, INT64_C(31536000000),
     SO_OPTION_UNTOLD},
    {.name = NULL}};

static so_code so_claim_row(so_session *s, const so_taken *taken, const so_visit *visit, so_str state,
                            int64_t id, bool first, so_buffer *rows)
{
    so_message message;
    bool found;
    so_code code = so_message_read(s, id, &message, &found);
    if (code != SO_OK)
        return code;
    if (!found)
        return so_error_set(&s->err, SO_UNKNOWN_MESSAGE, NULL, "the message %lld is missing", (long long)id);
    so_buffer_add_text(rows, rows->n > 1 ? ",{\"claim\":\"" : "{\"claim\":\"");
    so_buffer_add_int(rows, id);
    so_buffer_add_char(rows, '.');
    so_buffer_add_int(rows, taken->slot.nonce);
    so_write_number(rows, "\",\"message\":", id, true);
    so_write_text(rows, ",\"type\":", visit->type->name);
    so_write_text(rows, ",\"key\":", message.key);
    so_write_text(rows, ",\"operation\":", message.operation);
    so_write_json(rows, ",\"args\":", message.args);
    so_write_json(rows, ",\"state\":", first ? state : (so_str){0});
    so_write_number(rows, ",\"revision\":", visit->migrated ? visit->stored_revision : visit->actor.revision,
                    true);
    so_write_number(rows, ",\"attempt\":", first ? taken->slot.attempts : 1, true);
    so_write_moment(rows, ",\"expires_at\":", taken->slot.expires_ms);
    so_buffer_add_char(rows, '}');
    return SO_OK;
}

/* The rows of one claimed actor. */
static so_code so_claim_rows(so_session *s, const so_taken *taken, int64_t now_ms, so_buffer *rows)
{
    so_visit visit;
    so_message message;
    bool found = false;
    so_str state;
    so_str problem = {0};
    const so_type *type = so_type_by_id(s, taken->type);
    so_code code = so_visit_open(&visit, s, s->arena, type, taken->key, now_ms);
    if (code == SO_OK)
        code = so_visit_migrate(&visit, taken->slot.version, &problem);
    if (code == SO_OK)
        code = so_message_read(s, taken->slot.head, &message, &found);
    const so_operation *operation = NULL;
    if (code == SO_OK && found)
        operation = so_operation_by_name(type, message.operation);
    /* No worker can be given this state: the attempt has failed. */
    if (code == SO_OK && found && problem.p != NULL)
    {
        bool dead;
        code = so_visit_fail(&visit, &message, operation, problem, true, -1, &dead);
        return code == SO_OK ? so_visit_close(&visit) : code;
    }
    if (code == SO_OK && found)
        code = so_state_assemble(&visit.state, operation == NULL ? (so_str){0} : operation->members, &state);
    if (code == SO_OK && found)
        code = so_claim_row(s, taken, &visit, state, taken->slot.head, true, rows);
    if (code != SO_OK || taken->slot.more.p == NULL)
        return code;
    so_json_iter iter;
    so_str element;
    so_json_iter_init(&iter, s->arena, taken->slot.more);
    while (code == SO_OK && so_json_iter_next(&iter, NULL, &element))
    {
        so_value id;
        code = so_json_to_value(s->arena, element, &id, &s->err);
        if (code == SO_OK)
            code = so_claim_row(s, taken, &visit, state, id.i, false, rows);
    }
    return code;
}

static so_code so_claim_work(so_session *s, so_str worker, const so_claim_options *options, so_buffer *rows)
{
    so_taken *taken = so_arena_alloc(s->arena, (size_t)options->max * sizeof *taken);
    size_t count;
    if (taken == NULL)
        return so_error_nomem(&s->err);
    so_code code = so_definitions_refresh(s);
    so_take take = {.lane = SO_LANE_EXTERNAL,
                    .types = options->types,
                    .operations = options->operations,
                    .actors = options->max,
                    .batch = options->batch,
                    .total = options->max * options->batch,
                    .lease_ms = options->lease_ms,
                    .worker = worker,
                    .stores = true,
                    .now_ms = so_now_ms(s)};
    if (code == SO_OK)
        code = so_mailbox_take(s, &take, taken, &count);
    for (size_t i = 0; code == SO_OK && i < count; i++)
        code = so_claim_rows(s, &taken[i], take.now_ms, rows);
    return code;
}

so_code so_fn_claim(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str worker = {0};
    so_claim_options options = {.max = 1, .batch = 1};
    so_code code = so_name_check(&args[0], "worker", &worker, &s->err);
    if (code == SO_OK)
        code = so_options_read(s->arena, &args[1], "so_claim", so_claim_table, &options, &s->err);
    if (code == SO_OK && options.wait_ms > 0 && s->port->methods->scope(s->port) != SO_SCOPE_FREE)
        code = so_error_set(&s->err, SO_INSIDE_TRANSACTION,
                            "Use the scalar form, SELECT so_claim(…), outside a transaction, or wait_ms 0.",
                            "so_claim cannot wait while a transaction or a read cursor is open");
    if (code == SO_OK)
        code = s->port->methods->writable(s->port);
    if (code != SO_OK)
        return code;
    int64_t deadline = s->port->methods->ticks_ms(s->port) + options.wait_ms;
    const so_wanted wanted = {
        .lane = SO_LANE_EXTERNAL, .types = options.types, .operations = options.operations};
    const so_waiting waiting = {.bell = SO_BELL_EXTERNAL,
                                .picky = options.types.p != NULL || options.operations.p != NULL};
    for (;;)
    {
        s->port->methods->arm(s->port, &waiting);
        so_buffer rows;
        s->arena = &s->turn_arena;
        so_arena_reset(s->arena);
        so_buffer_init(&rows, s->arena);
        so_buffer_add_char(&rows, '[');
        int64_t due_in_ms = -1;
        code = so_due_look(s, &wanted, &due_in_ms);
        if (code == SO_OK && due_in_ms == 0)
            code = so_worker_begin(s);
        bool begun = code == SO_OK && due_in_ms == 0;
        if (begun)
            code = so_claim_work(s, worker, &options, &rows);
        bool empty = rows.n == 1;
        /* Before the claims are kept: nobody could use those that are not told. */
        if (code == SO_OK)
            code = so_write_result(s, &rows, ']', result);
        if (begun)
            code = so_work_end(s, code);
        int64_t left = deadline - s->port->methods->ticks_ms(s->port);
        if (code == SO_OK && empty && left > 0)
            code = so_wait_for_work(s, &waiting, due_in_ms, left);
        s->arena = &s->call_arena;
        if (code != SO_OK || !empty || left <= 0)
            return code;
    }
}

static so_code so_claim_lost(so_session *s)
{
    return so_error_set(&s->err, SO_LOST_CLAIM,
                        "The lease ran out, the actor was destroyed, or the message was settled or is not "
                        "the first of its claim; nothing was changed.",
                        "this is not the current claim of the actor's first unfinished message");
}

/* "MESSAGE.NONCE"; any other text is a claim that nobody holds. */
static so_code so_claim_parse(so_session *s, const so_value *value, int64_t *id, int64_t *nonce)
{
    char text[48];
    if (value->type == SO_TEXT && value->s.n < sizeof text && value->s.n > 2)
    {
        char *end;
        memcpy(text, value->s.p, value->s.n);
        text[value->s.n] = 0;
        *id = text[0] >= '1' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
        if (*id > 0 && *end == '.' && end[1] >= '1' && end[1] <= '9')
        {
            *nonce = strtoll(end + 1, &end, 10);
            if (*end == 0 && end == text + value->s.n && *nonce > 0)
                return SO_OK;
        }
    }
    if (value->type == SO_TEXT)
        return so_claim_lost(s);
    return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Pass the text that so_claim gave in the column claim.",
                        "a claim is a text");
}

/* What a settling call works on. */
typedef struct so_settling
{
    so_visit visit;
    so_message message;
    int64_t id;
    int64_t nonce;
    bool current; /* the claim holds and this is its first unsettled message */
    bool member;  /* the claim holds and this is one of its messages */
} so_settling;

static so_code so_settling_open(so_session *s, so_settling *settling)
{
    bool found = false;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_message_read(s, settling->id, &settling->message, &found);
    if (code != SO_OK)
        return code;
    const so_type *type = found ? so_type_by_id(s, settling->message.type) : NULL;
    if (type == NULL)
        return so_claim_lost(s);
    code = so_visit_open(&settling->visit, s, s->arena, type, settling->message.key, so_now_ms(s));
    if (code != SO_OK)
        return code;
    const so_slot *slot = &settling->visit.actor.slot;
    bool holds = slot->kind == SO_SLOT_CLAIMED && slot->lane == SO_LANE_EXTERNAL &&
                 slot->nonce == settling->nonce && slot->expires_ms > settling->visit.now_ms;
    settling->current = holds && slot->head == settling->id;
    settling->member = holds && so_slot_holds(s, slot, settling->id);
    return SO_OK;
}

so_code so_claim_advance(so_session *s, int64_t type, so_str key, so_slot *slot)
{
    if (slot->more.p == NULL)
        return so_slot_next(s, type, key, slot);
    so_json_iter iter;
    so_str element;
    so_value id;
    so_json_iter_init(&iter, s->arena, slot->more);
    so_json_iter_next(&iter, NULL, &element);
    so_code code = so_json_to_value(s->arena, element, &id, &s->err);
    if (code != SO_OK)
        return code;
    so_message next;
    bool found;
    code = so_message_read(s, id.i, &next, &found);
    if (code != SO_OK)
        return code;
    slot->head = id.i;
    slot->attempts = 1 + (found ? next.attempts : 0);
    slot->error = (so_str){0};
    /* What is left of "[1,2,3]" after its first element. */
    const char *rest = element.p + element.n;
    size_t left = (size_t)(slot->more.p + slot->more.n - rest);
    if (left <= 2)
        slot->more = (so_str){0};
    else
    {
        char *copy = so_arena_alloc(s->arena, left);
        if (copy == NULL)
            return so_error_nomem(&s->err);
        memcpy(copy, rest, left);
        copy[0] = '[';
        slot->more = (so_str){copy, left};
    }
    return SO_OK;
}

/* Finishes the claim's first message with the turn's end, and leaves `nonce` for whoever asks again. */
static so_code so_settling_finish(so_session *s, so_settling *settling, so_turn *turn, int64_t nonce)
{
    so_visit *visit = &settling->visit;
    settling->message.nonce = nonce;
    settling->message.attempts = visit->actor.slot.attempts;
    so_code code = so_visit_finish(visit, &settling->message, turn, false);
    if (code == SO_OK && !turn->destroys)
        code = so_claim_advance(s, visit->type->id, visit->actor.key, &visit->actor.slot);
    return code == SO_OK ? so_visit_close(visit) : code;
}

/* A turn for an outcome that comes from outside. */
static so_code so_settling_turn(so_session *s, so_settling *settling, so_turn *turn)
{
    so_visit *visit = &settling->visit;
    so_code code = so_visit_state(visit);
    *turn = (so_turn){.session = s,
                      .type = visit->type,
                      .operation = so_operation_by_name(visit->type, settling->message.operation),
                      .message = &settling->message,
                      .state = &visit->state,
                      .attempt = visit->actor.slot.attempts,
                      .now_ms = visit->now_ms};
    so_state_mark(&visit->state);
    return code;
}

/* A finished message that this very claim settled so. */
static bool so_settled_before(const so_settling *settling, so_message_status status)
{
    return settling->message.status == status && settling->message.nonce == settling->nonce;
}

/* The outcome is about the state that the claim was given. */
static so_code so_commit_migrate(so_session *s, so_settling *settling)
{
    so_str problem;
    so_code code = so_visit_migrate(&settling->visit, settling->visit.actor.slot.version, &problem);
    if (code == SO_OK && problem.p != NULL)
        code = so_error_set(&s->err, SO_FAILED, "Correct the migration and commit again.", "%.*s",
                            (int)problem.n, problem.p);
    return code;
}

static so_code so_commit_work(so_session *s, so_settling *settling, so_str outcome, so_value *result)
{
    so_turn turn;
    so_code code = so_settling_open(s, settling);
    if (code != SO_OK)
        return code;
    if (so_settled_before(settling, SO_MESSAGE_COMPLETED) ||
        (settling->message.status == SO_MESSAGE_REJECTED && settling->message.nonce == -settling->nonce))
    {
        *result = SO_VALUE_INT(settling->message.revision);
        return SO_OK;
    }
    if (!settling->current)
        return so_claim_lost(s);
    code = so_commit_migrate(s, settling);
    if (code == SO_OK)
        code = so_settling_turn(s, settling, &turn);
    if (code == SO_OK)
        code = so_turn_outcome(&turn, outcome);
    /* A new actor's initial state is the type's; a whole state is what the claim was given. */
    if (code == SO_OK && turn.new_state.p != NULL)
        settling->visit.version = settling->visit.actor.slot.version;
    if (code == SO_OK)
        code = so_turn_conclude(&turn);
    if (code == SO_OK && turn.end == SO_TURN_REJECTED)
        turn.tell_count = 0;
    if (code == SO_OK)
        code = so_tells_check(&settling->visit, &turn);
    if (code == SO_OK)
        code = so_settling_finish(s, settling, &turn,
                                  turn.end == SO_TURN_REJECTED ? -settling->nonce : settling->nonce);
    if (code == SO_OK)
        *result = SO_VALUE_INT(settling->message.revision);
    return code;
}

so_code so_fn_commit(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_settling settling = {0};
    so_str outcome = SO_STR("{}");
    so_code code = so_claim_parse(s, &args[0], &settling.id, &settling.nonce);
    if (code == SO_OK && args[1].type != SO_NULL)
    {
        if (args[1].type != SO_TEXT)
            code = so_error_set(&s->err, SO_INVALID_JSON, "Pass a JSON object as text.",
                                "outcome must be a JSON object");
        else
            code = so_json_check(s->arena, args[1].s, SO_JSON_OBJECT, "outcome", 0, &outcome, &s->err);
    }
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    return so_work_end(s, so_commit_work(s, &settling, outcome, result));
}

static so_code so_reject_work(so_session *s, so_settling *settling, const so_value *args, so_value *result)
{
    so_turn turn;
    so_code code = so_settling_open(s, settling);
    if (code != SO_OK)
        return code;
    if (!so_settled_before(settling, SO_MESSAGE_REJECTED))
    {
        if (!settling->current)
            return so_claim_lost(s);
        code = so_settling_turn(s, settling, &turn);
        if (code == SO_OK)
            code = so_turn_reject_values(&turn, args);
        if (code == SO_OK)
            code = so_settling_finish(s, settling, &turn, settling->nonce);
    }
    *result = SO_VALUE_STR(SO_STR("rejected"));
    return code;
}

so_code so_fn_reject(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_settling settling = {0};
    so_code code = so_claim_parse(s, &args[0], &settling.id, &settling.nonce);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_reject_work(s, &settling, args + 1, result)) : code;
}

/* Whatever was given as an error, as a text that can be stored. */
static so_code so_fail_text(so_session *s, const so_value *value, so_str *text)
{
    so_str given = SO_STR("failed, and no error was given");
    if (value->type == SO_TEXT || value->type == SO_BLOB)
        given = value->s;
    else if (value->type != SO_NULL)
    {
        so_code code = so_json_from_value(s->arena, value, false, "error", &given, &s->err);
        if (code != SO_OK)
            given = SO_STR("failed, and the error was not a text");
    }
    char *copy = so_arena_alloc(s->arena, SO_FAIL_TEXT_BYTES);
    if (copy == NULL)
        return so_error_nomem(&s->err);
    *text = (so_str){copy, so_text_storable(copy, SO_FAIL_TEXT_BYTES, given.p, given.n)};
    so_error_clear(&s->err);
    return SO_OK;
}

static so_code so_fail_work(so_session *s, so_settling *settling, so_str error,
                            const so_fail_options *options, so_value *result)
{
    bool dead = true;
    so_code code = so_settling_open(s, settling);
    if (code != SO_OK)
        return code;
    so_visit *visit = &settling->visit;
    const so_slot *slot = &visit->actor.slot;
    bool before =
        slot->kind == SO_SLOT_QUEUED && slot->head == settling->id && slot->nonce == settling->nonce;
    if (settling->current)
    {
        const so_operation *operation = so_operation_by_name(visit->type, settling->message.operation);
        code = so_visit_fail(visit, &settling->message, operation, error, options->retry, options->delay_ms,
                             &dead);
        if (code == SO_OK)
            code = so_visit_close(visit);
    }
    else if (before)
        dead = false;
    else if (!so_settled_before(settling, SO_MESSAGE_DEAD))
        return so_claim_lost(s);
    *result = SO_VALUE_STR(dead ? SO_STR("dead") : SO_STR("retrying"));
    return code;
}

so_code so_fn_fail(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_settling settling = {0};
    so_str error = {0};
    so_fail_options options = {.retry = true, .delay_ms = -1};
    so_code code = so_claim_parse(s, &args[0], &settling.id, &settling.nonce);
    if (code == SO_OK)
        code = so_fail_text(s, &args[1], &error);
    if (code == SO_OK)
        code = so_options_read(s->arena, &args[2], "so_fail", so_fail_table, &options, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_fail_work(s, &settling, error, &options, result)) : code;
}

static so_code so_release_work(so_session *s, so_settling *settling, so_value *result)
{
    so_code code = so_settling_open(s, settling);
    if (code != SO_OK)
        return code;
    so_visit *visit = &settling->visit;
    so_slot *slot = &visit->actor.slot;
    *result = SO_VALUE_INT(1);
    /* A released head keeps the nonce with its sign turned, so that only so_release() recognises it. */
    if (slot->kind == SO_SLOT_QUEUED && slot->nonce == -settling->nonce)
        return SO_OK;
    if (!settling->member)
        return so_claim_lost(s);
    so_slot released = {.kind = SO_SLOT_QUEUED,
                        .paused = slot->paused,
                        .head = slot->head,
                        .lane = SO_LANE_EXTERNAL,
                        .rank = slot->head,
                        .attempts = slot->attempts - 1,
                        .nonce = -slot->nonce,
                        .operation = settling->message.operation,
                        .error = slot->error};
    if (slot->head != settling->id)
    {
        so_message head;
        bool found;
        code = so_message_read(s, slot->head, &head, &found);
        if (code == SO_OK && found)
            released.operation = head.operation;
    }
    if (code == SO_OK)
        code = so_slot_return_more(s, visit->type->id, visit->actor.key, slot);
    if (code != SO_OK)
        return code;
    released.lane = so_lane_of(so_operation_by_name(visit->type, released.operation));
    *slot = released;
    return so_visit_close(visit);
}

so_code so_fn_release(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_settling settling = {0};
    so_code code = so_claim_parse(s, &args[0], &settling.id, &settling.nonce);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_release_work(s, &settling, result)) : code;
}

static so_code so_renew_work(so_session *s, so_settling *settling, const so_value *lease, so_value *result)
{
    char moment[32];
    so_code code = so_settling_open(s, settling);
    if (code != SO_OK)
        return code;
    if (!settling->member)
        return so_claim_lost(s);
    int64_t lease_ms = settling->visit.type->options.lease_ms;
    if (lease->type != SO_NULL)
        code = so_integer_argument(s, lease, "lease_ms", 1, INT64_C(31536000000), &lease_ms);
    if (code != SO_OK)
        return code;
    so_slot *slot = &settling->visit.actor.slot;
    slot->expires_ms = settling->visit.now_ms + lease_ms;
    so_when_format(slot->expires_ms, moment);
    *result = SO_VALUE_STR(so_arena_copy(s->arena, moment, strlen(moment)));
    return result->s.p == NULL ? so_error_nomem(&s->err) : so_visit_close(&settling->visit);
}

so_code so_fn_renew(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_settling settling = {0};
    so_code code = so_claim_parse(s, &args[0], &settling.id, &settling.nonce);
    if (code == SO_OK)
        code = so_work_begin(s);
    return code == SO_OK ? so_work_end(s, so_renew_work(s, &settling, &args[1], result)) : code;
}
