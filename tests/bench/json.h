/*
 * Writes JSON to a stream as it comes: a run holds millions of latencies that nobody should keep twice.
 * Names and texts are UTF-8. Write errors stay in the stream (ferror).
 */
#ifndef SO_BENCH_JSON_H
#define SO_BENCH_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct so_bench_json
{
    FILE *to;
    bool more; /* a comma is due before the next value */
} so_bench_json;

/* `name` is NULL in arrays and for the outermost value. */
void so_bench_json_open(so_bench_json *json, const char *name, char bracket);
void so_bench_json_close(so_bench_json *json, char bracket);
void so_bench_json_text(so_bench_json *json, const char *name, const char *value); /* NULL: null */
void so_bench_json_int(so_bench_json *json, const char *name, int64_t value);
void so_bench_json_real(so_bench_json *json, const char *name, double value, int decimals);
void so_bench_json_bool(so_bench_json *json, const char *name, bool value);
void so_bench_json_raw(so_bench_json *json, const char *name, const char *document);

/* Only layout: the next value begins a line. */
void so_bench_json_line(so_bench_json *json);

#endif
