/*
 * What ended: an actor's history, and the dead letters. Both come in pages.
 */
#ifndef SO_HISTORY_H
#define SO_HISTORY_H

#include "so_session.h"

#define SO_HISTORY_COLUMNS                                                                                   \
    "message,turn,revision,operation,status,attempts,result,error,rejection,created_at,finished_at"
#define SO_DEAD_LETTER_COLUMNS                                                                               \
    "message,type,key,operation,args,attempts,error,created_at,finished_at,replacement"

so_code so_fn_history(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_dead_letters(so_session *s, const so_value *args, int count, so_value *result);

#endif
