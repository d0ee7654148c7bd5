/*
 * When there is work, by the same conditions as the claim.
 */
#ifndef SO_DUE_H
#define SO_DUE_H

#include "so_session.h"

/* What a worker would take: lane 0 is any; types and operations with p NULL are all. */
typedef struct so_wanted
{
    int lane;
    so_str types;      /* compact JSON array of names */
    so_str operations; /* likewise */
} so_wanted;

/*
 * Whether a worker would find something: 0, else in how many milliseconds, -1: nothing waits. Reads only, so
 * that a worker without work keeps away from the write lock.
 */
so_code so_due_look(so_session *s, const so_wanted *wanted, int64_t *due_in_ms);

so_code so_fn_next_due(so_session *s, const so_value *args, int count, so_value *result);

#endif
