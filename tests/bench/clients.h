/*
 * The measured part of a batch: which process holds which clients and workers, their common start, what each
 * measures. Everything here runs in forked processes and is shared with the load generator through one piece
 * of memory.
 */
#ifndef SO_BENCH_CLIENTS_H
#define SO_BENCH_CLIENTS_H

#include "batch.h"

#include <pthread.h>
#include <stdatomic.h>

enum
{
    SO_BENCH_KEPT_FAILURES = 4096
};

/* Written by one client, read by the others after it has ended; `done` also while it runs. */
typedef struct so_bench_client
{
    _Atomic uint64_t done;
    int64_t begin_ns, end_ns;
    uint32_t *latencies; /* room for `capacity` of them, shared too */
} so_bench_client;

typedef struct so_bench_arena
{
    const so_bench_batch *batch;
    pthread_barrier_t warmed, started; /* of all clients, across processes */
    _Atomic uint64_t warm_next, next;  /* numbers of operations, given to whoever asks */
    _Atomic int ended;                 /* clients */
    _Atomic int stop;                  /* to workers */
    _Atomic int told;                  /* somebody is the first to report an error */
    _Atomic uint64_t errors, failures;
    uint64_t failed[SO_BENCH_KEPT_FAILURES]; /* numbers of operations that failed, warm-up included */
    so_bench_error error;
    size_t capacity;
    so_bench_client clients[SO_BENCH_MAX_CLIENTS];
} so_bench_arena;

/* An arena with room for every latency; NULL when there is no memory. so_bench_arena_free releases it. */
so_bench_arena *so_bench_arena_new(const so_bench_batch *batch);
void so_bench_arena_free(so_bench_arena *arena);

/* Runs clients and workers; for so_bench_child_run, with the arena as context. 0 unless a process of it died.
 */
int so_bench_clients_run(void *arena);

/* How many operations are finished, warm-up included; callable while they run. */
uint64_t so_bench_arena_done(const so_bench_arena *arena);

#endif
