#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_latency(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

void so_bench_sort(uint32_t *latencies, size_t count)
{
    if (count > 1)
        qsort(latencies, count, sizeof *latencies, by_latency);
}

uint32_t so_bench_percentile(const uint32_t *sorted, size_t count, double percent)
{
    if (count == 0)
        return 0;
    /* 99 % of 100 values is exactly rank 99: the product comes first, so that no rounding lifts it to 100. */
    size_t rank = (size_t)ceil(percent * (double)count / 100.0);
    if (rank < 1)
        rank = 1;
    if (rank > count)
        rank = count;
    return sorted[rank - 1];
}

so_bench_latency so_bench_latency_of(const uint32_t *sorted, size_t count)
{
    so_bench_latency latency = {0};
    if (count == 0)
        return latency;
    latency.p50 = so_bench_percentile(sorted, count, 50) / 1000.0;
    latency.p95 = so_bench_percentile(sorted, count, 95) / 1000.0;
    latency.p99 = so_bench_percentile(sorted, count, 99) / 1000.0;
    latency.min = sorted[0] / 1000.0;
    latency.max = sorted[count - 1] / 1000.0;
    return latency;
}

so_bench_range so_bench_range_of(const double *values, size_t count)
{
    so_bench_range range = {0};
    if (count == 0)
        return range;
    range.min = range.max = values[0];
    for (size_t i = 1; i < count; i++)
    {
        range.min = fmin(range.min, values[i]);
        range.max = fmax(range.max, values[i]);
    }
    /* Repetitions are few: the value with as many below as above is found by counting, without a copy to
     * sort. */
    size_t low = (count - 1) / 2, high = count / 2;
    double at_low = range.min, at_high = range.max;
    for (size_t i = 0; i < count; i++)
    {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++)
        {
            below += values[j] < values[i];
            equal += values[j] == values[i];
        }
        if (below <= low && low < below + equal)
            at_low = values[i];
        if (below <= high && high < below + equal)
            at_high = values[i];
    }
    range.median = (at_low + at_high) / 2;
    return range;
}

double so_bench_fairness(const so_bench_share *shares, size_t count)
{
    double slowest = INFINITY, fastest = 0;
    for (size_t i = 0; i < count; i++)
    {
        double rate = shares[i].seconds > 0 ? (double)shares[i].operations / shares[i].seconds : 0;
        slowest = fmin(slowest, rate);
        fastest = fmax(fastest, rate);
    }
    return fastest > 0 ? slowest / fastest : 0;
}

uint64_t so_bench_scatter(uint64_t value)
{
    /* Each step (xor-shift, multiplication by an odd number) can be undone, so no two inputs meet. */
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t so_bench_in_turn(uint64_t total, uint64_t actors, uint64_t offset, uint64_t actor)
{
    /* The first operation on `actor` is number (actor - offset) mod actors. */
    uint64_t first = (actor + actors - offset % actors) % actors;
    return total > first ? (total - first - 1) / actors + 1 : 0;
}

uint32_t so_bench_microseconds(int64_t nanoseconds)
{
    if (nanoseconds <= 0)
        return 0;
    int64_t micro = (nanoseconds + 500) / 1000;
    return micro > UINT32_MAX ? UINT32_MAX : (uint32_t)micro;
}
