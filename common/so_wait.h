/*
 * Waiting: for a message's end, and for work.
 */
#ifndef SO_WAIT_H
#define SO_WAIT_H

#include "so_session.h"

so_code so_fn_ask(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_wait(so_session *s, const so_value *args, int count, so_value *result);

/* What commits by itself, or sleeps, cannot do so in the caller's transaction: SO_INSIDE_TRANSACTION,
 * SO_INSIDE_STATEMENT. `what` is the function's name. */
so_code so_scope_free(so_session *s, const char *what);

/*
 * Sleeps until something may have become due, at most `left_ms`. `waiting` was armed before the caller looked
 * and found `due_in_ms`.
 */
so_code so_wait_for_work(so_session *s, const so_waiting *waiting, int64_t due_in_ms, int64_t left_ms);

#endif
