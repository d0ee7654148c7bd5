#include "clients.h"
#include "child.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One process of a batch. Clients first_client, first_client + stride, … are its threads, workers as well. */
typedef struct host
{
    bool forked;
    int first_client, stride; /* stride 0: no clients */
    int first_worker, workers;
} host;

typedef struct task
{
    so_bench_arena *arena;
    int number;
    pthread_t thread;
    int (*body)(struct task *self);
} task;

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

so_bench_arena *so_bench_arena_new(const so_bench_batch *batch)
{
    so_bench_arena *arena = so_bench_shared_new(sizeof *arena);
    if (!arena)
        return NULL;
    /* Untouched pages cost nothing; a client that fills its room ends the batch with an error. */
    arena->capacity = 4000000;
    if (batch->length.exactly > (int64_t)arena->capacity)
        arena->capacity = (size_t)batch->length.exactly;
    arena->batch = batch;
    unsigned clients = (unsigned)batch->cell.concurrency;
    uint32_t *latencies = so_bench_shared_new(arena->capacity * clients * sizeof *latencies);
    if (!latencies)
    {
        so_bench_shared_free(arena, sizeof *arena);
        return NULL;
    }
    for (unsigned i = 0; i < clients; i++)
        arena->clients[i].latencies = latencies + i * arena->capacity;
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&arena->warmed, &shared, clients);
    pthread_barrier_init(&arena->started, &shared, clients);
    pthread_barrierattr_destroy(&shared);
    return arena;
}

void so_bench_arena_free(so_bench_arena *arena)
{
    if (!arena)
        return;
    /* The barriers hold nothing but their memory; destroying one that a killed client still waits at would
     * hang. */
    size_t clients = (size_t)arena->batch->cell.concurrency;
    so_bench_shared_free(arena->clients[0].latencies, arena->capacity * clients * sizeof(uint32_t));
    so_bench_shared_free(arena, sizeof *arena);
}

uint64_t so_bench_arena_done(const so_bench_arena *arena)
{
    uint64_t done = atomic_load(&arena->warm_next);
    for (int i = 0; i < arena->batch->cell.concurrency; i++)
        done += atomic_load_explicit(&arena->clients[i].done, memory_order_relaxed);
    return done;
}

static void error_tell(so_bench_arena *arena, const char *who, int number, const so_bench_error *err)
{
    atomic_fetch_add(&arena->errors, 1);
    if (atomic_exchange(&arena->told, 1) == 0)
        so_bench_fail(&arena->error, "%s %d: %s", who, number, err->text);
}

/* An operation's number is noted when it fails: it must have left nothing, and verification counts without
 * it. */
static void operation_fail(so_bench_arena *arena, int client, uint64_t number, const so_bench_error *err)
{
    uint64_t place = atomic_fetch_add(&arena->failures, 1);
    if (place < SO_BENCH_KEPT_FAILURES)
        arena->failed[place] = number;
    error_tell(arena, "client", client, err);
}

/* Runs operation `number` of the batch. The latency is from before the first call to the answer. */
static int operate(so_bench_arena *arena, so_bench_conn *conn, uint64_t number, int64_t *latency,
                   so_bench_error *err)
{
    static const char *const operations[] = {"increment", "increment_external"};
    const so_bench_batch *batch = arena->batch;
    const so_bench_cell *cell = &batch->cell;
    char key[64];
    int64_t value = 0;
    so_bench_cell_key(cell, batch->seed, number, key);
    if (batch->idle_ms > 0)
        sleep_ms((long)batch->idle_ms);
    int64_t from = clock_ns();
    int rc = batch->db->driver->operate[cell->path](conn, key, operations[cell->handler], &value, err);
    *latency = clock_ns() - from;
    if (rc == 0 && (cell->shape == SO_BENCH_COLD_MANY ? value != 1 : value < 1))
        return so_bench_fail(err, "the counter of %s answered %lld", key, (long long)value);
    return rc;
}

static void warm_up(so_bench_arena *arena, so_bench_conn *conn, int client)
{
    uint64_t number;
    while ((number = atomic_fetch_add(&arena->warm_next, 1)) < (uint64_t)arena->batch->warmup)
    {
        int64_t latency;
        so_bench_error err = {0};
        if (operate(arena, conn, number, &latency, &err) != 0)
            operation_fail(arena, client, number, &err);
    }
}

/* The next operation's number, or false when the batch is over for this client. */
static bool number_take(so_bench_arena *arena, int64_t begin_ns, uint64_t *number)
{
    const so_bench_length *length = &arena->batch->length;
    if (length->exactly > 0)
    {
        *number = atomic_fetch_add(&arena->next, 1);
        return *number < (uint64_t)length->exactly;
    }
    if (clock_ns() - begin_ns >= (int64_t)(length->least_seconds * 1e9) &&
        atomic_load(&arena->next) >= (uint64_t)length->least_operations)
        return false;
    *number = atomic_fetch_add(&arena->next, 1);
    return true;
}

static void measure(so_bench_arena *arena, so_bench_conn *conn, int number)
{
    so_bench_client *client = &arena->clients[number];
    uint64_t taken, done = 0;
    while (number_take(arena, client->begin_ns, &taken))
    {
        int64_t latency;
        so_bench_error err = {0};
        taken += (uint64_t)arena->batch->warmup;
        if (done == arena->capacity)
        {
            so_bench_fail(&err, "no room for more than %zu latencies", arena->capacity);
            operation_fail(arena, number, taken, &err);
            return;
        }
        if (operate(arena, conn, taken, &latency, &err) != 0)
        {
            operation_fail(arena, number, taken, &err);
            sleep_ms(1); /* an error that comes at once must not fill the batch with itself */
            continue;
        }
        client->latencies[done++] = so_bench_microseconds(latency);
        atomic_store_explicit(&client->done, done, memory_order_relaxed);
    }
}

/* A client that cannot connect still keeps its place at both barriers: the others must be able to start. */
static int client_run(task *self)
{
    so_bench_arena *arena = self->arena;
    const so_bench_database *db = arena->batch->db;
    so_bench_client *client = &arena->clients[self->number];
    so_bench_error err = {0};
    so_bench_conn *conn = db->driver->connect(db, &arena->batch->cell, &err);
    if (conn)
        warm_up(arena, conn, self->number);
    else
        error_tell(arena, "client", self->number, &err);
    pthread_barrier_wait(&arena->warmed);
    pthread_barrier_wait(&arena->started);
    client->begin_ns = clock_ns();
    if (conn)
        measure(arena, conn, self->number);
    client->end_ns = clock_ns();
    atomic_fetch_add(&arena->ended, 1);
    db->driver->disconnect(conn);
    return 0;
}

static int worker_run(task *self)
{
    so_bench_arena *arena = self->arena;
    const so_bench_database *db = arena->batch->db;
    so_bench_error err = {0};
    char name[40];
    snprintf(name, sizeof name, "bench-%d", self->number);
    so_bench_conn *conn = db->driver->connect(db, &arena->batch->cell, &err);
    if (!conn)
        error_tell(arena, "worker", self->number, &err);
    while (conn && !atomic_load(&arena->stop))
    {
        memset(&err, 0, sizeof err);
        if (db->driver->work[arena->batch->cell.handler](conn, name, &err) == 0)
            continue;
        error_tell(arena, "worker", self->number, &err);
        sleep_ms(10);
    }
    db->driver->disconnect(conn);
    return 0;
}

/* A process of the topology that got no client (one client, four processes) shares the file all the same. */
static int bystander_run(task *self)
{
    const so_bench_database *db = self->arena->batch->db;
    so_bench_error err = {0};
    so_bench_conn *conn = db->driver->connect(db, &self->arena->batch->cell, &err);
    if (!conn)
        error_tell(self->arena, "bystander", self->number, &err);
    while (!atomic_load(&self->arena->stop))
        sleep_ms(10);
    db->driver->disconnect(conn);
    return 0;
}

static void *task_start(void *context)
{
    task *self = context;
    self->body(self);
    return NULL;
}

static int hosts_plan(const so_bench_batch *batch, host *hosts)
{
    const so_bench_cell *cell = &batch->cell;
    int count = 0, workers = cell->path == SO_BENCH_SEND ? batch->workers : 0;
    if (cell->topology == SO_BENCH_ONE_PROCESS)
    {
        hosts[count++] = (host){.stride = 1, .workers = workers};
        return count;
    }
    /* The forked ones first: nothing may be open, and no thread may run, when they are forked. */
    for (int i = 0; i < (workers ? workers : SO_BENCH_WORKERS); i++)
        hosts[count++] = workers ? (host){.forked = true, .first_worker = i, .workers = 1}
                                 : (host){.forked = true, .first_client = i, .stride = SO_BENCH_WORKERS};
    hosts[count++] = (host){.stride = workers ? 1 : 0};
    return count;
}

static int host_tasks(so_bench_arena *arena, const host *at, task *tasks)
{
    int count = 0;
    for (int i = at->first_client; at->stride > 0 && i < arena->batch->cell.concurrency; i += at->stride)
        tasks[count++] = (task){.arena = arena, .number = i, .body = client_run};
    for (int i = 0; i < at->workers; i++)
        tasks[count++] = (task){.arena = arena, .number = at->first_worker + i, .body = worker_run};
    if (count == 0 && at->forked)
        tasks[count++] = (task){.arena = arena, .number = at->first_client, .body = bystander_run};
    return count;
}

/* Starts the threads of a process. A client that cannot be started would leave the others at the barrier: -1.
 */
static int host_start(so_bench_arena *arena, task *tasks, int count)
{
    for (int i = 0; i < count; i++)
    {
        int rc = pthread_create(&tasks[i].thread, NULL, task_start, &tasks[i]);
        if (rc == 0)
            continue;
        so_bench_error err = {0};
        so_bench_fail(&err, "no thread: %s", strerror(rc));
        error_tell(arena, "thread", i, &err);
        return -1;
    }
    return 0;
}

static int host_join(task *tasks, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(tasks[i].thread, NULL);
    return 0;
}

/* Looks for a forked process that ended badly; its clients or workers are missing, so the batch cannot go on.
 */
static int host_missing(so_bench_arena *arena, int *running)
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    {
        --*running;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        so_bench_error err = {0};
        char how[100];
        so_bench_child_status(status, how, sizeof how);
        so_bench_fail(&err, "%s", how);
        error_tell(arena, "process", (int)pid, &err);
        return -1;
    }
    return 0;
}

int so_bench_clients_run(void *context)
{
    so_bench_arena *arena = context;
    host hosts[SO_BENCH_WORKERS + 1];
    task tasks[SO_BENCH_MAX_CLIENTS + SO_BENCH_WORKERS];
    int count = hosts_plan(arena->batch, hosts), running = 0;
    for (int i = 0; i < count - 1; i++)
    {
        int pid = so_bench_child_fork();
        if (pid < 0)
            return so_bench_fail(&arena->error, "no process: %s", strerror(errno));
        if (pid == 0)
        {
            int mine = host_tasks(arena, &hosts[i], tasks);
            _exit(host_start(arena, tasks, mine) == 0 && host_join(tasks, mine) == 0 ? 0 : 1);
        }
        running++;
    }
    int mine = host_tasks(arena, &hosts[count - 1], tasks);
    if (host_start(arena, tasks, mine) != 0)
        return -1;
    while (atomic_load(&arena->ended) < arena->batch->cell.concurrency)
    {
        if (host_missing(arena, &running) != 0)
            return -1;
        sleep_ms(5);
    }
    atomic_store(&arena->stop, 1);
    host_join(tasks, mine);
    while (running > 0)
    {
        if (host_missing(arena, &running) != 0)
            return -1;
        sleep_ms(5);
    }
    return 0;
}
