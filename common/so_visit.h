/*
 * A visit: one piece of work with one actor. It reads the actor once, runs any number of turns, and writes
 * the actor and its slot once.
 */
#ifndef SO_VISIT_H
#define SO_VISIT_H

#include "so_turn.h"

typedef struct so_visit so_visit;

struct so_visit
{
    so_session *session;
    so_arena *arena;
    const so_type *type;
    so_actor actor;
    so_slot stored; /* the slot as it is in the database; actor.slot is as it will be */
    so_state state;
    bool state_open;
    bool created;                            /* the actor is not in the database yet */
    bool dirty;                              /* the actor's row has to be written */
    bool migrated;                           /* since the actor was looked up */
    int64_t stored_version, stored_revision; /* of the actor before that */
    int64_t version; /* of the state that this visit's turns leave: the type's, or the claim's */
    int64_t now_ms;
};

/* Looks the actor up. `arena` lives until so_visit_close(). In a piece of work, with fresh definitions. */
so_code so_visit_open(so_visit *visit, so_session *s, so_arena *arena, const so_type *type, so_str key,
                      int64_t now_ms);

/* The same with an actor that was looked up in this piece of work, and its texts in an arena that lives as
 * long. */
void so_visit_resume(so_visit *visit, so_session *s, so_arena *arena, const so_type *type,
                     const so_actor *actor, int64_t now_ms);

/* Makes the state ready to be read, as it is stored. */
so_code so_visit_state(so_visit *visit);

/*
 * Brings the state of an actor that exists to a version, step by step, in memory; closing the visit stores it
 * only if something else is stored. *problem: why a step failed, p NULL: none did; then the state is as it
 * was stored, and so it is after so_visit_migrate_back().
 */
so_code so_visit_migrate(so_visit *visit, int64_t version, so_str *problem);
void so_visit_migrate_back(so_visit *visit);

/*
 * Runs one message's turn and, if it completed or was rejected, finishes the message. A message with id 0 was
 * never in the mailbox (so_call) and gets the next id. Without `records`, any end but completion means that
 * the caller undoes the whole piece of work. SO_OK with turn->end set; SO_CAUTION; an engine error. A failed
 * turn has left nothing, and what becomes of its message is the caller's.
 */
so_code so_visit_turn(so_visit *visit, so_message *message, so_operation *operation, int64_t attempt,
                      bool records, so_turn *turn);

/* Finishes a message whose turn was concluded (so_commit, so_reject); `fresh`: it was never in the mailbox.
 */
so_code so_visit_finish(so_visit *visit, so_message *message, so_turn *turn, bool fresh);

/* Ends an unfinished message without a turn: SO_MESSAGE_DEAD, SO_MESSAGE_CANCELLED. The slot is the caller's.
 */
so_code so_visit_close_message(so_visit *visit, so_message *message, so_message_status status);

/* Whether a finished message keeps its row. */
bool so_message_stays(const so_type *type, const so_message *message);

/*
 * Removes the incarnation and everything that waits for the actor, except one message; the visit goes on with
 * an actor that does not exist. *any: there was something.
 */
so_code so_visit_destroy(so_visit *visit, int64_t except, bool *any);

/* The head's attempt failed: another one later, or a dead letter. The slot moves on; *dead tells which.
 * `delay_ms` < 0: by the type's back-off. */
so_code so_visit_fail(so_visit *visit, so_message *message, const so_operation *operation, so_str error,
                      bool retry, int64_t delay_ms, bool *dead);

/* Writes what changed. */
so_code so_visit_close(so_visit *visit);

/* The head of an actor whose retry became due, or whose claim's lease ran out, goes to its lane (or becomes a
 * dead letter); the visit is not closed. so_visit_wake() opens, does that if it is time, and closes. */
so_code so_visit_expire(so_visit *visit);
so_code so_visit_wake(so_session *s, int64_t type, so_str key, int64_t now_ms);

/* Whether the mailboxes have room for what the visit's turn sends, whose own message is about to end.
 * SO_MAILBOX_FULL. */
so_code so_tells_check(const so_visit *visit, so_turn *turn);

/* Reads a message; *found false: there is none (or it is not a message). */
so_code so_message_read(so_session *s, int64_t id, so_message *message, bool *found);

/* The pause before attempt number `attempt` + 1: base doubled each time, at most the cap. */
int64_t so_backoff_ms(const so_type *type, int64_t attempt);

#endif
