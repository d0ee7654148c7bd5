#include "batch.h"
#include "child.h"
#include "clients.h"
#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    PATIENCE_SECONDS = 90 /* longer than any time-out of a single operation */
};

typedef struct watcher
{
    const so_bench_arena *arena;
    so_bench_watch *watch;
    void *context;
    uint64_t done;
    time_t since;
    bool lost_patience;
} watcher;

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int progress_look(void *context)
{
    watcher *self = context;
    uint64_t done = so_bench_arena_done(self->arena);
    if (done != self->done)
    {
        self->done = done;
        self->since = seconds_now();
    }
    if (self->watch)
        self->watch(self->context, done);
    self->lost_patience = seconds_now() - self->since > PATIENCE_SECONDS;
    return self->lost_patience ? -1 : 0;
}

/* Gathers what the clients noted. */
static int outcome_take(so_bench_batch *batch, const so_bench_arena *arena)
{
    int clients = batch->cell.concurrency;
    int64_t begin = INT64_MAX, end = 0;
    so_bench_share shares[SO_BENCH_MAX_CLIENTS];
    for (int i = 0; i < clients; i++)
    {
        const so_bench_client *client = &arena->clients[i];
        batch->operations += atomic_load(&client->done);
        begin = client->begin_ns < begin ? client->begin_ns : begin;
        end = client->end_ns > end ? client->end_ns : end;
    }
    batch->latencies = malloc((batch->operations ? batch->operations : 1) * sizeof *batch->latencies);
    uint32_t *sorted = malloc((batch->operations ? batch->operations : 1) * sizeof *sorted);
    if (!batch->latencies || !sorted)
    {
        free(sorted);
        batch->operations = 0;
        return so_bench_fail(&batch->error, "out of memory");
    }
    uint32_t *to = batch->latencies;
    for (int i = 0; i < clients; i++)
    {
        const so_bench_client *client = &arena->clients[i];
        uint64_t done = atomic_load(&client->done);
        memcpy(to, client->latencies, done * sizeof *to);
        to += done;
        shares[i] = (so_bench_share){done, (double)(client->end_ns - begin) / 1e9};
    }
    memcpy(sorted, batch->latencies, batch->operations * sizeof *sorted);
    so_bench_sort(sorted, batch->operations);
    batch->latency = so_bench_latency_of(sorted, batch->operations);
    free(sorted);
    batch->seconds = (double)(end - begin) / 1e9;
    batch->ops_per_s = batch->seconds > 0 ? (double)batch->operations / batch->seconds : 0;
    batch->fairness = so_bench_fairness(shares, (size_t)clients);
    return 0;
}

static int clients_run(so_bench_batch *batch, so_bench_arena *arena, so_bench_watch *watch, void *context)
{
    watcher self = {.arena = arena, .watch = watch, .context = context, .since = seconds_now()};
    so_bench_error died = {0};
    /* The clients' own first error does not end the batch: it is counted, and what they left is looked at. */
    so_bench_error none = {0};
    int rc = so_bench_child_run(so_bench_clients_run, arena, &none, progress_look, &self, &died);
    batch->errors = atomic_load(&arena->errors);
    if (arena->error.text[0])
        so_bench_fail(&batch->error, "%s", arena->error.text);
    if (self.lost_patience)
        so_bench_fail(&batch->error, "nothing was finished for %d seconds, after %" PRIu64 " operations",
                      PATIENCE_SECONDS, self.done);
    if (rc == 0)
        return outcome_take(batch, arena);
    batch->errors += batch->errors == 0;
    return so_bench_fail(&batch->error, "%s", died.text);
}

static void arena_run(so_bench_batch *batch, so_bench_arena *arena, so_bench_watch *watch, void *context)
{
    if (so_bench_child_run(so_bench_prepare, arena, &arena->error, NULL, NULL, &batch->error) != 0)
    {
        batch->errors++;
        return;
    }
    if (clients_run(batch, arena, watch, context) != 0)
        return;
    memset(&arena->error, 0, sizeof arena->error);
    so_bench_error wrong = {0};
    batch->consistent = so_bench_child_run(so_bench_verify, arena, &arena->error, NULL, NULL, &wrong) == 0;
    batch->verified = batch->consistent && batch->errors == 0;
    if (!batch->consistent)
        so_bench_fail(&batch->error, "%s", wrong.text);
}

void so_bench_batch_run(so_bench_batch *batch, so_bench_watch *watch, void *context)
{
    so_bench_arena *arena = so_bench_arena_new(batch);
    if (arena)
        arena_run(batch, arena, watch, context);
    else
        so_bench_fail(&batch->error, "no memory for the latencies");
    so_bench_arena_free(arena);
    batch->db->driver->destroy(batch->db);
}

void so_bench_batch_clear(so_bench_batch *batch)
{
    free(batch->latencies);
    batch->latencies = NULL;
}
