/*
 * Slots, mail, inbox. See so_mailbox.h.
 */
#include "so_mailbox.h"

#include "so_json.h"
#include "so_visit.h"

enum
{
    SO_EXPIRY_LOOK_MS = 50 /* how often a connection looks for leases that ran out */
};

so_lane so_lane_of(const so_operation *operation)
{
    if (operation == NULL || operation->query)
        return SO_LANE_STUCK;
    return operation->handler.p == NULL ? SO_LANE_EXTERNAL : SO_LANE_RUN;
}

so_str so_lane_class(so_session *s, so_lane lane, int64_t type, so_str operation)
{
    so_buffer buffer;
    if (lane == SO_LANE_TIMED)
        return SO_STR("");
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_int(&buffer, type);
    so_buffer_add_char(&buffer, ':');
    if (lane != SO_LANE_RUN)
        so_buffer_add_str(&buffer, operation);
    return so_buffer_str(&buffer);
}

void so_lane_ring(so_session *s, so_lane lane)
{
    const so_port_methods *port = s->port->methods;
    if (lane == SO_LANE_RUN)
        port->ring(s->port, SO_BELL_RUN, 0, false);
    else if (lane == SO_LANE_EXTERNAL)
        port->ring(s->port, SO_BELL_EXTERNAL, 0, false);
    else if (lane == SO_LANE_TIMED)
    {
        /* Everybody's next due time may have changed. */
        port->ring(s->port, SO_BELL_RUN, 0, true);
        port->ring(s->port, SO_BELL_EXTERNAL, 0, true);
    }
}

/* The table that holds a slot: the queue also knows a paused actor without messages, and none holds what a
 * port that seeks derives by itself. */
static so_slot_kind so_slot_table(const so_session *s, const so_slot *slot)
{
    bool derived = slot->kind == SO_SLOT_QUEUED && slot->attempts == 0 && slot->nonce == 0 && !slot->paused &&
                   slot->lane != SO_LANE_TIMED;
    if (s->port->methods->seeks && derived)
        return SO_SLOT_NONE;
    return slot->kind == SO_SLOT_NONE && slot->paused ? SO_SLOT_QUEUED : slot->kind;
}

so_code so_slot_store(so_session *s, int64_t type, so_str key, const so_slot *before, const so_slot *after)
{
    so_slot_kind from = so_slot_table(s, before);
    so_slot_kind to = so_slot_table(s, after);
    int64_t lane = after->lane + (after->paused ? SO_LANE_PAUSED : 0);
    if (after->kind == SO_SLOT_QUEUED && !after->paused)
        so_lane_ring(s, after->lane);
    if (from == SO_SLOT_CLAIMED && to != SO_SLOT_CLAIMED)
        s->port->methods->ring(s->port, SO_BELL_MESSAGE, before->head, true);
    so_value actor[] = {SO_VALUE_INT(type), SO_VALUE_STR(key)};
    so_code code = SO_OK;
    if (from != to && from != SO_SLOT_NONE)
        code = so_db_change(s, from == SO_SLOT_QUEUED ? SO_STMT_QUEUE_DELETE : SO_STMT_CLAIM_DELETE, actor);
    if (code != SO_OK || to == SO_SLOT_NONE)
        return code;
    so_value error = after->error.p == NULL ? SO_VALUE_NULL : SO_VALUE_STR(after->error);
    if (to == SO_SLOT_QUEUED)
    {
        so_str class = so_lane_class(s, after->lane, type, after->operation);
        if (class.p == NULL)
            return so_error_nomem(&s->err);
        so_value params[] = {SO_VALUE_INT(type),
                             SO_VALUE_STR(key),
                             SO_VALUE_INT(after->head),
                             SO_VALUE_INT(lane),
                             SO_VALUE_STR(class),
                             SO_VALUE_INT(after->rank),
                             SO_VALUE_INT(after->attempts),
                             SO_VALUE_INT(after->nonce),
                             error};
        return so_db_change(s, SO_STMT_QUEUE_SET, params);
    }
    so_value params[] = {SO_VALUE_INT(type),
                         SO_VALUE_STR(key),
                         SO_VALUE_INT(after->head),
                         SO_VALUE_INT(lane),
                         SO_VALUE_INT(after->attempts),
                         SO_VALUE_INT(after->nonce),
                         SO_VALUE_INT(after->expires_ms),
                         SO_VALUE_STR(after->worker),
                         after->more.p == NULL ? SO_VALUE_NULL : SO_VALUE_STR(after->more),
                         error,
                         SO_VALUE_INT(after->version)};
    return so_db_change(s, SO_STMT_CLAIM_SET, params);
}

so_code so_slot_rank(so_session *s, int64_t type, so_slot *slot)
{
    so_str class = so_lane_class(s, slot->lane, type, slot->operation);
    so_value params[] = {SO_VALUE_INT(slot->lane), SO_VALUE_STR(class)};
    so_value column;
    bool found;
    if (class.p == NULL)
        return so_error_nomem(&s->err);
    so_code code = so_db_row(s, SO_STMT_QUEUE_LAST_RANK, params, &column, &found);
    if (code != SO_OK)
        return code;
    int64_t last = found && column.type == SO_INT ? column.i + 1 : 0;
    slot->rank = last > s->newest.id ? last : s->newest.id;
    return SO_OK;
}

so_code so_slot_queue(so_session *s, int64_t type, so_slot *slot, int64_t head, so_str operation,
                      int64_t attempts)
{
    const so_type *definition = so_type_by_id(s, type);
    *slot = (so_slot){.kind = SO_SLOT_QUEUED,
                      .paused = slot->paused,
                      .head = head,
                      .operation = operation,
                      .attempts = attempts,
                      .error = slot->head == head ? slot->error : (so_str){0}};
    slot->lane = so_lane_of(definition == NULL ? NULL : so_operation_by_name(definition, operation));
    return so_slot_rank(s, type, slot);
}

so_code so_slot_next(so_session *s, int64_t type, so_str key, so_slot *slot)
{
    so_value params[] = {SO_VALUE_INT(type), SO_VALUE_STR(key), SO_VALUE_INT(0)};
    so_value columns[4];
    bool found;
    so_code code = so_db_row(s, SO_STMT_MAIL_FIRST, params, columns, &found);
    if (code != SO_OK)
        return code;
    if (!found)
    {
        *slot = (so_slot){.kind = SO_SLOT_NONE, .paused = slot->paused};
        return SO_OK;
    }
    so_value mail[] = {params[0], params[1], columns[0]};
    code = so_db_change(s, SO_STMT_MAIL_DELETE, mail);
    return code == SO_OK ? so_slot_queue(s, type, slot, columns[0].i, columns[1].s, columns[3].i) : code;
}

so_code so_mail_add(so_session *s, int64_t type, so_str key, int64_t id)
{
    so_value params[] = {SO_VALUE_INT(type), SO_VALUE_STR(key), SO_VALUE_INT(id)};
    return so_db_change(s, SO_STMT_MAIL_INSERT, params);
}

so_code so_slot_return_more(so_session *s, int64_t type, so_str key, so_slot *slot)
{
    if (slot->more.p == NULL)
        return SO_OK;
    so_json_iter iter;
    so_str element;
    so_json_iter_init(&iter, s->arena, slot->more);
    while (so_json_iter_next(&iter, NULL, &element))
    {
        so_value id;
        so_code code = so_json_to_value(s->arena, element, &id, &s->err);
        if (code == SO_OK)
            code = so_mail_add(s, type, key, id.i);
        if (code != SO_OK)
            return code;
    }
    slot->more = (so_str){0};
    return SO_OK;
}

static so_code so_slot_read(so_session *s, int64_t type, so_str key, so_slot *slot)
{
    so_actor actor;
    so_code code = s->port->methods->look(s->port, type, key, &actor, &s->newest);
    *slot = actor.slot;
    return code;
}

so_code so_mailbox_join(so_session *s, const so_arrival *arrival)
{
    so_slot before;
    so_slot after;
    so_code code = so_slot_read(s, arrival->type, arrival->key, &before);
    if (code != SO_OK)
        return code;
    bool overtakes = before.kind == SO_SLOT_QUEUED && before.attempts == 0 && arrival->id < before.head;
    if (before.kind != SO_SLOT_NONE && !overtakes)
        return so_mail_add(s, arrival->type, arrival->key, arrival->id);
    if (overtakes)
        code = so_mail_add(s, arrival->type, arrival->key, before.head);
    after = (so_slot){.paused = before.paused};
    if (code == SO_OK)
        code = so_slot_queue(s, arrival->type, &after, arrival->id, arrival->operation, arrival->attempts);
    return code == SO_OK ? so_slot_store(s, arrival->type, arrival->key, &before, &after) : code;
}

static so_code so_arrival_add(so_session *s, void *context, const so_value *columns)
{
    so_arrivals *arrivals = context;
    so_arrival *row = &arrivals->rows[arrivals->count++];
    *row = (so_arrival){.id = columns[0].i,
                        .type = columns[1].i,
                        .due_ms = columns[4].i,
                        .max_attempts = columns[5].i,
                        .attempts = columns[6].i};
    row->key = so_arena_copy_str(s->arena, columns[2].s);
    row->operation = so_arena_copy_str(s->arena, columns[3].s);
    return row->key.p == NULL || row->operation.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_inbox_read(so_session *s, int64_t from, int64_t limit, so_arrivals *arrivals)
{
    if (limit > SO_ARRIVALS)
        limit = SO_ARRIVALS;
    so_value params[] = {SO_VALUE_INT(from), SO_VALUE_INT(limit)};
    arrivals->count = 0;
    so_code code = so_db_each(s, SO_STMT_INBOX, params, so_arrival_add, arrivals);
    arrivals->last = (int64_t)arrivals->count < limit;
    return code;
}

so_code so_inbox_end(so_session *s, int64_t inbox)
{
    if (inbox == s->newest.inbox)
        return SO_OK;
    so_value params[] = {SO_VALUE_INT(s->newest.id), SO_VALUE_INT(inbox)};
    s->newest.inbox = inbox;
    return so_db_change(s, SO_STMT_INBOX_SET, params);
}

so_code so_later_add(so_session *s, const so_arrival *arrival)
{
    int64_t due_ms = arrival->due_ms;
    so_value params[] = {SO_VALUE_INT(due_ms), SO_VALUE_INT(arrival->id), SO_VALUE_INT(arrival->type),
                         SO_VALUE_STR(arrival->key)};
    if (due_ms < s->newest.later_due_ms)
        s->newest.later_due_ms = due_ms;
    return so_db_change(s, SO_STMT_LATER_INSERT, params);
}

static so_code so_arrival_sort(so_session *s, const so_arrival *arrival, int64_t now_ms)
{
    if (arrival->due_ms > now_ms)
        return so_later_add(s, arrival);
    int64_t inbox = s->newest.inbox;
    so_code code = so_mailbox_join(s, arrival);
    s->newest.inbox = inbox;
    return code;
}

so_code so_mailbox_sort(so_session *s, int64_t now_ms, int64_t limit)
{
    so_arrivals *arrivals = so_arena_alloc(s->arena, sizeof *arrivals);
    if (arrivals == NULL)
        return so_error_nomem(&s->err);
    int64_t next = s->newest.inbox;
    while (next <= s->newest.id && limit > 0)
    {
        so_code code = so_inbox_read(s, next, SO_ARRIVALS, arrivals);
        for (size_t i = 0; code == SO_OK && i < arrivals->count; i++)
            code = so_arrival_sort(s, &arrivals->rows[i], now_ms);
        if (code != SO_OK)
            return code;
        limit -= SO_ARRIVALS;
        next = arrivals->last ? s->newest.id + 1 : arrivals->rows[arrivals->count - 1].id + 1;
    }
    return so_inbox_end(s, next);
}

so_code so_inbox_shorten(so_session *s)
{
    so_code code = s->port->methods->look(s->port, 0, (so_str){0}, NULL, &s->newest);
    bool is_long = s->newest.id - s->newest.inbox >= SO_INBOX_MESSAGES;
    return code == SO_OK && is_long ? so_mailbox_sort(s, so_now_ms(s), INT64_MAX) : code;
}

/* An actor whose slot has to move on: a retry that became due, a lease that ran out. */
typedef struct so_wakings
{
    int64_t types[SO_DUE_CHUNK];
    so_str keys[SO_DUE_CHUNK];
    size_t count;
} so_wakings;

static so_code so_waking_add(so_session *s, void *context, const so_value *columns)
{
    so_wakings *wakings = context;
    wakings->types[wakings->count] = columns[0].i;
    wakings->keys[wakings->count] = so_arena_copy_str(s->arena, columns[1].s);
    return wakings->keys[wakings->count++].p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

/* Delayed messages that are due join; where a port seeks, with a type only those of one actor. */
static so_code so_later_bring(so_session *s, int64_t type, so_str key, int64_t now_ms, int64_t *count)
{
    so_arrivals *arrivals = so_arena_alloc(s->arena, sizeof *arrivals);
    if (arrivals == NULL)
        return so_error_nomem(&s->err);
    do
    {
        so_value params[] = {SO_VALUE_INT(now_ms), SO_VALUE_INT(SO_ARRIVALS), SO_VALUE_INT(type),
                             SO_VALUE_STR(key)};
        arrivals->count = 0;
        so_code code = so_db_each(s, SO_STMT_LATER_DUE, params, so_arrival_add, arrivals);
        for (size_t i = 0; code == SO_OK && i < arrivals->count; i++)
        {
            so_value row[] = {SO_VALUE_INT(arrivals->rows[i].due_ms), SO_VALUE_INT(arrivals->rows[i].id)};
            code = so_db_change(s, SO_STMT_LATER_DELETE, row);
            if (code == SO_OK)
                code = so_arrival_sort(s, &arrivals->rows[i], now_ms);
        }
        if (code != SO_OK)
            return code;
        *count += (int64_t)arrivals->count;
    } while (arrivals->count == SO_ARRIVALS);
    return SO_OK;
}

static so_code so_slots_bring(so_session *s, so_statement statement, int64_t now_ms, int64_t *count)
{
    so_wakings *wakings = so_arena_alloc(s->arena, sizeof *wakings);
    if (wakings == NULL)
        return so_error_nomem(&s->err);
    so_value params[] = {SO_VALUE_INT(now_ms), SO_VALUE_INT(SO_DUE_CHUNK)};
    wakings->count = 0;
    so_code code = so_db_each(s, statement, params, so_waking_add, wakings);
    for (size_t i = 0; code == SO_OK && i < wakings->count; i++)
        code = so_visit_wake(s, wakings->types[i], wakings->keys[i], now_ms);
    *count += (int64_t)wakings->count;
    return code;
}

so_code so_worker_begin(so_session *s)
{
    const so_port_methods *port = s->port->methods;
    /* In the caller's transaction a charge could be rolled back; somebody else will find the note. */
    bool own = port->scope(s->port) != SO_SCOPE_TRANSACTION;
    for (;;)
    {
        int64_t created_ms = 0;
        so_code code = so_work_begin(s);
        int64_t noted = code == SO_OK && own ? port->noted(s->port, &created_ms) : 0;
        if (code != SO_OK || noted == 0)
            return code;
        so_value params[] = {
            SO_VALUE_INT(noted),
            SO_VALUE_STR(SO_STR("the process that ran it died, or its handler ended the transaction")),
            SO_VALUE_INT(created_ms)};
        code = so_db_change(s, SO_STMT_QUEUE_CHARGE, params);
        if (code == SO_OK)
            code = so_db_change(s, SO_STMT_MESSAGE_CHARGE, params);
        if (code == SO_OK)
            port->note(s->port, NULL);
        code = so_work_end(s, code);
        if (code != SO_OK)
            return code;
    }
}

so_code so_mailbox_due(so_session *s, int64_t now_ms, so_brought *brought)
{
    so_brought unasked = {0};
    so_value params[] = {SO_VALUE_INT(now_ms)};
    so_value column;
    bool found;
    so_code code = SO_OK;
    if (brought == NULL)
        brought = &unasked;
    if (s->newest.later_due_ms <= now_ms)
        code = so_later_bring(s, 0, SO_STR(""), now_ms, &brought->delayed);
    if (code == SO_OK)
        code = so_db_row(s, SO_STMT_QUEUE_ANY_DUE, params, &column, &found);
    if (code == SO_OK && found)
        code = so_slots_bring(s, SO_STMT_QUEUE_DUE, now_ms, &brought->retries);
    bool look = s->definitions.test || now_ms < s->expiry_looked_ms ||
                now_ms - s->expiry_looked_ms >= SO_EXPIRY_LOOK_MS;
    if (code == SO_OK && look)
    {
        s->expiry_looked_ms = now_ms;
        code = so_slots_bring(s, SO_STMT_CLAIMS_EXPIRED, now_ms, &brought->leases);
    }
    return code;
}

so_code so_mailbox_settle(so_session *s, int64_t type, so_str key, int64_t now_ms, bool *changed)
{
    so_code code = SO_OK;
    int64_t due = 0;
    *changed = false;
    if (s->newest.later_due_ms <= now_ms)
    {
        code = so_later_bring(s, type, key, now_ms, &due);
        *changed = true;
    }
    if (code != SO_OK || s->newest.inbox > s->newest.id)
        return code;
    bool found = true;
    if (s->newest.id - s->newest.inbox < SO_ARRIVALS)
    {
        so_value params[] = {SO_VALUE_INT(s->newest.inbox), SO_VALUE_INT(type), SO_VALUE_STR(key),
                             SO_VALUE_INT(now_ms)};
        so_value column;
        code = so_db_row(s, SO_STMT_INBOX_HAS, params, &column, &found);
    }
    if (code == SO_OK && found)
    {
        code = so_mailbox_sort(s, now_ms, INT64_MAX);
        *changed = true;
    }
    return code;
}

so_code so_lanes_change(so_session *s, int64_t type, so_str operation, so_lane lane)
{
    so_str class = so_lane_class(s, lane, type, operation);
    so_value params[] = {SO_VALUE_INT(type), SO_VALUE_STR(operation), SO_VALUE_INT(lane),
                         SO_VALUE_STR(class)};
    if (class.p == NULL)
        return so_error_nomem(&s->err);
    so_lane_ring(s, lane);
    return so_db_change(s, SO_STMT_LANES_CHANGE, params);
}
