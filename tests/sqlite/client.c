/*
 * A C program as a client: what clients.py asks of each, one answer a line.
 * Use: client DATABASE LIBRARY KEY CALLS TEXT
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;

static void fail(const char *sql)
{
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

/* The first column of the first row, or the error's text if `fails`; the caller frees it. */
static char *value(const char *sql, const char *first, const char *second, int fails)
{
    sqlite3_stmt *statement;
    char *answer = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(sql);
    if (first != NULL)
        sqlite3_bind_text(statement, 1, first, -1, SQLITE_TRANSIENT);
    if (second != NULL)
        sqlite3_bind_text(statement, 2, second, -1, SQLITE_TRANSIENT);
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        answer = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    else if (rc == SQLITE_ERROR && fails)
        answer = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(sql);
    sqlite3_finalize(statement);
    return answer;
}

static void run(const char *sql, const char *first, const char *second)
{
    sqlite3_free(value(sql, first, second, 0));
}

static void print(const char *sql, const char *first, const char *second, int fails)
{
    char *answer = value(sql, first, second, fails);
    char *hint = answer == NULL ? NULL : strstr(answer, " Hint:");
    if (hint != NULL)
        *hint = 0;
    printf("%s\n", answer == NULL ? "null" : answer);
    sqlite3_free(answer);
}

int main(int argc, char **argv)
{
    if (argc != 6 || sqlite3_open(argv[1], &db) != SQLITE_OK)
        return 2;
    const char *key = argv[3];
    sqlite3_busy_timeout(db, 20000);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, argv[2], NULL, NULL) != SQLITE_OK)
        fail("load");
    for (long i = strtol(argv[4], NULL, 10); i > 0; i--)
        run("SELECT so_call('T', 'shared', 'count')", NULL, NULL);
    run("BEGIN IMMEDIATE", NULL, NULL);
    run("SELECT so_call('T', ?, 'count')", key, NULL);
    run("ROLLBACK", NULL, NULL);
    run("BEGIN IMMEDIATE", NULL, NULL);
    run("SELECT so_call('T', ?, 'count')", key, NULL);
    run("SELECT so_call('T', ?, 'note', json_object('text', ?))", key, argv[5]);
    run("COMMIT", NULL, NULL);
    print("SELECT so_snapshot('T', ?) ->> '$.state.n'", key, NULL, 0);
    print("SELECT text FROM note WHERE key = ?", key, NULL, 0);
    print("SELECT so_call('T', ?, 'refuse')", key, NULL, 1);
    char *message = value("SELECT so_send('T', ?, ?, '{\"big\": 9007199254740993}')", key, key, 0);
    char *claim = value("SELECT so_claim('c', json_object('operations', json_array(?))) ->> '$[0].claim'",
                        key, NULL, 0);
    print("SELECT so_commit(?, ?)", claim, "{\"result\": {\"big\": 9007199254740993, \"ok\": true}}", 0);
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, "SELECT so_result(?)", -1, &statement, NULL) != SQLITE_OK)
        fail("so_result");
    sqlite3_bind_double(statement, 1, strtod(message, NULL)); /* as some drivers do */
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail("so_result");
    printf("%s\n", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(message);
    sqlite3_free(claim);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}
