/*
 * How it stands: figures for each type, and one actor with its mailbox.
 */
#ifndef SO_STATS_H
#define SO_STATS_H

#include "so_session.h"

#define SO_STATS_COLUMNS                                                                                     \
    "type,actors,waiting,delayed,retrying,claimed,stuck,paused,dead_letters,unretried,oldest_ready_age_ms,"  \
    "next_due_ms"

so_code so_fn_stats(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_actor(so_session *s, const so_value *args, int count, so_value *result);

#endif
