/*
 * Running turns inside the database. See so_run.h.
 *
 * An attempt is on record before its handler starts. Where the port keeps notes that outlive this process, a
 * batch is taken and run in one transaction; elsewhere it is claimed in one and run in the next, which also
 * claims the batch after it. Either way a batch costs one commit.
 */
#include "so_run.h"

#include <string.h>

#include "so_claim.h"
#include "so_due.h"
#include "so_mailbox.h"
#include "so_options.h"
#include "so_visit.h"
#include "so_wait.h"
#include "so_write.h"

enum
{
    SO_RUN_BATCH = 32,
    SO_RUN_MAX_BATCH = 1000,
    SO_RUN_SORT = 256 /* messages of the inbox that are sorted behind a hot actor */
};

typedef struct so_run_options
{
    int64_t max_turns;
    int64_t max_ms;
    so_str types;
    int64_t batch;
    int64_t wait_ms;
    bool until_idle;
} so_run_options;

static const so_option so_run_table[] = {
    {"max_turns", SO_OPTION_INT, offsetof(so_run_options, max_turns), 1, INT64_MAX, SO_OPTION_UNTOLD},
    {"max_ms", SO_OPTION_INT, offsetof(so_run_options, max_ms), 1, INT64_C(31536000000), SO_OPTION_UNTOLD},
    {"types", SO_OPTION_NAMES, offsetof(so_run_options, types), 0, 0, SO_OPTION_UNTOLD},
    {"batch", SO_OPTION_INT, offsetof(so_run_options, batch), 1, SO_RUN_MAX_BATCH, SO_OPTION_UNTOLD},
    {"wait_ms", SO_OPTION_INT, offsetof(so_run_options, wait_ms), 0, INT64_C(31536000000), SO_OPTION_UNTOLD},
    {"until_idle", SO_OPTION_BOOL, offsetof(so_run_options, until_idle), 0, 0, SO_OPTION_UNTOLD},
    {.name = NULL}};

/* How turns ended, and the batch that is claimed. */
typedef struct so_runner
{
    so_session *session;
    int64_t turns, completed, rejected, retried, dead;
    so_taken *taken;
    size_t count;
    int64_t running; /* the message whose turn runs, or ran last */
    int arena;       /* which of the batch arenas holds `taken` */
    bool notes;      /* the port keeps notes: nothing stays claimed between two transactions */
} so_runner;

static void so_runner_count(so_runner *runner, const so_turn *turn, bool dead)
{
    runner->turns++;
    runner->completed += turn->end == SO_TURN_COMPLETED;
    runner->rejected += turn->end == SO_TURN_REJECTED;
    runner->dead += turn->end == SO_TURN_FAILED && dead;
    runner->retried += turn->end == SO_TURN_FAILED && !dead;
}

/* A message whose attempts all ended with the death of their process. */
static so_code so_run_bury(so_runner *runner, so_visit *visit, so_message *message,
                           const so_operation *operation, bool *ended)
{
    bool dead;
    so_session *s = runner->session;
    s->arena = visit->arena;
    visit->actor.slot.attempts--;
    *ended = true;
    so_str error = so_arena_copy_str(
        visit->arena, message->error.p == NULL ? SO_STR("its attempts were used up") : message->error);
    if (error.p == NULL)
        return so_error_nomem(&s->err);
    runner->turns++;
    runner->dead++;
    return so_visit_fail(visit, message, operation, error, false, 0, &dead);
}

/* Runs the head of a claimed slot. *ended: the claim is over, because it failed or its operation is not ours
 * any more. */
static so_code so_run_head(so_runner *runner, so_visit *visit, bool *ended)
{
    so_session *s = runner->session;
    so_slot *slot = &visit->actor.slot;
    so_message message;
    so_turn turn;
    bool found;
    bool dead = false;
    so_arena_reset(&s->turn_arena);
    s->arena = &s->turn_arena;
    so_code code = so_message_read(s, slot->head, &message, &found);
    if (code == SO_OK && !found)
        code = so_error_set(&s->err, SO_UNKNOWN_MESSAGE, NULL, "the claimed message %lld is missing",
                            (long long)slot->head);
    so_operation *operation = code == SO_OK ? so_operation_by_name(visit->type, message.operation) : NULL;
    if (code == SO_OK && so_lane_of(operation) != SO_LANE_RUN)
    {
        int64_t attempts = slot->attempts - 1;
        s->arena = visit->arena;
        code = so_slot_return_more(s, visit->type->id, visit->actor.key, slot);
        if (code == SO_OK)
            code = so_slot_queue(s, visit->type->id, slot, message.id,
                                 so_arena_copy_str(visit->arena, message.operation), attempts);
        *ended = true;
        return code;
    }
    if (code == SO_OK && slot->attempts > so_attempts_allowed(visit->type, operation, &message))
        return so_run_bury(runner, visit, &message, operation, ended);
    if (code == SO_OK)
    {
        message.attempts = slot->attempts;
        message.nonce = slot->nonce;
        runner->running = message.id;
        if (runner->notes)
            s->port->methods->note(s->port, &message);
        code = so_visit_turn(visit, &message, operation, slot->attempts, true, &turn);
        if (runner->notes)
            s->port->methods->note(s->port, NULL);
    }
    s->arena = visit->arena;
    if (code != SO_OK)
        return code;
    if (turn.end == SO_TURN_FAILED)
    {
        so_str error = so_arena_copy_str(visit->arena, turn.error);
        message.operation = so_arena_copy_str(visit->arena, message.operation);
        if (error.p == NULL || message.operation.p == NULL)
            return so_error_nomem(&s->err);
        dead = slot->attempts >= so_attempts_allowed(visit->type, operation, &message);
        *ended = !dead || slot->more.p == NULL;
        if (*ended)
            code = so_visit_fail(visit, &message, operation, error, true, -1, &dead);
        else
        {
            /* What was taken with it is not put back, only to be taken again. */
            message.error = error;
            code = so_visit_close_message(visit, &message, SO_MESSAGE_DEAD);
            if (code == SO_OK)
                code = so_claim_advance(s, visit->type->id, visit->actor.key, slot);
        }
    }
    else if (turn.destroys)
        *ended = true;
    else
    {
        *ended = slot->more.p == NULL;
        code = so_claim_advance(s, visit->type->id, visit->actor.key, slot);
    }
    so_runner_count(runner, &turn, dead);
    return code;
}

static so_code so_run_taken(so_runner *runner, const so_taken *taken, int64_t now_ms)
{
    so_session *s = runner->session;
    so_visit visit;
    const so_type *type = so_type_by_id(s, taken->type);
    if (type == NULL)
        return SO_OK;
    so_code code = SO_OK;
    if (runner->notes && taken->looked)
        so_visit_resume(&visit, s, s->arena, type, &taken->actor, now_ms);
    else
        code = so_visit_open(&visit, s, s->arena, type, taken->key, now_ms);
    const so_slot *slot = &visit.actor.slot;
    if (code == SO_OK && runner->notes)
    {
        visit.actor.slot = taken->slot;
        visit.stored = taken->before;
    }
    else if (code != SO_OK || slot->kind != SO_SLOT_CLAIMED || slot->nonce != taken->slot.nonce ||
             slot->expires_ms <= now_ms)
        return code;
    bool ended = false;
    while (code == SO_OK && !ended)
        code = so_run_head(runner, &visit, &ended);
    return code == SO_OK ? so_visit_close(&visit) : code;
}

static so_code so_run_claimed(so_runner *runner, int64_t now_ms)
{
    so_session *s = runner->session;
    so_code code = SO_OK;
    for (size_t i = 0; code == SO_OK && i < runner->count; i++)
    {
        if (runner->notes)
        {
            s->held = &runner->taken[i + 1];
            s->held_count = runner->count - i - 1;
        }
        code = so_run_taken(runner, &runner->taken[i], now_ms);
    }
    s->held_count = 0;
    runner->count = 0;
    return code;
}

/* Runs the claimed batch if there is one, and takes another of at most `room` messages. */
static so_code so_run_work(so_runner *runner, const so_run_options *options, int64_t room)
{
    so_session *s = runner->session;
    so_code code = so_definitions_refresh(s);
    int64_t now_ms = so_now_ms(s);
    if (code == SO_OK)
        code = so_run_claimed(runner, now_ms);
    if (code != SO_OK || room <= 0)
        return code;
    runner->arena = 1 - runner->arena;
    s->arena = &s->batch_arenas[runner->arena];
    so_arena_reset(s->arena);
    runner->taken = so_arena_alloc(s->arena, (size_t)room * sizeof *runner->taken);
    if (runner->taken == NULL)
        return so_error_nomem(&s->err);
    so_take take = {.lane = SO_LANE_RUN,
                    .types = options->types,
                    .actors = room,
                    .batch = room,
                    .total = room,
                    .worker = SO_STR(""),
                    .careful = !runner->notes,
                    .stores = !runner->notes,
                    .now_ms = now_ms};
    code = so_mailbox_take(s, &take, runner->taken, &runner->count);
    bool hot = false;
    for (size_t i = 0; code == SO_OK && i < runner->count; i++)
        hot = hot || runner->taken[i].count >= room;
    if (code == SO_OK && runner->notes)
        code = so_run_claimed(runner, now_ms);
    /* One actor filled the batch: what else it has in the inbox goes to the back of the queue, not before the
     * others. */
    if (code == SO_OK && hot && s->newest.inbox <= s->newest.id)
        code = so_mailbox_sort(s, now_ms, SO_RUN_SORT);
    return code;
}

/* Gives claims back that were not run, uncharged; what fails here is left to the lease. */
static void so_run_give_back(so_runner *runner)
{
    so_session *s = runner->session;
    so_error err = s->err;
    s->arena = &s->call_arena;
    so_code code = runner->count == 0 ? SO_FAILED : so_work_begin(s);
    if (code != SO_OK)
    {
        s->err = err;
        return;
    }
    code = so_definitions_refresh(s);
    for (size_t i = 0; code == SO_OK && i < runner->count; i++)
    {
        const so_taken *taken = &runner->taken[i];
        so_visit visit;
        const so_type *type = so_type_by_id(s, taken->type);
        if (type == NULL)
            continue;
        code = so_visit_open(&visit, s, s->arena, type, taken->key, so_now_ms(s));
        so_slot *slot = &visit.actor.slot;
        if (code != SO_OK || slot->kind != SO_SLOT_CLAIMED || slot->nonce != taken->slot.nonce)
            continue;
        int64_t attempts = slot->attempts - 1;
        int64_t head = slot->head;
        code = so_slot_return_more(s, type->id, taken->key, slot);
        if (code == SO_OK)
            code = so_slot_queue(s, type->id, slot, head, SO_STR(""), attempts);
        slot->lane = SO_LANE_RUN;
        slot->rank = head;
        if (code == SO_OK)
            code = so_visit_close(&visit);
    }
    if (so_work_end(s, code) == SO_OK)
        runner->count = 0;
    s->err = err;
}

static so_code so_run_undone_work(so_runner *runner, int64_t id, so_str error)
{
    so_session *s = runner->session;
    so_visit visit;
    so_message message;
    bool found;
    bool changed;
    bool dead = false;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_message_read(s, id, &message, &found);
    if (code != SO_OK || !found || message.status != SO_MESSAGE_UNFINISHED)
        return code;
    const so_type *type = so_type_by_id(s, message.type);
    int64_t now_ms = so_now_ms(s);
    if (type == NULL)
        return SO_OK;
    code = so_visit_open(&visit, s, s->arena, type, message.key, now_ms);
    if (code == SO_OK)
        code = so_mailbox_settle(s, type->id, message.key, now_ms, &changed);
    if (code == SO_OK && changed)
        code = so_visit_open(&visit, s, s->arena, type, message.key, now_ms);
    so_slot *slot = &visit.actor.slot;
    if (code != SO_OK || slot->kind == SO_SLOT_NONE)
        return code;
    if (slot->head != id)
    {
        /* Behind a head that was undone with it: charged where it will find it when it is the head. */
        so_value params[] = {SO_VALUE_INT(id), SO_VALUE_STR(error), SO_VALUE_INT(message.created_ms)};
        return so_db_change(s, SO_STMT_MESSAGE_CHARGE, params);
    }
    slot->attempts += slot->kind == SO_SLOT_QUEUED; /* a claim has counted it */
    code = so_visit_fail(&visit, &message, so_operation_by_name(type, message.operation), error, true, -1,
                         &dead);
    runner->dead += dead;
    runner->retried += !dead;
    return code == SO_OK ? so_visit_close(&visit) : code;
}

/* A handler ended the transaction: the batch is gone, and this one message's attempt has failed. */
static so_code so_run_undone(so_runner *runner, int64_t id)
{
    so_session *s = runner->session;
    /* Not in the call's arena, which a worker that waits for days keeps as long. */
    s->arena = &s->turn_arena;
    so_arena_reset(s->arena);
    so_str error = so_arena_copy(s->arena, s->err.message, strlen(s->err.message));
    so_code code = error.p == NULL ? so_error_nomem(&s->err) : so_worker_begin(s);
    if (code == SO_OK)
        code = so_work_end(s, so_run_undone_work(runner, id, error));
    runner->turns++;
    s->arena = &s->call_arena;
    return code;
}

/* One transaction: the claimed batch and the next claims. */
static so_code so_run_step(so_runner *runner, const so_run_options *options, int64_t room)
{
    so_session *s = runner->session;
    size_t count = runner->count;
    so_taken *taken = runner->taken;
    int arena = runner->arena;
    so_runner before = *runner;
    s->cautious = false;
    for (;;)
    {
        s->arena = &s->call_arena;
        so_code code = so_worker_begin(s);
        if (code != SO_OK)
            return code;
        s->arena = &s->batch_arenas[arena];
        code = so_work_end(s, so_run_work(runner, options, room));
        s->arena = &s->call_arena;
        if (code == SO_OK)
            return SO_OK;
        /* Undone: the earlier claims stand as they were, the new ones were never stored. */
        int64_t running = runner->running;
        *runner = before;
        runner->count = count;
        runner->taken = taken;
        if (code == SO_UNDONE)
            return so_run_undone(runner, running);
        if (code != SO_CAUTION || s->cautious)
            return code;
        s->cautious = true;
    }
}

static so_code so_run_loop(so_runner *runner, const so_run_options *options)
{
    so_session *s = runner->session;
    const so_port_methods *port = s->port->methods;
    int64_t start = port->ticks_ms(s->port);
    int64_t idle_since = start;
    const so_waiting waiting = {.bell = SO_BELL_RUN, .picky = options->types.p != NULL};
    const so_wanted wanted = {.lane = SO_LANE_RUN, .types = options->types};
    bool full = false; /* the last batch was: there will be more, take the write lock without a look */
    for (;;)
    {
        int64_t room = options->batch;
        int64_t due_in_ms = 0;
        int64_t turns = runner->turns;
        so_code code = SO_OK;
        port->arm(s->port, &waiting);
        for (size_t i = 0; i < runner->count; i++)
            turns += runner->taken[i].count;
        if (options->max_turns - turns < room)
            room = options->max_turns - turns;
        if (port->ticks_ms(s->port) - start >= options->max_ms)
            room = 0;
        if (runner->count == 0 && room <= 0)
            return SO_OK;
        turns = runner->turns;
        bool sure = full || runner->count > 0;
        if (!sure)
        {
            s->arena = &s->turn_arena;
            so_arena_reset(s->arena);
            code = so_due_look(s, &wanted, &due_in_ms);
            s->arena = &s->call_arena;
        }
        if (code == SO_OK && (sure || due_in_ms == 0))
            code = so_run_step(runner, options, room);
        if (code != SO_OK)
            return code;
        turns = runner->turns - turns;
        full = turns >= room;
        if (sure || turns > 0 || runner->count > 0)
        {
            idle_since = port->ticks_ms(s->port);
            continue;
        }
        int64_t now = port->ticks_ms(s->port);
        int64_t left = options->wait_ms - (now - idle_since);
        if (options->max_ms - (now - start) < left)
            left = options->max_ms - (now - start);
        if (options->until_idle || left <= 0)
            return SO_OK;
        code = so_wait_for_work(s, &waiting, due_in_ms, left);
        if (code != SO_OK)
            return code;
    }
}

static so_code so_run_summary(const so_runner *runner, so_value *result)
{
    so_session *s = runner->session;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_write_number(&buffer, "{\"turns\":", runner->turns, true);
    so_write_number(&buffer, ",\"completed\":", runner->completed, true);
    so_write_number(&buffer, ",\"rejected\":", runner->rejected, true);
    so_write_number(&buffer, ",\"retried\":", runner->retried, true);
    so_write_number(&buffer, ",\"dead\":", runner->dead, true);
    return so_write_result(s, &buffer, '}', result);
}

so_code so_fn_run(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_run_options options = {.max_turns = INT64_MAX, .max_ms = INT64_MAX, .batch = SO_RUN_BATCH};
    so_runner runner = {.session = s, .notes = s->port->methods->keeps_notes(s->port)};
    so_code code = so_options_read(s->arena, &args[0], "so_run", so_run_table, &options, &s->err);
    if (code == SO_OK)
        code = so_scope_free(s, "so_run");
    if (code == SO_OK)
        code = s->port->methods->writable(s->port);
    if (code == SO_OK)
    {
        if (options.types.p == NULL)
            s->port->methods->awake(s->port, true);
        code = so_run_loop(&runner, &options);
        s->port->methods->awake(s->port, false);
    }
    if (code != SO_OK)
    {
        so_run_give_back(&runner);
        return code;
    }
    return so_run_summary(&runner, result);
}

/* Claims and runs what waits for one actor, if nobody holds it. */
static so_code so_run_actor_work(so_runner *runner, int64_t type_id, so_str key)
{
    so_session *s = runner->session;
    so_visit visit;
    so_actor actor;
    bool changed;
    const so_type *type = so_type_by_id(s, type_id);
    int64_t now_ms = so_now_ms(s);
    so_code code = so_visit_open(&visit, s, s->arena, type, key, now_ms);
    if (code == SO_OK)
        code = so_mailbox_settle(s, type_id, key, now_ms, &changed);
    if (code == SO_OK)
        code = s->port->methods->look(s->port, type_id, key, &actor, &s->newest);
    if (code != SO_OK)
        return code;
    visit.actor = actor;
    visit.stored = actor.slot;
    so_slot *slot = &visit.actor.slot;
    if ((slot->kind == SO_SLOT_CLAIMED && slot->expires_ms <= now_ms) ||
        (slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_TIMED && slot->rank <= now_ms))
    {
        code = so_visit_expire(&visit);
        if (code == SO_OK)
            code = so_visit_close(&visit);
    }
    if (code == SO_OK && slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_RUN && !slot->paused)
    {
        slot->kind = SO_SLOT_CLAIMED;
        slot->attempts++;
        slot->nonce = s->port->methods->random(s->port);
        slot->expires_ms = now_ms + type->options.lease_ms;
        slot->worker = SO_STR("");
        slot->more = (so_str){0};
        runner->taken[0] =
            (so_taken){.type = type_id, .key = key, .before = visit.stored, .slot = *slot, .count = 1};
        runner->count = 1;
        if (runner->notes)
            return so_run_claimed(runner, now_ms);
    }
    return code == SO_OK ? so_visit_close(&visit) : code;
}

so_code so_run_actor(so_session *s, int64_t type, so_str key)
{
    so_taken taken;
    so_runner runner = {.session = s, .taken = &taken, .notes = s->port->methods->keeps_notes(s->port)};
    so_run_options options = {.batch = 1};
    so_arena *arena = s->arena;
    so_code code = SO_CAUTION;
    s->cautious = false;
    so_arena_reset(&s->batch_arenas[runner.arena]); /* what so_run_step() needs */
    for (int tries = 0; code == SO_CAUTION && tries < 2; tries++)
    {
        s->cautious = tries > 0;
        runner.count = 0;
        s->arena = arena;
        code = so_worker_begin(s);
        if (code != SO_OK)
            return code;
        code = so_definitions_refresh(s);
        if (code == SO_OK)
            code = so_run_actor_work(&runner, type, key);
        code = so_work_end(s, code);
    }
    if (code == SO_UNDONE)
        return so_run_undone(&runner, runner.running);
    if (code == SO_OK && runner.count > 0)
        code = so_run_step(&runner, &options, 0);
    return code;
}
