/*
 * The SQL functions: each C symbol is one entry of the engine's table.
 */
#include "so_pg.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "so_json.h"

/* What a call site keeps. */
typedef struct so_pg_site
{
    const so_function *function;
    Oid result;
    bool rows;
    Oid arguments[SO_FUNCTION_MAX_ARGS];
} so_pg_site;

static so_pg_site *so_pg_call_site(FunctionCallInfo fcinfo, const char *name)
{
    so_pg_site *site = fcinfo->flinfo->fn_extra;
    if (site != NULL)
        return site;
    site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof *site);
    for (site->function = so_functions; strcmp(site->function->name, name) != 0; site->function++)
        Assert(site->function->name != NULL);
    Oid *arguments;
    int count;
    site->result = get_func_signature(fcinfo->flinfo->fn_oid, &arguments, &count);
    site->rows = get_func_retset(fcinfo->flinfo->fn_oid);
    for (int i = 0; i < count && i < SO_FUNCTION_MAX_ARGS; i++)
        site->arguments[i] = arguments[i] == ANYOID ? get_fn_expr_argtype(fcinfo->flinfo, i) : arguments[i];
    fcinfo->flinfo->fn_extra = site;
    return site;
}

static void so_pg_report(const so_error *err)
{
    const char *state = so_code_sqlstate(err->code);
    if (err->code == SO_NOMEM)
        ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
    ereport(ERROR, (errcode(state == NULL ? ERRCODE_INTERNAL_ERROR
                                          : MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
                    errmsg("%s", err->message), errdetail("%s", so_code_name(err->code)),
                    err->hint[0] == 0 ? 0 : errhint("%s", err->hint)));
}

/* A JSON array of objects as rows, by the names of the columns. */
static void so_pg_rows(FunctionCallInfo fcinfo, so_session *s, so_str json)
{
    ReturnSetInfo *info = (ReturnSetInfo *)fcinfo->resultinfo;
    TupleDesc desc;
    if (info == NULL || !IsA(info, ReturnSetInfo) || !(info->allowedModes & SFRM_Materialize))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("set-valued function called in context that cannot accept a set")));
    if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "solidobj: a function of rows without a row type");
    MemoryContext before = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
    TupleDesc kept = CreateTupleDescCopy(desc);
    Tuplestorestate *store = tuplestore_begin_heap(true, false, work_mem);
    MemoryContextSwitchTo(before);
    Datum *values = palloc0(sizeof *values * (size_t)kept->natts);
    bool *nulls = palloc(sizeof *nulls * (size_t)kept->natts);
    so_json_iter rows;
    so_str row;
    so_json_iter_init(&rows, s->arena, json);
    while (so_json_iter_next(&rows, NULL, &row))
    {
        memset(nulls, true, sizeof *nulls * (size_t)kept->natts);
        so_json_iter members;
        so_str name;
        so_str member;
        so_json_iter_init(&members, s->arena, row);
        while (so_json_iter_next(&members, &name, &member))
            for (int i = 0; i < kept->natts; i++)
            {
                Form_pg_attribute column = TupleDescAttr(kept, i);
                if (!so_str_is(name, NameStr(column->attname)) || so_json_first(member) == 'n')
                    continue;
                bool text = so_json_first(member) == '"' && column->atttypid != JSONBOID;
                so_value value = SO_VALUE_STR(text ? so_json_unquote(s->arena, member) : member);
                values[i] = so_pg_datum(column->atttypid, &value, &nulls[i]);
            }
        tuplestore_putvalues(store, kept, values, nulls);
    }
    info->returnMode = SFRM_Materialize;
    info->setResult = store;
    info->setDesc = kept;
}

static Datum so_pg_inner_call(FunctionCallInfo fcinfo, const so_pg_site *site, so_session *s)
{
    so_value arguments[SO_FUNCTION_MAX_ARGS];
    so_value result;
    Datum answer = (Datum)0;
    MemoryContext caller = CurrentMemoryContext;
    if (SPI_connect() != SPI_OK_CONNECT)
        elog(ERROR, "solidobj: SPI_connect failed");
    for (int i = 0; i < PG_NARGS(); i++)
        arguments[i] = so_pg_value(site->arguments[i], PG_GETARG_DATUM(i), PG_ARGISNULL(i));
    if (so_function_call(s, site->function, arguments, PG_NARGS(), &result) != SO_OK)
        so_pg_report(&s->err);
    /* SPI's memory goes with SPI_finish(). */
    MemoryContext inner = MemoryContextSwitchTo(caller);
    if (site->rows)
    {
        so_pg_rows(fcinfo, s, result.s);
        fcinfo->isnull = true;
    }
    else
        answer = so_pg_datum(site->result, &result, &fcinfo->isnull);
    MemoryContextSwitchTo(inner);
    SPI_finish();
    return answer;
}

/* Whatever is thrown leaves the session as it was before. */
static Datum so_pg_call(FunctionCallInfo fcinfo, const char *name)
{
    so_pg *pg = so_pg_backend();
    so_session *s = &pg->session;
    Datum volatile answer = (Datum)0;
    int depth = s->depth;
    so_turn *turn = s->turn;
    if (depth == 0)
    {
        AcceptInvalidationMessages();
        pg->marked = false;
    }
    PG_TRY();
    {
        answer = so_pg_inner_call(fcinfo, so_pg_call_site(fcinfo, name), s);
    }
    PG_CATCH();
    {
        s->depth = depth;
        s->turn = turn;
        if (depth == 0)
        {
            s->answer = NULL;
            s->held_count = 0;
            s->arena = &s->call_arena;
        }
        PG_RE_THROW();
    }
    PG_END_TRY();
    return answer;
}

#define SO_PG_FUNCTION(name)                                                                                 \
    PG_FUNCTION_INFO_V1(name);                                                                               \
    PGDLLEXPORT Datum name(PG_FUNCTION_ARGS) { return so_pg_call(fcinfo, #name); }

#pragma GCC visibility push(default)
SO_PG_FUNCTION(so_version)
SO_PG_FUNCTION(so_test_clock)
SO_PG_FUNCTION(so_define_actor)
SO_PG_FUNCTION(so_define_operation)
SO_PG_FUNCTION(so_define_migration)
SO_PG_FUNCTION(so_drop_operation)
SO_PG_FUNCTION(so_drop_actor)
SO_PG_FUNCTION(so_types)
SO_PG_FUNCTION(so_send)
SO_PG_FUNCTION(so_send_batch)
SO_PG_FUNCTION(so_find)
SO_PG_FUNCTION(so_call)
SO_PG_FUNCTION(so_try)
SO_PG_FUNCTION(so_query)
SO_PG_FUNCTION(so_result)
SO_PG_FUNCTION(so_status)
SO_PG_FUNCTION(so_snapshot)
SO_PG_FUNCTION(so_history)
SO_PG_FUNCTION(so_dead_letters)
SO_PG_FUNCTION(so_claim)
SO_PG_FUNCTION(so_renew)
SO_PG_FUNCTION(so_commit)
SO_PG_FUNCTION(so_reject)
SO_PG_FUNCTION(so_fail)
SO_PG_FUNCTION(so_release)
SO_PG_FUNCTION(so_cancel)
SO_PG_FUNCTION(so_retry)
SO_PG_FUNCTION(so_pause)
SO_PG_FUNCTION(so_resume)
SO_PG_FUNCTION(so_destroy)
SO_PG_FUNCTION(so_tick)
SO_PG_FUNCTION(so_self)
SO_PG_FUNCTION(so_get)
SO_PG_FUNCTION(so_set)
SO_PG_FUNCTION(so_unset)
SO_PG_FUNCTION(so_members)
SO_PG_FUNCTION(so_tell)
SO_PG_FUNCTION(so_raise)
#pragma GCC visibility pop
