/*
 * What an administrator does to messages and actors: cancel, retry, pause, resume, destroy, tick.
 */
#ifndef SO_MANAGE_H
#define SO_MANAGE_H

#include "so_session.h"

so_code so_fn_cancel(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_retry(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_pause(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_resume(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_destroy(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_tick(so_session *s, const so_value *args, int count, so_value *result);

#endif
