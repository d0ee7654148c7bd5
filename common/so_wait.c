/*
 * Waiting. See so_wait.h.
 */
#include "so_wait.h"

#include "so_mailbox.h"
#include "so_read.h"
#include "so_run.h"
#include "so_send.h"
#include "so_visit.h"

enum
{
    SO_WAIT_IDLE_MS = 50,     /* the shortest sleep when work is due that this worker may not take */
    SO_WAIT_WORKER_MS = 20,   /* how long a waiter leaves its message to the workers that seem to be there */
    SO_WAIT_LONGEST_MS = 1000 /* the longest, so that polling finds what no wake-up told */
};

so_code so_scope_free(so_session *s, const char *what)
{
    so_scope scope = s->port->methods->scope(s->port);
    if (scope == SO_SCOPE_FREE)
        return SO_OK;
    if (scope == SO_SCOPE_STATEMENT)
        return so_error_set(&s->err, SO_INSIDE_STATEMENT, "Call it in a SELECT of its own.",
                            "%s cannot run under a statement that writes", what);
    return so_error_set(&s->err, SO_INSIDE_TRANSACTION, NULL,
                        "%s cannot run while a transaction or a read cursor is open", what);
}

so_code so_wait_for_work(so_session *s, const so_waiting *waiting, int64_t due_in_ms, int64_t left_ms)
{
    if (due_in_ms >= 0 && due_in_ms < SO_WAIT_IDLE_MS)
        due_in_ms = SO_WAIT_IDLE_MS;
    if (due_in_ms >= 0 && due_in_ms < left_ms)
        left_ms = due_in_ms;
    if (left_ms > SO_WAIT_LONGEST_MS)
        left_ms = SO_WAIT_LONGEST_MS;
    return s->port->methods->wait(s->port, waiting, left_ms);
}

/* When a turn of this actor can be run here, INT64_MAX: nobody knows; reads only. */
static so_code so_actor_due(so_session *s, const so_message *message, int64_t *due_ms)
{
    so_actor actor;
    so_newest newest;
    so_code code = s->port->methods->look(s->port, message->type, message->key, &actor, &newest);
    /* They may have changed since the message was sent, or since this connection looked. */
    if (code == SO_OK && newest.stamp != s->definitions.stamp)
        code = so_definitions_refresh(s);
    if (code != SO_OK)
        return code;
    const so_type *type = so_type_by_id(s, message->type);
    const so_operation *operation = type == NULL ? NULL : so_operation_by_name(type, message->operation);
    const so_slot *slot = &actor.slot;
    *due_ms = INT64_MAX;
    if (slot->paused && slot->kind != SO_SLOT_CLAIMED)
        return SO_OK;
    if (slot->kind == SO_SLOT_NONE && so_lane_of(operation) == SO_LANE_RUN)
        *due_ms = message->due_ms;
    else if (slot->kind == SO_SLOT_CLAIMED)
        *due_ms = slot->expires_ms;
    else if (slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_TIMED)
        *due_ms = slot->rank;
    else if (slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_RUN)
        *due_ms = 0;
    return SO_OK;
}

/* What a waiter saw of its message. */
typedef struct so_seen
{
    bool there; /* it was in the mailbox */
    bool stays; /* its end leaves a row */
} so_seen;

/* A message that was there and is not any more. */
static so_code so_wait_vanished(so_session *s, int64_t id, const so_seen *seen)
{
    if (!seen->there)
        return s->err.code;
    if (seen->stays)
        return so_error_set(&s->err, SO_DESTROYED, NULL, "message %lld was destroyed with its actor",
                            (long long)id);
    return so_error_set(&s->err, SO_UNKNOWN_MESSAGE,
                        "Send it with keep_result, or with so_ask, or give its type the history results.",
                        "message %lld is over, and its type keeps no history", (long long)id);
}

static so_code so_wait_read(so_session *s, int64_t id, so_seen *seen, bool *finished, so_message *message,
                            so_value *result)
{
    so_code code = so_result_read(s, id, finished, message, result);
    if (code == SO_OK)
        *seen = (so_seen){.there = true, .stays = so_message_stays(so_type_by_id(s, message->type), message)};
    return code == SO_UNKNOWN_MESSAGE ? so_wait_vanished(s, id, seen) : code;
}

/* One look at a message: finished, or (`runs`) a turn of its actor is run here if one is due; *due_in_ms: in
 * how long to look again, 0 at once, INT64_MAX nobody knows. */
static so_code so_wait_look(so_session *s, int64_t id, bool runs, so_seen *seen, bool *finished,
                            int64_t *due_in_ms, so_value *result)
{
    so_message message;
    int64_t due_ms = INT64_MAX;
    s->arena = &s->turn_arena;
    so_arena_reset(s->arena);
    so_code code = so_wait_read(s, id, seen, finished, &message, result);
    if (code == SO_OK && !*finished && runs)
        code = so_actor_due(s, &message, &due_ms);
    int64_t now_ms = so_now_ms(s);
    *due_in_ms = due_ms == INT64_MAX ? INT64_MAX : due_ms <= now_ms ? 0 : due_ms - now_ms;
    if (code != SO_OK || *due_in_ms > 0)
        return code;
    s->arena = &s->batch_arenas[1];
    so_arena_reset(s->arena);
    so_str key = so_arena_copy_str(s->arena, message.key);
    code = key.p == NULL ? so_error_nomem(&s->err) : so_run_actor(s, message.type, key);
    s->arena = &s->turn_arena;
    so_arena_reset(s->arena);
    return code == SO_OK ? so_wait_read(s, id, seen, finished, &message, result) : code;
}

/* Waits for a message's end, and runs its actor's turns meanwhile if no worker does. */
static so_code so_wait_loop(so_session *s, int64_t id, int64_t timeout_ms, so_seen seen, so_value *result)
{
    const so_port_methods *port = s->port->methods;
    int64_t deadline = port->ticks_ms(s->port) + timeout_ms;
    const so_waiting waiting = {.bell = SO_BELL_MESSAGE, .message = id};
    bool finished = false;
    so_code code = so_definitions_ensure(s);
    for (bool first = true; code == SO_OK && !finished; first = false)
    {
        port->arm(s->port, &waiting);
        /* A worker that is there gets a first chance, until somebody commits something or a short while is
         * over. */
        int64_t due_in_ms = INT64_MAX;
        bool left_to_worker = first && port->attended(s->port);
        /* What was just sent on this connection exists, and a worker that finished it has rung: no need to
         * read. */
        if (!left_to_worker || id != s->sent || port->rung(s->port, id))
            code = so_wait_look(s, id, !left_to_worker, &seen, &finished, &due_in_ms, result);
        int64_t left = deadline - port->ticks_ms(s->port);
        if (code == SO_OK && !finished && left <= 0)
            code = so_timeout_error(s, id);
        /* Having run one turn, the next one of this actor is looked for at once. A worker may have died in
         * its sleep. */
        int64_t longest = left_to_worker ? SO_WAIT_WORKER_MS : SO_WAIT_LONGEST_MS;
        if (due_in_ms < longest)
            longest = due_in_ms;
        if (code == SO_OK && !finished && longest > 0)
            code = port->wait(s->port, &waiting, left < longest ? left : longest);
    }
    s->arena = &s->call_arena;
    return code;
}

so_code so_fn_wait(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t id;
    int64_t timeout_ms = 5000;
    so_code code = so_id_argument(s, &args[0], &id);
    if (code == SO_OK && args[1].type != SO_NULL)
        code = so_integer_argument(s, &args[1], "timeout_ms", 0, 86400000, &timeout_ms);
    if (code == SO_OK)
        code = so_scope_free(s, "so_wait");
    return code == SO_OK ? so_wait_loop(s, id, timeout_ms, (so_seen){0}, result) : code;
}

so_code so_fn_ask(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_message message;
    so_operation *operation;
    so_send_options options;
    so_code code = so_scope_free(s, "so_ask");
    if (code == SO_OK)
        code = so_message_prepare(s, "so_ask", args, true, &message, &operation, &options);
    message.keep = true;
    if (code == SO_OK)
        code = so_message_store(s, &message, false);
    if (code == SO_OK && message.id == 0)
        return so_error_set(&s->err, SO_DESTROYED, "Leave the option if_exists out to start a new one.",
                            "there is no such actor");
    const so_seen seen = {.there = true, .stays = true};
    return code == SO_OK ? so_wait_loop(s, message.id, options.timeout_ms, seen, result) : code;
}
