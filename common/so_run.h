/*
 * Workers inside the database.
 */
#ifndef SO_RUN_H
#define SO_RUN_H

#include "so_session.h"

so_code so_fn_run(so_session *s, const so_value *args, int count, so_value *result);

/* Runs a turn of one actor, if nobody holds it and one is due. `key` lives in the session's second batch
 * arena, or longer. */
so_code so_run_actor(so_session *s, int64_t type, so_str key);

#endif
