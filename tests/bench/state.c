/*
 * state: what the rest of an actor's state costs a turn. One client calls actors that differ only in how much
 * other state they hold, in short slices by turns, so that drift hits all of them.
 */
#include "child.h"
#include "progress.h"
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    MEMBER_BYTES = 1024,  /* other state is many members of this size */
    FILL_MEMBERS = 256,   /* per turn that builds it up */
    LEAST_OPERATIONS = 20 /* per slice, however slow */
};

static const int sizes[] = {0, 16 * 1024, 128 * 1024, 1024 * 1024, 4 * 1024 * 1024};

static const struct
{
    const char *operation, *title;
} touches[] = {
    {"increment", "one member"},
    {"increment_whole", "whole state"},
};

enum
{
    SIZES = sizeof sizes / sizeof sizes[0],
    TOUCHES = sizeof touches / sizeof touches[0],
    CAPACITY = 200000 /* operations of one slice */
};

/* One slice: one actor, one operation, one repetition. In shared memory. */
typedef struct slice
{
    size_t done;
    double seconds;
    uint32_t latencies[CAPACITY];
} slice;

/* One repetition, a process of its own on a fresh database. */
typedef struct trial
{
    const so_bench_database *db;
    so_bench_cell cell;
    double slice_seconds;
    int number;
    so_bench_error error;
    slice slices[TOUCHES][SIZES];
} trial;

/* What is kept of all repetitions of one actor and operation. */
typedef struct series
{
    double rates[SO_BENCH_MAX_REPETITIONS];
    uint32_t *latencies[SO_BENCH_MAX_REPETITIONS];
    size_t done[SO_BENCH_MAX_REPETITIONS];
} series;

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void key_of(int touch, int size, char key[64])
{
    snprintf(key, 64, "%s-%d", touches[touch].operation, sizes[size]);
}

static int actors_make(trial *of, so_bench_conn *conn)
{
    const so_bench_driver *driver = of->db->driver;
    int rc = 0;
    for (int t = 0; t < TOUCHES; t++)
        for (int s = 0; rc == 0 && s < SIZES; s++)
        {
            char key[64];
            int members = sizes[s] / MEMBER_BYTES;
            key_of(t, s, key);
            rc = driver->start(conn, SO_BENCH_CALL, key, &of->error);
            for (int first = 0; rc == 0 && first < members; first += FILL_MEMBERS)
            {
                int count = members - first < FILL_MEMBERS ? members - first : FILL_MEMBERS;
                rc = driver->fill(conn, key, first, count, MEMBER_BYTES, &of->error);
            }
        }
    return rc;
}

static int slice_run(trial *of, so_bench_conn *conn, int touch, int size)
{
    slice *to = &of->slices[touch][size];
    char key[64];
    key_of(touch, size, key);
    int64_t begin = clock_ns(), now = begin;
    while (to->done < CAPACITY &&
           (to->done < LEAST_OPERATIONS || now - begin < (int64_t)(of->slice_seconds * 1e9)))
    {
        int64_t value = 0, from = clock_ns();
        if (of->db->driver->operate[SO_BENCH_CALL](conn, key, touches[touch].operation, &value, &of->error) !=
            0)
            return -1;
        now = clock_ns();
        to->latencies[to->done++] = so_bench_microseconds(now - from);
        if (value != (int64_t)to->done)
            return so_bench_fail(&of->error, "the counter of %s answered %" PRId64 ", not %zu", key, value,
                                 to->done);
    }
    to->seconds = (double)(now - begin) / 1e9;
    return 0;
}

/* The counter, and that no turn lost or changed the size of anything beside it. */
static int slice_check(trial *of, so_bench_conn *conn, int touch, int size)
{
    char key[64];
    int64_t found = 0, members = 0, bytes = 0, done = (int64_t)of->slices[touch][size].done;
    key_of(touch, size, key);
    if (of->db->driver->count(conn, SO_BENCH_CALL, key, &found, &of->error) != 0 ||
        of->db->driver->filled(conn, key, &members, &bytes, &of->error) != 0)
        return -1;
    if (found != done)
        return so_bench_fail(&of->error, "verification: the counter of %s is %" PRId64 ", not %" PRId64, key,
                             found, done);
    if (members != sizes[size] / MEMBER_BYTES || bytes != sizes[size])
        return so_bench_fail(&of->error,
                             "verification: %s holds %" PRId64 " other members of %" PRId64 " bytes, not "
                             "%d of %d",
                             key, members, bytes, sizes[size] / MEMBER_BYTES, sizes[size]);
    return 0;
}

static int trial_run(void *context)
{
    trial *of = context;
    const so_bench_driver *driver = of->db->driver;
    if (driver->create(of->db, &of->cell, &of->error) != 0)
        return -1;
    so_bench_conn *conn = driver->connect(of->db, &of->cell, &of->error);
    if (!conn)
        return -1;
    int rc = actors_make(of, conn);
    for (int i = 0; rc == 0 && i < TOUCHES * SIZES; i++)
    {
        /* Every other repetition the other way round. */
        int place = of->number % 2 == 0 ? i : TOUCHES * SIZES - 1 - i;
        rc = slice_run(of, conn, place / SIZES, place % SIZES);
    }
    for (int i = 0; rc == 0 && i < TOUCHES * SIZES; i++)
        rc = slice_check(of, conn, i / SIZES, i % SIZES);
    driver->disconnect(conn);
    return rc;
}

static int trial_keep(const trial *of, series all[TOUCHES][SIZES])
{
    for (int i = 0; i < TOUCHES * SIZES; i++)
    {
        const slice *from = &of->slices[i / SIZES][i % SIZES];
        series *to = &all[i / SIZES][i % SIZES];
        to->done[of->number] = from->done;
        to->rates[of->number] = from->seconds > 0 ? (double)from->done / from->seconds : 0;
        to->latencies[of->number] = malloc((from->done ? from->done : 1) * sizeof(uint32_t));
        if (!to->latencies[of->number])
            return -1;
        memcpy(to->latencies[of->number], from->latencies, from->done * sizeof(uint32_t));
    }
    return 0;
}

static so_bench_latency series_latency(const series *of, int repetitions, size_t *total)
{
    so_bench_latency latency = {0};
    *total = 0;
    for (int r = 0; r < repetitions; r++)
        *total += of->done[r];
    uint32_t *all = malloc((*total ? *total : 1) * sizeof *all), *to = all;
    for (int r = 0; all && r < repetitions; r++)
    {
        if (of->done[r] > 0)
            memcpy(to, of->latencies[r], of->done[r] * sizeof *to);
        to += of->done[r];
    }
    if (all)
    {
        so_bench_sort(all, *total);
        latency = so_bench_latency_of(all, *total);
    }
    free(all);
    return latency;
}

static void row_write(const so_bench_run *run, const char *durability, int touch, int size, const series *of,
                      double ratio, const so_bench_error *wrong, so_bench_json *json)
{
    int repetitions = (int)run->plan->repetitions;
    size_t total = 0;
    so_bench_latency latency = series_latency(of, repetitions, &total);
    so_bench_json_line(json);
    so_bench_json_open(json, NULL, '{');
    so_bench_run_where(run, json, durability);
    so_bench_json_text(json, "operation", touches[touch].operation);
    so_bench_json_text(json, "touches", touches[touch].title);
    so_bench_json_int(json, "other_state_bytes", sizes[size]);
    so_bench_json_int(json, "other_members", sizes[size] / MEMBER_BYTES);
    so_bench_json_int(json, "operations", (int64_t)total);
    so_bench_json_int(json, "repetitions", repetitions);
    so_bench_json_range(json, "ops_per_s", so_bench_range_of(of->rates, (size_t)repetitions));
    so_bench_json_latency(json, "latency_ms", latency);
    so_bench_json_real(json, "ratio_to_0", ratio, 4);
    so_bench_json_bool(json, "verified", wrong->text[0] == '\0');
    so_bench_json_text(json, "error", wrong->text[0] ? wrong->text : NULL);
    so_bench_json_open(json, "latencies_ms", '[');
    for (int r = 0; r < repetitions; r++)
        so_bench_json_latencies(json, NULL, of->latencies[r], of->done[r]);
    so_bench_json_close(json, ']');
    so_bench_json_close(json, '}');
}

static void rows_report(const so_bench_run *run, const char *durability, series all[TOUCHES][SIZES],
                        const so_bench_error *wrong, so_bench_json *json)
{
    int repetitions = (int)run->plan->repetitions;
    for (int t = 0; t < TOUCHES; t++)
    {
        double base = so_bench_range_of(all[t][0].rates, (size_t)repetitions).median;
        for (int s = 0; s < SIZES; s++)
        {
            const series *of = &all[t][s];
            size_t total = 0;
            so_bench_latency latency = series_latency(of, repetitions, &total);
            so_bench_range rate = so_bench_range_of(of->rates, (size_t)repetitions);
            double ratio = base > 0 ? rate.median / base : 0;
            printf("| %-11s | %-11s | %8d | %7.0f (%.0f to %.0f) | %7.3f | %7.3f | %7.3f | %5.3f | %-8s |\n",
                   durability, touches[t].title, sizes[s], rate.median, rate.min, rate.max, latency.p50,
                   latency.p99, latency.max, ratio, wrong->text[0] ? "NO" : "yes");
            if (json->to)
                row_write(run, durability, t, s, of, ratio, wrong, json);
        }
    }
}

static int durability_run(so_bench_run *run, const char *durability, so_bench_progress *progress,
                          so_bench_json *json)
{
    static series all[TOUCHES][SIZES];
    so_bench_error wrong = {0};
    trial *of = so_bench_shared_new(sizeof *of);
    memset(all, 0, sizeof all);
    if (!of)
        so_bench_fail(&wrong, "out of memory");
    for (int r = 0; of && r < run->plan->repetitions && !so_bench_interrupted() && wrong.text[0] == '\0'; r++)
    {
        char name[100];
        memset(of, 0, sizeof *of);
        of->db = &run->db;
        of->cell = (so_bench_cell){.durability = durability, .path = SO_BENCH_CALL};
        of->slice_seconds = run->plan->quick ? 0.3 : 1.0;
        of->number = r;
        snprintf(name, sizeof name, "%s repetition %d", durability, r + 1);
        so_bench_progress_begin(progress, name);
        so_bench_child_run(trial_run, of, &of->error, NULL, NULL, &wrong);
        run->db.driver->destroy(&run->db);
        if (trial_keep(of, all) != 0)
            so_bench_fail(&wrong, "out of memory");
        so_bench_progress_step(progress, 1, wrong.text[0] ? wrong.text : "done");
    }
    if (wrong.text[0] && !so_bench_interrupted())
        so_bench_progress_say(progress, wrong.text);
    rows_report(run, durability, all, &wrong, json);
    for (int i = 0; i < TOUCHES * SIZES; i++)
        for (int r = 0; r < SO_BENCH_MAX_REPETITIONS; r++)
            free(all[i / SIZES][i % SIZES].latencies[r]);
    so_bench_shared_free(of, sizeof *of);
    return wrong.text[0] ? SO_BENCH_WRONG : SO_BENCH_FINE;
}

int so_bench_state_run(so_bench_run *run)
{
    so_bench_progress progress;
    so_bench_json json = {.to = run->output.file};
    int status = SO_BENCH_FINE, steps = 0;
    for (int d = 0; run->db.driver->durabilities[d]; d++)
        steps += run->durabilities & 1u << d ? (int)run->plan->repetitions : 0;
    so_bench_progress_start(&progress, steps, steps);
    so_bench_environment_print(&run->environment, &run->db, stdout);
    printf("\nOne client calls an actor that holds other state, in members of %d bytes\n\n"
           "| durability  | touched     | other    | ops/s | p50 ms | p99 ms | max ms | to 0 | verified |\n"
           "|-------------|-------------|---------:|------:|-------:|-------:|-------:|-----:|----------|\n",
           MEMBER_BYTES);
    if (json.to)
    {
        so_bench_run_head(run, &json);
        so_bench_json_open(&json, "state", '[');
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
