/*
 * Three virtual tables.
 *
 * solidobj_connection (eponymous) holds a connection's state: its connect makes it, its disconnect, which
 * sqlite3_close() calls early, frees it. It has no rows.
 *
 * solidobj_ring (eponymous) takes inserts that write nothing: SQLite tells it of the commit, see waking.c.
 *
 * solidobj (created by so_install) owns the tables solidobj_…, which SQLITE_DBCONFIG_DEFENSIVE protects
 * because of it; dropping it removes solidobj from the file. Its rows are the functions.
 */
#include "so_sqlite.h"

#include <string.h>

#include "sqlite_drop.h"

SQLITE_EXTENSION_INIT3

typedef struct so_table
{
    sqlite3_vtab base;
    so_registration *registration; /* held */
} so_table;

typedef struct so_table_cursor
{
    sqlite3_vtab_cursor base;
    const so_function *at;
} so_table_cursor;

static int so_table_new(sqlite3 *db, so_registration *registration, const char *columns, sqlite3_vtab **vtab,
                        char **error)
{
    int rc = sqlite3_declare_vtab(db, columns);
    if (rc != SQLITE_OK)
    {
        /* An authorizer may refuse. */
        *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    so_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    *table = (so_table){.registration = so_registration_hold(registration)};
    *vtab = &table->base;
    return SQLITE_OK;
}

static int so_table_disconnect(sqlite3_vtab *vtab)
{
    so_table *table = (so_table *)vtab;
    so_registration_drop(table->registration);
    sqlite3_free(table);
    return SQLITE_OK;
}

static int so_connection_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                                 sqlite3_vtab **vtab, char **error)
{
    so_registration *registration = aux;
    (void)argc;
    (void)argv;
    int rc = so_table_new(db, registration, "CREATE TABLE x(connection)", vtab, error);
    if (rc == SQLITE_OK && registration->connection == NULL)
    {
        registration->connection = so_sqlite_open(db);
        if (registration->connection == NULL)
        {
            so_table_disconnect(*vtab);
            return SQLITE_NOMEM;
        }
    }
    return rc;
}

static int so_connection_disconnect(sqlite3_vtab *vtab)
{
    so_registration *registration = ((so_table *)vtab)->registration;
    if (registration->connection != NULL)
        so_sqlite_close(registration->connection);
    registration->connection = NULL;
    return so_table_disconnect(vtab);
}

int so_sqlite_connection(so_registration *registration, so_sqlite **connection, char **message)
{
    int rc = SQLITE_OK;
    if (registration->connection == NULL)
    {
        sqlite3_stmt *statement = NULL;
        rc = sqlite3_prepare_v2(registration->db, "SELECT 1 FROM main.solidobj_connection", -1, &statement,
                                NULL);
        if (rc != SQLITE_OK)
        {
            rc = sqlite3_extended_errcode(registration->db);
            *message = sqlite3_mprintf("%s", sqlite3_errmsg(registration->db));
        }
        sqlite3_finalize(statement);
        if (rc == SQLITE_OK && registration->connection == NULL)
        {
            /* SQLite found a table of the file instead of ours. */
            *message = sqlite3_mprintf("%s: the name solidobj_connection is taken in this database. Hint: "
                                       "Rename that table or view.",
                                       so_code_name(SO_INVALID_NAME));
            rc = SQLITE_ERROR;
        }
    }
    *connection = registration->connection;
    return rc;
}

static int so_owner_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                            char **error)
{
    (void)argc;
    (void)argv;
    int rc = so_table_new(db, aux, "CREATE TABLE x(function TEXT, min_args INTEGER, max_args INTEGER)", vtab,
                          error);
    if (rc == SQLITE_OK)
        sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    return rc;
}

static int so_owner_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                           char **error)
{
    /* An application may have given main another name. */
    const char *name = sqlite3_libversion_number() >= 3039000 ? sqlite3_db_name(db, 0) : "main";
    if (strcmp(argv[2], "solidobj") != 0 || name == NULL || strcmp(argv[1], name) != 0)
    {
        *error =
            sqlite3_mprintf("SO_INVALID_ARGUMENT: the table is main.solidobj and so_install() creates it");
        return SQLITE_ERROR;
    }
    return so_owner_connect(db, aux, argc, argv, vtab, error);
}

static int so_owner_destroy(sqlite3_vtab *vtab)
{
    int rc = sqlite3_exec(((so_table *)vtab)->registration->db, so_sql_drop, NULL, NULL, NULL);
    return rc == SQLITE_OK ? so_table_disconnect(vtab) : rc;
}

static int so_table_best(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 32;
    info->estimatedRows = 32;
    return SQLITE_OK;
}

static int so_table_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **result)
{
    (void)vtab;
    so_table_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *result = &cursor->base;
    return SQLITE_OK;
}

static int so_table_cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int so_owner_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                           sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((so_table_cursor *)base)->at = so_functions;
    return SQLITE_OK;
}

static int so_connection_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                                sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((so_table_cursor *)base)->at = NULL;
    return SQLITE_OK;
}

static int so_table_next(sqlite3_vtab_cursor *base)
{
    ((so_table_cursor *)base)->at++;
    return SQLITE_OK;
}

static int so_table_eof(sqlite3_vtab_cursor *base)
{
    const so_table_cursor *cursor = (so_table_cursor *)base;
    return cursor->at == NULL || cursor->at->name == NULL;
}

static int so_table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const so_function *function = ((so_table_cursor *)base)->at;
    if (column == 0)
        sqlite3_result_text(context, function->name, -1, SQLITE_STATIC);
    else
        sqlite3_result_int(context, column == 1 ? function->min_args : function->max_args);
    return SQLITE_OK;
}

static int so_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((so_table_cursor *)base)->at - so_functions + 1;
    return SQLITE_OK;
}

static int so_owner_shadow(const char *suffix)
{
    static const char *const suffixes[] = {"setting", "type", "operation", "migration", "actor", "member",
                                           "message", "mail", "later",     "queue",     "claim"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (sqlite3_stricmp(suffix, suffixes[i]) == 0)
            return 1;
    return 0;
}

static int so_ring_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                           char **error)
{
    (void)argc;
    (void)argv;
    int rc = so_table_new(db, aux, "CREATE TABLE x(ring)", vtab, error);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    return rc;
}

static int so_ring_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)vtab;
    (void)argc;
    (void)argv;
    *rowid = 0;
    return SQLITE_OK;
}

static int so_ring_begin(sqlite3_vtab *vtab)
{
    (void)vtab;
    return SQLITE_OK;
}

static int so_ring_commit(sqlite3_vtab *vtab)
{
    so_sqlite *connection = ((so_table *)vtab)->registration->connection;
    if (connection != NULL)
    {
        connection->rings_at_commit = false;
        so_sqlite_ring_now(connection);
    }
    return SQLITE_OK;
}

static int so_ring_rollback(sqlite3_vtab *vtab)
{
    so_sqlite *connection = ((so_table *)vtab)->registration->connection;
    if (connection != NULL)
    {
        connection->rings_at_commit = false;
        so_rings_clear(&connection->rings);
    }
    return SQLITE_OK;
}

static const sqlite3_module so_ring_module = {
    .iVersion = 3,
    .xConnect = so_ring_connect,
    .xBestIndex = so_table_best,
    .xDisconnect = so_table_disconnect,
    .xOpen = so_table_cursor_open,
    .xClose = so_table_cursor_close,
    .xFilter = so_connection_filter,
    .xNext = so_table_next,
    .xEof = so_table_eof,
    .xColumn = so_table_column,
    .xRowid = so_table_rowid,
    .xUpdate = so_ring_update,
    .xBegin = so_ring_begin,
    .xCommit = so_ring_commit,
    .xRollback = so_ring_rollback,
};

static const sqlite3_module so_connection_module = {
    .iVersion = 3,
    .xConnect = so_connection_connect,
    .xBestIndex = so_table_best,
    .xDisconnect = so_connection_disconnect,
    .xOpen = so_table_cursor_open,
    .xClose = so_table_cursor_close,
    .xFilter = so_connection_filter,
    .xNext = so_table_next,
    .xEof = so_table_eof,
    .xColumn = so_table_column,
    .xRowid = so_table_rowid,
};

static const sqlite3_module so_owner_module = {
    .iVersion = 3,
    .xCreate = so_owner_create,
    .xConnect = so_owner_connect,
    .xBestIndex = so_table_best,
    .xDisconnect = so_table_disconnect,
    .xDestroy = so_owner_destroy,
    .xOpen = so_table_cursor_open,
    .xClose = so_table_cursor_close,
    .xFilter = so_owner_filter,
    .xNext = so_table_next,
    .xEof = so_table_eof,
    .xColumn = so_table_column,
    .xRowid = so_table_rowid,
    .xShadowName = so_owner_shadow,
};

/* The module solidobj comes last; it shows that the registration is complete. */
int so_sqlite_register_tables(so_registration *registration)
{
    int rc = sqlite3_create_module_v2(registration->db, "solidobj_connection", &so_connection_module,
                                      so_registration_hold(registration), so_registration_drop);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_module_v2(registration->db, "solidobj_ring", &so_ring_module,
                                      so_registration_hold(registration), so_registration_drop);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_module_v2(registration->db, "solidobj", &so_owner_module,
                                      so_registration_hold(registration), so_registration_drop);
    return rc;
}
