/*
 * Table forms: SELECT * FROM so_claim('w') calls the function once and gives its JSON array as rows.
 *
 * The columns are those of the answer, then one hidden column per argument.
 */
#include "so_sqlite.h"

#include <string.h>

#include "so_json.h"

SQLITE_EXTENSION_INIT3

enum
{
    SO_ROWS_MAX_COLUMNS = 16
};

typedef struct so_rows_table
{
    sqlite3_vtab base;
    so_binding *binding;
    int columns;
    char names[SO_ROWS_MAX_COLUMNS][24];
} so_rows_table;

typedef struct so_rows_cursor
{
    sqlite3_vtab_cursor base;
    so_allocator allocator;
    so_arena arena; /* the value that is read from it */
    char *answer;
    so_json_iter iter;
    so_str row;
    sqlite3_int64 rowid;
    bool more;
} so_rows_cursor;

static void *so_rows_alloc(void *context, size_t bytes)
{
    (void)context;
    return sqlite3_malloc64(bytes);
}

static void so_rows_release(void *context, void *memory)
{
    (void)context;
    sqlite3_free(memory);
}

static int so_rows_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                           char **error)
{
    so_binding *binding = aux;
    (void)argc;
    (void)argv;
    so_rows_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    table->binding = binding;
    const char *at = binding->function->rows;
    while (*at != 0)
    {
        size_t n = strcspn(at, ",");
        memcpy(table->names[table->columns++], at, n);
        at += at[n] == ',' ? n + 1 : n;
    }
    sqlite3_str *text = sqlite3_str_new(db);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < table->columns; i++)
        sqlite3_str_appendf(text, "%s%w", i == 0 ? "" : ", ", table->names[i]);
    for (int i = 0; i < binding->function->max_args; i++)
        sqlite3_str_appendf(text, ", argument_%d HIDDEN", i + 1);
    sqlite3_str_appendall(text, ")");
    char *declaration = sqlite3_str_finish(text);
    int rc = declaration == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    if (rc != SQLITE_OK)
        *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    if (rc == SQLITE_OK && (binding->function->flags & SO_FN_DIRECT))
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    if (rc != SQLITE_OK)
    {
        sqlite3_free(table);
        return rc;
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

static int so_rows_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* Every argument that is there must be known before the call. */
static int so_rows_best(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const so_rows_table *table = (so_rows_table *)vtab;
    const so_function *function = table->binding->function;
    int at[SO_FUNCTION_MAX_ARGS];
    int given = 0;
    for (int i = 0; i < function->max_args; i++)
        at[i] = -1;
    for (int i = 0; i < info->nConstraint; i++)
    {
        int argument = info->aConstraint[i].iColumn - table->columns;
        if (argument < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        at[argument] = i;
    }
    while (given < function->max_args && at[given] >= 0)
    {
        info->aConstraintUsage[at[given]].argvIndex = given + 1;
        info->aConstraintUsage[at[given]].omit = 1;
        given++;
    }
    for (int i = given; i < function->max_args; i++)
    {
        if (at[i] < 0)
            continue;
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("%s: %s: argument %d is missing", so_code_name(SO_INVALID_ARGUMENT),
                                        function->name, given + 1);
        return SQLITE_ERROR;
    }
    if (given < function->min_args)
    {
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("%s: %s takes %d to %d arguments", so_code_name(SO_INVALID_ARGUMENT),
                                        function->name, function->min_args, function->max_args);
        return SQLITE_ERROR;
    }
    info->idxNum = given;
    info->estimatedCost = 1000;
    info->estimatedRows = 10;
    return SQLITE_OK;
}

static int so_rows_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **result)
{
    (void)vtab;
    so_rows_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    cursor->allocator = (so_allocator){so_rows_alloc, so_rows_release, NULL};
    so_arena_init(&cursor->arena, &cursor->allocator);
    *result = &cursor->base;
    return SQLITE_OK;
}

static int so_rows_close(sqlite3_vtab_cursor *base)
{
    so_rows_cursor *cursor = (so_rows_cursor *)base;
    so_arena_free(&cursor->arena);
    sqlite3_free(cursor->answer);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int so_rows_next(sqlite3_vtab_cursor *base)
{
    so_rows_cursor *cursor = (so_rows_cursor *)base;
    cursor->more = so_json_iter_next(&cursor->iter, NULL, &cursor->row);
    cursor->rowid++;
    return cursor->iter.failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int so_rows_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                          sqlite3_value **argv)
{
    so_rows_cursor *cursor = (so_rows_cursor *)base;
    so_rows_table *table = (so_rows_table *)base->pVtab;
    so_value result;
    char *message = NULL;
    (void)number;
    (void)text;
    int rc = so_sqlite_call(table->binding, argv, argc, &result, &message);
    if (rc != SQLITE_OK)
    {
        sqlite3_free(table->base.zErrMsg);
        table->base.zErrMsg = message;
        return rc;
    }
    so_arena_reset(&cursor->arena);
    sqlite3_free(cursor->answer);
    cursor->answer = so_sqlite_take_answer(table->binding->registration->connection, result.s);
    if (cursor->answer == NULL)
        return SQLITE_NOMEM;
    so_json_iter_init(&cursor->iter, &cursor->arena, (so_str){cursor->answer, result.s.n});
    cursor->rowid = 0;
    return so_rows_next(base);
}

static int so_rows_eof(sqlite3_vtab_cursor *base) { return !((so_rows_cursor *)base)->more; }

static int so_rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    so_rows_cursor *cursor = (so_rows_cursor *)base;
    const so_rows_table *table = (so_rows_table *)base->pVtab;
    so_str json;
    so_value value;
    so_error err;
    if (column >= table->columns)
        return SQLITE_OK;
    const char *name = table->names[column];
    so_arena_reset(&cursor->arena); /* SQLite copies what it is given */
    if (!so_json_get(&cursor->arena, cursor->row, (so_str){name, strlen(name)}, &json))
        return SQLITE_OK;
    if (so_json_to_value(&cursor->arena, json, &value, &err) != SO_OK)
        return SQLITE_NOMEM;
    so_sqlite_result(context, &value);
    return SQLITE_OK;
}

static int so_rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((so_rows_cursor *)base)->rowid;
    return SQLITE_OK;
}

static const sqlite3_module so_rows_module = {
    .iVersion = 3,
    .xConnect = so_rows_connect,
    .xBestIndex = so_rows_best,
    .xDisconnect = so_rows_disconnect,
    .xOpen = so_rows_open,
    .xClose = so_rows_close,
    .xFilter = so_rows_filter,
    .xNext = so_rows_next,
    .xEof = so_rows_eof,
    .xColumn = so_rows_column,
    .xRowid = so_rows_rowid,
};

int so_sqlite_register_rows(so_registration *registration)
{
    int rc = SQLITE_OK;
    for (const so_function *function = so_functions; rc == SQLITE_OK && function->name != NULL; function++)
    {
        if (!(function->flags & SO_FN_ROWS))
            continue;
        so_binding *binding = so_binding_new(registration, function);
        if (binding == NULL)
            return SQLITE_NOMEM;
        rc = sqlite3_create_module_v2(registration->db, function->name, &so_rows_module, binding,
                                      so_binding_free);
    }
    return rc;
}
