/*
 * The catalog's statements, as kept plans.
 */
#include "so_pg.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"

enum
{
    SO_PG_PARAMS = 20,
    SO_PG_COLUMNS = 32
};

static SPIPlanPtr so_pg_plan(so_pg *pg, so_statement statement)
{
    if (pg->plans[statement] != NULL)
        return pg->plans[statement];
    const char *params = so_statement_params(statement);
    Oid types[SO_PG_PARAMS];
    int count = (int)strlen(params);
    Assert(count <= SO_PG_PARAMS);
    for (int i = 0; i < count; i++)
        types[i] = params[i] == 'i' ? INT8OID : TEXTOID;
    SPIPlanPtr plan = SPI_prepare(so_statement_text(SO_DIALECT_POSTGRES, statement), count, types);
    if (plan == NULL)
        elog(ERROR, "solidobj: statement %d: %s", (int)statement, SPI_result_code_string(SPI_result));
    if (SPI_keepplan(plan) != 0)
        elog(ERROR, "solidobj: statement %d cannot be kept", (int)statement);
    pg->plans[statement] = plan;
    return plan;
}

/* Runs a statement; `rows` 0: all of them. */
static void so_pg_run(so_pg *pg, so_statement statement, const so_value *params, long rows)
{
    Datum values[SO_PG_PARAMS];
    char nulls[SO_PG_PARAMS + 1];
    SPIPlanPtr plan = so_pg_plan(pg, statement);
    const char *types = so_statement_params(statement);
    int count = (int)strlen(types);
    for (int i = 0; i < count; i++)
    {
        bool null;
        values[i] = so_pg_datum(types[i] == 'i' ? INT8OID : TEXTOID, &params[i], &null);
        nulls[i] = null ? 'n' : ' ';
    }
    int result = SPI_execute_plan(plan, values, nulls, false, rows);
    if (result < 0)
        elog(ERROR, "solidobj: statement %d: %s", (int)statement, SPI_result_code_string(result));
}

/* A row's columns, in the current memory context. */
static int so_pg_columns(SPITupleTable *table, uint64 row, so_value *columns)
{
    int count = table->tupdesc->natts;
    for (int i = 0; i < count && i < SO_PG_COLUMNS; i++)
    {
        bool null;
        Datum datum = SPI_getbinval(table->vals[row], table->tupdesc, i + 1, &null);
        Oid type = SPI_gettypeid(table->tupdesc, i + 1);
        columns[i] =
            type == BOOLOID && !null ? SO_VALUE_INT(DatumGetBool(datum)) : so_pg_value(type, datum, null);
    }
    return count;
}

so_code so_pg_row(so_port *port, so_statement statement, const so_value *params, so_value *columns,
                  bool *found)
{
    so_pg *pg = (so_pg *)port;
    *found = false;
    if (so_statement_text(SO_DIALECT_POSTGRES, statement) == NULL)
        return SO_OK;
    so_pg_run(pg, statement, params, 1);
    SPITupleTable *table = SPI_tuptable;
    *found = table != NULL && SPI_processed > 0;
    int count = *found ? so_pg_columns(table, 0, columns) : 0;
    so_code code = SO_OK;
    for (int i = 0; i < count && code == SO_OK; i++)
    {
        if (columns[i].type != SO_TEXT)
            continue;
        columns[i].s = so_arena_copy_str(pg->session.arena, columns[i].s);
        if (columns[i].s.p == NULL)
            code = so_error_nomem(&pg->session.err);
    }
    SPI_freetuptable(table);
    return code;
}

so_code so_pg_each(so_port *port, so_statement statement, const so_value *params, so_row_fn fn, void *context)
{
    so_pg *pg = (so_pg *)port;
    so_value columns[SO_PG_COLUMNS];
    so_code code = SO_OK;
    if (so_statement_text(SO_DIALECT_POSTGRES, statement) == NULL)
        return SO_OK;
    so_pg_run(pg, statement, params, 0);
    SPITupleTable *table = SPI_tuptable;
    uint64 count = SPI_processed;
    for (uint64 i = 0; table != NULL && i < count && code == SO_OK; i++)
    {
        so_pg_columns(table, i, columns);
        code = fn(&pg->session, context, columns);
    }
    SPI_freetuptable(table);
    return code;
}

so_code so_pg_change(so_port *port, so_statement statement, const so_value *params, int64_t *changed)
{
    so_pg *pg = (so_pg *)port;
    *changed = 0;
    if (statement == SO_STMT_STAMP_SET)
    {
        /* Every backend hears of it when this transaction commits, and this one at once. */
        so_code code = so_pg_find_tables(pg);
        if (code != SO_OK)
            return code;
        CacheInvalidateRelcacheByRelid(pg->setting);
        CommandCounterIncrement();
        return SO_OK;
    }
    if (so_statement_text(SO_DIALECT_POSTGRES, statement) == NULL)
        return SO_OK;
    so_pg_run(pg, statement, params, 0);
    *changed = (int64_t)SPI_processed;
    return SO_OK;
}
