/*
 * so_call, so_try, so_query. See so_call.h.
 */
#include "so_call.h"

#include <string.h>

#include "so_json.h"
#include "so_mailbox.h"
#include "so_options.h"
#include "so_read.h"
#include "so_send.h"

enum
{
    SO_CALL_DRAINS = 100 /* messages that one call runs before its own turn, at most */
};

typedef struct so_call_options
{
    int64_t timeout_ms;
    so_str idempotency_key;
} so_call_options;

static const so_option so_call_table[] = {
    {"timeout_ms", SO_OPTION_INT, offsetof(so_call_options, timeout_ms), 0, 86400000, SO_OPTION_UNTOLD},
    {"idempotency_key", SO_OPTION_TEXT, offsetof(so_call_options, idempotency_key), 0, 0, SO_OPTION_UNTOLD},
    {.name = NULL}};

so_code so_rejection_error(so_session *s, so_str rejection)
{
    static const char *const names[] = {"code", "message", "details"};
    so_str parts[3] = {{0}};
    for (int i = 0; i < 3; i++)
    {
        so_str value;
        if (!so_json_get(s->arena, rejection, (so_str){names[i], strlen(names[i])}, &value) ||
            so_json_first(value) == 'n')
            continue;
        parts[i] = i < 2 ? so_json_unquote(s->arena, value) : value;
    }
    return so_error_set(
        &s->err, SO_REJECTED,
        "The actor refused, nothing was changed; so_try gives this as an answer instead of an error.",
        "%.*s%s%.*s%s%.*s", (int)parts[0].n, parts[0].p == NULL ? "" : parts[0].p, parts[1].n > 0 ? ": " : "",
        (int)parts[1].n, parts[1].p == NULL ? "" : parts[1].p, parts[2].n > 0 ? " " : "", (int)parts[2].n,
        parts[2].p == NULL ? "" : parts[2].p);
}

static so_code so_blocked(so_session *s, int64_t id, const char *why, const char *hint)
{
    return so_error_set(&s->err, SO_BLOCKED, hint, "message %lld of this actor comes first and %s",
                        (long long)id, why);
}

/* Runs the actor's waiting messages, as a worker would: all of them, or up to *until (0: all), which becomes
 * 0 when one before it ends the actor. */
static so_code so_call_drain(so_session *s, so_visit *visit, int64_t *until)
{
    so_slot *slot = &visit->actor.slot;
    if (slot->paused)
        return so_error_set(&s->err, SO_BLOCKED, "so_resume lets it go on; or use so_send.",
                            "the actor is paused");
    for (int i = 0; slot->kind == SO_SLOT_QUEUED; i++)
    {
        so_message message;
        so_turn turn;
        bool found;
        if (i == SO_CALL_DRAINS)
            return so_blocked(s, slot->head, "too many wait",
                              "Let a worker run them (so_run), or use so_send.");
        if (slot->attempts > 0)
            return so_blocked(s, slot->head, "waits for another attempt",
                              "Use so_send, or so_ask to wait for the answer.");
        if (slot->lane == SO_LANE_EXTERNAL)
            return so_blocked(s, slot->head, "is for an external worker",
                              "Run a worker that claims it (so_claim), or use so_ask.");
        if (slot->lane != SO_LANE_RUN)
            return so_blocked(s, slot->head, "its operation is missing", "Define the operation again.");
        so_code code = so_message_read(s, slot->head, &message, &found);
        if (code == SO_OK && !found)
            code = so_blocked(s, slot->head, "cannot be read", NULL);
        so_operation *operation = code == SO_OK ? so_operation_by_name(visit->type, message.operation) : NULL;
        if (code == SO_OK && operation == NULL)
            code = so_blocked(s, slot->head, "its operation is missing", "Define the operation again.");
        if (code != SO_OK)
            return code;
        message.attempts = 1;
        /* It may take us down, and the next caller after us. */
        int64_t created_ms;
        bool notes = s->port->methods->noted(s->port, &created_ms) == 0;
        if (notes)
            s->port->methods->note(s->port, &message);
        code = so_visit_turn(visit, &message, operation, 1, true, &turn);
        if (notes)
            s->port->methods->note(s->port, NULL);
        if (code != SO_OK)
            return code;
        if (turn.end == SO_TURN_FAILED)
            return so_blocked(s, message.id, "fails",
                              "A worker (so_run) retries it or makes it a dead letter.");
        bool last = message.id == *until;
        if (turn.destroys)
        {
            *until = last ? *until : 0;
            return SO_OK;
        }
        code = so_slot_next(s, visit->type->id, visit->actor.key, slot);
        if (code != SO_OK || last)
            return code;
    }
    return SO_OK;
}

/* Only fresh definitions can tell. */
static so_code so_call_allowed(so_session *s, const so_operation *operation)
{
    if (operation->query)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Call it with so_query.",
                            "the operation %.*s is a query", (int)operation->name.n, operation->name.p);
    if (operation->handler.p == NULL)
        return so_error_set(&s->err, SO_BLOCKED, "Use so_ask, which waits for a worker, or so_send.",
                            "the operation %.*s is for external workers and cannot run here",
                            (int)operation->name.n, operation->name.p);
    return SO_OK;
}

/* Opens the actor with everything that waits for it in sight. *held: somebody holds its head. */
static so_code so_call_open(so_session *s, const so_value *args, so_message *message,
                            so_operation **operation, so_visit *visit, bool *held)
{
    int64_t now_ms = so_now_ms(s);
    const so_type *type = (*operation)->type;
    so_code code = so_visit_open(visit, s, s->arena, type, message->key, now_ms);
    if (code == SO_OK && s->newest.stamp != s->definitions.stamp)
    {
        so_str idempotency_key = message->idempotency_key;
        code = so_definitions_refresh(s);
        if (code == SO_OK)
            code = so_request_prepare(s, args, message, operation);
        message->idempotency_key = idempotency_key;
        now_ms = so_now_ms(s);
        if (code == SO_OK)
            code = so_visit_open(visit, s, s->arena, (*operation)->type, message->key, now_ms);
    }
    if (code == SO_OK)
        code = so_call_allowed(s, *operation);
    bool changed = false;
    if (code == SO_OK)
        code = so_mailbox_settle(s, (*operation)->type->id, message->key, now_ms, &changed);
    if (code == SO_OK && changed)
        code = so_visit_open(visit, s, s->arena, (*operation)->type, message->key, now_ms);
    if (code != SO_OK)
        return code;
    const so_slot *slot = &visit->actor.slot;
    *held = slot->kind == SO_SLOT_CLAIMED && slot->expires_ms > now_ms;
    if (slot->kind == SO_SLOT_CLAIMED && !*held)
        return so_visit_expire(visit);
    return SO_OK;
}

/* `rejection` p NULL: it completed. */
static so_code so_call_answer(so_session *s, so_str value, so_str rejection, bool answers, so_value *result)
{
    if (!answers && rejection.p != NULL)
        return so_rejection_error(s, rejection);
    if (value.p == NULL)
        value = SO_STR("null");
    if (!answers)
    {
        *result = SO_VALUE_JSON(value);
        return SO_OK;
    }
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    if (rejection.p != NULL)
    {
        so_buffer_add_text(&buffer, "{\"status\":\"rejected\",");
        so_buffer_add(&buffer, rejection.p + 1, rejection.n - 1);
    }
    else
    {
        so_buffer_add_text(&buffer, "{\"status\":\"completed\",\"result\":");
        so_buffer_add_str(&buffer, value);
        so_buffer_add_char(&buffer, '}');
    }
    *result = SO_VALUE_JSON(so_buffer_str(&buffer));
    return result->s.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

/* The answer of the message that has the call's idempotency key. */
static so_code so_call_repeat(so_session *s, int64_t id, bool answers, so_value *result)
{
    so_message twin;
    bool finished;
    so_code code = so_result_read(s, id, &finished, &twin, result);
    if (code == SO_OK && !finished)
        return so_blocked(s, id, "has the same idempotency key and is not finished",
                          "Ask for its result with so_wait.");
    if (code != SO_OK && !(answers && code == SO_REJECTED))
        return code;
    return so_call_answer(s, twin.result, code == SO_REJECTED ? twin.error : (so_str){0}, answers, result);
}

/* One try at a call, in one piece of work. */
static so_code so_call_work(so_session *s, const so_value *args, so_message *message, so_operation *operation,
                            bool answers, bool *held, so_value *result)
{
    so_visit visit;
    so_turn turn;
    so_message twin;
    bool repeats = false;
    so_code code = so_call_open(s, args, message, &operation, &visit, held);
    if (code == SO_OK)
        code = so_twin_find(s, message, &twin, &repeats);
    bool answered = code == SO_OK && repeats && twin.status != SO_MESSAGE_UNFINISHED;
    *held = *held && !answered;
    if (code != SO_OK || *held)
        return code;
    int64_t repeated = repeats ? twin.id : 0;
    if (!answered)
        code = so_call_drain(s, &visit, &repeated);
    if (code == SO_OK && repeated != 0)
    {
        code = so_visit_close(&visit);
        return code == SO_OK ? so_call_repeat(s, repeated, answers, result) : code;
    }
    if (code != SO_OK)
        return code;
    message->id = 0;
    message->attempts = 1;
    message->created_ms = visit.now_ms;
    code = so_visit_turn(&visit, message, operation, 1, answers, &turn);
    if (code != SO_OK)
        return code;
    if (turn.end == SO_TURN_FAILED)
        return so_error_set(&s->err, SO_FAILED, "The turn left nothing; correct the cause and call again.",
                            "%.*s", (int)turn.error.n, turn.error.p);
    so_str rejection = turn.end == SO_TURN_REJECTED ? turn.rejection : (so_str){0};
    code = rejection.p != NULL && !answers ? SO_OK : so_visit_close(&visit);
    return code == SO_OK ? so_call_answer(s, turn.result, rejection, answers, result) : code;
}

/* Waits, without any lock, until nobody holds the actor's head. SO_TIMEOUT. */
static so_code so_call_wait(so_session *s, const so_message *message, int64_t deadline)
{
    for (int64_t head = 0;;)
    {
        so_actor actor;
        so_newest newest;
        so_waiting waiting = {.bell = SO_BELL_MESSAGE, .message = head};
        s->port->methods->arm(s->port, &waiting);
        s->arena = &s->turn_arena;
        so_arena_reset(s->arena);
        so_code code = s->port->methods->look(s->port, message->type, message->key, &actor, &newest);
        s->arena = &s->call_arena;
        if (code != SO_OK)
            return code;
        int64_t left = deadline - s->port->methods->ticks_ms(s->port);
        int64_t lease = actor.slot.expires_ms - so_now_ms(s);
        if (actor.slot.kind != SO_SLOT_CLAIMED || lease <= 0)
            return SO_OK;
        if (left <= 0)
            return so_error_set(&s->err, SO_TIMEOUT, "Raise timeout_ms, or use so_send.",
                                "a worker still holds message %lld of this actor",
                                (long long)actor.slot.head);
        /* The bell was armed for this head only from the second round on. */
        if (head == actor.slot.head)
            code = s->port->methods->wait(s->port, &waiting, left < lease ? left : lease);
        head = actor.slot.head;
        if (code != SO_OK)
            return code;
    }
}

static so_code so_call_run(so_session *s, const char *name, const so_value *args, bool answers,
                           so_value *result)
{
    so_message message;
    so_operation *operation;
    so_call_options options = {.timeout_ms = 5000};
    so_code code = so_request_prepare(s, args, &message, &operation);
    if (code == SO_OK)
        code = so_options_read(s->arena, &args[4], name, so_call_table, &options, &s->err);
    if (code == SO_OK)
        code = so_idempotency_key_set(s, &message, options.idempotency_key);
    if (code != SO_OK)
        return code;
    so_scope scope = s->port->methods->scope(s->port);
    int64_t deadline = s->port->methods->ticks_ms(s->port) + options.timeout_ms;
    s->cautious = false;
    for (;;)
    {
        bool held = false;
        code = so_worker_begin(s);
        if (code != SO_OK)
            return code;
        code = so_call_work(s, args, &message, operation, answers, &held, result);
        if (code == SO_OK && held)
            code = so_error_set(&s->err, SO_BLOCKED,
                                "Call again later, outside a transaction it is waited for; or use so_send.",
                                "a worker holds the head of this actor's mailbox");
        code = so_work_end(s, code);
        if (code == SO_UNDONE)
            return so_error_set(&s->err, SO_FAILED,
                                "Handlers use ON CONFLICT ABORT, FAIL, IGNORE or REPLACE.",
                                "the handler rolled the whole transaction back");
        if (code == SO_CAUTION)
            s->cautious = true;
        else if (!held || code != SO_BLOCKED || scope != SO_SCOPE_FREE || options.timeout_ms == 0)
            return code;
        else
            code = so_call_wait(s, &message, deadline);
        if (code == SO_OK || code == SO_CAUTION)
            code = so_request_prepare(s, args, &message, &operation);
        if (code == SO_OK)
            code = so_idempotency_key_set(s, &message, options.idempotency_key);
        if (code != SO_OK)
            return code;
    }
}

so_code so_fn_call(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    return so_call_run(s, "so_call", args, false, result);
}

so_code so_fn_try(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    return so_call_run(s, "so_try", args, true, result);
}

static so_code so_query_work(so_session *s, const so_value *args, so_message *message,
                             so_operation *operation, so_value *result)
{
    so_visit visit;
    so_actor actor;
    so_str problem = {0};
    so_code code = s->port->methods->look(s->port, operation->type->id, message->key, &actor, &s->newest);
    if (code == SO_OK && s->newest.stamp != s->definitions.stamp)
    {
        code = so_definitions_refresh(s);
        if (code == SO_OK)
            code = so_request_prepare(s, args, message, &operation);
    }
    if (code == SO_OK && !operation->query)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT,
                            "Call it with so_call, or define it with {\"query\": true}.",
                            "the operation %.*s is not a query", (int)operation->name.n, operation->name.p);
    bool pure = false;
    if (code == SO_OK)
    {
        so_error_clear(&s->err);
        code = s->port->methods->handler_pure(s->port, operation, &pure);
    }
    /* Of a handler that cannot be prepared running it tells what is wrong. */
    if (code == SO_OK && !pure && s->err.code == SO_OK)
        code = so_error_set(&s->err, SO_QUERY_CHANGED_STATE, "A query's statements may only read.",
                            "the query %.*s has a statement that writes", (int)operation->name.n,
                            operation->name.p);
    if (code == SO_OK)
        code = so_visit_open(&visit, s, s->arena, operation->type, message->key, so_now_ms(s));
    if (code == SO_OK)
        code = so_visit_migrate(&visit, visit.version, &problem);
    if (code == SO_OK && problem.p != NULL)
        code = so_error_set(&s->err, SO_FAILED, "Correct the migration.", "%.*s", (int)problem.n, problem.p);
    if (code != SO_OK)
        return code;
    so_turn turn = {.session = s,
                    .type = operation->type,
                    .operation = operation,
                    .message = message,
                    .state = &visit.state,
                    .attempt = 1,
                    .now_ms = visit.now_ms,
                    .query = true};
    int64_t changes = s->port->methods->changes(s->port);
    code = so_turn_run(&turn);
    if (code == SO_OK && changes != s->port->methods->changes(s->port))
        code = so_error_set(&s->err, SO_QUERY_CHANGED_STATE, "A query's statements may only read.",
                            "the query %.*s has written", (int)operation->name.n, operation->name.p);
    if (code != SO_OK)
        return code;
    if (turn.end == SO_TURN_REJECTED)
        return so_rejection_error(s, turn.rejection);
    if (turn.end == SO_TURN_FAILED && s->err.code == SO_QUERY_CHANGED_STATE)
        return s->err.code;
    if (turn.end == SO_TURN_FAILED)
        return so_error_set(&s->err, SO_FAILED, "Correct the query's handler or its arguments.", "%.*s",
                            (int)turn.error.n, turn.error.p);
    return so_call_answer(s, turn.result, (so_str){0}, false, result);
}

so_code so_fn_query(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_message message;
    so_operation *operation;
    so_code code = so_request_prepare(s, args, &message, &operation);
    if (code == SO_OK)
        code = so_work_begin_reading(s);
    if (code != SO_OK)
        return code;
    return so_work_end(s, so_query_work(s, args, &message, operation, result));
}
