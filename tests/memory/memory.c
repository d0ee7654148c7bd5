/*
 * How much memory the extension takes: for a connection, and over many calls. Fails at 1 MiB for either.
 *
 * Use: memory [CALLS [EXTENSION]]      default 1000000, build/solidobj.so
 *
 * The first is a difference between two connections with the same tables and a full page cache of the same
 * size. The second is the growth of resident memory between the first tenth of the calls and the last.
 */
#include <malloc.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1024 * 1024)
#define CACHE_PAGES 250

enum
{
    ACTORS = 1000,
    ROUNDS_PER_LOOK = 500, /* between two looks whether a tenth of the calls is done */
    USES = 20
};

static char directory[] = "/tmp/solidobj-memory.XXXXXX";

static void remove_files(void)
{
    static const char *const names[] = {"plain", "solid"};
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-solidobj"};
    char path[200];

    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < sizeof endings / sizeof endings[0]; j++)
        {
            snprintf(path, sizeof path, "%s/%s.db%s", directory, names[i], endings[j]);
            unlink(path);
        }
    if (rmdir(directory) != 0)
        fprintf(stderr, "%s could not be removed\n", directory);
}

/* A macro, so that a compiler sees the format and that nothing comes after it. */
#define fail(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

static void execute(sqlite3 *db, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail("%s: %s", sql, message);
}

static sqlite3 *open_file(const char *name, const char *extension)
{
    char path[200];
    char *message = NULL;
    sqlite3 *db = NULL;

    snprintf(path, sizeof path, "%s/%s.db", directory, name);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        fail("%s: %s", path, sqlite3_errmsg(db));
    sqlite3_enable_load_extension(db, 1);
    if (extension && sqlite3_load_extension(db, extension, NULL, &message) != SQLITE_OK)
        fail("%s", message);
    return db;
}

/* A table larger than the page cache, read once: the cache is full. */
static void fill_cache(sqlite3 *db)
{
    char sql[200];

    snprintf(
        sql, sizeof sql,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=%d",
        CACHE_PAGES);
    execute(db, sql);
    execute(db, "CREATE TABLE IF NOT EXISTS filler(a INTEGER PRIMARY KEY, b BLOB);"
                "WITH r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 4000)"
                " INSERT INTO filler SELECT NULL, randomblob(1000) FROM r;"
                "SELECT sum(length(b)) FROM filler; UPDATE filler SET b = b WHERE a < 100");
}

static void read_filler(sqlite3 *db) { execute(db, "SELECT sum(length(b)) FROM filler"); }

/* ---- the calls ---- */

typedef enum outcome
{
    ANSWER,
    REFUSED /* an error of the product, the one that the row names */
} outcome;

/* ?1 is a key, ?2 the latest message, ?3 the latest claim. */
static const struct call
{
    const char *sql;
    outcome outcome;
    const char *code;
    char keeps; /* 'm': the answer is the latest message, 'c': the latest claim */
} calls[] = {
    {"SELECT so_call('T', ?1, 'count')", ANSWER, NULL, 0},
    {"SELECT so_call('T', ?1, 'note', json_object('text', 'some text ' || ?1))", ANSWER, NULL, 0},
    {"SELECT so_send('T', ?1, 'count')", ANSWER, NULL, 'm'},
    {"SELECT so_send('T', ?1, 'tell', NULL, '{\"max_attempts\":2}')", ANSWER, NULL, 'm'},
    {"SELECT so_run()", ANSWER, NULL, 0},
    {"SELECT so_result(?2)", ANSWER, NULL, 0},
    {"SELECT so_status(?2)", ANSWER, NULL, 0},
    {"SELECT so_send('T', ?1, 'work', '{\"a\":[1,2,3]}')", ANSWER, NULL, 'm'},
    {"SELECT claim FROM so_claim('w')", ANSWER, NULL, 'c'},
    {"SELECT so_renew(?3, 60000)", ANSWER, NULL, 0},
    {"SELECT so_commit(?3, '{\"patch\":{\"done\":true},\"result\":{\"ok\":1}}')", ANSWER, NULL, 0},
    {"SELECT so_send('T', ?1, 'work')", ANSWER, NULL, 'm'},
    {"SELECT so_claim('w', '{\"max\":5}') ->> '$[0].claim'", ANSWER, NULL, 'c'},
    {"SELECT so_fail(?3, 'it broke', '{\"retry\":false}')", ANSWER, NULL, 0},
    {"SELECT so_query('T', ?1, 'look')", ANSWER, NULL, 0},
    {"SELECT so_snapshot('T', ?1)", ANSWER, NULL, 0},
    {"SELECT so_next_due()", ANSWER, NULL, 0},
    {"SELECT so_try('T', ?1, 'refuse')", ANSWER, NULL, 0},
    {"SELECT so_call('T', ?1, 'refuse')", REFUSED, "SO_REJECTED", 0},
    {"SELECT so_call('T', ?1, 'break')", REFUSED, "SO_FAILED", 0},
    {"SELECT so_call('Nothing', ?1, 'count')", REFUSED, "SO_UNKNOWN_TYPE", 0},
    {"SELECT so_send('T', ?1, 'count', '{\"a\":')", REFUSED, "SO_INVALID_JSON", 0},
    {"SELECT so_commit(?3, '{}')", REFUSED, "SO_LOST_CLAIM", 0},
    {"SELECT so_result(?2)", REFUSED, "SO_FAILED", 0},
};

enum
{
    CALLS = sizeof calls / sizeof calls[0]
};

static const char define[] =
    "SELECT so_install();"
    "SELECT so_define_actor('T', '{\"initial\":{\"n\":0}}');"
    "SELECT so_define_operation('T', 'count', 'SELECT so_set(''n'', so_get(''n'') + 1) AS result');"
    "SELECT so_define_operation('T', 'note', 'SELECT json_object(''note'', :args ->> ''text'') AS patch,"
    " :state AS result_json');"
    "SELECT so_define_operation('T', 'tell', 'SELECT so_tell(''T'', ''told'', ''count'')');"
    "SELECT so_define_operation('T', 'work', NULL);"
    "SELECT so_define_operation('T', 'look', 'SELECT so_get(''n'') AS result', '{\"query\":true}');"
    "SELECT so_define_operation('T', 'refuse', 'SELECT so_raise(''NO'', ''not now'')');"
    "SELECT so_define_operation('T', 'break', 'SELECT so_set(''n'', 5), abs(-9223372036854775808) AS "
    "result');";

typedef struct caller
{
    sqlite3 *db;
    sqlite3_stmt *statements[CALLS];
    char claim[100];
    sqlite3_int64 message;
    long made;
} caller;

static void prepare(caller *c)
{
    for (size_t i = 0; i < CALLS; i++)
        if (sqlite3_prepare_v2(c->db, calls[i].sql, -1, &c->statements[i], NULL) != SQLITE_OK)
            fail("%s: %s", calls[i].sql, sqlite3_errmsg(c->db));
}

static void finalize(caller *c)
{
    for (size_t i = 0; i < CALLS; i++)
        sqlite3_finalize(c->statements[i]);
}

static void make_call(caller *c, const struct call *call, sqlite3_stmt *statement, const char *key)
{
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_index(statement, "?2"))
        sqlite3_bind_int64(statement, 2, c->message);
    if (sqlite3_bind_parameter_index(statement, "?3"))
        sqlite3_bind_text(statement, 3, c->claim, -1, SQLITE_STATIC);
    int rc = sqlite3_step(statement);
    if (call->outcome == ANSWER && rc != SQLITE_ROW)
        fail("%s: %s", call->sql, sqlite3_errmsg(c->db));
    if (call->outcome == REFUSED &&
        (rc != SQLITE_ERROR || strncmp(sqlite3_errmsg(c->db), call->code, strlen(call->code)) != 0))
        fail("%s: not %s but %s", call->sql, call->code, sqlite3_errmsg(c->db));
    if (call->keeps == 'm')
        c->message = sqlite3_column_int64(statement, 0);
    if (call->keeps == 'c')
    {
        const char *claim = (const char *)sqlite3_column_text(statement, 0);
        if (!claim)
            fail("%s: no claim", call->sql);
        snprintf(c->claim, sizeof c->claim, "%s", claim);
    }
    sqlite3_reset(statement);
    c->made++;
}

static void round_of_calls(caller *c, long round)
{
    char key[32];

    snprintf(key, sizeof key, "actor %ld", round % ACTORS);
    for (size_t i = 0; i < CALLS; i++)
        make_call(c, &calls[i], c->statements[i], key);
}

/* ---- a connection ---- */

static bool within(const char *what, long long bytes, long long limit)
{
    printf("%-52s %9lld bytes of %lld\n", what, bytes, limit);
    return bytes < limit;
}

static long long allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return (long long)info.uordblks + (long long)info.hblkhd;
}

static long long doorbell_bytes(void)
{
    char path[200];
    struct stat status;

    snprintf(path, sizeof path, "%s/solid.db-solidobj", directory);
    return stat(path, &status) == 0 ? (long long)status.st_size : 0;
}

static bool measure_connection(const char *extension)
{
    long long start = sqlite3_memory_used();
    long long start_allocated = allocated();
    sqlite3 *plain = open_file("plain", NULL);

    fill_cache(plain);
    read_filler(plain);
    long long without = sqlite3_memory_used() - start;
    long long without_allocated = allocated() - start_allocated;

    start = sqlite3_memory_used();
    start_allocated = allocated();
    caller c = {.db = open_file("solid", extension)};
    fill_cache(c.db);
    execute(c.db, define);
    prepare(&c);
    for (int i = 0; i < USES; i++)
        round_of_calls(&c, i);
    finalize(&c); /* these are the caller's */
    read_filler(c.db);
    long long with = sqlite3_memory_used() - start;
    long long with_allocated = allocated() - start_allocated;

    printf("a connection: %lld bytes without, %lld with the extension\n", without, with);
    bool good =
        within("more by sqlite3_memory_used(), and the doorbell", with - without + doorbell_bytes(), MIB);
    good = within("more by malloc(), and the doorbell", with_allocated - without_allocated + doorbell_bytes(),
                  MIB) &&
           good;
    if (sqlite3_close(plain) != SQLITE_OK || sqlite3_close(c.db) != SQLITE_OK)
        fail("a connection does not close");
    return good;
}

/* ---- many calls ---- */

static long long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        fail("/proc/self/statm cannot be read");
    fclose(file);
    return (long long)pages * sysconf(_SC_PAGESIZE);
}

/* Another connection comes and goes, and statements and definitions are made anew. */
static void now_and_then(caller *c, const char *extension, long round)
{
    caller other = {.db = open_file("solid", extension)};

    prepare(&other);
    round_of_calls(&other, round);
    finalize(&other);
    if (sqlite3_close(other.db) != SQLITE_OK)
        fail("a connection does not close");
    c->made += other.made;
    execute(c->db, round / ROUNDS_PER_LOOK % 2
                       ? "SELECT so_define_operation('T', 'more', 'SELECT 1 AS result')"
                       : "SELECT so_define_operation('T', 'more', 'SELECT 2 AS result')");
    execute(c->db, "SELECT so_call('T', 'more', 'more'), so_version()");
    finalize(c);
    prepare(c);
}

/* With a full page cache: another connection's commit has emptied it. */
static void look(const caller *c, long long *in_memory, long long *used)
{
    read_filler(c->db);
    *in_memory = resident();
    *used = sqlite3_memory_used();
    printf("%ld calls: %lld bytes resident, %lld of SQLite's\n", c->made, *in_memory, *used);
}

static bool measure_calls(const char *extension, long wanted)
{
    long long first = -1, first_used = 0, last, last_used;

    /* What was freed before must not hide what is taken now. */
    malloc_trim(0);
    caller c = {.db = open_file("solid", extension)};
    fill_cache(c.db);
    prepare(&c);
    for (long round = 0; c.made < wanted; round++)
    {
        round_of_calls(&c, round);
        if ((round + 1) % ROUNDS_PER_LOOK != 0)
            continue;
        now_and_then(&c, extension, round);
        if (first < 0 && c.made >= wanted / 10)
            look(&c, &first, &first_used);
    }
    if (first < 0)
        fail("too few calls to say anything");
    look(&c, &last, &last_used);
    bool good = within("growth of resident memory", last - first, MIB);
    /* Exact, and so a leak of a byte in ten calls is seen. */
    good = within("growth by sqlite3_memory_used()", last_used - first_used, MIB / 16) && good;
    finalize(&c);
    if (sqlite3_close(c.db) != SQLITE_OK)
        fail("the connection does not close");
    return good;
}

int main(int argc, char **argv)
{
    long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    const char *extension = argc > 2 ? argv[2] : "build/solidobj.so";

    if (!mkdtemp(directory))
        fail("no temporary directory");
    atexit(remove_files);
    bool good = measure_connection(extension);
    good = measure_calls(extension, wanted) && good;
    puts(good ? "ok" : "FAILED");
    return good ? 0 : 1;
}
