/*
 * Room in a mailbox: what max_mailbox of a type allows.
 */
#ifndef SO_ROOM_H
#define SO_ROOM_H

#include "so_session.h"

typedef struct so_visit so_visit;

/* Unfinished messages of an actor, as they are stored; its mail is counted up to `limit`. */
so_code so_mailbox_count(so_session *s, int64_t type, so_str key, int64_t limit, int64_t *count);

/*
 * Whether the actor's mailbox takes `more` messages. `visit`: the visit whose turn sends them, NULL outside
 * of one; its message is about to end and does not count. SO_MAILBOX_FULL.
 */
so_code so_mailbox_room(so_session *s, const so_visit *visit, const so_type *type, so_str key, int64_t more);

/* The port's `append`, which every message goes through. */
so_code so_append(so_session *s, const so_message *message, int64_t stamp, int64_t max_inbox,
                  int64_t max_mailbox, int64_t *id, bool *stored);

void so_crowd_free(so_session *s);

#endif
