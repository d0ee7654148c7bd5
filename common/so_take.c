/*
 * What a worker takes: actors that wait in its lanes first come first served, then the inbox. See
 * so_mailbox.h.
 */
#include "so_mailbox.h"

#include <string.h>

#include "so_json.h"

enum
{
    SO_FIRST_COLUMNS = 9
};

bool so_name_in(so_session *s, so_str names, so_str name)
{
    if (names.p == NULL)
        return true;
    so_json_iter iter;
    so_str element;
    so_json_iter_init(&iter, s->arena, names);
    while (so_json_iter_next(&iter, NULL, &element))
        if (element.n == name.n + 2 && so_str_equal((so_str){element.p + 1, element.n - 2}, name))
            return true;
    return false;
}

static bool so_take_allows(so_session *s, const so_take *take, const so_type *type,
                           const so_operation *operation)
{
    return type != NULL && operation != NULL && !operation->query && so_lane_of(operation) == take->lane &&
           so_name_in(s, take->types, type->name) && so_name_in(s, take->operations, operation->name);
}

/* What waits first in one class of the lane, as SO_STMT_QUEUE_FIRST gives it. */
typedef struct so_candidate
{
    so_str class;
    bool known;    /* row is what waits there now */
    so_value *row; /* NULL: nothing */
} so_candidate;

typedef struct so_candidates
{
    so_candidate *all;
    size_t count;
} so_candidates;

static so_code so_candidates_add(so_session *s, const so_take *take, const so_type *type, so_str operation,
                                 so_candidates *list)
{
    so_str class = so_lane_class(s, take->lane, type->id, operation);
    list->all[list->count++] = (so_candidate){.class = class};
    return class.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

static so_code so_candidates_list(so_session *s, const so_take *take, so_candidates *list)
{
    size_t most = 0;
    so_code code = SO_OK;
    for (size_t i = 0; i < s->definitions.type_count; i++)
        most += take->lane == SO_LANE_RUN ? 1 : s->definitions.types[i].operation_count;
    list->count = 0;
    list->all = so_arena_alloc(s->arena, (most + 1) * sizeof *list->all);
    if (list->all == NULL)
        return so_error_nomem(&s->err);
    for (size_t i = 0; code == SO_OK && i < s->definitions.type_count; i++)
    {
        const so_type *type = &s->definitions.types[i];
        if (!so_name_in(s, take->types, type->name))
            continue;
        if (take->lane == SO_LANE_RUN)
            code = so_candidates_add(s, take, type, SO_STR(""), list);
        else
            for (size_t j = 0; code == SO_OK && j < type->operation_count; j++)
                if (so_take_allows(s, take, type, &type->operations[j]))
                    code = so_candidates_add(s, take, type, type->operations[j].name, list);
    }
    return code;
}

static so_code so_candidate_look(so_session *s, const so_take *take, so_candidate *candidate)
{
    so_value params[] = {SO_VALUE_INT(take->lane), SO_VALUE_STR(candidate->class)};
    so_value columns[SO_FIRST_COLUMNS];
    bool found;
    if (candidate->known)
        return SO_OK;
    so_code code = so_db_row(s, SO_STMT_QUEUE_FIRST, params, columns, &found);
    if (code != SO_OK)
        return code;
    candidate->known = true;
    candidate->row = NULL;
    if (!found)
        return SO_OK;
    candidate->row = so_arena_alloc(s->arena, sizeof columns);
    if (candidate->row == NULL)
        return so_error_nomem(&s->err);
    memcpy(candidate->row, columns, sizeof columns);
    return SO_OK;
}

/* The one that has waited longest; NULL: none. */
static so_code so_candidates_best(so_session *s, const so_take *take, so_candidates *list,
                                  so_candidate **best)
{
    so_code code = SO_OK;
    *best = NULL;
    for (size_t i = 0; code == SO_OK && i < list->count; i++)
    {
        so_candidate *candidate = &list->all[i];
        code = so_candidate_look(s, take, candidate);
        if (candidate->row != NULL && (*best == NULL || candidate->row[3].i < (*best)->row[3].i))
            *best = candidate;
    }
    return code;
}

static so_code so_candidates_any(so_session *s, const so_take *take, so_candidates *list, bool *any)
{
    so_code code = SO_OK;
    *any = false;
    for (size_t i = 0; code == SO_OK && !*any && i < list->count; i++)
    {
        code = so_candidate_look(s, take, &list->all[i]);
        *any = list->all[i].row != NULL;
    }
    return code;
}

so_code so_mailbox_ready(so_session *s, const so_take *take, bool *any)
{
    so_candidates list;
    so_code code = so_candidates_list(s, take, &list);
    return code == SO_OK ? so_candidates_any(s, take, &list, any) : code;
}

static so_code so_taken_start(so_session *s, const so_take *take, so_taken *taken, const so_type *type,
                              so_str key, const so_slot *before, int64_t head, int64_t attempts)
{
    *taken = (so_taken){.type = type->id, .key = key, .before = *before, .count = 1};
    taken->slot = (so_slot){.kind = SO_SLOT_CLAIMED,
                            .head = head,
                            .lane = take->lane,
                            .attempts = attempts + 1,
                            .nonce = s->port->methods->random(s->port),
                            .worker = take->worker,
                            .version = type->options.state_version,
                            .error = before->error};
    taken->slot.expires_ms = take->now_ms + (take->lease_ms != 0 ? take->lease_ms : type->options.lease_ms);
    so_buffer_init(&taken->more, s->arena);
    return SO_OK;
}

static void so_taken_more(so_taken *taken, int64_t id)
{
    so_buffer_add_char(&taken->more, taken->count == 1 ? '[' : ',');
    so_buffer_add_int(&taken->more, id);
    taken->count++;
}

/* True if this message must be run with no other in its batch. */
static bool so_take_alone(const so_take *take, const so_type *type, const so_operation *operation,
                          int64_t attempts, int64_t max_attempts)
{
    so_message message = {.max_attempts = max_attempts};
    return take->careful && (attempts > 0 || so_attempts_allowed(type, operation, &message) <= 1);
}

/* Adds what waits behind a head in the mail. What was taken leaves the mail, or is passed over. */
static so_code so_take_mail(so_session *s, const so_take *take, const so_type *type, so_taken *taken,
                            int64_t *room)
{
    int64_t after = taken->slot.head;
    while (*room > 0 && take->batch > taken->count)
    {
        so_value params[] = {SO_VALUE_INT(taken->type), SO_VALUE_STR(taken->key), SO_VALUE_INT(after)};
        so_value columns[4];
        bool found;
        so_code code = so_db_row(s, SO_STMT_MAIL_FIRST, params, columns, &found);
        if (code != SO_OK || !found)
            return code;
        const so_operation *operation = so_operation_by_name(type, columns[1].s);
        /* One that was attempted goes first or not at all, so that it cannot undo others again. */
        if (!so_take_allows(s, take, type, operation) || columns[3].i > 0 ||
            so_take_alone(take, type, operation, 0, columns[2].i))
        {
            taken->mailed = true;
            return SO_OK;
        }
        so_value mail[] = {params[0], params[1], columns[0]};
        code = so_db_change(s, SO_STMT_MAIL_DELETE, mail);
        if (code != SO_OK)
            return code;
        so_taken_more(taken, columns[0].i);
        after = columns[0].i;
        --*room;
    }
    return SO_OK;
}

/* Takes the best actor of the queue. *ended: nothing there, or it has to go alone. */
static so_code so_take_queued(so_session *s, const so_take *take, so_candidates *list, so_taken *taken,
                              size_t *count, int64_t *room, bool *ended)
{
    so_candidate *candidate;
    so_code code = so_candidates_best(s, take, list, &candidate);
    *ended = code != SO_OK || candidate == NULL;
    if (*ended)
        return code;
    const so_value *best = candidate->row;
    const so_type *type = so_type_by_id(s, best[0].i);
    const so_operation *operation = so_operation_by_name(type, best[7].s);
    bool alone = so_take_alone(take, type, operation, best[4].i, best[8].i);
    if (alone && *count > 0)
    {
        *ended = true;
        *room = 0;
        return SO_OK;
    }
    candidate->known = false;
    so_slot before = {.kind = SO_SLOT_QUEUED, .lane = take->lane, .nonce = best[5].i};
    if (best[6].type == SO_TEXT)
        before.error = best[6].s;
    so_taken *one = &taken[*count];
    code = so_taken_start(s, take, one, type, best[1].s, &before, best[2].i, best[4].i);
    /* The row leaves the queue now, so that the next look does not find it again. */
    if (code == SO_OK)
    {
        so_slot none = {.kind = SO_SLOT_NONE};
        code = so_slot_store(s, one->type, one->key, &before, &none);
        one->before = none;
    }
    ++*count;
    --*room;
    if (alone)
        *room = 0;
    /* One that has failed may fail again, and what is taken with it would only be put back. */
    one->mailed = take->lane == SO_LANE_RUN && best[4].i > 0;
    return code == SO_OK && !one->mailed ? so_take_mail(s, take, type, one, room) : code;
}

/* One message of the inbox: run it now, or sort it. *ended: it must not be taken in this batch, stop before
 * it. */
static so_code so_take_arrival(so_session *s, const so_take *take, const so_arrival *row, so_taken *taken,
                               size_t *count, int64_t *room, bool *ended)
{
    const so_type *type = so_type_by_id(s, row->type);
    const so_operation *operation = type == NULL ? NULL : so_operation_by_name(type, row->operation);
    if (row->due_ms > take->now_ms)
        return so_later_add(s, row);
    bool allowed = so_take_allows(s, take, type, operation);
    bool alone = so_take_alone(take, type, operation, row->attempts, row->max_attempts);
    for (size_t i = 0; i < *count; i++)
    {
        if (taken[i].type != row->type || !so_str_equal(taken[i].key, row->key))
            continue;
        if (!allowed || alone || row->attempts > 0 || taken[i].count >= take->batch || taken[i].mailed)
        {
            taken[i].mailed = true;
            return so_mail_add(s, row->type, row->key, row->id);
        }
        so_taken_more(&taken[i], row->id);
        --*room;
        return SO_OK;
    }
    so_actor actor;
    so_newest newest;
    so_code code = s->port->methods->look(s->port, row->type, row->key, &actor, &newest);
    if (code != SO_OK)
        return code;
    if (!allowed || actor.slot.kind != SO_SLOT_NONE || actor.slot.paused || (int64_t)*count >= take->actors)
        return so_mailbox_join(s, row);
    if (alone && *count > 0)
    {
        *ended = true;
        return SO_OK;
    }
    code = so_taken_start(s, take, &taken[*count], type, row->key, &actor.slot, row->id, row->attempts);
    taken[*count].actor = actor;
    taken[*count].looked = true;
    ++*count;
    --*room;
    if (alone)
        *room = 0;
    return code;
}

static so_code so_take_inbox(so_session *s, const so_take *take, so_taken *taken, size_t *count,
                             int64_t *room)
{
    so_arrivals *rows = so_arena_alloc(s->arena, sizeof *rows);
    if (rows == NULL)
        return so_error_nomem(&s->err);
    int64_t newest = s->newest.id;
    int64_t next = s->newest.inbox;
    bool ended = false;
    while (next <= newest && *room > 0 && !ended)
    {
        so_code code = so_inbox_read(s, next, *room, rows);
        if (code != SO_OK)
            return code;
        size_t i = 0;
        while (*room > 0 && !ended && rows->count > i)
        {
            code = so_take_arrival(s, take, &rows->rows[i], taken, count, room, &ended);
            if (code != SO_OK)
                return code;
            if (!ended)
                next = rows->rows[i++].id + 1;
        }
        if (i == rows->count && rows->last)
            next = newest + 1;
    }
    return so_inbox_end(s, next);
}

/* Whether a type has an operation that may be taken. */
static bool so_take_allows_type(so_session *s, const so_take *take, const so_type *type)
{
    for (size_t i = 0; type != NULL && i < type->operation_count; i++)
        if (so_take_allows(s, take, type, &type->operations[i]))
            return true;
    return false;
}

/* An actor that has mail: takes it if nobody holds it and its head may be taken. */
static so_code so_take_found(so_session *s, const so_take *take, const so_type *type, so_str key,
                             so_taken *taken, size_t *count, int64_t *room)
{
    const so_port_methods *port = s->port->methods;
    so_actor actor;
    so_newest newest;
    bool held;
    so_code code = port->hold(s->port, type->id, key, false, &held);
    if (code != SO_OK || !held)
        return code;
    code = port->look(s->port, type->id, key, &actor, &newest);
    if (code != SO_OK)
        return code;
    const so_slot *slot = &actor.slot;
    const so_operation *operation =
        slot->kind == SO_SLOT_NONE ? NULL : so_operation_by_name(type, slot->operation);
    if (slot->kind != SO_SLOT_QUEUED || slot->paused || slot->lane != take->lane ||
        !so_take_allows(s, take, type, operation))
    {
        port->loose(s->port, type->id, key);
        return SO_OK;
    }
    so_taken *one = &taken[(*count)++];
    code = so_taken_start(s, take, one, type, key, slot, slot->head, slot->attempts);
    --*room;
    /* What joined while the head was tried is older than it, and comes next. */
    one->mailed = slot->attempts > 0;
    return code == SO_OK && !one->mailed ? so_take_mail(s, take, type, one, room) : code;
}

enum
{
    SO_SEEK_ACTORS = 4096 /* actors that one call looks at, at most; the next goes on behind them */
};

/* Goes from actor to actor in the order of their keys, from where this connection left off. */
static so_code so_take_seek(so_session *s, const so_take *take, so_taken *taken, size_t *count, int64_t *room)
{
    int64_t type_id = s->seek_type;
    so_str key = so_arena_copy(s->arena, s->seek_key, s->seek_key_bytes);
    bool wrapped = false;
    so_code code = key.p == NULL ? so_error_nomem(&s->err) : SO_OK;
    for (int i = 0; code == SO_OK && i<SO_SEEK_ACTORS && * room> 0 && (int64_t)*count < take->actors; i++)
    {
        so_value params[] = {SO_VALUE_INT(type_id), SO_VALUE_STR(key)};
        so_value columns[2];
        bool found;
        code = so_db_row(s, SO_STMT_SEEK, params, columns, &found);
        if (code != SO_OK)
            return code;
        bool round = found && wrapped &&
                     (columns[0].i > s->seek_type ||
                      (columns[0].i == s->seek_type &&
                       so_name_compare(columns[1].s, (so_str){s->seek_key, s->seek_key_bytes}) > 0));
        if (round || (!found && wrapped))
            break;
        if (!found)
        {
            wrapped = true;
            type_id = 0;
            key = SO_STR("");
            continue;
        }
        type_id = columns[0].i;
        key = columns[1].s;
        const so_type *type = so_type_by_id(s, type_id);
        if (!so_take_allows_type(s, take, type))
            key = SO_STR("\xff"); /* behind every key of this type: no UTF-8 text begins so */
        else
            code = so_take_found(s, take, type, key, taken, count, room);
    }
    s->seek_type = type_id;
    s->seek_key_bytes = key.n < sizeof s->seek_key ? key.n : 0;
    if (key.p != NULL)
        memcpy(s->seek_key, key.p, s->seek_key_bytes);
    return code;
}

static so_code so_take_store(so_session *s, const so_take *take, so_taken *taken, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        if (taken[i].count > 1)
        {
            so_buffer_add_char(&taken[i].more, ']');
            taken[i].slot.more = so_buffer_str(&taken[i].more);
            if (taken[i].slot.more.p == NULL)
                return so_error_nomem(&s->err);
        }
        if (!take->stores)
            continue;
        so_code code = so_slot_store(s, taken[i].type, taken[i].key, &taken[i].before, &taken[i].slot);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

so_code so_mailbox_take(so_session *s, const so_take *take, so_taken *taken, size_t *count)
{
    int64_t room = take->total;
    bool ended = false;
    bool any = false;
    so_candidates list;
    *count = 0;
    so_code code = so_mailbox_due(s, take->now_ms, NULL);
    if (code == SO_OK && s->port->methods->seeks)
    {
        code = so_take_seek(s, take, taken, count, &room);
        return code == SO_OK ? so_take_store(s, take, taken, *count) : code;
    }
    if (code == SO_OK)
        code = so_candidates_list(s, take, &list);
    if (code == SO_OK)
        code = so_candidates_any(s, take, &list, &any);
    /* With a queue, what arrives goes to its end, so that neither starves the other. Half of a long inbox, so
     * that turns that send much do not make it longer and longer. */
    int64_t length = s->newest.id - s->newest.inbox + 1;
    bool sorts = length > (any ? 0 : 4 * SO_INBOX_MESSAGES);
    if (code == SO_OK && sorts)
        code = so_mailbox_sort(s, take->now_ms, length / 2 > 4 * SO_ARRIVALS ? length / 2 : 4 * SO_ARRIVALS);
    for (size_t i = 0; code == SO_OK && sorts && i < list.count; i++)
        list.all[i].known = false;
    ended = !any && !sorts;
    while (code == SO_OK && !ended && room > 0 && (int64_t)*count < take->actors)
        code = so_take_queued(s, take, &list, taken, count, &room, &ended);
    if (code == SO_OK && room > 0 && (int64_t)*count < take->actors && s->newest.inbox <= s->newest.id)
        code = so_take_inbox(s, take, taken, count, &room);
    return code == SO_OK ? so_take_store(s, take, taken, *count) : code;
}
