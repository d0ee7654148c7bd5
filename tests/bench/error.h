/*
 * The load generator's errors: a text for the person who reads the report. The first one stays, what follows
 * from it is dropped.
 */
#ifndef SO_BENCH_ERROR_H
#define SO_BENCH_ERROR_H

#include <stdarg.h>

typedef struct so_bench_error
{
    char text[1000]; /* empty: no error */
} so_bench_error;

/* Returns -1, so that a failing function can say `return so_bench_fail(err, …)`. */
int so_bench_fail(so_bench_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
