/*
 * Handlers in SQL: checked when they are defined, prepared at first use, kept until the definitions change.
 */
#include "so_sqlite.h"

#include <string.h>

#include "so_turn.h"

SQLITE_EXTENSION_INIT3

enum
{
    SO_HANDLER_STATEMENTS = 64
};

struct so_handler
{
    so_handler *next;
    int count;
    bool pure;
    struct so_handler_statement
    {
        sqlite3_stmt *statement;
        int parameter_count;
        int column_count;
        int prepared;            /* how often SQLite had prepared it anew when its columns were mapped */
        signed char *parameters; /* so_turn_parameter_index() of each */
        signed char *columns;    /* so_turn_column_index() of each; the last statement's */
    } statements[];
};

static const char *const so_beginnings[] = {"SELECT", "VALUES", "WITH",   "INSERT",
                                            "UPDATE", "DELETE", "REPLACE"};

/* Skips blanks, comments and empty statements. */
static const char *so_skip_blank(const char *at)
{
    for (;;)
    {
        if (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == '\f' || *at == ';')
            at++;
        else if (at[0] == '-' && at[1] == '-')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
        {
            const char *end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        }
        else
            return at;
    }
}

static bool so_may_begin(const char *at)
{
    for (size_t i = 0; i < sizeof so_beginnings / sizeof so_beginnings[0]; i++)
    {
        size_t n = strlen(so_beginnings[i]);
        unsigned char after = (unsigned char)at[0] == 0 ? 0 : (unsigned char)at[n];
        bool word = (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') ||
                    (after >= '0' && after <= '9') || after == '_' || after >= 0x80;
        if (sqlite3_strnicmp(at, so_beginnings[i], (int)n) == 0 && !word)
            return true;
    }
    return false;
}

static so_code so_check_statement(so_sqlite *connection, sqlite3_stmt *statement)
{
    int count = sqlite3_bind_parameter_count(statement);
    for (int i = 1; i <= count; i++)
    {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        if (name == NULL || name[0] != ':' || so_turn_parameter_index(name + 1) < 0)
            return so_error_set(&connection->session.err, SO_INVALID_ARGUMENT, so_turn_parameter_names,
                                "a handler cannot use the parameter %s", name == NULL ? "?" : name);
    }
    return SO_OK;
}

so_code so_sqlite_handler_check(so_port *port, so_str text)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_error *err = &connection->session.err;
    const char *at = so_arena_copy_str(connection->session.arena, text).p;
    int count = 0;
    if (at == NULL)
        return so_error_nomem(err);
    for (at = so_skip_blank(at); *at != 0; at = so_skip_blank(at))
    {
        sqlite3_stmt *statement = NULL;
        if (!so_may_begin(at))
            return so_error_set(err, SO_INVALID_ARGUMENT,
                                "A statement of a handler begins with SELECT, VALUES, WITH, INSERT, UPDATE, "
                                "DELETE or REPLACE.",
                                "a handler cannot have the statement: %.40s", at);
        if (++count > SO_HANDLER_STATEMENTS)
            return so_error_set(err, SO_INVALID_ARGUMENT, NULL, "a handler has at most %d statements",
                                SO_HANDLER_STATEMENTS);
        int rc = sqlite3_prepare_v2(connection->db, at, -1, &statement, &at);
        if (rc == SQLITE_ERROR)
            return so_error_set(
                err, SO_INVALID_ARGUMENT,
                "Create the tables that the handler names first, and try its statements by themselves.",
                "statement %d of the handler: %s", count, sqlite3_errmsg(connection->db));
        so_code code =
            rc == SQLITE_OK ? so_check_statement(connection, statement) : so_sqlite_error(connection, rc);
        sqlite3_finalize(statement);
        if (code != SO_OK)
            return code;
    }
    if (count == 0)
        return so_error_set(err, SO_INVALID_ARGUMENT, "Pass NULL for an external operation.",
                            "the handler has no statement");
    return SO_OK;
}

static void so_handler_free(so_handler *handler)
{
    for (int i = 0; i < handler->count; i++)
    {
        sqlite3_finalize(handler->statements[i].statement);
        sqlite3_free(handler->statements[i].parameters);
    }
    sqlite3_free(handler);
}

void so_sqlite_handler_forget(so_port *port)
{
    so_sqlite *connection = (so_sqlite *)port;
    while (connection->handlers != NULL)
    {
        so_handler *next = connection->handlers->next;
        so_handler_free(connection->handlers);
        connection->handlers = next;
    }
}

/* What a prepared statement's names mean to the turn. */
static so_code so_handler_map(so_sqlite *connection, struct so_handler_statement *one)
{
    sqlite3_free(one->parameters);
    one->prepared = sqlite3_stmt_status(one->statement, SQLITE_STMTSTATUS_REPREPARE, 0);
    one->parameter_count = sqlite3_bind_parameter_count(one->statement);
    one->column_count = sqlite3_column_count(one->statement);
    one->parameters = sqlite3_malloc64((sqlite3_uint64)(one->parameter_count + one->column_count) + 1);
    if (one->parameters == NULL)
    {
        one->parameter_count = one->column_count = 0;
        return so_error_nomem(&connection->session.err);
    }
    one->columns = one->parameters + one->parameter_count;
    for (int i = 0; i < one->parameter_count; i++)
    {
        const char *name = sqlite3_bind_parameter_name(one->statement, i + 1);
        one->parameters[i] = (signed char)(name == NULL ? -1 : so_turn_parameter_index(name + 1));
    }
    for (int i = 0; i < one->column_count; i++)
    {
        const char *name = sqlite3_column_name(one->statement, i);
        one->columns[i] = (signed char)(name == NULL ? -1 : so_turn_column_index(name));
        /* "rows inserted" and the like: PRAGMA count_changes is on. */
        if (one->columns[i] == -1 && name != NULL && strncmp(name, "rows ", 5) == 0 &&
            !sqlite3_stmt_readonly(one->statement))
            one->columns[i] = -2;
    }
    return SO_OK;
}

/* An operation's handler, prepared at its first use. SO_ENGINE: SQLite refuses one of its statements now. */
static so_code so_handler_of(so_sqlite *connection, so_operation *operation, so_handler **prepared)
{
    *prepared = operation->prepared;
    if (*prepared != NULL)
        return SO_OK;
    so_handler *handler =
        sqlite3_malloc64(sizeof *handler + SO_HANDLER_STATEMENTS * sizeof handler->statements[0]);
    if (handler == NULL)
        return so_error_nomem(&connection->session.err);
    *handler = (so_handler){.pure = true};
    so_code code = SO_OK;
    const char *at = so_skip_blank(operation->handler.p);
    while (code == SO_OK && *at != 0)
    {
        struct so_handler_statement *one = &handler->statements[handler->count];
        *one = (struct so_handler_statement){0};
        if (handler->count == SO_HANDLER_STATEMENTS || !so_may_begin(at))
        {
            code = so_error_set(&connection->session.err, SO_FAILED, "Define the operation again.",
                                "the stored handler is damaged");
            break;
        }
        int rc = sqlite3_prepare_v3(connection->db, at, -1, SQLITE_PREPARE_PERSISTENT, &one->statement, &at);
        if (rc != SQLITE_OK)
            code = so_sqlite_error(connection, rc);
        else
        {
            handler->count++;
            handler->pure = handler->pure && sqlite3_stmt_readonly(one->statement);
            code = so_handler_map(connection, one);
        }
        at = so_skip_blank(at);
    }
    if (code != SO_OK)
    {
        so_handler_free(handler);
        return code;
    }
    handler->next = connection->handlers;
    connection->handlers = handler;
    operation->prepared = handler;
    *prepared = handler;
    return SO_OK;
}

/*
 * Errors that say nothing about the handler. Others may: if the database itself cannot be read or written,
 * what is written next for the failed turn meets the same error.
 */
static bool so_error_is_engines(int rc)
{
    static const int codes[] = {SQLITE_BUSY, SQLITE_NOMEM,    SQLITE_INTERRUPT, SQLITE_IOERR,
                                SQLITE_FULL, SQLITE_PROTOCOL, SQLITE_CANTOPEN};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if ((rc & 0xff) == codes[i])
            return true;
    return false;
}

so_code so_sqlite_handler_pure(so_port *port, so_operation *operation, bool *pure)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_handler *handler;
    so_code code = so_handler_of(connection, operation, &handler);
    *pure = code == SO_OK && handler->pure;
    bool engines = code == SO_ENGINE && so_error_is_engines(connection->session.err.engine_code);
    /* Of anything else running it will tell what is wrong. */
    return code == SO_NOMEM || engines ? code : SO_OK;
}

/* Whether nothing can be written to main; the handler's statement may have met another file that is
 * read-only. */
static bool so_main_is_read_only(so_sqlite *connection)
{
    so_error err = connection->session.err;
    bool read_only = so_sqlite_control(connection, SO_CONTROL_LOCK) == SO_ENGINE &&
                     (connection->session.err.engine_code & 0xff) == SQLITE_READONLY;
    connection->session.err = err;
    return read_only;
}

/* A failed statement: the handler's fault (*end), or the engine's error. A function of ours has left its own
 * error. */
static so_code so_handler_failed(so_sqlite *connection, int rc, so_handler_end *end)
{
    so_error *err = &connection->session.err;
    *end = SO_HANDLER_FAILED;
    if (rc == SQLITE_ERROR && err->code != SO_OK && err->code != SO_ENGINE)
        return SO_OK;
    so_code code = so_sqlite_error(connection, rc);
    if (code == SO_NOT_INSTALLED)
        return SO_OK;
    if (code == SO_NOMEM || so_error_is_engines(rc) ||
        ((rc & 0xff) == SQLITE_READONLY && so_main_is_read_only(connection)))
    {
        *end = SO_HANDLER_DONE;
        return code;
    }
    return SO_OK;
}

static so_code so_handler_columns(so_sqlite *connection, const struct so_handler_statement *one,
                                  so_turn *turn)
{
    for (int i = 0; i < one->column_count; i++)
    {
        if (one->columns[i] == -2)
            continue;
        if (one->columns[i] < 0)
            return so_error_set(
                &connection->session.err, SO_INVALID_ARGUMENT, "Name the column, as in … AS result.",
                "the handler answered the unknown column %s (it can answer state, patch, result, "
                "result_json, tell, reject and destroy)",
                sqlite3_column_name(one->statement, i));
        so_value value = so_sqlite_value(sqlite3_column_value(one->statement, i));
        if (value.type == SO_TEXT && value.s.p == NULL)
            return so_error_nomem(&connection->session.err);
        so_code code = so_turn_column(turn, one->columns[i], &value);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

static so_code so_handler_step(so_sqlite *connection, struct so_handler_statement *one, bool last,
                               so_turn *turn, so_handler_end *end)
{
    sqlite3_stmt *statement = one->statement;
    so_code code = SO_OK;
    for (int i = 0; i < one->parameter_count; i++)
    {
        so_value value;
        code = so_turn_parameter(turn, one->parameters[i], &value);
        if (code != SO_OK)
            return code;
        int bound = so_sqlite_bind(statement, i + 1, &value);
        if (bound != SQLITE_OK)
            return so_handler_failed(connection, bound, end);
    }
    int rows = 0;
    int rc;
    /* Once something is wrong the statement is not stepped again: a shorthand in its next row would forget
     * the error. */
    while (code == SO_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
    {
        if (last && ++rows > 1)
            code =
                so_error_set(&connection->session.err, SO_INVALID_ARGUMENT, "Add LIMIT 1, or an aggregate.",
                             "the handler's last statement returned more than one row");
        else if (last)
        {
            /* The schema changed, and with it perhaps the columns of a *. */
            if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 0) != one->prepared)
                code = so_handler_map(connection, one);
            if (code == SO_OK)
                code = so_handler_columns(connection, one, turn);
        }
    }
    if (code != SO_OK)
    {
        *end = SO_HANDLER_FAILED;
        return code == SO_NOMEM ? code : SO_OK;
    }
    return rc == SQLITE_DONE ? SO_OK : so_handler_failed(connection, rc, end);
}

so_code so_sqlite_handler_run(so_port *port, so_operation *operation, so_turn *turn, so_handler_end *end)
{
    so_sqlite *connection = (so_sqlite *)port;
    *end = SO_HANDLER_DONE;
    so_error_clear(&connection->session.err);
    so_handler *handler;
    so_code code = so_handler_of(connection, operation, &handler);
    if (code == SO_NOMEM || (code == SO_ENGINE && so_error_is_engines(connection->session.err.engine_code)))
        return code;
    if (code != SO_OK)
    {
        *end = SO_HANDLER_FAILED;
        return SO_OK;
    }
    for (int i = 0; code == SO_OK && *end == SO_HANDLER_DONE && i < handler->count; i++)
    {
        struct so_handler_statement *one = &handler->statements[i];
        code = so_handler_step(connection, one, i == handler->count - 1, turn, end);
        sqlite3_reset(one->statement);
        sqlite3_clear_bindings(one->statement);
    }
    bool ours = connection->piece == SO_PIECE_TRANSACTION || connection->piece == SO_PIECE_SAVEPOINT;
    if (code == SO_OK && ours && sqlite3_get_autocommit(connection->db))
    {
        so_error err = connection->session.err;
        return so_error_set(&connection->session.err, SO_UNDONE, NULL,
                            "the handler rolled the whole transaction back: %s", err.message);
    }
    return code;
}
