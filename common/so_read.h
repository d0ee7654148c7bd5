/*
 * What became of a message, and what an actor's state is.
 */
#ifndef SO_READ_H
#define SO_READ_H

#include "so_visit.h"

so_code so_fn_result(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_status(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_snapshot(so_session *s, const so_value *args, int count, so_value *result);

/* Where an unfinished message stands. */
typedef struct so_standing
{
    const char *status; /* the word */
    char reason[256];
    int64_t attempts;
    int64_t due_ms; /* 0: none */
    so_str error;
} so_standing;

/* For a message of an actor that was looked up in this piece of work; message->due_ms is 0 once it has joined
 * its actor's mailbox, whatever the clock says. */
void so_standing_of(so_session *s, const so_actor *actor, const so_message *message, int64_t now_ms,
                    so_standing *standing);

/* Whether a claim holds a message, first or not. */
bool so_slot_holds(so_session *s, const so_slot *slot, int64_t id);

/* A message's result, when it is finished; SO_REJECTED, SO_FAILED, SO_UNKNOWN_MESSAGE. */
so_code so_result_read(so_session *s, int64_t id, bool *finished, so_message *message, so_value *result);

/* SO_UNKNOWN_MESSAGE. */
so_code so_unknown_message(so_session *s, int64_t id);

/* SO_TIMEOUT, saying what the message waits for. */
so_code so_timeout_error(so_session *s, int64_t id);

#endif
