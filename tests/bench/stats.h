/*
 * The arithmetic of the load generator. No database, no allocation, no global state.
 * Latencies are whole microseconds: what is reported is derived from exactly the numbers that the JSON file
 * retains.
 */
#ifndef SO_BENCH_STATS_H
#define SO_BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

typedef struct so_bench_range
{
    double median, min, max;
} so_bench_range;

typedef struct so_bench_latency
{
    double p50, p95, p99, min, max; /* milliseconds */
} so_bench_latency;

/* One client's part of a batch. */
typedef struct so_bench_share
{
    uint64_t operations;
    double seconds; /* from the common start to this client's own end */
} so_bench_share;

/* Sorts ascending, in place. */
void so_bench_sort(uint32_t *latencies, size_t count);

/*
 * Nearest rank: the smallest value that at least `percent` of the values do not exceed, of `count` ascending
 * values. percent lies in (0, 100]. No values: 0.
 */
uint32_t so_bench_percentile(const uint32_t *sorted, size_t count, double percent);

/* The summary of ascending latencies, in milliseconds. No values: all 0. */
so_bench_latency so_bench_latency_of(const uint32_t *sorted, size_t count);

/* Median (of an even number: the mean of the two in the middle), smallest and largest. No values: all 0. */
so_bench_range so_bench_range_of(const double *values, size_t count);

/*
 * The slowest client's throughput over the fastest's: 1 is even, 0 means that somebody never got through.
 * One client alone is 1; no clients, or none that did anything, 0.
 */
double so_bench_fairness(const so_bench_share *shares, size_t count);

/* A bijection of 64-bit numbers: distinct inputs give distinct, scattered outputs. */
uint64_t so_bench_scatter(uint64_t value);

/* How many of the operations 0 … total-1 fall on actor `actor` when they go over `actors` in turn, beginning
 * at `offset`. */
uint64_t so_bench_in_turn(uint64_t total, uint64_t actors, uint64_t offset, uint64_t actor);

/* Nanoseconds to whole microseconds, rounded to nearest, within 32 bits (71 minutes). */
uint32_t so_bench_microseconds(int64_t nanoseconds);

#endif
