/*
 * What the load generator asks of a database: one struct of functions per database, one file per struct.
 * A driver opens connections, calls so_ functions or the pinned floor, and looks at the outcome. It knows no
 * actor logic.
 *
 * Every function returns 0, or -1 with the error filled. A connection belongs to one thread; nothing of a
 * driver is open when the load generator forks, so drivers keep no state but in the database struct and their
 * connections.
 */
#ifndef SO_BENCH_DRIVER_H
#define SO_BENCH_DRIVER_H

#include "json.h"
#include "plan.h"

typedef struct so_bench_conn so_bench_conn; /* each driver's own */

/* Where the runs take place; filled once from the command line, then only read. */
typedef struct so_bench_database
{
    const struct so_bench_driver *driver;
    char location[1024];  /* the driver's: a file's path, a connection string */
    char directory[1024]; /* where the data lies, as far as the load generator can see it; empty: unknown */
    char extension[1024]; /* the library of the SQLite extension */
} so_bench_database;

/* One actor's history. Results are numbers; an actor that counted to n has each from 1 to n once, and 0 if it
 * was started. */
typedef struct so_bench_history
{
    const char *key;
    int64_t rows, distinct, least, greatest;
} so_bench_history;

typedef int so_bench_visit(void *context, const so_bench_history *history, so_bench_error *err);

typedef struct so_bench_tally
{
    int64_t completed; /* history rows */
    int64_t other;     /* messages that ended in any other way */
    int64_t waiting;   /* messages that are not finished */
    int64_t actors;
} so_bench_tally;

/* Runs `operation` of the Counter `key` (floor: the hand-written transaction) and gives the counter's new
 * value. */
typedef int so_bench_operate(so_bench_conn *conn, const char *key, const char *operation, int64_t *value,
                             so_bench_error *err);

/* One round of a worker: waits half a second for work, works for about a second at most. */
typedef int so_bench_work(so_bench_conn *conn, const char *worker, so_bench_error *err);

typedef struct so_bench_driver
{
    const char *scheme; /* before the colon of --db, and `database` in the JSON */
    const char *title;
    const char *const *durabilities; /* NULL ends; the first is the one of --quick */
    const char *(*version)(void);    /* the engine's, as far as it is known without a connection */

    /* Understands what follows the colon; refuses what cannot be used. Opens no connection, creates nothing
     * that stays. */
    int (*locate)(so_bench_database *db, const char *where, const char *extension, so_bench_error *err);
    /* A fresh database with the cell's durability: the floor's tables, or solidobj with the types of
     * sql/handlers. */
    int (*create)(const so_bench_database *db, const so_bench_cell *cell, so_bench_error *err);
    /* Removes what create made. Nothing there: fine. Safe while others of its processes have just died. */
    void (*destroy)(const so_bench_database *db);

    so_bench_conn *(*connect)(const so_bench_database *db, const so_bench_cell *cell, so_bench_error *err);
    void (*disconnect)(so_bench_conn *conn);

    so_bench_operate *operate[3]; /* by path, the floor included */
    so_bench_work *work[2];       /* by handler */

    /* Creates the actor (floor: the row) with the counter at 0. */
    int (*start)(so_bench_conn *conn, so_bench_path path, const char *key, so_bench_error *err);
    /* The actor's counter; -1: there is no such actor. */
    int (*count)(so_bench_conn *conn, so_bench_path path, const char *key, int64_t *count,
                 so_bench_error *err);
    /* Visits the history of every actor that has one, until a visit fails. */
    int (*history)(so_bench_conn *conn, so_bench_path path, so_bench_visit *visit, void *context,
                   so_bench_error *err);
    int (*tally)(so_bench_conn *conn, so_bench_path path, so_bench_tally *tally, so_bench_error *err);

    /* Adds members m<first> … (each `bytes` of text) to the actor's state, and sums up all such members. */
    int (*fill)(so_bench_conn *conn, const char *key, int first, int members, int bytes, so_bench_error *err);
    int (*filled)(so_bench_conn *conn, const char *key, int64_t *members, int64_t *bytes,
                  so_bench_error *err);

    /* Members of one JSON object: versions, settings that matter, as this connection has them. */
    int (*settings)(so_bench_conn *conn, so_bench_json *json, so_bench_error *err);
} so_bench_driver;

extern const so_bench_driver so_bench_sqlite;

/* The drivers of this build; NULL ends. */
extern const so_bench_driver *const so_bench_drivers[];

/* From --db SCHEME:WHERE. Fails, naming --db and the schemes of this build, for anything else. */
int so_bench_database_locate(so_bench_database *db, const so_bench_plan *plan, so_bench_error *err);

#endif
