#include "matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Percentiles of all repetitions' latencies together. */
static int latency_pool(so_bench_summary *summary, const so_bench_result *result, int repetitions)
{
    size_t total = 0;
    for (int r = 0; r < repetitions; r++)
        total += result->runs[r]->operations;
    uint32_t *all = malloc((total ? total : 1) * sizeof *all), *to = all;
    if (!all)
        return -1;
    for (int r = 0; r < repetitions; r++)
    {
        const so_bench_batch *batch = result->runs[r];
        if (batch->operations > 0)
            memcpy(to, batch->latencies, batch->operations * sizeof *to);
        to += batch->operations;
    }
    so_bench_sort(all, total);
    summary->latency = so_bench_latency_of(all, total);
    free(all);
    return 0;
}

int so_bench_summary_take(so_bench_summary *summary, const so_bench_result *result, int repetitions)
{
    double rates[SO_BENCH_MAX_REPETITIONS] = {0}, floors[SO_BENCH_MAX_REPETITIONS] = {0};
    double fairness[SO_BENCH_MAX_REPETITIONS] = {0}, operations[SO_BENCH_MAX_REPETITIONS] = {0};
    *summary = (so_bench_summary){.verified = true};
    for (int r = 0; r < repetitions; r++)
    {
        const so_bench_batch *batch = result->runs[r], *floor = result->floors[r];
        rates[r] = batch->ops_per_s;
        floors[r] = floor->ops_per_s;
        fairness[r] = batch->fairness;
        operations[r] = (double)batch->operations;
        summary->errors += batch->errors;
        summary->floor_errors += floor->errors;
        /* A floor that somebody waited for in vain is a finding; one that lost or doubled something is a
         * fault. */
        summary->verified = summary->verified && batch->verified && floor->consistent;
        if (!summary->error && batch->error.text[0])
            summary->error = &batch->error;
        if (!summary->error && floor->error.text[0])
            summary->error = &floor->error;
    }
    summary->ops_per_s = so_bench_range_of(rates, (size_t)repetitions);
    summary->floor_ops_per_s = so_bench_range_of(floors, (size_t)repetitions);
    summary->fairness = so_bench_range_of(fairness, (size_t)repetitions).median;
    summary->operations = (uint64_t)so_bench_range_of(operations, (size_t)repetitions).median;
    if (summary->floor_ops_per_s.median > 0)
        summary->floor_ratio = summary->ops_per_s.median / summary->floor_ops_per_s.median;
    return latency_pool(summary, result, repetitions);
}

static void rate_text(char *text, size_t size, so_bench_range rate, int repetitions)
{
    if (repetitions > 1)
        snprintf(text, size, "%.0f (%.0f to %.0f)", rate.median, rate.min, rate.max);
    else
        snprintf(text, size, "%.0f", rate.median);
}

static void row_print(const so_bench_cell *cell, const so_bench_summary *summary, int repetitions, FILE *to)
{
    char rate[80], floor[80], verified[64] = "yes";
    rate_text(rate, sizeof rate, summary->ops_per_s, repetitions);
    rate_text(floor, sizeof floor, summary->floor_ops_per_s, repetitions);
    if (summary->errors > 0)
        snprintf(verified, sizeof verified, "NO, %" PRIu64 " errors", summary->errors);
    else if (!summary->verified)
        snprintf(verified, sizeof verified, "NO");
    else if (summary->floor_errors > 0)
        snprintf(verified, sizeof verified, "yes; floor: %" PRIu64 " errors", summary->floor_errors);
    fprintf(
        to,
        "| %-9s | %-4s | %-12s | %2d | %7s | %6.3f | %6.3f | %7.3f | %8.3f | %4.2f | %7s | %5.2f | %s |\n",
        so_bench_shapes[cell->shape], so_bench_paths[cell->path], so_bench_handlers[cell->handler],
        cell->concurrency, rate, summary->latency.p50, summary->latency.p95, summary->latency.p99,
        summary->latency.max, summary->fairness, floor, summary->floor_ratio, verified);
}

/* A table for each durability and topology. */
void so_bench_matrix_print(const so_bench_run *run, const so_bench_matrix *matrix,
                           const so_bench_summary *summaries, FILE *to)
{
    int verified = 0;
    so_bench_environment_print(&run->environment, &run->db, to);
    for (int i = 0; i < matrix->result_count; i++)
    {
        const so_bench_cell *cell = &matrix->results[i].cell,
                            *before = i ? &matrix->results[i - 1].cell : NULL;
        if (!before || before->durability != cell->durability || before->topology != cell->topology)
            fprintf(to,
                    "\n## %s, %s, %s\n\n"
                    "| shape     | path | handler      |  c |   ops/s | p50 ms | p95 ms |  p99 ms |   max ms "
                    "| fair | "
                    "  floor | ratio | verified |\n"
                    "|-----------|------|--------------|---:|--------:|-------:|-------:|--------:|---------:"
                    "|-----:|"
                    "--------:|------:|----------|\n",
                    run->db.driver->title, cell->durability, so_bench_topologies[cell->topology]);
        row_print(cell, &summaries[i], matrix->repetitions, to);
        verified += summaries[i].verified;
    }
    fprintf(to, "\n%d of %d cells verified. ", verified, matrix->result_count);
    if (run->plan->operations > 0)
        fprintf(to, "%" PRId64 " operations per cell", run->plan->operations);
    else if (run->plan->quick)
        fprintf(to, "%.1f s per cell, %.1f s per floor", run->plan->cell.least_seconds,
                run->plan->floor.least_seconds);
    else
        fprintf(to, "At least %" PRId64 " operations and %.1f s per cell", run->plan->cell.least_operations,
                run->plan->cell.least_seconds);
    fprintf(to,
            " after %" PRId64
            " warm-ups, %d repetition%s; ratio: of the floor, the least that a hand-written "
            "transaction does.\n",
            run->plan->warmup, matrix->repetitions, matrix->repetitions == 1 ? "" : "s");
}

/* What a reader needs to derive the summary again: each repetition, and its floor's. */
static void batch_write(const so_bench_batch *batch, const char *name, so_bench_json *json)
{
    so_bench_json_open(json, name, '{');
    so_bench_json_int(json, "operations", (int64_t)batch->operations);
    so_bench_json_real(json, "seconds", batch->seconds, 6);
    so_bench_json_real(json, "ops_per_s", batch->ops_per_s, 1);
    so_bench_json_latency(json, "latency_ms", batch->latency);
    so_bench_json_real(json, "fairness", batch->fairness, 3);
    so_bench_json_bool(json, "verified", batch->verified);
    so_bench_json_int(json, "errors", (int64_t)batch->errors);
    so_bench_json_text(json, "error", batch->error.text[0] ? batch->error.text : NULL);
    so_bench_json_close(json, '}');
}

static void details_write(const so_bench_result *result, int repetitions, so_bench_json *json)
{
    so_bench_json_open(json, "runs", '[');
    for (int r = 0; r < repetitions; r++)
        batch_write(result->runs[r], NULL, json);
    so_bench_json_close(json, ']');
    so_bench_json_open(json, "floor_runs", '[');
    for (int r = 0; r < repetitions; r++)
        batch_write(result->floors[r], NULL, json);
    so_bench_json_close(json, ']');
    so_bench_json_line(json);
    so_bench_json_open(json, "latencies_ms", '[');
    for (int r = 0; r < repetitions; r++)
        so_bench_json_latencies(json, NULL, result->runs[r]->latencies, result->runs[r]->operations);
    so_bench_json_close(json, ']');
    so_bench_json_line(json);
    so_bench_json_open(json, "floor_latencies_ms", '[');
    for (int r = 0; r < repetitions; r++)
        so_bench_json_latencies(json, NULL, result->floors[r]->latencies, result->floors[r]->operations);
    so_bench_json_close(json, ']');
}

void so_bench_matrix_write(const so_bench_run *run, const so_bench_matrix *matrix,
                           const so_bench_summary *summaries, so_bench_json *json)
{
    so_bench_json_open(json, "cells", '[');
    for (int i = 0; i < matrix->result_count; i++)
    {
        const so_bench_cell *cell = &matrix->results[i].cell;
        const so_bench_summary *summary = &summaries[i];
        so_bench_json_line(json);
        so_bench_json_open(json, NULL, '{');
        so_bench_run_where(run, json, cell->durability);
        so_bench_json_text(json, "topology", so_bench_topologies[cell->topology]);
        so_bench_json_text(json, "shape", so_bench_shapes[cell->shape]);
        so_bench_json_text(json, "handler", so_bench_handlers[cell->handler]);
        so_bench_json_text(json, "path", so_bench_paths[cell->path]);
        so_bench_json_int(json, "concurrency", cell->concurrency);
        so_bench_json_text(json, "workload", so_bench_workloads[cell->workload]);
        so_bench_json_int(json, "operations", (int64_t)summary->operations);
        so_bench_json_int(json, "warmup", run->plan->warmup);
        so_bench_json_int(json, "repetitions", matrix->repetitions);
        so_bench_json_range(json, "ops_per_s", summary->ops_per_s);
        so_bench_json_latency(json, "latency_ms", summary->latency);
        so_bench_json_real(json, "fairness", summary->fairness, 3);
        so_bench_json_range(json, "floor_ops_per_s", summary->floor_ops_per_s);
        so_bench_json_real(json, "floor_ratio", summary->floor_ratio, 4);
        so_bench_json_bool(json, "verified", summary->verified);
        so_bench_json_int(json, "errors", (int64_t)summary->errors);
        so_bench_json_int(json, "floor_errors", (int64_t)summary->floor_errors);
        so_bench_json_text(json, "error", summary->error ? summary->error->text : NULL);
        details_write(&matrix->results[i], matrix->repetitions, json);
        so_bench_json_close(json, '}');
    }
    so_bench_json_close(json, ']');
}
