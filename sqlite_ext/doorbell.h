/*
 * The doorbell: a small file beside the database, mapped by every connection, through which processes wake
 * each other and take turns at the write lock.
 *
 * It holds no truth. SQLite's lock stays the lock, the tables stay the record of what waits; whoever cannot
 * map the file (read-only media, a database in memory) polls. A file of zeros is a valid doorbell, so there
 * is nothing to create but its length, and one that was left behind by a crash is used as it is.
 */
#ifndef SO_DOORBELL_H
#define SO_DOORBELL_H

#include "so_port.h"

typedef struct so_doorbell so_doorbell;

/*
 * Maps the doorbell of the database at `path` (NULL or "": none), creating it with the database's
 * permissions. NULL if that is not possible. A damaged doorbell is replaced; a file
 * that is somebody else's is left alone.
 */
so_doorbell *so_doorbell_open(const char *path);
void so_doorbell_close(so_doorbell *doorbell);

/* How often the bell has rung, to be read before looking whether there is something. */
uint32_t so_doorbell_count(const so_doorbell *doorbell, const so_waiting *waiting);

/* Sleeps until the bell has rung more often than `count`, at most `milliseconds`; false: nobody woke us. */
bool so_doorbell_wait(so_doorbell *doorbell, const so_waiting *waiting, uint32_t count, int64_t milliseconds);

/* Whether the bell has rung for this message or a later one. */
bool so_doorbell_rung(const so_doorbell *doorbell, int64_t message);

/*
 * Says that a worker that takes all work of the bell is awake (or goes to sleep, or away): while one is,
 * rings wake nobody, since it looks again before it sleeps, and more workers than the one that writes would
 * only wait for each other.
 */
void so_doorbell_awake(so_doorbell *doorbell, so_bell bell, bool awake);

/* Whether there seems to be such a worker, awake or asleep. */
bool so_doorbell_attended(const so_doorbell *doorbell, so_bell bell);

/* After a crash of the one that was awake: somebody had to find work by polling. */
void so_doorbell_nobody_awake(so_doorbell *doorbell, so_bell bell);

/* Rings: for work one waiter, or all of them if `everybody` or if one of them is picky; for a message
 * everybody. */
void so_doorbell_ring(so_doorbell *doorbell, so_bell bell, int64_t message, bool everybody);

/*
 * The message whose turn is being run under the write lock, 0: none. Left behind only by a process that died.
 * When it was created tells it from a message of another copy of the database.
 */
void so_doorbell_note(so_doorbell *doorbell, int64_t message, int64_t created_ms);
int64_t so_doorbell_noted(const so_doorbell *doorbell, int64_t *created_ms);

/*
 * The gate: who is about to write takes a ticket and waits until it is served, first come first served, and
 * leaves after its commit. It is advisory: a ticket whose owner has died is skipped at once, one that is not
 * given back for a while is passed, and who does not use it does no harm. Enter returns the ticket, leave
 * takes it.
 */
uint32_t so_gate_enter(so_doorbell *doorbell);
void so_gate_leave(so_doorbell *doorbell, uint32_t ticket);

#endif
