/*
 * The mailbox: which message of an actor is its head, what the head waits for, and what a worker may take.
 *
 * A sent message first lies in the inbox (the newest rows of the message table). Sorting it makes it the head
 * of its actor's slot, puts it into the mail behind that head, or puts it aside until it is due. A worker
 * takes straight from the inbox what it can run at once, so that a message that is run soon is never sorted
 * at all.
 */
#ifndef SO_MAILBOX_H
#define SO_MAILBOX_H

#include "so_session.h"

/* The lane of a message whose operation is `operation` (NULL: missing). */
so_lane so_lane_of(const so_operation *operation);

/* What a worker looks for within a lane; p NULL without memory. */
so_str so_lane_class(so_session *s, so_lane lane, int64_t type, so_str operation);

/* Tells sleeping workers that there may be something for them. */
void so_lane_ring(so_session *s, so_lane lane);

/* Writes a slot over what is stored as `before`. */
so_code so_slot_store(so_session *s, int64_t type, so_str key, const so_slot *before, const so_slot *after);

/* Makes `slot` QUEUED with this head at the back of its lane. */
so_code so_slot_queue(so_session *s, int64_t type, so_slot *slot, int64_t head, so_str operation,
                      int64_t attempts);

/* Sends a QUEUED slot to the back of its lane. */
so_code so_slot_rank(so_session *s, int64_t type, so_slot *slot);

/* The next message of the actor's mail becomes the head of `slot` (in memory); NONE if there is none. */
so_code so_slot_next(so_session *s, int64_t type, so_str key, so_slot *slot);

/* Gives the further messages of a claim back to the mail. */
so_code so_slot_return_more(so_session *s, int64_t type, so_str key, so_slot *slot);

/* A message of the inbox, or one that became due. */
typedef struct so_arrival
{
    int64_t id;
    int64_t type;
    so_str key;
    so_str operation;
    int64_t due_ms;
    int64_t max_attempts;
    int64_t attempts; /* that were charged to it before */
} so_arrival;

enum
{
    SO_ARRIVALS = 64,
    SO_INBOX_MESSAGES = 256 /* a longer inbox is sorted by whoever meets it */
};

typedef struct so_arrivals
{
    so_arrival rows[SO_ARRIVALS];
    size_t count;
    bool last; /* there are none behind them */
} so_arrivals;

/* The unfinished messages of the inbox from an id on, at most `limit` and SO_ARRIVALS; everything before
 * `inbox` was sorted. */
so_code so_inbox_read(so_session *s, int64_t from, int64_t limit, so_arrivals *arrivals);
so_code so_inbox_end(so_session *s, int64_t inbox);

/* Puts a message behind its actor's head, or aside until it is due. */
so_code so_mail_add(so_session *s, int64_t type, so_str key, int64_t id);
so_code so_later_add(so_session *s, const so_arrival *arrival);

/* A ready message joins an actor's slot (which is stored at once). */
so_code so_mailbox_join(so_session *s, const so_arrival *arrival);

/* Sorts up to `limit` messages of the inbox. */
so_code so_mailbox_sort(so_session *s, int64_t now_ms, int64_t limit);

/* Sorts all of an inbox that is long, for whoever sends many messages in one piece of work. */
so_code so_inbox_shorten(so_session *s);

/*
 * Begins a worker's piece of work. If a process died in a turn, that attempt is charged and committed first,
 * so that a message that kills whoever runs it ends as a dead letter.
 */
so_code so_worker_begin(so_session *s);

enum
{
    SO_DUE_CHUNK = 256 /* retries, and leases, brought per call */
};

/* How much of each became due. */
typedef struct so_brought
{
    int64_t delayed;
    int64_t retries;
    int64_t leases;
} so_brought;

/* Brings what became due: delayed messages join, retries become ready, leases that ran out end. Bounded per
 * call. `brought` may be NULL. */
so_code so_mailbox_due(so_session *s, int64_t now_ms, so_brought *brought);

/* Sorts everything that concerns this actor; *changed: the actor's slot has to be looked up again. */
so_code so_mailbox_settle(so_session *s, int64_t type, so_str key, int64_t now_ms, bool *changed);

/* After a definition changed: heads of that operation go to `lane`. */
so_code so_lanes_change(so_session *s, int64_t type, so_str operation, so_lane lane);

/* What a worker asks for, and what it gets. */
typedef struct so_take
{
    so_lane lane;
    so_str types;      /* compact JSON array of names; p NULL: all */
    so_str operations; /* likewise */
    int64_t actors;    /* at most */
    int64_t batch;     /* messages per actor, at most */
    int64_t total;     /* messages, at most */
    int64_t lease_ms;  /* 0: the type's */
    so_str worker;
    bool careful; /* a message that may be what killed its worker, or that has one attempt left, is taken
                     alone */
    bool stores;  /* the claims are stored; else they are run and settled in this piece of work */
    int64_t now_ms;
} so_take;

struct so_taken
{
    int64_t type;
    so_str key;
    so_slot before; /* as stored */
    so_slot slot;   /* the claim */
    int64_t count;  /* messages in it */
    bool mailed;    /* some wait behind it in the mail */
    so_buffer more;
    so_actor actor; /* as it was looked up, if `looked` */
    bool looked;
};

/*
 * Claims work and stores the claims; in a piece of work, with fresh definitions. `taken` has room for
 * take->actors; texts live in the session's arena.
 */
so_code so_mailbox_take(so_session *s, const so_take *take, so_taken *taken, size_t *count);

/* Whether an actor waits in the queue that take->lane, types and operations allow. Reads only. */
so_code so_mailbox_ready(so_session *s, const so_take *take, bool *any);

/* True if `name` is in a compact JSON array of plain names (p NULL: every name is). */
bool so_name_in(so_session *s, so_str names, so_str name);

#endif
