/*
 * SQLite. Every connection is opened, set and used as an application would: default flags, busy_timeout 10 s,
 * the two pragmas of its durability, and nothing else; statements are prepared once per connection. The file
 * of the runs stands beside the path that was named, with this process's id in its name: it lies on the file
 * system that the person asked about, and no file of theirs is ever opened or removed.
 */
#include "driver.h"
#include "sqlite_file.h"

#include <jansson.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "floor_sqlite.h"
#include "handlers_sqlite.h"

typedef enum statement
{
    ST_CALL,
    ST_SEND,
    ST_WAIT,
    ST_RUN,
    ST_CLAIM,
    ST_COMMIT,
    ST_SNAPSHOT,
    ST_RESULTS,
    ST_TALLY,
    ST_FLOOR_START,
    ST_FLOOR_BEGIN,
    ST_FLOOR_UPSERT,
    ST_FLOOR_HISTORY,
    ST_FLOOR_COMMIT,
    ST_FLOOR_COUNT,
    ST_FLOOR_TALLY,
    ST_FLOOR_RESULTS,
    ST_COUNT
} statement;

/* A text, or the name of a block of sql/floor/sqlite.sql. */
static const struct
{
    const char *text, *block;
} statements[ST_COUNT] = {
    [ST_CALL] = {"SELECT so_call(?1, ?2, ?3, ?4)", NULL},
    [ST_SEND] = {"SELECT so_send(?1, ?2, ?3, ?4)", NULL},
    [ST_WAIT] = {"SELECT so_wait(?1, 30000)", NULL},
    [ST_RUN] = {"SELECT so_run('{\"wait_ms\":500,\"max_ms\":1000}')", NULL},
    [ST_CLAIM] = {"SELECT so_claim(?1, '{\"types\":[\"Counter\"],\"wait_ms\":500,\"max\":1}')", NULL},
    [ST_COMMIT] = {"SELECT so_commit(?1, ?2)", NULL},
    [ST_SNAPSHOT] = {"SELECT so_snapshot('Counter', ?1)", NULL},
    [ST_RESULTS] = {"SELECT key, count(*), count(DISTINCT result), min(CAST(result AS INTEGER)), "
                    "max(CAST(result AS INTEGER)) FROM solidobj_messages_view "
                    "WHERE type = 'Counter' AND status = 'completed' GROUP BY key",
                    NULL},
    [ST_TALLY] = {"SELECT (SELECT count(*) FROM solidobj_messages_view WHERE status = 'completed'), "
                  "(SELECT count(*) FROM solidobj_messages_view WHERE status <> 'completed'), "
                  "(SELECT count(*) FROM solidobj_mailbox_view), "
                  "(SELECT count(*) FROM solidobj_actors_view)",
                  NULL},
    [ST_FLOOR_START] = {NULL, "start"},
    [ST_FLOOR_BEGIN] = {NULL, "begin"},
    [ST_FLOOR_UPSERT] = {NULL, "upsert"},
    [ST_FLOOR_HISTORY] = {NULL, "history"},
    [ST_FLOOR_COMMIT] = {NULL, "commit"},
    [ST_FLOOR_COUNT] = {NULL, "count"},
    [ST_FLOOR_TALLY] = {NULL, "tally"},
    [ST_FLOOR_RESULTS] = {NULL, "results"},
};

static const char *const durabilities[] = {"wal-normal", "wal-full", "delete-full", NULL};

/* By position in `durabilities`. */
static const char *const durability_pragmas[] = {
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL",
};

struct so_bench_conn
{
    sqlite3 *db;
    sqlite3_stmt *prepared[ST_COUNT];
};

static int fail(so_bench_conn *conn, const char *what, so_bench_error *err)
{
    return so_bench_fail(err, "%s: %s (SQLite code %d)", what, sqlite3_errmsg(conn->db),
                         sqlite3_extended_errcode(conn->db));
}

/*
 * The text of a block of sql/floor/sqlite.sql: from its "-- name:" line, comments left out, up to the next
 * one. Empty when there is no such block. sqlite3_free it.
 */
static char *block_text(const char *name)
{
    static const char mark[] = "-- name: ";
    size_t length = strlen(name);
    sqlite3_str *text = sqlite3_str_new(NULL);
    bool inside = false;
    for (const char *line = so_sql_floor_sqlite, *end; *line; line = end)
    {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        if (strncmp(line, mark, sizeof mark - 1) == 0)
        {
            const char *found = line + sizeof mark - 1;
            inside = strncmp(found, name, length) == 0 && found[length] == '\n';
        }
        else if (inside && strncmp(line, "--", 2) != 0 && *line != '\n')
            sqlite3_str_append(text, line, (int)(end - line));
    }
    char *block = sqlite3_str_finish(text);
    return block ? block : sqlite3_mprintf("");
}

/* The prepared statement, ready for new values; NULL on error. */
static sqlite3_stmt *ready(so_bench_conn *conn, statement which, so_bench_error *err)
{
    if (conn->prepared[which])
        return conn->prepared[which];
    char *block = statements[which].block ? block_text(statements[which].block) : NULL;
    const char *text = block ? block : statements[which].text;
    if (sqlite3_prepare_v3(conn->db, text, -1, SQLITE_PREPARE_PERSISTENT, &conn->prepared[which], NULL) !=
        SQLITE_OK)
        fail(conn, text, err);
    else if (!conn->prepared[which])
        so_bench_fail(err, "sql/floor/sqlite.sql has no block '%s'", statements[which].block);
    sqlite3_free(block);
    return conn->prepared[which];
}

static void text_bind(sqlite3_stmt *stmt, int position, const char *text)
{
    sqlite3_bind_text(stmt, position, text, -1, SQLITE_STATIC);
}

/* Runs one statement that gives one row, and leaves it on that row. The caller resets. */
static int row_step(so_bench_conn *conn, sqlite3_stmt *stmt, so_bench_error *err)
{
    if (sqlite3_step(stmt) == SQLITE_ROW)
        return 0;
    fail(conn, sqlite3_sql(stmt), err);
    sqlite3_reset(stmt);
    return -1;
}

/* Runs a statement to its end; its rows do not matter. */
static int all_step(so_bench_conn *conn, sqlite3_stmt *stmt, so_bench_error *err)
{
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        continue;
    if (rc != SQLITE_DONE)
        fail(conn, sqlite3_sql(stmt), err);
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? 0 : -1;
}

static int script_run(so_bench_conn *conn, const char *what, const char *script, so_bench_error *err)
{
    return sqlite3_exec(conn->db, script, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(conn, what, err);
}

/* Steps to the one row of a call whose answer is the counter, and takes the value. */
static int value_take(so_bench_conn *conn, sqlite3_stmt *stmt, int64_t *value, so_bench_error *err)
{
    if (row_step(conn, stmt, err) != 0)
        return -1;
    bool given = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    *value = sqlite3_column_int64(stmt, 0);
    /* The row is not the end: an autocommit statement commits when it is stepped past it. */
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE)
        fail(conn, sqlite3_sql(stmt), err);
    sqlite3_reset(stmt);
    if (!given)
        return so_bench_fail(err, "%s: the answer is NULL", sqlite3_sql(stmt));
    return rc == SQLITE_DONE ? 0 : -1;
}

/* Connections. */

static void sqlite_disconnect(so_bench_conn *conn)
{
    if (!conn)
        return;
    for (int i = 0; i < ST_COUNT; i++)
        sqlite3_finalize(conn->prepared[i]);
    sqlite3_close(conn->db);
    free(conn);
}

static int extension_load(so_bench_conn *conn, const char *path, so_bench_error *err)
{
    char *text = NULL;
    sqlite3_db_config(conn->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(conn->db, path, "sqlite3_solidobj_init", &text) != SQLITE_OK)
        so_bench_fail(err, "--extension: %s cannot be loaded: %s", path,
                      text ? text : sqlite3_errmsg(conn->db));
    sqlite3_free(text);
    sqlite3_db_config(conn->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    return err->text[0] ? -1 : 0;
}

static so_bench_conn *open_file(const so_bench_database *db, const so_bench_cell *cell, int flags,
                                so_bench_error *err)
{
    so_bench_conn *conn = calloc(1, sizeof *conn);
    if (!conn)
    {
        so_bench_fail(err, "out of memory");
        return NULL;
    }
    unsigned bits = 0;
    bool fine = so_bench_names_read("--durability", cell->durability, durabilities, &bits, err) == 0;
    if (fine && sqlite3_open_v2(db->location, &conn->db, SQLITE_OPEN_READWRITE | flags, NULL) != SQLITE_OK)
    {
        fail(conn, db->location, err);
        fine = false;
    }
    if (fine)
    {
        int position = 0;
        while (position < 2 && !(bits & 1u << position))
            position++;
        sqlite3_busy_timeout(conn->db, 10000);
        fine = script_run(conn, durability_pragmas[position], durability_pragmas[position], err) == 0 &&
               (cell->path == SO_BENCH_FLOOR || extension_load(conn, db->extension, err) == 0);
    }
    if (fine)
        return conn;
    sqlite_disconnect(conn);
    return NULL;
}

static so_bench_conn *sqlite_connect(const so_bench_database *db, const so_bench_cell *cell,
                                     so_bench_error *err)
{
    return open_file(db, cell, 0, err);
}

static int sqlite_create(const so_bench_database *db, const so_bench_cell *cell, so_bench_error *err)
{
    if (so_bench_sqlite_file_claim(db->location, err) != 0)
        return -1;
    so_bench_conn *conn = open_file(db, cell, SQLITE_OPEN_CREATE, err);
    if (!conn)
        return -1;
    int rc;
    if (cell->path == SO_BENCH_FLOOR)
    {
        char *schema = block_text("schema");
        rc = schema ? script_run(conn, "sql/floor/sqlite.sql, schema", schema, err)
                    : so_bench_fail(err, "out of memory");
        sqlite3_free(schema);
    }
    else
    {
        rc = script_run(conn, "so_install", "SELECT so_install()", err);
        if (rc == 0)
            rc = script_run(conn, "sql/handlers/sqlite.sql", so_sql_handlers_sqlite, err);
    }
    sqlite_disconnect(conn);
    return rc;
}

static void sqlite_destroy(const so_bench_database *db) { so_bench_sqlite_file_remove(db->location); }

/* What a client does. */

static int sqlite_call(so_bench_conn *conn, const char *key, const char *operation, int64_t *value,
                       so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, ST_CALL, err);
    if (!stmt)
        return -1;
    text_bind(stmt, 1, "Counter");
    text_bind(stmt, 2, key);
    text_bind(stmt, 3, operation);
    text_bind(stmt, 4, "{}");
    return value_take(conn, stmt, value, err);
}

static int sqlite_send(so_bench_conn *conn, const char *key, const char *operation, int64_t *value,
                       so_bench_error *err)
{
    int64_t message = 0;
    sqlite3_stmt *send = ready(conn, ST_SEND, err), *wait = ready(conn, ST_WAIT, err);
    if (!send || !wait)
        return -1;
    text_bind(send, 1, "Counter");
    text_bind(send, 2, key);
    text_bind(send, 3, operation);
    text_bind(send, 4, "{}");
    if (value_take(conn, send, &message, err) != 0)
        return -1;
    sqlite3_bind_int64(wait, 1, message);
    return value_take(conn, wait, value, err);
}

static int floor_steps(so_bench_conn *conn, const char *key, int64_t *value, so_bench_error *err)
{
    sqlite3_stmt *upsert = ready(conn, ST_FLOOR_UPSERT, err), *history = ready(conn, ST_FLOOR_HISTORY, err);
    if (!upsert || !history)
        return -1;
    text_bind(upsert, 1, key);
    if (row_step(conn, upsert, err) != 0)
        return -1;
    *value = sqlite3_column_int64(upsert, 0);
    text_bind(history, 1, key);
    sqlite3_bind_int64(history, 2, *value);
    sqlite3_reset(upsert);
    return all_step(conn, history, err);
}

static int sqlite_floor(so_bench_conn *conn, const char *key, const char *operation, int64_t *value,
                        so_bench_error *err)
{
    (void)operation; /* the floor has one */
    sqlite3_stmt *begin = ready(conn, ST_FLOOR_BEGIN, err), *commit = ready(conn, ST_FLOOR_COMMIT, err);
    if (!begin || !commit || all_step(conn, begin, err) != 0)
        return -1;
    if (floor_steps(conn, key, value, err) == 0 && all_step(conn, commit, err) == 0)
        return 0;
    script_run(conn, "ROLLBACK", "ROLLBACK", err);
    return -1;
}

/* What a worker does. */

static int sqlite_run(so_bench_conn *conn, const char *worker, so_bench_error *err)
{
    (void)worker; /* so_run needs no name */
    sqlite3_stmt *stmt = ready(conn, ST_RUN, err);
    return stmt ? all_step(conn, stmt, err) : -1;
}

/* The next count from one row of so_claim, and the row's claim, which belongs to the row. */
static int claim_read(const json_t *row, const char **claim, int64_t *count, so_bench_error *err)
{
    json_int_t found = 0;
    json_t *state = json_object_get(row, "state");
    const char *text = json_string_value(json_object_get(row, "claim"));
    if (!text || !json_is_integer(json_object_get(state, "count")))
        return so_bench_fail(err, "so_claim: a row without claim or state.count");
    found = json_integer_value(json_object_get(state, "count"));
    *claim = text;
    *count = (int64_t)found + 1;
    return 0;
}

static int claim_commit(so_bench_conn *conn, const json_t *row, so_bench_error *err)
{
    const char *claim = NULL;
    char outcome[100];
    int64_t count = 0;
    sqlite3_stmt *stmt = ready(conn, ST_COMMIT, err);
    if (!stmt || claim_read(row, &claim, &count, err) != 0)
        return -1;
    snprintf(outcome, sizeof outcome, "{\"patch\":{\"count\":%lld},\"result\":%lld}", (long long)count,
             (long long)count);
    text_bind(stmt, 1, claim);
    text_bind(stmt, 2, outcome);
    return all_step(conn, stmt, err);
}

static int sqlite_serve(so_bench_conn *conn, const char *worker, so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, ST_CLAIM, err);
    if (!stmt)
        return -1;
    text_bind(stmt, 1, worker);
    if (row_step(conn, stmt, err) != 0)
        return -1;
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    json_t *rows = text ? json_loads(text, 0, NULL) : NULL;
    int rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : fail(conn, "so_claim", err);
    sqlite3_reset(stmt);
    if (rc == 0 && text && !json_is_array(rows))
        rc = so_bench_fail(err, "so_claim: the answer is no JSON array");
    if (rc == 0 && json_array_size(rows) > 0)
    {
        /* The handler is work somewhere else: give the processor away between claim and commit. */
        sched_yield();
        for (size_t i = 0; rc == 0 && i < json_array_size(rows); i++)
            rc = claim_commit(conn, json_array_get(rows, i), err);
    }
    json_decref(rows);
    return rc;
}

/* Preparing and verifying, outside the measured time. */

static int sqlite_start(so_bench_conn *conn, so_bench_path path, const char *key, so_bench_error *err)
{
    int64_t value = 0;
    if (path != SO_BENCH_FLOOR)
        return sqlite_call(conn, key, "start", &value, err);
    sqlite3_stmt *stmt = ready(conn, ST_FLOOR_START, err);
    if (!stmt)
        return -1;
    text_bind(stmt, 1, key);
    return all_step(conn, stmt, err);
}

static int floor_count(so_bench_conn *conn, const char *key, int64_t *count, so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, ST_FLOOR_COUNT, err);
    if (!stmt)
        return -1;
    text_bind(stmt, 1, key);
    int rc = sqlite3_step(stmt);
    *count = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(conn, "the floor's count", err);
    sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

/* The snapshot of a Counter: a new reference, JSON null where there is no such actor; NULL on error. */
static json_t *snapshot_get(so_bench_conn *conn, const char *key, so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, ST_SNAPSHOT, err);
    if (!stmt)
        return NULL;
    text_bind(stmt, 1, key);
    if (row_step(conn, stmt, err) != 0)
        return NULL;
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    json_t *snapshot = text ? json_loads(text, 0, NULL) : json_null();
    sqlite3_reset(stmt);
    if (!snapshot)
        so_bench_fail(err, "so_snapshot of %s: the answer is no JSON", key);
    return snapshot;
}

static int sqlite_count(so_bench_conn *conn, so_bench_path path, const char *key, int64_t *count,
                        so_bench_error *err)
{
    if (path == SO_BENCH_FLOOR)
        return floor_count(conn, key, count, err);
    json_t *snapshot = snapshot_get(conn, key, err);
    if (!snapshot)
        return -1;
    json_t *number = json_object_get(json_object_get(snapshot, "state"), "count");
    *count = json_is_integer(number) ? (int64_t)json_integer_value(number) : -1;
    json_decref(snapshot);
    return 0;
}

static int sqlite_history(so_bench_conn *conn, so_bench_path path, so_bench_visit *visit, void *context,
                          so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, path == SO_BENCH_FLOOR ? ST_FLOOR_RESULTS : ST_RESULTS, err);
    if (!stmt)
        return -1;
    int rc, visited = 0;
    while (visited == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
    {
        so_bench_history history = {
            .key = (const char *)sqlite3_column_text(stmt, 0),
            .rows = sqlite3_column_int64(stmt, 1),
            .distinct = sqlite3_column_int64(stmt, 2),
            .least = sqlite3_column_int64(stmt, 3),
            .greatest = sqlite3_column_int64(stmt, 4),
        };
        visited = visit(context, &history, err);
    }
    if (visited == 0 && rc != SQLITE_DONE)
        visited = fail(conn, "the history", err);
    sqlite3_reset(stmt);
    return visited;
}

static int sqlite_tally(so_bench_conn *conn, so_bench_path path, so_bench_tally *tally, so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, path == SO_BENCH_FLOOR ? ST_FLOOR_TALLY : ST_TALLY, err);
    if (!stmt || row_step(conn, stmt, err) != 0)
        return -1;
    if (path == SO_BENCH_FLOOR)
        *tally = (so_bench_tally){.completed = sqlite3_column_int64(stmt, 0),
                                  .actors = sqlite3_column_int64(stmt, 1)};
    else
        *tally = (so_bench_tally){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                  sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3)};
    sqlite3_reset(stmt);
    return 0;
}

static int sqlite_fill(so_bench_conn *conn, const char *key, int first, int members, int bytes,
                       so_bench_error *err)
{
    sqlite3_stmt *stmt = ready(conn, ST_CALL, err);
    char *text = malloc((size_t)bytes + 1);
    json_t *patch = json_object();
    if (text)
    {
        memset(text, 'x', (size_t)bytes);
        text[bytes] = '\0';
    }
    for (int i = 0; text && i < members; i++)
    {
        char name[32];
        snprintf(name, sizeof name, "m%05d", first + i);
        json_object_set_new(patch, name, json_string(text));
    }
    char *args = json_dumps(patch, JSON_COMPACT);
    int rc = stmt && text && args ? 0 : so_bench_fail(err, "out of memory");
    if (rc == 0)
    {
        text_bind(stmt, 1, "Counter");
        text_bind(stmt, 2, key);
        text_bind(stmt, 3, "merge");
        text_bind(stmt, 4, args);
        rc = all_step(conn, stmt, err);
        sqlite3_clear_bindings(stmt);
    }
    free(args);
    free(text);
    json_decref(patch);
    return rc;
}

static int sqlite_filled(so_bench_conn *conn, const char *key, int64_t *members, int64_t *bytes,
                         so_bench_error *err)
{
    json_t *snapshot = snapshot_get(conn, key, err), *value;
    const char *name;
    if (!snapshot)
        return -1;
    *members = *bytes = 0;
    json_object_foreach(json_object_get(snapshot, "state"), name, value)
    {
        if (name[0] != 'm')
            continue;
        ++*members;
        *bytes += (int64_t)json_string_length(value);
    }
    json_decref(snapshot);
    return 0;
}

/* What the run's environment says. */

static int pragma_note(so_bench_conn *conn, so_bench_json *json, const char *pragma, so_bench_error *err)
{
    char text[64];
    sqlite3_stmt *stmt = NULL;
    snprintf(text, sizeof text, "PRAGMA %s", pragma);
    if (sqlite3_prepare_v2(conn->db, text, -1, &stmt, NULL) != SQLITE_OK)
        return fail(conn, text, err);
    if (sqlite3_step(stmt) != SQLITE_ROW)
        so_bench_json_text(json, pragma, NULL);
    else if (sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
        so_bench_json_int(json, pragma, sqlite3_column_int64(stmt, 0));
    else
        so_bench_json_text(json, pragma, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return 0;
}

static int solidobj_note(so_bench_conn *conn, so_bench_json *json, so_bench_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(conn->db, "SELECT so_version()", -1, &stmt, NULL) != SQLITE_OK)
        return fail(conn, "SELECT so_version()", err);
    int rc = row_step(conn, stmt, err);
    const char *text = rc == 0 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    json_t *version = text ? json_loads(text, 0, NULL) : NULL;
    if (version)
        so_bench_json_raw(json, "solidobj", text);
    else if (rc == 0)
        rc = so_bench_fail(err, "so_version: the answer is no JSON");
    json_decref(version);
    sqlite3_finalize(stmt);
    return rc;
}

static int sqlite_settings(so_bench_conn *conn, so_bench_json *json, so_bench_error *err)
{
    static const char *const pragmas[] = {
        "journal_mode",       "synchronous",   "page_size",          "cache_size",
        "wal_autocheckpoint", "busy_timeout",  "mmap_size",          "temp_store",
        "locking_mode",       "auto_vacuum",   "foreign_keys",       "encoding",
        "cache_spill",        "secure_delete", "journal_size_limit", "threads",
    };
    int rc = solidobj_note(conn, json, err);
    so_bench_json_text(json, "sqlite_version", sqlite3_libversion());
    so_bench_json_text(json, "sqlite_source_id", sqlite3_sourceid());
    so_bench_json_int(json, "sqlite_threadsafe", sqlite3_threadsafe());
    for (size_t i = 0; rc == 0 && i < sizeof pragmas / sizeof pragmas[0]; i++)
        rc = pragma_note(conn, json, pragmas[i], err);
    so_bench_json_open(json, "compile_options", '[');
    const char *option;
    for (int i = 0; (option = sqlite3_compileoption_get(i)) != NULL; i++)
        so_bench_json_text(json, NULL, option);
    so_bench_json_close(json, ']');
    return rc;
}

const so_bench_driver so_bench_sqlite = {
    .scheme = "sqlite",
    .title = "SQLite",
    .durabilities = durabilities,
    .version = sqlite3_libversion,
    .locate = so_bench_sqlite_file_locate,
    .create = sqlite_create,
    .destroy = sqlite_destroy,
    .connect = sqlite_connect,
    .disconnect = sqlite_disconnect,
    .operate =
        {[SO_BENCH_SEND] = sqlite_send, [SO_BENCH_CALL] = sqlite_call, [SO_BENCH_FLOOR] = sqlite_floor},
    .work = {[SO_BENCH_SYNCHRONOUS] = sqlite_run, [SO_BENCH_ASYNCHRONOUS] = sqlite_serve},
    .start = sqlite_start,
    .count = sqlite_count,
    .history = sqlite_history,
    .tally = sqlite_tally,
    .fill = sqlite_fill,
    .filled = sqlite_filled,
    .settings = sqlite_settings,
};
