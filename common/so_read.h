/*
 * What became of a message, and what an actor's state is.
 */
#ifndef SO_READ_H
#define SO_READ_H

#include "so_visit.h"

so_code so_fn_result(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_status(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_snapshot(so_session *s, const so_value *args, int count, so_value *result);

/* A message's result, when it is finished; SO_REJECTED, SO_FAILED, SO_UNKNOWN_MESSAGE. */
so_code so_result_read(so_session *s, int64_t id, bool *finished, so_message *message, so_value *result);

/* SO_UNKNOWN_MESSAGE. */
so_code so_unknown_message(so_session *s, int64_t id);

/* SO_TIMEOUT, saying what the message waits for. */
so_code so_timeout_error(so_session *s, int64_t id);

#endif
