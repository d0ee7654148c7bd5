/*
 * How far a run is, on stderr: a bar with an estimate on a terminal, one plain line per finished step
 * elsewhere.
 */
#ifndef SO_BENCH_PROGRESS_H
#define SO_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct so_bench_progress
{
    int steps, done;
    double weight, weight_done; /* expected seconds, for the estimate */
    double began;
    bool terminal;
    char now[160];
} so_bench_progress;

void so_bench_progress_start(so_bench_progress *progress, int steps, double expected_seconds);

/* What runs now; `text` is copied. */
void so_bench_progress_begin(so_bench_progress *progress, const char *text);

/* While it runs; the context of so_bench_watch is the progress. */
void so_bench_progress_watch(void *progress, uint64_t operations);

/* It is finished; `outcome` is what a plain line says of it. */
void so_bench_progress_step(so_bench_progress *progress, double expected_seconds, const char *outcome);

/* A line of its own, bar or not: something is wrong and must be seen. */
void so_bench_progress_say(so_bench_progress *progress, const char *text);

void so_bench_progress_end(so_bench_progress *progress);

#endif
