/*
 * Statements that are prepared at first use and kept, and SQLite's errors.
 */
#include "so_sqlite.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

static const char *const so_controls[SO_CONTROL_COUNT] = {
    [SO_CONTROL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SO_CONTROL_BEGIN_READ] = "BEGIN",
    [SO_CONTROL_COMMIT] = "COMMIT",
    [SO_CONTROL_ROLLBACK] = "ROLLBACK",
    [SO_CONTROL_WORK] = "SAVEPOINT solidobj_work",
    [SO_CONTROL_WORK_UNDO] = "ROLLBACK TO solidobj_work",
    [SO_CONTROL_WORK_RELEASE] = "RELEASE solidobj_work",
    [SO_CONTROL_MARK] = "SAVEPOINT solidobj_turn",
    [SO_CONTROL_MARK_UNDO] = "ROLLBACK TO solidobj_turn",
    [SO_CONTROL_MARK_RELEASE] = "RELEASE solidobj_turn",
    /* Changes nothing, but asks for the write lock before anything is read. */
    [SO_CONTROL_LOCK] = "DELETE FROM main.solidobj_setting WHERE name = ''",
    [SO_CONTROL_DATA_VERSION] = "PRAGMA main.data_version",
    [SO_CONTROL_QUERY_ONLY] = "PRAGMA query_only",
    [SO_CONTROL_RING] = "INSERT INTO main.solidobj_ring(ring) VALUES(1)",
    [SO_CONTROL_PROBE] = "SELECT 1",
};

so_code so_sqlite_error(so_sqlite *connection, int rc)
{
    so_error *err = &connection->session.err;
    if (rc == SQLITE_NOMEM)
        return so_error_nomem(err);
    const char *message = sqlite3_errmsg(connection->db);
    if (rc == SQLITE_ERROR && strncmp(message, "no such table: main.solidobj_", 29) == 0)
        return so_error_set(err, SO_NOT_INSTALLED, "Run SELECT so_install() once.",
                            "solidobj is not installed in this database");
    int extended = sqlite3_extended_errcode(connection->db);
    so_error_set(err, SO_ENGINE, NULL, "%s", message);
    err->engine_code = (extended & 0xff) == (rc & 0xff) ? extended : rc;
    return SO_ENGINE;
}

so_code so_sqlite_prepare(so_sqlite *connection, sqlite3_stmt **statement, const char *text)
{
    int rc = sqlite3_prepare_v3(connection->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return rc == SQLITE_OK ? SO_OK : so_sqlite_error(connection, rc);
}

so_code so_sqlite_control_statement(so_sqlite *connection, so_control control, sqlite3_stmt **statement)
{
    so_code code = SO_OK;
    if (connection->controls[control] == NULL)
        code = so_sqlite_prepare(connection, &connection->controls[control], so_controls[control]);
    *statement = connection->controls[control];
    return code;
}

bool so_sqlite_interrupted(const so_sqlite *connection, so_code code)
{
    return code == SO_ENGINE && (connection->session.err.engine_code & 0xff) == SQLITE_INTERRUPT;
}

/* Runs a statement that gives nothing; under PRAGMA count_changes it gives a row all the same. */
int so_sqlite_step(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW)
        rc = sqlite3_step(statement);
    return rc;
}

so_code so_sqlite_control(so_sqlite *connection, so_control control)
{
    sqlite3_stmt *statement;
    so_code code = so_sqlite_control_statement(connection, control, &statement);
    if (code != SO_OK)
        return code;
    so_sqlite_step(statement);
    return so_sqlite_done(connection, statement, SO_OK);
}

so_code so_sqlite_statement(so_sqlite *connection, so_statement which, sqlite3_stmt **statement)
{
    so_code code = SO_OK;
    if (connection->statements[which] == NULL)
        code = so_sqlite_prepare(connection, &connection->statements[which],
                                 so_statement_text(SO_DIALECT_SQLITE, which));
    *statement = connection->statements[which];
    /* A trigger that somebody made on a table of ours, and that calls us again: what is running stays as it
     * is. */
    if (code == SO_OK && sqlite3_stmt_busy(*statement))
        code = so_error_set(&connection->session.err, SO_INSIDE_STATEMENT,
                            "Drop the triggers on the tables of solidobj.",
                            "a trigger on a table of solidobj calls a function of solidobj");
    return code;
}

/*
 * Newer SQLite: a writing statement that finds the schema changed, and cannot be prepared again, leaves its
 * lock on a connection that is in no transaction. The end of any statement that reads gives it back, unless
 * one that writes is still running; then the lock is that one's.
 */
static void so_give_lock_back(so_sqlite *connection)
{
    if (!sqlite3_get_autocommit(connection->db) ||
        sqlite3_txn_state(connection->db, "main") != SQLITE_TXN_WRITE)
        return;
    so_error err = connection->session.err;
    so_sqlite_control(connection, SO_CONTROL_DATA_VERSION);
    connection->session.err = err;
}

/* Ends a use of a statement; the first error wins. */
so_code so_sqlite_done(so_sqlite *connection, sqlite3_stmt *statement, so_code code)
{
    int rc = sqlite3_reset(statement);
    /* What was bound is the caller's memory, and whoever expands the statement's text would read it. */
    sqlite3_clear_bindings(statement);
    if (rc == SQLITE_OK)
        return code;
    if (code == SO_OK)
        code = so_sqlite_error(connection, rc);
    so_give_lock_back(connection);
    return code;
}
