/*
 * The matrix: which batches make it up and in which order they run. Its tables and its JSON are in
 * matrix_report.c.
 */
#ifndef SO_BENCH_MATRIX_H
#define SO_BENCH_MATRIX_H

#include "batch.h"
#include "run.h"

/* One cell with its floor, by repetition. The batches belong to the matrix; in a quick run several cells
 * share a floor. */
typedef struct so_bench_result
{
    so_bench_cell cell;
    so_bench_batch *runs[SO_BENCH_MAX_REPETITIONS];
    so_bench_batch *floors[SO_BENCH_MAX_REPETITIONS];
} so_bench_result;

typedef struct so_bench_matrix
{
    int repetitions;
    so_bench_result *results; /* in the order of the axes */
    int result_count;
    so_bench_batch *batches; /* in the order in which they run */
    int batch_count;
} so_bench_matrix;

typedef struct so_bench_summary
{
    uint64_t operations; /* per repetition: the median */
    so_bench_range ops_per_s, floor_ops_per_s;
    double floor_ratio;       /* of the medians */
    so_bench_latency latency; /* over all repetitions' latencies together */
    double fairness;          /* median of the repetitions */
    uint64_t errors, floor_errors;
    bool verified;               /* every repetition, and every floor left what it must */
    const so_bench_error *error; /* the first one, NULL: none */
} so_bench_summary;

/* -1: out of memory. */
int so_bench_summary_take(so_bench_summary *summary, const so_bench_result *result, int repetitions);

/* The tables on `to`. */
void so_bench_matrix_print(const so_bench_run *run, const so_bench_matrix *matrix,
                           const so_bench_summary *summaries, FILE *to);

/* The member `cells` of the object that is open. */
void so_bench_matrix_write(const so_bench_run *run, const so_bench_matrix *matrix,
                           const so_bench_summary *summaries, so_bench_json *json);

#endif
