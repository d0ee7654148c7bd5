/*
 * Calls that run a turn in the caller's transaction, and queries.
 */
#ifndef SO_CALL_H
#define SO_CALL_H

#include "so_visit.h"

so_code so_fn_call(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_try(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_query(so_session *s, const so_value *args, int count, so_value *result);

/* The error SO_REJECTED of a stored rejection {code, message, details}. */
so_code so_rejection_error(so_session *s, so_str rejection);

#endif
