/*
 * Handlers in SQL: their names become parameters when they are prepared, and their plans are kept until the
 * definitions change.
 */
#include "so_pg.h"

#include <ctype.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#include "so_turn.h"

enum
{
    SO_PG_STATEMENTS = 64,
    SO_PG_NAMES = 7,
    SO_PG_ANSWERS = 64
};

/* In the order of so_turn_parameter_index(): state, args, key, type, message, attempt, now_ms. */
static const Oid so_pg_name_types[SO_PG_NAMES] = {JSONBOID, JSONBOID, TEXTOID, TEXTOID,
                                                  INT8OID,  INT8OID,  INT8OID};

typedef struct so_pg_statement
{
    SPIPlanPtr plan;
    bool uses[SO_PG_NAMES];
} so_pg_statement;

struct so_pg_handler
{
    so_pg_handler *next;
    bool pure;
    int count;
    so_pg_statement statements[SO_PG_STATEMENTS];
};

/* ---- the text: statements, and :names in them ---------------------------------------------------------- */

static bool so_pg_word(char c) { return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }

/* The end of a quoted piece, a comment or a dollar-quoted text that begins here; `at` if none does. */
static const char *so_pg_skip(const char *at, const char *start)
{
    if (*at == '\'' || *at == '"')
    {
        char quote = *at;
        bool escapes = quote == '\'' && at > start && (at[-1] == 'e' || at[-1] == 'E') &&
                       (at - 1 == start || !so_pg_word(at[-2]));
        for (at++; *at != 0; at++)
        {
            if (escapes && *at == '\\' && at[1] != 0)
                at++;
            else if (*at == quote && at[1] == quote)
                at++;
            else if (*at == quote)
                return at + 1;
        }
        return at;
    }
    if (at[0] == '-' && at[1] == '-')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*')
    {
        int depth = 0;
        do
        {
            bool begins = at[0] == '/' && at[1] == '*';
            bool ends = at[0] == '*' && at[1] == '/';
            depth += begins - ends;
            at += begins || ends ? 2 : 1;
        } while (depth > 0 && *at != 0);
        return at;
    }
    if (*at == '$' && (at == start || !so_pg_word(at[-1])) && !isdigit((unsigned char)at[1]))
    {
        const char *end = at + 1;
        while (so_pg_word(*end))
            end++;
        if (*end != '$')
            return at;
        char *tag = pnstrdup(at, (Size)(end + 1 - at));
        const char *close = strstr(end + 1, tag);
        return close == NULL ? at + strlen(at) : close + strlen(tag);
    }
    return at;
}

/* Copies the statement that begins at *at, with $n for :name, and goes behind it. SO_INVALID_ARGUMENT. */
static so_code so_pg_next_statement(so_session *s, const char **at, StringInfo text, bool *uses)
{
    const char *start = *at;
    const char *p = start;
    resetStringInfo(text);
    memset(uses, 0, SO_PG_NAMES * sizeof *uses);
    while (*p != 0 && *p != ';')
    {
        const char *end = so_pg_skip(p, start);
        if (end != p)
            appendBinaryStringInfo(text, p, (int)(end - p));
        else if (p[0] == ':' && p[1] == ':')
        {
            appendStringInfoString(text, "::");
            end = p + 2;
        }
        else if (p[0] == ':' && so_pg_word(p[1]) && !isdigit((unsigned char)p[1]))
        {
            for (end = p + 1; so_pg_word(*end);)
                end++;
            char *name = pnstrdup(p + 1, (Size)(end - p - 1));
            int index = so_turn_parameter_index(name);
            if (index < 0)
                return so_error_set(&s->err, SO_INVALID_ARGUMENT, so_turn_parameter_names,
                                    "a handler cannot use the parameter :%s", name);
            uses[index] = true;
            appendStringInfo(text, "$%d", index + 1);
        }
        else
        {
            appendStringInfoChar(text, *p);
            end = p + 1;
        }
        p = end;
    }
    *at = *p == ';' ? p + 1 : p;
    return SO_OK;
}

static bool so_pg_blank(const char *text)
{
    for (const char *at = text; *at != 0;)
    {
        if (isspace((unsigned char)*at))
            at++;
        else if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'))
            at = so_pg_skip(at, text);
        else
            return false;
    }
    return true;
}

/* ---- plans --------------------------------------------------------------------------------------------- */

/* What a statement is: SELECT (VALUES, WITH), INSERT, UPDATE, DELETE; *pure: it reads, and calls nothing that
 * could write. */
static bool so_pg_allowed(SPIPlanPtr plan, bool *pure)
{
    List *sources = SPI_plan_get_plan_sources(plan);
    ListCell *cell;
    *pure = true;
    if (list_length(sources) != 1)
        return false;
    foreach (cell, sources)
    {
        CachedPlanSource *source = lfirst(cell);
        ListCell *inner;
        foreach (inner, source->query_list)
        {
            Query *query = lfirst_node(Query, inner);
            if (query->commandType == CMD_UTILITY)
                return false;
            *pure = *pure && query->commandType == CMD_SELECT && query->rowMarks == NIL &&
                    !query->hasModifyingCTE && !contain_volatile_functions((Node *)query);
        }
    }
    return true;
}

/* Prepares all statements of a handler. Errors of the server are thrown. */
static so_code so_pg_prepare(so_session *s, const char *handler, so_pg_handler *prepared)
{
    StringInfoData text;
    so_code code = SO_OK;
    initStringInfo(&text);
    prepared->count = 0;
    prepared->pure = true;
    for (const char *at = handler; code == SO_OK && *at != 0;)
    {
        bool uses[SO_PG_NAMES];
        bool pure;
        code = so_pg_next_statement(s, &at, &text, uses);
        if (code != SO_OK || so_pg_blank(text.data))
            continue;
        if (prepared->count == SO_PG_STATEMENTS)
            return so_error_set(&s->err, SO_INVALID_ARGUMENT, NULL, "a handler has at most %d statements",
                                SO_PG_STATEMENTS);
        SPIPlanPtr plan = SPI_prepare(text.data, SO_PG_NAMES, (Oid *)so_pg_name_types);
        if (plan == NULL || !so_pg_allowed(plan, &pure))
            return so_error_set(
                &s->err, SO_INVALID_ARGUMENT,
                "A statement of a handler begins with SELECT, VALUES, WITH, INSERT, UPDATE or "
                "DELETE.",
                "a handler cannot have the statement: %.40s", text.data);
        so_pg_statement *one = &prepared->statements[prepared->count++];
        one->plan = plan;
        memcpy(one->uses, uses, sizeof uses);
        prepared->pure = prepared->pure && pure;
    }
    if (code == SO_OK && prepared->count == 0)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "Pass NULL for an external operation.",
                            "the handler has no statement");
    return code;
}

/* Errors that say nothing about the handler, by the class of their code. */
static bool so_pg_error_is_engines(int code)
{
    static const char *const classes[] = {"40", "53", "57", "58", "XX"};
    const char *state = unpack_sql_state(code);
    if (code == ERRCODE_LOCK_NOT_AVAILABLE)
        return true;
    for (size_t i = 0; i < lengthof(classes); i++)
        if (strncmp(state, classes[i], 2) == 0)
            return true;
    return false;
}

/* In a PG_CATCH: the error as the engine's, unless it is the server's own, which goes on. Whoever is told of
 * it ends the statement, or rolls back to the turn's mark, before anything else is done in the database. */
static void so_pg_catch(so_session *s, MemoryContext context, so_code code, const char *hint)
{
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    if (so_pg_error_is_engines(error->sqlerrcode))
        PG_RE_THROW();
    FlushErrorState();
    const char *state = unpack_sql_state(error->sqlerrcode);
    /* A function of ours has left its own. */
    if (strncmp(state, "SO", 2) != 0 || s->err.code == SO_OK)
        so_error_set(&s->err, code, hint, "%s", error->message == NULL ? "unknown error" : error->message);
    FreeErrorData(error);
}

so_code so_pg_handler_check(so_port *port, so_str text)
{
    so_pg *pg = (so_pg *)port;
    so_session *s = &pg->session;
    MemoryContext context = CurrentMemoryContext;
    so_pg_handler *prepared = palloc(sizeof *prepared);
    so_code volatile code = SO_OK;
    PG_TRY();
    {
        code = so_pg_prepare(s, pnstrdup(text.p, text.n), prepared);
    }
    PG_CATCH();
    {
        so_pg_catch(s, context, SO_INVALID_ARGUMENT,
                    "Create the tables that the handler names first, and try its statements by themselves.");
        code = s->err.code;
    }
    PG_END_TRY();
    return code;
}

static so_code so_pg_handler_of(so_pg *pg, so_operation *operation, so_pg_handler **found)
{
    *found = operation->prepared;
    if (*found != NULL)
        return SO_OK;
    so_pg_handler *prepared = palloc(sizeof *prepared);
    so_code code =
        so_pg_prepare(&pg->session, pnstrdup(operation->handler.p, operation->handler.n), prepared);
    if (code != SO_OK)
        return code;
    so_pg_handler *kept = MemoryContextAlloc(pg->memory, sizeof *kept);
    *kept = *prepared;
    for (int i = 0; i < kept->count; i++)
        SPI_keepplan(kept->statements[i].plan);
    kept->next = pg->handlers;
    pg->handlers = kept;
    operation->prepared = kept;
    *found = kept;
    return SO_OK;
}

void so_pg_handler_forget(so_port *port)
{
    so_pg *pg = (so_pg *)port;
    while (pg->handlers != NULL)
    {
        so_pg_handler *next = pg->handlers->next;
        for (int i = 0; i < pg->handlers->count; i++)
            SPI_freeplan(pg->handlers->statements[i].plan);
        pfree(pg->handlers);
        pg->handlers = next;
    }
}

so_code so_pg_handler_pure(so_port *port, so_operation *operation, bool *pure)
{
    so_pg_handler *handler;
    so_code code = so_pg_handler_of((so_pg *)port, operation, &handler);
    *pure = code == SO_OK && handler->pure;
    return code;
}

static so_code so_pg_answer(so_session *s, const so_pg_statement *one, so_turn *turn)
{
    SPITupleTable *table = SPI_tuptable;
    (void)one;
    if (table == NULL || SPI_processed == 0)
        return SO_OK;
    if (SPI_processed > 1)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Add LIMIT 1, or an aggregate.",
                            "the handler's last statement returned more than one row");
    int count = table->tupdesc->natts;
    for (int i = 0; i < count; i++)
    {
        const char *name = NameStr(TupleDescAttr(table->tupdesc, i)->attname);
        int index = so_turn_column_index(name);
        if (index == -2 || strncmp(name, "so_", 3) == 0)
            continue;
        if (index < 0)
            return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Name the column, as in … AS result.",
                                "the handler answered the unknown column %s (it can answer state, patch, "
                                "result, result_json, tell, reject and destroy)",
                                name);
        bool null;
        so_value value;
        Datum datum = SPI_getbinval(table->vals[0], table->tupdesc, i + 1, &null);
        so_code code = so_pg_value_copy(s, SPI_gettypeid(table->tupdesc, i + 1), datum, null, &value);
        if (code == SO_OK)
            code = so_turn_column(turn, index, &value);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

static so_code so_pg_step(so_session *s, const so_pg_statement *one, bool last, so_turn *turn)
{
    Datum values[SO_PG_NAMES];
    char nulls[SO_PG_NAMES + 1];
    for (int i = 0; i < SO_PG_NAMES; i++)
    {
        so_value value = SO_VALUE_NULL;
        bool null;
        so_code code = one->uses[i] ? so_turn_parameter(turn, i, &value) : SO_OK;
        if (code != SO_OK)
            return code;
        values[i] = so_pg_datum(so_pg_name_types[i], &value, &null);
        nulls[i] = null ? 'n' : ' ';
    }
    int result = SPI_execute_plan(one->plan, values, nulls, false, 0);
    if (result < 0)
        elog(ERROR, "solidobj: handler: %s", SPI_result_code_string(result));
    return last ? so_pg_answer(s, one, turn) : SO_OK;
}

so_code so_pg_handler_run(so_port *port, so_operation *operation, so_turn *turn, so_handler_end *end)
{
    so_pg *pg = (so_pg *)port;
    so_session *s = &pg->session;
    MemoryContext context = CurrentMemoryContext;
    so_code volatile code = SO_OK;
    int depth = s->depth;
    *end = SO_HANDLER_DONE;
    so_error_clear(&s->err);
    PG_TRY();
    {
        so_pg_handler *handler;
        code = so_pg_handler_of(pg, operation, &handler);
        for (int i = 0; code == SO_OK && i < handler->count; i++)
            code = so_pg_step(s, &handler->statements[i], i == handler->count - 1, turn);
    }
    PG_CATCH();
    {
        s->depth = depth;
        s->turn = turn;
        so_pg_catch(s, context, SO_FAILED, NULL);
        code = s->err.code;
    }
    PG_END_TRY();
    if (code == SO_OK || code == SO_NOMEM)
        return code;
    *end = SO_HANDLER_FAILED;
    return SO_OK;
}
