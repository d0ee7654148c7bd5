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

/* Sleeps until something may have become due, at most `left_ms`. */
so_code so_wait_for_work(so_session *s, so_str types, int64_t left_ms);

#endif
