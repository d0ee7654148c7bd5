/*
 * Pieces of work: where a call stands in the caller's SQL, how it begins what it writes, keeps it or takes it
 * back.
 */
#include "so_sqlite.h"

SQLITE_EXTENSION_INIT3

so_scope so_sqlite_scope(so_port *port)
{
    sqlite3 *db = ((so_sqlite *)port)->db;
    if (!sqlite3_get_autocommit(db))
        return SO_SCOPE_TRANSACTION;
    switch (sqlite3_txn_state(db, NULL))
    {
    case SQLITE_TXN_NONE:
        return SO_SCOPE_FREE;
    case SQLITE_TXN_WRITE:
        return SO_SCOPE_STATEMENT;
    default:
        return SO_SCOPE_READING;
    }
}

/*
 * Creating an index makes SQLite prepare all kept statements again, those too that would undo it. A statement
 * that runs is left alone: this one has read its first row and is ended with the piece of work, which undoes
 * it if memory is short.
 */
so_code so_sqlite_guard_begin(so_sqlite *connection)
{
    int rc = sqlite3_prepare_v2(connection->db, "VALUES(1) UNION ALL SELECT 1 FROM main.sqlite_schema", -1,
                                &connection->guard, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(connection->guard);
    return rc == SQLITE_ROW ? SO_OK : so_sqlite_error(connection, rc);
}

static void so_guard_end(so_sqlite *connection)
{
    sqlite3_finalize(connection->guard);
    connection->guard = NULL;
}

static so_code so_piece_undo_once(so_sqlite *connection, so_piece piece)
{
    if (piece == SO_PIECE_TRANSACTION)
        return so_sqlite_control(connection, SO_CONTROL_ROLLBACK);
    so_code code = so_sqlite_control(connection, SO_CONTROL_WORK_UNDO);
    return code == SO_OK ? so_sqlite_control(connection, SO_CONTROL_WORK_RELEASE) : code;
}

/*
 * Takes the piece back. SQLite may have rolled the whole transaction back already (disk full, out of memory).
 * A progress handler may stop once what it does not stop again.
 *
 * A piece that cannot be taken back by itself takes the caller's transaction with it, as SQLite's own
 * statements do then. While the connection is interrupted or out of memory even ROLLBACK may fail; but SQLite
 * rolls everything back itself when a statement that writes is interrupted, or one that reads finds that
 * memory was short when it ends.
 */
static so_code so_piece_undo(so_sqlite *connection, so_piece piece)
{
    static const so_control last_resorts[] = {SO_CONTROL_ROLLBACK, SO_CONTROL_LOCK};
    if (piece == SO_PIECE_NOTHING || sqlite3_get_autocommit(connection->db))
        return SO_OK;
    so_code code = so_piece_undo_once(connection, piece);
    if (so_sqlite_interrupted(connection, code) && !sqlite3_get_autocommit(connection->db))
        code = so_piece_undo_once(connection, piece);
    if (code == SO_OK || sqlite3_get_autocommit(connection->db))
        return code;
    so_error err = connection->session.err;
    for (int i = 0; i < 2 && !sqlite3_get_autocommit(connection->db); i++)
        if (connection->controls[last_resorts[i]] != NULL)
            so_sqlite_control(connection, last_resorts[i]);
    if (!sqlite3_get_autocommit(connection->db))
        so_guard_end(connection);
    connection->session.err = err;
    return code;
}

/* The same because of an error, which is kept. */
static void so_piece_undo_for(so_sqlite *connection, so_piece piece)
{
    so_error err = connection->session.err;
    so_piece_undo(connection, piece);
    connection->session.err = err;
}

static so_code so_inside_statement(so_sqlite *connection)
{
    return so_error_set(&connection->session.err, SO_INSIDE_STATEMENT,
                        "Call it in a SELECT of its own; so_send works here.",
                        "this cannot run under a statement that writes");
}

static so_code so_begin_savepoint(so_sqlite *connection, bool write)
{
    so_code code = so_sqlite_control(connection, SO_CONTROL_WORK);
    if (code == SO_ENGINE && connection->session.err.engine_code == SQLITE_BUSY)
    {
        if (write)
            return so_inside_statement(connection);
        connection->piece = SO_PIECE_NOTHING;
        return SO_OK;
    }
    if (code != SO_OK)
    {
        /* A progress handler is also asked when a statement has done its work. */
        so_error err = connection->session.err;
        if (so_sqlite_interrupted(connection, code))
            so_sqlite_control(connection, SO_CONTROL_WORK_RELEASE);
        connection->session.err = err;
        return code;
    }
    connection->piece = SO_PIECE_SAVEPOINT;
    if (write && sqlite3_txn_state(connection->db, "main") != SQLITE_TXN_WRITE)
    {
        code = so_sqlite_control(connection, SO_CONTROL_LOCK);
        if (code != SO_OK && code != SO_NOT_INSTALLED)
        {
            so_piece_undo_for(connection, SO_PIECE_SAVEPOINT);
            connection->piece = SO_PIECE_NONE;
            return code;
        }
    }
    return SO_OK;
}

/* Waits at the gate; for whoever may wait before taking the write lock. */
void so_sqlite_gate_in(so_sqlite *connection)
{
    so_doorbell *doorbell = so_sqlite_doorbell(connection);
    connection->gated = doorbell != NULL;
    if (connection->gated)
        connection->ticket = so_gate_enter(doorbell);
}

void so_sqlite_gate_out(so_sqlite *connection)
{
    if (connection->gated)
        so_gate_leave(connection->doorbell, connection->ticket);
    connection->gated = false;
}

/*
 * Whether the statements that are kept can be stepped as they are. A change of the schema makes SQLite
 * prepare each of them again when it is stepped next, the probe as well.
 */
static so_code so_controls_fresh(so_sqlite *connection, bool *fresh)
{
    sqlite3_stmt *probe;
    so_code code = so_sqlite_control(connection, SO_CONTROL_PROBE);
    if (code == SO_OK)
        code = so_sqlite_control_statement(connection, SO_CONTROL_PROBE, &probe);
    *fresh = code == SO_OK && sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_REPREPARE, 1) == 0;
    return code;
}

/*
 * What ends a piece of work is prepared before one begins: then it needs no memory, and no parser, which an
 * interrupt would stop, and which fails until the caller's statement ends once memory was short.
 */
static so_code so_controls_prepare(so_sqlite *connection)
{
    sqlite3_stmt *statement;
    bool fresh;
    so_code probed = so_controls_fresh(connection, &fresh);
    if (probed != SO_OK || (fresh && connection->prepared))
        return probed;
    for (int i = 0; i <= SO_CONTROL_LOCK; i++)
    {
        sqlite3_finalize(connection->controls[i]);
        connection->controls[i] = NULL;
    }
    connection->prepared = false;
    for (int i = 0; i < SO_CONTROL_LOCK; i++)
    {
        so_code code = so_sqlite_control_statement(connection, (so_control)i, &statement);
        if (code != SO_OK)
            return code;
    }
    so_code code = so_sqlite_control_statement(connection, SO_CONTROL_LOCK, &statement);
    connection->prepared = code == SO_OK;
    return code == SO_NOT_INSTALLED ? SO_OK : code;
}

/* Whether files are attached; older versions cannot tell. */
static bool so_attached(const so_sqlite *connection)
{
    return sqlite3_libversion_number() < 3039000 || sqlite3_db_name(connection->db, 2) != NULL;
}

/* BEGIN IMMEDIATE locks every attached file, and waits for whoever writes to one; we write to main only. And
 * it succeeds where main cannot be written. */
static so_code so_begin_transaction(so_sqlite *connection, bool write)
{
    bool immediate = !so_attached(connection) && sqlite3_db_readonly(connection->db, "main") != 1;
    if (!write || connection->controls[SO_CONTROL_LOCK] == NULL || immediate)
        return so_sqlite_control(connection, write ? SO_CONTROL_BEGIN_WRITE : SO_CONTROL_BEGIN_READ);
    so_code code = so_sqlite_control(connection, SO_CONTROL_BEGIN_READ);
    if (code != SO_OK)
        return code;
    code = so_sqlite_control(connection, SO_CONTROL_LOCK);
    if (code != SO_NOT_INSTALLED)
        return code;
    /* The tables were dropped; so_install() makes them again. */
    code = so_sqlite_control(connection, SO_CONTROL_ROLLBACK);
    return code == SO_OK ? so_sqlite_control(connection, SO_CONTROL_BEGIN_WRITE) : code;
}

so_code so_sqlite_begin(so_port *port, bool write)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_code prepared = so_controls_prepare(connection);
    if (prepared != SO_OK)
        return prepared;
    connection->writing = write;
    switch (so_sqlite_scope(port))
    {
    case SO_SCOPE_STATEMENT:
        if (write)
            return so_inside_statement(connection);
        connection->piece = SO_PIECE_NOTHING;
        return SO_OK;
    case SO_SCOPE_TRANSACTION:
        return so_begin_savepoint(connection, write);
    default:
    {
        if (write)
            so_sqlite_gate_in(connection);
        so_code code = so_begin_transaction(connection, write);
        if (code == SO_OK)
            connection->piece = SO_PIECE_TRANSACTION;
        else
        {
            so_piece_undo_for(connection, SO_PIECE_TRANSACTION);
            so_sqlite_gate_out(connection);
        }
        return code;
    }
    }
}

so_code so_sqlite_writable(so_port *port)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_scope scope = so_sqlite_scope(port);
    if (scope == SO_SCOPE_STATEMENT)
        return so_inside_statement(connection);
    so_code code = so_controls_prepare(connection);
    /* In a transaction only a savepoint tells whether one of the caller's statements writes. */
    if (code == SO_OK && scope == SO_SCOPE_TRANSACTION)
    {
        code = so_sqlite_control(connection, SO_CONTROL_WORK);
        if (code == SO_OK)
            code = so_sqlite_control(connection, SO_CONTROL_WORK_RELEASE);
        else if (code == SO_ENGINE && connection->session.err.engine_code == SQLITE_BUSY)
            return so_inside_statement(connection);
    }
    if (code == SO_OK)
        code = so_sqlite_control_statement(connection, SO_CONTROL_QUERY_ONLY, &statement);
    if (code != SO_OK)
        return code;
    bool query_only = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    code = so_sqlite_done(connection, statement, SO_OK);
    if (code == SO_OK && (query_only || sqlite3_db_readonly(connection->db, "main") == 1))
    {
        code = so_error_set(&connection->session.err, SO_ENGINE, NULL, "%s", sqlite3_errstr(SQLITE_READONLY));
        connection->session.err.engine_code = SQLITE_READONLY;
    }
    return code;
}

static so_code so_piece_keep(so_sqlite *connection, so_piece piece)
{
    so_code code = so_sqlite_control(connection, piece == SO_PIECE_TRANSACTION ? SO_CONTROL_COMMIT
                                                                               : SO_CONTROL_WORK_RELEASE);
    if (code == SO_OK)
        return SO_OK;
    /* Stopped by a progress handler, but done? Then it cannot be undone any more. */
    so_error err = connection->session.err;
    bool stopped = so_sqlite_interrupted(connection, code);
    bool done = stopped && piece == SO_PIECE_TRANSACTION && sqlite3_get_autocommit(connection->db);
    if (stopped && piece == SO_PIECE_SAVEPOINT)
        done = so_sqlite_control(connection, SO_CONTROL_WORK_UNDO) == SO_ENGINE &&
               connection->session.err.engine_code == SQLITE_ERROR;
    if (!done)
        so_piece_undo(connection, piece);
    connection->session.err = err;
    if (done)
        so_error_clear(&connection->session.err);
    return done ? SO_OK : code;
}

so_code so_sqlite_end(so_port *port, bool keep)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_piece piece = connection->piece;
    so_code code = SO_OK;
    connection->piece = SO_PIECE_NONE;
    /*
     * What is kept must be told: an answer that finds no memory afterwards would be a failure that has done
     * its work. And where memory was short before, SQLite fails the caller's statement whatever we answer.
     */
    if (keep && (!so_sqlite_reserve_answer(connection, connection->session.answer) ||
                 sqlite3_errcode(connection->db) == SQLITE_NOMEM))
        code = so_error_nomem(&connection->session.err);
    if (keep && code == SO_OK && piece == SO_PIECE_SAVEPOINT && connection->writing && connection->rings.any)
        code = so_sqlite_ring_at_commit(connection);
    if (!keep)
        code = so_piece_undo(connection, piece);
    else if (code != SO_OK)
        so_piece_undo_for(connection, piece);
    else if (piece != SO_PIECE_NOTHING)
        code = so_piece_keep(connection, piece);
    so_guard_end(connection);
    so_sqlite_gate_out(connection);
    if (piece == SO_PIECE_TRANSACTION && (!keep || code != SO_OK))
        so_rings_clear(&connection->rings);
    if (piece != SO_PIECE_SAVEPOINT)
        so_sqlite_ring_now(connection);
    return code;
}

so_code so_sqlite_mark(so_port *port) { return so_sqlite_control(((so_sqlite *)port), SO_CONTROL_MARK); }

so_code so_sqlite_mark_undo(so_port *port)
{
    return so_sqlite_control(((so_sqlite *)port), SO_CONTROL_MARK_UNDO);
}

so_code so_sqlite_mark_release(so_port *port)
{
    return so_sqlite_control(((so_sqlite *)port), SO_CONTROL_MARK_RELEASE);
}
