/*
 * Workers inside the database, and waiting.
 */
#ifndef SO_RUN_H
#define SO_RUN_H

#include "so_visit.h"

so_code so_fn_run(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_ask(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_wait(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_next_due(so_session *s, const so_value *args, int count, so_value *result);

/*
 * Whether a worker would find something: 0, else in how many milliseconds, -1: nothing waits. Reads only, so
 * that a worker without work keeps away from the write lock.
 */
so_code so_due_look(so_session *s, so_lane lane, so_str types, int64_t *due_in_ms);

/*
 * Sleeps until something may have become due, at most `left_ms`. `waiting` was armed before the caller looked
 * and found `due_in_ms`.
 */
so_code so_wait_for_work(so_session *s, const so_waiting *waiting, int64_t due_in_ms, int64_t left_ms);

#endif
