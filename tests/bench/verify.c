#include "verify.h"
#include "clients.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An actor of a warm shape began with one message of its own, `start`; the floor's rows began without
 * history. */
static int64_t starts_of(const so_bench_cell *cell)
{
    return cell->path == SO_BENCH_FLOOR ? 0 : so_bench_cell_actors(cell);
}

static so_bench_conn *plain_connect(so_bench_arena *arena)
{
    const so_bench_database *db = arena->batch->db;
    return db->driver->connect(db, &arena->batch->cell, &arena->error);
}

int so_bench_prepare(void *context)
{
    so_bench_arena *arena = context;
    const so_bench_database *db = arena->batch->db;
    const so_bench_cell *cell = &arena->batch->cell;
    if (db->driver->create(db, cell, &arena->error) != 0)
        return -1;
    so_bench_conn *conn = plain_connect(arena);
    if (!conn)
        return -1;
    int rc = 0;
    for (unsigned actor = 0; rc == 0 && actor < so_bench_cell_actors(cell); actor++)
    {
        char key[64];
        so_bench_actor_key(cell->shape, actor, key);
        rc = db->driver->start(conn, cell->path, key, &arena->error);
    }
    db->driver->disconnect(conn);
    return rc;
}

/* Whether operation `number` is among those that failed; the list is ascending. */
static bool has_failed(const so_bench_arena *arena, size_t failures, uint64_t number)
{
    size_t low = 0, high = failures;
    while (low < high)
    {
        size_t middle = (low + high) / 2;
        if (arena->failed[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < failures && arena->failed[low] == number;
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int counter_check(so_bench_arena *arena, so_bench_conn *conn, const char *key, int64_t expected)
{
    const so_bench_database *db = arena->batch->db;
    int64_t found = 0;
    if (db->driver->count(conn, arena->batch->cell.path, key, &found, &arena->error) != 0)
        return -1;
    if (found != expected)
        return so_bench_fail(&arena->error,
                             "verification: the counter of %s is %" PRId64 ", %" PRId64
                             " operations changed it",
                             key, found, expected);
    return 0;
}

/* How often a warm actor must have been counted. */
static int64_t warm_expected(const so_bench_arena *arena, uint64_t total, size_t failures, unsigned actor)
{
    const so_bench_batch *batch = arena->batch;
    unsigned actors = so_bench_cell_actors(&batch->cell),
             offset = so_bench_cell_offset(&batch->cell, batch->seed);
    int64_t expected = (int64_t)so_bench_in_turn(total, actors, offset, actor);
    for (size_t i = 0; i < failures; i++)
        expected -= (arena->failed[i] + offset) % actors == actor;
    return expected;
}

static int warm_check(so_bench_arena *arena, so_bench_conn *conn, uint64_t total, size_t failures)
{
    const so_bench_cell *cell = &arena->batch->cell;
    for (unsigned actor = 0; actor < so_bench_cell_actors(cell); actor++)
    {
        char key[64];
        so_bench_actor_key(cell->shape, actor, key);
        if (counter_check(arena, conn, key, warm_expected(arena, total, failures, actor)) != 0)
            return -1;
    }
    return 0;
}

static int cold_check(so_bench_arena *arena, so_bench_conn *conn, uint64_t total, size_t failures)
{
    for (uint64_t number = 0; number < total; number++)
    {
        char key[64];
        so_bench_cell_key(&arena->batch->cell, arena->batch->seed, number, key);
        if (!has_failed(arena, failures, number) && counter_check(arena, conn, key, 1) != 0)
            return -1;
    }
    return 0;
}

typedef struct history_check
{
    const so_bench_arena *arena;
    uint64_t total;
    size_t failures;
    int64_t rows; /* seen so far */
} history_check;

/* The count that the actor of this key must have reached; -1: nobody counted such an actor. */
static int64_t key_expected(const history_check *check, const char *key)
{
    const so_bench_cell *cell = &check->arena->batch->cell;
    for (unsigned actor = 0; actor < so_bench_cell_actors(cell); actor++)
    {
        char known[64];
        so_bench_actor_key(cell->shape, actor, known);
        if (strcmp(known, key) == 0)
            return warm_expected(check->arena, check->total, check->failures, actor);
    }
    /* Cold actors: their number is right and each counter was read by its key, so one row each is all there
     * can be. */
    return cell->shape == SO_BENCH_COLD_MANY ? 1 : -1;
}

static int history_look(void *context, const so_bench_history *found, so_bench_error *err)
{
    history_check *check = context;
    const so_bench_cell *cell = &check->arena->batch->cell;
    int64_t counted = key_expected(check, found->key), first = starts_of(cell) > 0 ? 0 : 1;
    check->rows += found->rows;
    if (found->rows == counted + 1 - first && found->distinct == found->rows && found->least == first &&
        found->greatest == counted)
        return 0;
    return so_bench_fail(err,
                         "verification: %s has %" PRId64 " history rows with %" PRId64
                         " results from %" PRId64 " to %" PRId64 ", %" PRId64 " operations changed it",
                         found->key, found->rows, found->distinct, found->least, found->greatest, counted);
}

static int history_verify(so_bench_arena *arena, so_bench_conn *conn, uint64_t total, size_t failures)
{
    const so_bench_database *db = arena->batch->db;
    history_check check = {.arena = arena, .total = total, .failures = failures};
    int64_t expected = (int64_t)(total - failures) + starts_of(&arena->batch->cell);
    if (db->driver->history(conn, arena->batch->cell.path, history_look, &check, &arena->error) != 0)
        return -1;
    if (check.rows != expected)
        return so_bench_fail(&arena->error,
                             "verification: %" PRId64 " history rows of counters, not %" PRId64, check.rows,
                             expected);
    return 0;
}

static int tally_check(so_bench_arena *arena, so_bench_conn *conn, int64_t succeeded)
{
    const so_bench_cell *cell = &arena->batch->cell;
    const so_bench_database *db = arena->batch->db;
    so_bench_tally found = {0};
    if (db->driver->tally(conn, cell->path, &found, &arena->error) != 0)
        return -1;
    int64_t actors = cell->shape == SO_BENCH_COLD_MANY ? succeeded : so_bench_cell_actors(cell);
    const struct
    {
        const char *what;
        int64_t found, expected;
    } checks[] = {
        {"completed messages (history rows)", found.completed, succeeded + starts_of(cell)},
        {"messages that ended otherwise", found.other, 0},
        {"messages left in a mailbox", found.waiting, 0},
        {"actors", found.actors, actors},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (checks[i].found != checks[i].expected)
            return so_bench_fail(&arena->error, "verification: %" PRId64 " %s, not %" PRId64, checks[i].found,
                                 checks[i].what, checks[i].expected);
    return 0;
}

int so_bench_verify(void *context)
{
    so_bench_arena *arena = context;
    const so_bench_batch *batch = arena->batch;
    size_t failures = (size_t)atomic_load(&arena->failures);
    uint64_t total = (uint64_t)batch->warmup + batch->operations;
    if (failures > SO_BENCH_KEPT_FAILURES)
        return so_bench_fail(&arena->error, "verification: more than %d operations failed",
                             SO_BENCH_KEPT_FAILURES);
    qsort(arena->failed, failures, sizeof arena->failed[0], by_number);
    for (size_t i = 0; i < failures; i++)
        total += arena->failed[i] >= (uint64_t)batch->warmup;
    so_bench_conn *conn = plain_connect(arena);
    if (!conn)
        return -1;
    int rc = tally_check(arena, conn, (int64_t)(total - failures));
    if (rc == 0)
        rc = batch->cell.shape == SO_BENCH_COLD_MANY ? cold_check(arena, conn, total, failures)
                                                     : warm_check(arena, conn, total, failures);
    if (rc == 0)
        rc = history_verify(arena, conn, total, failures);
    batch->db->driver->disconnect(conn);
    return rc;
}
