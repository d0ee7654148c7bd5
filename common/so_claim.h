/*
 * External workers: claiming, and settling what was claimed.
 */
#ifndef SO_CLAIM_H
#define SO_CLAIM_H

#include "so_visit.h"

so_code so_fn_claim(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_renew(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_commit(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_reject(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_fail(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_release(so_session *s, const so_value *args, int count, so_value *result);

/* The columns of so_claim's rows. */
#define SO_CLAIM_COLUMNS "claim,message,type,key,operation,args,state,revision,attempt,expires_at"

/* After the head was settled: the claim's next message, charged with an attempt, or the next of the mail. */
so_code so_claim_advance(so_session *s, int64_t type, so_str key, so_slot *slot);

#endif
