#include "matrix.h"
#include "child.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum
{
    MOST_CELLS_PER_GROUP = 4 /* handlers x paths */
};

/* Calls visit for every combination of the plan's axes, handlers and paths apart: these share a floor. */
typedef void group_visit(void *context, const so_bench_cell *group);

static void groups_visit(const so_bench_run *run, group_visit *visit, void *context)
{
    const so_bench_plan *plan = run->plan;
    so_bench_cell cell = {.workload = SO_BENCH_COUNTER};
    for (int d = 0; run->db.driver->durabilities[d]; d++)
        for (int t = 0; so_bench_topologies[t]; t++)
            for (int s = 0; so_bench_shapes[s]; s++)
                for (int c = 0; c < SO_BENCH_MAX_LEVELS && plan->concurrency[c]; c++)
                {
                    if (!(run->durabilities & 1u << d) || !(plan->topologies & 1u << t) ||
                        !(plan->shapes & 1u << s))
                        continue;
                    cell.durability = run->db.driver->durabilities[d];
                    cell.topology = (so_bench_topology)t;
                    cell.shape = (so_bench_shape)s;
                    cell.concurrency = plan->concurrency[c];
                    visit(context, &cell);
                }
}

static int group_cells(const so_bench_plan *plan, const so_bench_cell *group, so_bench_cell *cells)
{
    int count = 0;
    for (int p = 0; so_bench_paths[p]; p++)
        for (int h = 0; so_bench_handlers[h]; h++)
        {
            if (!(plan->paths & 1u << p) || !(plan->handlers & 1u << h) ||
                !so_bench_cell_exists((so_bench_handler)h, (so_bench_path)p))
                continue;
            cells[count] = *group;
            cells[count].path = (so_bench_path)p;
            cells[count].handler = (so_bench_handler)h;
            count++;
        }
    return count;
}

/* What the visits build up. The first pass only counts, the second fills. */
typedef struct builder
{
    const so_bench_run *run;
    so_bench_matrix *matrix;
    int repetition, group, result, batch;
} builder;

static so_bench_batch *batch_add(builder *self, const so_bench_cell *cell)
{
    const so_bench_plan *plan = self->run->plan;
    int place = self->batch++;
    if (!self->matrix->batches)
        return NULL;
    so_bench_batch *batch = &self->matrix->batches[place];
    batch->db = &self->run->db;
    batch->cell = *cell;
    batch->length = cell->path == SO_BENCH_FLOOR ? plan->floor : plan->cell;
    batch->warmup = plan->warmup;
    batch->workers = SO_BENCH_WORKERS;
    batch->seed = plan->seed;
    return batch;
}

static so_bench_batch *floor_add(builder *self, const so_bench_cell *group)
{
    so_bench_cell floor = *group;
    floor.path = SO_BENCH_FLOOR;
    return batch_add(self, &floor);
}

static void result_fill(builder *self, int place, const so_bench_cell *cell, so_bench_batch *run,
                        so_bench_batch *floor)
{
    if (!self->matrix->results)
        return;
    so_bench_result *result = &self->matrix->results[place];
    result->cell = *cell;
    result->runs[self->repetition] = run;
    result->floors[self->repetition] = floor;
}

/* A floor of its own beside each cell, before it and after it by turns. */
static void paired_add(builder *self, const so_bench_cell *group, const so_bench_cell *cells, int count)
{
    for (int i = 0; i < count; i++)
    {
        bool first = (self->repetition + self->group + i) % 2 == 0;
        so_bench_batch *floor = first ? floor_add(self, group) : NULL;
        so_bench_batch *run = batch_add(self, &cells[i]);
        if (!first)
            floor = floor_add(self, group);
        result_fill(self, self->result + i, &cells[i], run, floor);
    }
}

/* One floor for all cells of the group, before them and after them by turns; `call`, the last cell, stands
 * next to it. */
static void shared_add(builder *self, const so_bench_cell *group, const so_bench_cell *cells, int count)
{
    bool first = self->group % 2 == 0;
    so_bench_batch *runs[MOST_CELLS_PER_GROUP], *floor = first ? floor_add(self, group) : NULL;
    for (int i = 0; i < count; i++)
    {
        int place = first ? count - 1 - i : i;
        runs[place] = batch_add(self, &cells[place]);
    }
    if (!first)
        floor = floor_add(self, group);
    for (int i = 0; i < count; i++)
        result_fill(self, self->result + i, &cells[i], runs[i], floor);
}

static void group_add(void *context, const so_bench_cell *group)
{
    builder *self = context;
    so_bench_cell cells[MOST_CELLS_PER_GROUP];
    int count = group_cells(self->run->plan, group, cells);
    (self->run->plan->quick ? shared_add : paired_add)(self, group, cells, count);
    self->result += count;
    self->group++;
}

static void pass(const so_bench_run *run, so_bench_matrix *matrix)
{
    builder self = {.run = run, .matrix = matrix};
    for (; self.repetition < matrix->repetitions; self.repetition++)
    {
        self.group = self.result = 0;
        groups_visit(run, group_add, &self);
    }
    matrix->result_count = self.result;
    matrix->batch_count = self.batch;
}

static int matrix_build(const so_bench_run *run, so_bench_matrix *matrix)
{
    matrix->repetitions = (int)run->plan->repetitions;
    pass(run, matrix);
    matrix->results = calloc((size_t)matrix->result_count, sizeof *matrix->results);
    matrix->batches = calloc((size_t)matrix->batch_count, sizeof *matrix->batches);
    if (!matrix->results || !matrix->batches)
        return -1;
    pass(run, matrix);
    return 0;
}

static void matrix_clear(so_bench_matrix *matrix)
{
    for (int i = 0; matrix->batches && i < matrix->batch_count; i++)
        so_bench_batch_clear(&matrix->batches[i]);
    free(matrix->batches);
    free(matrix->results);
}

/* For the estimate only: set-up, the workers' last wait, and the check come on top of the measured time. */
static double seconds_expected(const so_bench_batch *batch)
{
    double measured = batch->length.least_seconds;
    if (batch->length.exactly > 0)
        measured = (double)batch->length.exactly / 5000;
    return measured + (batch->cell.path == SO_BENCH_SEND ? 0.7 : 0.2);
}

static void batch_name(const so_bench_batch *batch, char *name, size_t size)
{
    const so_bench_cell *cell = &batch->cell;
    const char *what = cell->path == SO_BENCH_FLOOR ? "floor" : so_bench_paths[cell->path];
    const char *handler = cell->path == SO_BENCH_SEND ? so_bench_handlers[cell->handler] : "";
    snprintf(name, size, "%s %s %s c=%d %s%s%s", cell->durability, so_bench_topologies[cell->topology],
             so_bench_shapes[cell->shape], cell->concurrency, what, *handler ? " " : "", handler);
}

static int batches_run(so_bench_matrix *matrix)
{
    so_bench_progress progress;
    double expected = 0;
    for (int i = 0; i < matrix->batch_count; i++)
        expected += seconds_expected(&matrix->batches[i]);
    so_bench_progress_start(&progress, matrix->batch_count, expected);
    for (int i = 0; i < matrix->batch_count && !so_bench_interrupted(); i++)
    {
        so_bench_batch *batch = &matrix->batches[i];
        char name[160], line[1300];
        batch_name(batch, name, sizeof name);
        so_bench_progress_begin(&progress, name);
        so_bench_batch_run(batch, so_bench_progress_watch, &progress);
        snprintf(line, sizeof line, "%s: %" PRIu64 " errors, %s", name, batch->errors, batch->error.text);
        if (batch->error.text[0] && !so_bench_interrupted())
            so_bench_progress_say(&progress, line);
        const char *verdict = batch->verified ? "" : batch->consistent ? ", with errors" : ", NOT verified";
        snprintf(line, sizeof line, "%.0f/s, p50 %.3f ms, p99 %.3f ms%s", batch->ops_per_s,
                 batch->latency.p50, batch->latency.p99, verdict);
        so_bench_progress_step(&progress, seconds_expected(batch), line);
    }
    so_bench_progress_end(&progress);
    return so_bench_interrupted() ? -1 : 0;
}

static int matrix_report(so_bench_run *run, const so_bench_matrix *matrix)
{
    int status = SO_BENCH_FINE;
    so_bench_summary *summaries = calloc((size_t)matrix->result_count, sizeof *summaries);
    for (int i = 0; i < matrix->result_count; i++)
    {
        if (!summaries || so_bench_summary_take(&summaries[i], &matrix->results[i], matrix->repetitions) != 0)
        {
            fputs("solidobj-bench: out of memory\n", stderr);
            free(summaries);
            return SO_BENCH_WRONG;
        }
        if (!summaries[i].verified || summaries[i].errors > 0)
            status = SO_BENCH_WRONG;
    }
    so_bench_matrix_print(run, matrix, summaries, stdout);
    if (run->output.file)
    {
        so_bench_json json = {.to = run->output.file};
        so_bench_run_head(run, &json);
        so_bench_matrix_write(run, matrix, summaries, &json);
        status = so_bench_run_tail(run, &json, status);
    }
    free(summaries);
    return status;
}

int so_bench_matrix_run(so_bench_run *run)
{
    so_bench_matrix matrix = {0};
    int status = SO_BENCH_WRONG;
    if (matrix_build(run, &matrix) != 0)
        fputs("solidobj-bench: out of memory\n", stderr);
    else if (batches_run(&matrix) != 0)
        status = SO_BENCH_INTERRUPTED;
    else
        status = matrix_report(run, &matrix);
    matrix_clear(&matrix);
    return status;
}
