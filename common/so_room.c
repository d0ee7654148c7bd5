/*
 * Room in a mailbox. See so_room.h.
 *
 * What is sorted is counted by an index. The inbox is not, and where it cannot be sorted (a statement that
 * sends a million messages, a batch of turns that tell) counting it for each message would take time that
 * grows with its square. So a connection keeps a crowd: for each of many buckets how many messages of the
 * inbox have an actor that belongs there, which is never less than any of these actors has.
 */
#include "so_room.h"

#include <string.h>

#include "so_json.h"
#include "so_mailbox.h"
#include "so_visit.h"

enum
{
    SO_CROWD_BUCKETS = 16384
};

/* Valid for the messages from `first` to `upto`, while these ids name the messages that were counted. */
struct so_crowd
{
    int64_t first;
    int64_t upto;
    int64_t others; /* as the port said when they were counted */
    uint32_t buckets[SO_CROWD_BUCKETS];
};

/* FNV-1a over the type and the key (Fowler, Noll, Vo; 64 bits). */
static uint32_t *so_crowd_bucket(so_crowd *crowd, int64_t type, so_str key)
{
    uint64_t hash = (UINT64_C(14695981039346656037) ^ (uint64_t)type) * UINT64_C(1099511628211);
    for (size_t i = 0; i < key.n; i++)
        hash = (hash ^ (unsigned char)key.p[i]) * UINT64_C(1099511628211);
    return &crowd->buckets[(hash ^ (hash >> 32)) % SO_CROWD_BUCKETS];
}

so_code so_append(so_session *s, const so_message *message, int64_t stamp, int64_t max_inbox,
                  int64_t max_mailbox, int64_t *id, bool *stored)
{
    so_code code = s->port->methods->append(s->port, message, stamp, max_inbox, max_mailbox, id, stored);
    /* An id that was counted before: that message was rolled back. */
    if (code == SO_OK && *stored && s->crowd != NULL && *id <= s->crowd->upto)
        s->crowd->first = 0;
    return code;
}

void so_crowd_free(so_session *s)
{
    s->allocator.release(s->allocator.context, s->crowd);
    s->crowd = NULL;
}

static so_code so_crowd_add(so_session *s, void *context, const so_value *columns)
{
    (void)context;
    ++*so_crowd_bucket(s->crowd, columns[1].i, columns[2].s);
    s->crowd->upto = columns[0].i;
    return SO_OK;
}

/* Counts what has come since. */
static so_code so_crowd_count(so_session *s, const so_newest *newest)
{
    int64_t others;
    so_code code = s->port->methods->others(s->port, &others);
    if (code != SO_OK)
        return code;
    if (s->crowd == NULL)
    {
        s->crowd = s->allocator.alloc(s->allocator.context, sizeof *s->crowd);
        if (s->crowd == NULL)
            return so_error_nomem(&s->err);
        s->crowd->first = 0;
    }
    so_crowd *crowd = s->crowd;
    if (crowd->first != newest->inbox || crowd->upto > newest->id || crowd->others != others)
    {
        memset(crowd, 0, sizeof *crowd);
        crowd->first = newest->inbox;
        crowd->upto = newest->inbox - 1;
        crowd->others = others;
    }
    so_value params[] = {SO_VALUE_INT(crowd->upto + 1)};
    code = so_db_each(s, SO_STMT_INBOX_ACTORS, params, so_crowd_add, NULL);
    if (code != SO_OK)
        crowd->first = 0;
    return code;
}

static so_code so_inbox_count(so_session *s, int64_t type, so_str key, int64_t inbox, int64_t *count)
{
    so_value params[] = {SO_VALUE_INT(inbox), SO_VALUE_INT(type), SO_VALUE_STR(key)};
    so_value column;
    bool found;
    so_code code = so_db_row(s, SO_STMT_INBOX_COUNT, params, &column, &found);
    *count += code == SO_OK ? column.i : 0;
    return code;
}

/* *aside: what waits behind the head and what is delayed; *held: the head and what is claimed with it. */
static so_code so_sorted_count(so_session *s, int64_t type, so_str key, int64_t limit, int64_t *aside,
                               int64_t *held, so_newest *newest)
{
    so_value params[] = {SO_VALUE_INT(type), SO_VALUE_STR(key), SO_VALUE_INT(limit)};
    so_value columns[4];
    bool found;
    so_code code = so_db_row(s, SO_STMT_MAILBOX_COUNT, params, columns, &found);
    if (code != SO_OK)
        return code;
    *aside = columns[0].i;
    *held = columns[1].i;
    newest->id = columns[2].i;
    newest->inbox = columns[3].i;
    return SO_OK;
}

so_code so_mailbox_count(so_session *s, int64_t type, so_str key, int64_t limit, int64_t *count)
{
    int64_t held;
    so_newest newest;
    so_code code = so_sorted_count(s, type, key, limit, count, &held, &newest);
    if (code != SO_OK)
        return code;
    *count += held;
    return so_inbox_count(s, type, key, newest.inbox, count);
}

static int64_t so_more_count(so_session *s, const so_slot *slot)
{
    so_json_iter iter;
    so_str element;
    int64_t count = 0;
    if (slot->more.p == NULL)
        return 0;
    so_json_iter_init(&iter, s->arena, slot->more);
    while (so_json_iter_next(&iter, NULL, &element))
        count++;
    return count;
}

/* What this connection holds in memory: taken, and not in the tables. */
static int64_t so_held_count(const so_session *s, int64_t type, so_str key)
{
    int64_t count = 0;
    for (size_t i = 0; i < s->held_count; i++)
        if (s->held[i].type == type && so_str_equal(s->held[i].key, key))
            count += s->held[i].count;
    return count;
}

static so_code so_mailbox_full(so_session *s, const so_type *type, so_str key)
{
    return so_error_set(&s->err, SO_MAILBOX_FULL,
                        "Wait until a worker has caught up, or raise max_mailbox of the type.",
                        "the mailbox of %.*s '%.*s' holds max_mailbox (%lld) messages", (int)type->name.n,
                        type->name.p, (int)key.n, key.p, (long long)type->options.max_mailbox);
}

so_code so_mailbox_room(so_session *s, const so_visit *visit, const so_type *type, so_str key, int64_t more)
{
    int64_t limit = type->options.max_mailbox;
    int64_t count;
    int64_t held;
    so_newest newest;
    so_code code = so_sorted_count(s, type->id, key, limit, &count, &held, &newest);
    if (code != SO_OK)
        return code;
    bool own = visit != NULL && visit->type->id == type->id && so_str_equal(visit->actor.key, key);
    if (s->port->methods->seeks)
        count -=
            own; /* what is taken was counted where it lies, and the message that is about to end with it */
    else
    {
        if (own)
            held = so_more_count(s, &visit->actor.slot);
        count += held + so_held_count(s, type->id, key);
    }
    if (count + newest.id - newest.inbox + 1 <= limit - more)
        return SO_OK;
    if (newest.inbox > newest.id)
        return so_mailbox_full(s, type, key);
    code = so_crowd_count(s, &newest);
    if (code != SO_OK || count + (int64_t)*so_crowd_bucket(s->crowd, type->id, key) <= limit - more)
        return code;
    code = so_inbox_count(s, type->id, key, newest.inbox, &count);
    return code == SO_OK && count > limit - more ? so_mailbox_full(s, type, key) : code;
}
