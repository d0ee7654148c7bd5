/*
 * One batch: the clients of one cell (or of its floor), with the workers it needs, once, in fresh processes
 * on a fresh database, and the check of what they left.
 */
#ifndef SO_BENCH_BATCH_H
#define SO_BENCH_BATCH_H

#include "driver.h"
#include "stats.h"

typedef struct so_bench_batch
{
    /* What to do. */
    const so_bench_database *db;
    so_bench_cell cell;
    so_bench_length length;
    int64_t warmup, seed;
    int workers;     /* of the send path: threads, or processes of their own */
    int64_t idle_ms; /* a client's pause before each operation, outside its latency */

    /* What came of it. */
    uint64_t operations; /* that succeeded; as many latencies are kept */
    uint64_t errors;     /* operations that failed, and failures of workers */
    double seconds;      /* from the common start to the end of the last client */
    double ops_per_s;
    double fairness;
    so_bench_latency latency;
    uint32_t *latencies; /* microseconds, client after client, in the order of operations;
                            so_bench_batch_clear frees */
    bool consistent; /* the database holds what the operations that succeeded must have left, and nothing else
                      */
    bool verified;   /* consistent, and nothing failed */
    so_bench_error error; /* the first thing that was wrong */
} so_bench_batch;

/* Where a running batch is, for a progress display. */
typedef void so_bench_watch(void *context, uint64_t operations);

/*
 * Runs the batch. Whatever goes wrong is in the batch: errors, error, verified. Never runs for ever: a batch
 * in which nothing was finished for 90 s is ended by force.
 */
void so_bench_batch_run(so_bench_batch *batch, so_bench_watch *watch, void *context);

void so_bench_batch_clear(so_bench_batch *batch);

#endif
