/*
 * wake: how long an idle worker needs to notice. A batch of the matrix with one client that pauses before
 * each operation and one worker, which by then sleeps as deep as it ever does; and the floor after the same
 * pause, because a processor and a disk wake up as well.
 */
#include "batch.h"
#include "child.h"
#include "progress.h"
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum
{
    IDLE_MS = 2500
};

typedef struct layout
{
    const char *name;
    so_bench_topology topology;
    so_bench_path path;
} layout;

static const layout layouts[] = {
    {"one process", SO_BENCH_ONE_PROCESS, SO_BENCH_SEND},
    {"two processes", SO_BENCH_FOUR_PROCESSES, SO_BENCH_SEND},
    {"floor", SO_BENCH_ONE_PROCESS, SO_BENCH_FLOOR},
};

enum
{
    LAYOUTS = sizeof layouts / sizeof layouts[0]
};

static void batch_fill(const so_bench_run *run, const layout *of, const char *durability,
                       so_bench_batch *batch)
{
    *batch = (so_bench_batch){
        .db = &run->db,
        .cell = {.durability = durability, .topology = of->topology, .path = of->path, .concurrency = 1},
        .length = {.exactly = run->plan->samples},
        .warmup = 1,
        .seed = run->plan->seed,
        .workers = 1,
        .idle_ms = IDLE_MS,
    };
}

static void row_print(const layout *of, const so_bench_batch *batch, FILE *to)
{
    fprintf(to, "| %-11s | %-13s | %7" PRIu64 " | %6.3f | %6.3f | %6.3f | %-8s |\n", batch->cell.durability,
            of->name, batch->operations, batch->latency.p50, batch->latency.min, batch->latency.max,
            batch->verified ? "yes" : "NO");
}

static void row_write(const so_bench_run *run, const layout *of, const so_bench_batch *batch,
                      so_bench_json *json)
{
    so_bench_json_line(json);
    so_bench_json_open(json, NULL, '{');
    so_bench_run_where(run, json, batch->cell.durability);
    so_bench_json_text(json, "layout", of->name);
    so_bench_json_int(json, "idle_ms", IDLE_MS);
    so_bench_json_int(json, "samples", (int64_t)batch->operations);
    so_bench_json_open(json, "latency_ms", '{');
    so_bench_json_real(json, "p50", batch->latency.p50, 3);
    so_bench_json_real(json, "min", batch->latency.min, 3);
    so_bench_json_real(json, "max", batch->latency.max, 3);
    so_bench_json_close(json, '}');
    so_bench_json_bool(json, "verified", batch->verified);
    so_bench_json_int(json, "errors", (int64_t)batch->errors);
    so_bench_json_text(json, "error", batch->error.text[0] ? batch->error.text : NULL);
    so_bench_json_latencies(json, "latencies_ms", batch->latencies, batch->operations);
    so_bench_json_close(json, '}');
}

static int durability_run(so_bench_run *run, const char *durability, so_bench_progress *progress,
                          so_bench_json *json)
{
    int status = SO_BENCH_FINE;
    double expected = (double)(run->plan->samples + 1) * IDLE_MS / 1000;
    for (size_t i = 0; i < LAYOUTS && !so_bench_interrupted(); i++)
    {
        so_bench_batch batch;
        char name[100], outcome[100];
        batch_fill(run, &layouts[i], durability, &batch);
        snprintf(name, sizeof name, "%s %s", durability, layouts[i].name);
        so_bench_progress_begin(progress, name);
        so_bench_batch_run(&batch, so_bench_progress_watch, progress);
        if (batch.error.text[0] && !so_bench_interrupted())
            so_bench_progress_say(progress, batch.error.text);
        snprintf(outcome, sizeof outcome, "p50 %.3f ms", batch.latency.p50);
        so_bench_progress_step(progress, expected, outcome);
        row_print(&layouts[i], &batch, stdout);
        if (json->to)
            row_write(run, &layouts[i], &batch, json);
        if (!batch.verified)
            status = SO_BENCH_WRONG;
        so_bench_batch_clear(&batch);
    }
    return status;
}

int so_bench_wake_run(so_bench_run *run)
{
    so_bench_progress progress;
    so_bench_json json = {.to = run->output.file};
    int status = SO_BENCH_FINE, steps = 0;
    for (int d = 0; run->db.driver->durabilities[d]; d++)
        steps += run->durabilities & 1u << d ? LAYOUTS : 0;
    so_bench_progress_start(&progress, steps, steps * (double)(run->plan->samples + 1) * IDLE_MS / 1000);
    so_bench_environment_print(&run->environment, &run->db, stdout);
    printf("\nFrom the start of a durable send to its committed result, after %.1f s of idleness\n\n"
           "| durability  | layout        | samples | p50 ms | min ms | max ms | verified |\n"
           "|-------------|---------------|--------:|-------:|-------:|-------:|----------|\n",
           IDLE_MS / 1000.0);
    if (json.to)
    {
        so_bench_run_head(run, &json);
        so_bench_json_open(&json, "wake", '[');
    }
    for (int d = 0; run->db.driver->durabilities[d]; d++)
        if (run->durabilities & 1u << d &&
            durability_run(run, run->db.driver->durabilities[d], &progress, &json) != SO_BENCH_FINE)
            status = SO_BENCH_WRONG;
    so_bench_progress_end(&progress);
    if (so_bench_interrupted() || !json.to)
        return status;
    so_bench_json_close(&json, ']');
    return so_bench_run_tail(run, &json, status);
}
