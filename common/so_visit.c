/*
 * One piece of work with one actor. See so_visit.h.
 */
#include "so_visit.h"

#include <string.h>

#include "so_json.h"
#include "so_mailbox.h"
#include "so_room.h"
#include "so_send.h"

void so_visit_resume(so_visit *visit, so_session *s, so_arena *arena, const so_type *type,
                     const so_actor *actor, int64_t now_ms)
{
    *visit = (so_visit){.session = s, .arena = arena, .type = type, .actor = *actor, .now_ms = now_ms};
    visit->stored = actor->slot;
    visit->created = !actor->exists;
    visit->version = type->options.state_version;
}

so_code so_visit_open(so_visit *visit, so_session *s, so_arena *arena, const so_type *type, so_str key,
                      int64_t now_ms)
{
    so_actor actor = {0};
    bool held;
    so_arena *before = s->arena;
    s->arena = arena;
    so_code code = s->port->methods->hold(s->port, type->id, key, true, &held);
    if (code == SO_OK)
        code = s->port->methods->look(s->port, type->id, key, &actor, &s->newest);
    s->arena = before;
    so_visit_resume(visit, s, arena, type, &actor, now_ms);
    return code;
}

so_code so_visit_state(so_visit *visit)
{
    if (visit->state_open)
        return SO_OK;
    visit->state_open = true;
    return so_state_open(&visit->state, visit->session, visit->arena, &visit->actor,
                         visit->type->options.initial);
}

/* One step, as a turn that answers nothing but the state. */
static so_code so_migrate_step(so_visit *visit, so_migration *migration, so_str *problem)
{
    so_session *s = visit->session;
    const so_message message = {.type = visit->type->id, .key = visit->actor.key, .args = SO_STR("{}")};
    so_turn turn = {.session = s,
                    .type = visit->type,
                    .operation = &migration->step,
                    .message = &message,
                    .state = &visit->state,
                    .attempt = 1,
                    .now_ms = visit->now_ms};
    bool pure;
    so_code code = s->port->methods->handler_pure(s->port, &migration->step, &pure);
    if (code == SO_OK)
        code = so_turn_run(&turn);
    if (code != SO_OK)
        return code;
    bool more = turn.tell_count > 0 || turn.destroys || turn.result.p != NULL;
    if (turn.end == SO_TURN_COMPLETED && pure && !more)
    {
        visit->actor.revision += so_state_changed(&visit->state);
        visit->actor.version++;
        return SO_OK;
    }
    so_state_undo(&visit->state);
    so_str why = turn.end == SO_TURN_FAILED     ? turn.error
                 : turn.end == SO_TURN_REJECTED ? SO_STR("it cannot reject")
                                                : SO_STR("it reads, and answers state or patch only");
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_text(&buffer, "the migration from state_version ");
    so_buffer_add_int(&buffer, migration->from_version);
    so_buffer_add_text(&buffer, " failed: ");
    so_buffer_add_str(&buffer, why);
    *problem = so_buffer_str(&buffer);
    return problem->p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

void so_visit_migrate_back(so_visit *visit)
{
    if (!visit->migrated)
        return;
    visit->migrated = false;
    visit->state_open = false;
    visit->actor.version = visit->stored_version;
    visit->actor.revision = visit->stored_revision;
}

so_code so_visit_migrate(so_visit *visit, int64_t version, so_str *problem)
{
    so_code code = so_visit_state(visit);
    *problem = (so_str){0};
    if (code != SO_OK || !visit->actor.exists || visit->actor.version >= version)
        return code;
    visit->migrated = true;
    visit->stored_version = visit->actor.version;
    visit->stored_revision = visit->actor.revision;
    while (code == SO_OK && problem->p == NULL && visit->actor.version < version)
    {
        so_migration *migration = so_migration_from(visit->type, visit->actor.version);
        if (migration == NULL)
            *problem = SO_STR("a migration of its state is missing (so_define_migration)");
        else
            code = so_migrate_step(visit, migration, problem);
    }
    if (problem->p != NULL)
        so_visit_migrate_back(visit);
    return code;
}

int64_t so_backoff_ms(const so_type *type, int64_t attempt)
{
    int64_t pause = type->options.retry_base_ms;
    for (int64_t i = 1; i < attempt && pause < type->options.retry_cap_ms; i++)
        pause *= 2;
    return pause < type->options.retry_cap_ms ? pause : type->options.retry_cap_ms;
}

/* The messages that a turn sends. What could refuse them is checked before anything is written; one that
 * repeats a key, or is sent only to who is gone, is dropped here and takes no room. */
so_code so_tells_check(const so_visit *visit, so_turn *turn)
{
    so_session *s = turn->session;
    size_t kept = 0;
    for (size_t i = 0; i < turn->tell_count; i++)
    {
        const so_message tell = turn->tells[i];
        const so_type *type = so_type_by_id(s, tell.type);
        so_message twin;
        bool repeats = false;
        bool there = true;
        int64_t same = 1;
        bool self = tell.type == turn->type->id && so_str_equal(tell.key, turn->message->key);
        /* What the actor sends to itself as it ends finds neither its keys nor its mailbox. */
        bool begins = turn->destroys && self;
        so_code code = begins ? SO_OK : so_twin_find(s, &tell, &twin, &repeats);
        /* This actor's own row may not be written yet. */
        if (code == SO_OK && !self)
            code = so_addressee_check(s, &tell, &there);
        for (size_t j = 0; code == SO_OK && j < kept; j++)
        {
            const so_message *other = &turn->tells[j];
            if (other->type != tell.type || !so_str_equal(other->key, tell.key))
                continue;
            same++;
            if (tell.idempotency_key.p == NULL || other->idempotency_key.p == NULL ||
                !so_str_equal(other->idempotency_key, tell.idempotency_key))
                continue;
            code = so_twin_check(s, &tell, other->operation, other->args);
            repeats = true;
        }
        bool stays = code == SO_OK && !repeats && there;
        if (stays && (!begins || same > type->options.max_mailbox))
            code = so_mailbox_room(s, begins ? NULL : visit, type, tell.key, same);
        if (code != SO_OK)
            return code;
        if (stays)
            turn->tells[kept++] = tell;
    }
    turn->tell_count = kept;
    return SO_OK;
}

static so_code so_tells_send(so_visit *visit, so_turn *turn)
{
    so_session *s = turn->session;
    const so_actor *self = &visit->actor;
    for (size_t i = 0; i < turn->tell_count; i++)
    {
        bool stored;
        int64_t id;
        so_message *tell = &turn->tells[i];
        /* This actor's row may not be written yet. */
        if (tell->only_to != SO_TO_ANYBODY && tell->type == self->type && so_str_equal(tell->key, self->key))
        {
            if (!self->exists || (tell->only_to != SO_TO_LIVING && tell->only_to != self->incarnation))
                continue;
            tell->only_to = SO_TO_ANYBODY;
        }
        so_code code = so_append(s, &turn->tells[i], s->newest.stamp, INT64_MAX, INT64_MAX, &id, &stored);
        if (code != SO_OK)
            return code;
        if (!stored && (tell->idempotency_key.p != NULL || tell->only_to != SO_TO_ANYBODY))
            continue;
        if (!stored)
            return so_error_set(&s->err, SO_BLOCKED, "Try again.", "the definitions changed during the turn");
        s->newest.id = id;
        s->newest.empty = false;
        so_message_ring(s, &turn->tells[i]);
    }
    return SO_OK;
}

bool so_message_stays(const so_type *type, const so_message *message)
{
    return message->status == SO_MESSAGE_DEAD || message->keep || message->idempotency_key.p != NULL ||
           type == NULL || !so_str_is(type->options.history, "none");
}

/* Puts a message that ends at the end of the incarnation's history. */
static void so_visit_link(so_visit *visit, so_message *message)
{
    so_actor *actor = &visit->actor;
    message->leaves_nothing = !so_message_stays(visit->type, message);
    if (!actor->exists)
        return;
    message->incarnation = actor->incarnation;
    message->revision = actor->revision;
    message->previous = actor->last;
    if (!message->leaves_nothing)
        actor->last = message->id;
    visit->dirty = true;
}

/* Frees everything that the actor's claim holds, in memory as it is. */
static so_code so_destroy_held(so_visit *visit, int64_t except)
{
    so_session *s = visit->session;
    const so_slot *slot = &visit->actor.slot;
    so_json_iter iter;
    so_str element;
    so_code code = SO_OK;
    if (slot->kind != SO_SLOT_NONE && slot->head != except)
        code = s->port->methods->forget(s->port, slot->head, &s->newest);
    if (slot->more.p == NULL)
        return code;
    so_json_iter_init(&iter, s->arena, slot->more);
    while (code == SO_OK && so_json_iter_next(&iter, NULL, &element))
    {
        so_value id;
        code = so_json_to_value(s->arena, element, &id, &s->err);
        if (code == SO_OK && id.i != except)
            code = s->port->methods->forget(s->port, id.i, &s->newest);
    }
    return code;
}

so_code so_visit_destroy(so_visit *visit, int64_t except, bool *any)
{
    static const so_statement removals[] = {
        SO_STMT_DESTROY_WAITING, SO_STMT_DESTROY_HISTORY, SO_STMT_DESTROY_LOOSE, SO_STMT_DESTROY_NEWEST,
        SO_STMT_FORGET_EMPTY,    SO_STMT_DESTROY_MAIL,    SO_STMT_DESTROY_LATER, SO_STMT_QUEUE_DELETE,
        SO_STMT_CLAIM_DELETE,    SO_STMT_DESTROY_MEMBERS, SO_STMT_DESTROY_ACTOR};
    so_session *s = visit->session;
    so_actor *actor = &visit->actor;
    so_value params[] = {
        SO_VALUE_INT(actor->type),     SO_VALUE_STR(actor->key),         SO_VALUE_INT(except),
        SO_VALUE_INT(s->newest.inbox), SO_VALUE_INT(actor->incarnation), SO_VALUE_INT(actor->last)};
    *any = actor->exists || actor->slot.kind != SO_SLOT_NONE || actor->slot.paused;
    so_code code = so_destroy_held(visit, except);
    for (size_t i = 0; code == SO_OK && i < sizeof removals / sizeof removals[0]; i++)
    {
        int64_t changed;
        code = s->port->methods->change(s->port, removals[i], params, &changed);
        *any = *any || changed > 0;
    }
    /* Whoever waits for one of them looks again. */
    for (int64_t i = 0; i < SO_BELLS; i++)
        s->port->methods->ring(s->port, SO_BELL_MESSAGE, s->newest.id + i, true);
    *actor = (so_actor){.type = actor->type, .key = actor->key};
    visit->stored = actor->slot;
    visit->created = true;
    visit->dirty = false;
    visit->state_open = false;
    return code;
}

/* The turn's own record outlives the incarnation that it ends, as a record of none. */
static so_code so_visit_end(so_visit *visit, so_message *message)
{
    so_session *s = visit->session;
    bool any;
    so_code code = SO_OK;
    if (message->idempotency_key.p != NULL)
    {
        so_value params[] = {SO_VALUE_INT(message->id)};
        code = so_db_change(s, SO_STMT_KEY_DROP, params);
    }
    return code == SO_OK ? so_visit_destroy(visit, message->id, &any) : code;
}

so_code so_visit_finish(so_visit *visit, so_message *message, so_turn *turn, bool fresh)
{
    so_session *s = visit->session;
    so_actor *actor = &visit->actor;
    int64_t id = message->id;
    bool ends = turn->end == SO_TURN_COMPLETED && turn->destroys;
    message->finished_ms = visit->now_ms;
    if (!fresh)
        s->port->methods->ring(s->port, SO_BELL_MESSAGE, id, true);
    if (turn->end == SO_TURN_COMPLETED)
    {
        if (!actor->exists)
        {
            actor->exists = true;
            actor->version = visit->version;
            actor->incarnation = id;
            actor->created_ms = visit->now_ms;
        }
        if (so_state_changed(&visit->state))
            actor->revision++;
        message->turn = ++actor->turns;
        actor->updated_ms = visit->now_ms;
        message->status = SO_MESSAGE_COMPLETED;
        message->result = turn->result.p == NULL ? SO_STR("null") : turn->result;
        message->error = (so_str){0};
        visit->migrated = false;
    }
    else
    {
        so_visit_migrate_back(visit);
        message->status = SO_MESSAGE_REJECTED;
        message->error = turn->rejection;
    }
    int64_t last = actor->last;
    so_visit_link(visit, message);
    if (ends)
    {
        actor->last = last;
        message->incarnation = 0;
        message->previous = 0;
    }
    so_code code = fresh ? s->port->methods->record(s->port, message, &s->newest)
                         : s->port->methods->settle(s->port, message, &s->newest);
    if (code == SO_OK && ends)
        code = so_visit_end(visit, message);
    return code == SO_OK ? so_tells_send(visit, turn) : code;
}

/* Nothing keeps a handler from writing to our tables; its own message at least has to be there to end. */
static so_code so_turn_own_message(so_turn *turn)
{
    so_session *s = turn->session;
    so_message now;
    bool found;
    so_code code = so_message_read(s, turn->message->id, &now, &found);
    if (code != SO_OK || (found && now.status == SO_MESSAGE_UNFINISHED))
        return code;
    turn->end = SO_TURN_FAILED;
    turn->error = SO_STR("its handler changed its own message");
    so_state_undo(turn->state);
    return SO_OK;
}

so_code so_visit_turn(so_visit *visit, so_message *message, so_operation *operation, int64_t attempt,
                      bool records, so_turn *turn)
{
    so_session *s = visit->session;
    const so_port_methods *port = s->port->methods;
    bool marked = records && (s->cautious || port->must_mark(s->port));
    bool fresh = message->id == 0;
    so_str problem;
    so_code code = fresh ? port->next_id(s->port, &s->newest, &message->id) : SO_OK;
    if (code == SO_OK)
        code = so_visit_migrate(visit, visit->version, &problem);
    if (code != SO_OK)
        return code;
    *turn = (so_turn){.session = s,
                      .type = visit->type,
                      .operation = operation,
                      .message = message,
                      .state = &visit->state,
                      .attempt = attempt,
                      .now_ms = visit->now_ms};
    if (problem.p != NULL)
    {
        turn->end = SO_TURN_FAILED;
        turn->error = problem;
        return SO_OK;
    }
    /* Where any end but completion undoes the whole piece of work, a mark would be for nothing. */
    if (records && !marked)
    {
        bool pure;
        code = port->handler_pure(s->port, operation, &pure);
        if (code != SO_OK)
            return code;
        marked = !pure;
    }
    int64_t changes = port->changes(s->port);
    if (marked)
        code = port->mark(s->port);
    if (code != SO_OK)
        return code;
    code = so_turn_run(turn);
    if (code == SO_OK && turn->end == SO_TURN_COMPLETED && turn->tell_count > 0)
    {
        code = so_tells_check(visit, turn);
        if (code == SO_MAILBOX_FULL || code == SO_IDEMPOTENCY_CONFLICT)
        {
            so_state_undo(&visit->state);
            turn->end = SO_TURN_FAILED;
            turn->error = so_arena_copy(s->arena, s->err.message, strlen(s->err.message));
            code = turn->error.p == NULL ? so_error_nomem(&s->err) : SO_OK;
        }
    }
    if (code == SO_OK && !fresh && s->cautious && turn->end == SO_TURN_COMPLETED)
        code = so_turn_own_message(turn);
    if (code != SO_OK)
        return code;
    if (turn->end != SO_TURN_COMPLETED)
    {
        turn->tell_count = 0;
        so_visit_migrate_back(visit);
        if (marked)
            code = port->undo(s->port);
        else if (records && changes != port->changes(s->port))
            return so_error_set(&s->err, SO_CAUTION, NULL, "a handler that only reads has written");
    }
    if (marked && code == SO_OK)
        code = port->release(s->port);
    if (code == SO_OK && (turn->end == SO_TURN_COMPLETED || (turn->end == SO_TURN_REJECTED && records)))
        code = so_visit_finish(visit, message, turn, fresh);
    if (code == SO_LOST_CLAIM && !s->cautious)
        return so_error_set(&s->err, SO_CAUTION, NULL, "a handler has changed its own message");
    return code;
}

so_code so_visit_close_message(so_visit *visit, so_message *message, so_message_status status)
{
    so_session *s = visit->session;
    s->port->methods->ring(s->port, SO_BELL_MESSAGE, message->id, true);
    message->status = status;
    message->finished_ms = visit->now_ms;
    so_visit_link(visit, message);
    return s->port->methods->settle(s->port, message, &s->newest);
}

so_code so_visit_fail(so_visit *visit, so_message *message, const so_operation *operation, so_str error,
                      bool retry, int64_t delay_ms, bool *dead)
{
    so_session *s = visit->session;
    so_slot *slot = &visit->actor.slot;
    int64_t attempts = slot->attempts;
    int64_t nonce = slot->nonce;
    *dead = !retry || attempts >= so_attempts_allowed(visit->type, operation, message);
    so_code code = so_slot_return_more(s, visit->type->id, visit->actor.key, slot);
    if (code != SO_OK)
        return code;
    if (*dead)
    {
        message->nonce = nonce;
        message->attempts = attempts;
        message->error = error;
        code = so_visit_close_message(visit, message, SO_MESSAGE_DEAD);
        return code == SO_OK ? so_slot_next(s, visit->type->id, visit->actor.key, slot) : code;
    }
    if (delay_ms < 0)
        delay_ms = so_backoff_ms(visit->type, attempts);
    *slot = (so_slot){.kind = SO_SLOT_QUEUED,
                      .paused = slot->paused,
                      .head = message->id,
                      .attempts = attempts,
                      .nonce = nonce,
                      .operation = message->operation,
                      .error = error};
    slot->lane = delay_ms == 0 ? so_lane_of(operation) : SO_LANE_TIMED;
    slot->rank = visit->now_ms + delay_ms;
    return slot->lane == SO_LANE_TIMED ? SO_OK : so_slot_rank(s, visit->type->id, slot);
}

so_code so_visit_close(so_visit *visit)
{
    so_session *s = visit->session;
    so_code code = SO_OK;
    if (visit->dirty)
    {
        if (visit->state_open)
            code = so_state_store(&visit->state);
        if (code == SO_OK)
            code = s->port->methods->write_actor(s->port, &visit->actor, visit->created);
    }
    const so_slot *slot = &visit->actor.slot;
    bool same = slot->kind == visit->stored.kind && slot->paused == visit->stored.paused &&
                slot->head == visit->stored.head && slot->nonce == visit->stored.nonce &&
                slot->lane == visit->stored.lane && slot->rank == visit->stored.rank &&
                slot->attempts == visit->stored.attempts && slot->expires_ms == visit->stored.expires_ms &&
                so_str_equal(slot->more, visit->stored.more);
    if (code == SO_OK && !same)
        code = so_slot_store(s, visit->type->id, visit->actor.key, &visit->stored, slot);
    if (code == SO_OK)
        visit->stored = *slot;
    return code;
}

so_code so_visit_expire(so_visit *visit)
{
    so_session *s = visit->session;
    so_slot *slot = &visit->actor.slot;
    so_message message;
    bool found;
    bool dead;
    so_code code = so_message_read(s, slot->head, &message, &found);
    if (code != SO_OK)
        return code;
    if (!found)
        return so_error_set(&s->err, SO_UNKNOWN_MESSAGE, NULL, "the claimed message %lld is missing",
                            (long long)slot->head);
    const so_operation *operation = so_operation_by_name(visit->type, message.operation);
    if (slot->kind == SO_SLOT_CLAIMED)
    {
        slot->nonce = 0; /* nobody settled it, so no late holder did */
        return so_visit_fail(visit, &message, operation, SO_STR("the lease ran out"), true, 0, &dead);
    }
    slot->operation = message.operation;
    slot->lane = so_lane_of(operation);
    return so_slot_rank(s, visit->type->id, slot);
}

so_code so_visit_wake(so_session *s, int64_t type_id, so_str key, int64_t now_ms)
{
    so_visit visit;
    const so_type *type = so_type_by_id(s, type_id);
    int64_t inbox = s->newest.inbox;
    bool held = false;
    so_code code = type == NULL ? SO_OK : s->port->methods->hold(s->port, type_id, key, false, &held);
    if (code != SO_OK || !held)
        return code;
    code = so_visit_open(&visit, s, s->arena, type, key, now_ms);
    s->newest.inbox = inbox;
    const so_slot *slot = &visit.actor.slot;
    bool over = code == SO_OK &&
                ((slot->kind == SO_SLOT_CLAIMED && slot->expires_ms <= now_ms) ||
                 (slot->kind == SO_SLOT_QUEUED && slot->lane == SO_LANE_TIMED && slot->rank <= now_ms));
    if (over)
        code = so_visit_expire(&visit);
    if (code == SO_OK && over)
        code = so_visit_close(&visit);
    return code;
}

so_code so_message_read(so_session *s, int64_t id, so_message *message, bool *found)
{
    so_value params[] = {SO_VALUE_INT(id)};
    so_value c[20];
    so_code code = so_db_row(s, SO_STMT_MESSAGE, params, c, found);
    if (code != SO_OK || !*found)
        return code;
    *message = (so_message){.id = id,
                            .status = (so_message_status)c[0].i,
                            .type = c[1].i,
                            .key = c[2].s,
                            .operation = c[3].s,
                            .created_ms = c[4].i,
                            .due_ms = c[5].i,
                            .max_attempts = c[6].i,
                            .keep = c[7].i != 0,
                            .attempts = c[8].i,
                            .finished_ms = c[9].i,
                            .incarnation = c[10].i,
                            .turn = c[11].i,
                            .revision = c[12].i,
                            .nonce = c[13].i,
                            .args = c[14].s,
                            .result = c[15].s,
                            .error = c[16].s,
                            .idempotency_key = c[18].s,
                            .replacement = c[19].i,
                            .only_to = SO_TO_ANYBODY};
    if (message->status == SO_MESSAGE_UNFINISHED)
        message->hollow = c[17].i;
    else
        message->previous = c[17].i;
    return SO_OK;
}
