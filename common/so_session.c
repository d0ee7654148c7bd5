/*
 * The session: memory, the clock, pieces of work, and calling a function of the product.
 */
#include "so_session.h"

#include "so_engine.h"
#include "so_room.h"

void so_session_init(so_session *session, so_port *port, so_allocator allocator)
{
    *session = (so_session){.port = port, .allocator = allocator};
    so_arena_init(&session->call_arena, &session->allocator);
    so_arena_init(&session->turn_arena, &session->allocator);
    so_arena_init(&session->batch_arenas[0], &session->allocator);
    so_arena_init(&session->batch_arenas[1], &session->allocator);
    so_arena_init(&session->definitions_arena, &session->allocator);
    session->arena = &session->call_arena;
    port->session = session;
}

void so_session_free(so_session *session)
{
    so_crowd_free(session);
    so_arena_free(&session->call_arena);
    so_arena_free(&session->turn_arena);
    so_arena_free(&session->batch_arenas[0]);
    so_arena_free(&session->batch_arenas[1]);
    so_arena_free(&session->definitions_arena);
}

int64_t so_now_ms(so_session *session)
{
    return session->port->methods->now_ms(session->port) + session->definitions.clock_ms;
}

so_code so_integer_argument(so_session *s, const so_value *value, const char *what, int64_t min, int64_t max,
                            int64_t *number)
{
    bool whole = value->type == SO_REAL && value->r >= -9007199254740992.0 &&
                 value->r <= 9007199254740992.0 && (double)(int64_t)value->r == value->r;
    if (value->type != SO_INT && !whole)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Pass an integer.", "%s must be an integer", what);
    *number = whole ? (int64_t)value->r : value->i;
    if (*number < min || *number > max)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, NULL, "%s must be from %lld to %lld", what,
                            (long long)min, (long long)max);
    return SO_OK;
}

so_code so_id_argument(so_session *s, const so_value *value, int64_t *id)
{
    return so_integer_argument(s, value, "message", INT64_MIN, INT64_MAX, id);
}

so_code so_db_row(so_session *s, so_statement statement, const so_value *params, so_value *columns,
                  bool *found)
{
    return s->port->methods->row(s->port, statement, params, columns, found);
}

so_code so_db_each(so_session *s, so_statement statement, const so_value *params, so_row_fn fn, void *context)
{
    return s->port->methods->each(s->port, statement, params, fn, context);
}

so_code so_db_change(so_session *s, so_statement statement, const so_value *params)
{
    int64_t changed;
    return s->port->methods->change(s->port, statement, params, &changed);
}

so_code so_work_begin(so_session *s) { return s->port->methods->begin(s->port, true); }

/* A turn is inside a piece of work already, which stays open. */
so_code so_work_begin_reading(so_session *s)
{
    return s->turn != NULL ? SO_OK : s->port->methods->begin(s->port, false);
}

so_code so_work_end(so_session *s, so_code code)
{
    if (s->turn != NULL)
        return code;
    if (code == SO_OK)
        return s->port->methods->end(s->port, true);
    so_error err = s->err;
    so_code undo = s->port->methods->end(s->port, false);
    if (undo != SO_OK)
        return undo;
    s->err = err;
    return code;
}

so_code so_reading_begin(so_session *s, so_str name, const so_type **type)
{
    *type = NULL;
    so_code code = so_work_begin_reading(s);
    if (code != SO_OK)
        return code;
    if (s->turn == NULL)
        code = so_definitions_refresh(s);
    if (code == SO_OK && name.p != NULL)
        code = so_type_find(s, name, type);
    return code == SO_OK ? code : so_work_end(s, code);
}

static so_code so_call_checked(so_session *s, const so_function *function, const so_value *args, int count,
                               so_value *result)
{
    if (s->turn == NULL && (function->flags & SO_FN_TURN))
        return so_error_set(&s->err, SO_NOT_IN_TURN, "Call it in the SQL of a handler.",
                            "%s works only during a turn", function->name);
    if (s->turn != NULL && !(function->flags & (SO_FN_TURN | SO_FN_IN_TURN)))
        return so_error_set(&s->err, SO_IN_TURN, "Send a message with so_tell instead.",
                            "%s cannot be called during a turn", function->name);
    so_value padded[SO_FUNCTION_MAX_ARGS];
    for (int i = 0; i < SO_FUNCTION_MAX_ARGS; i++)
        padded[i] = i < count ? args[i] : SO_VALUE_NULL;
    return function->call(s, padded, count, result);
}

so_code so_function_call(so_session *s, const so_function *function, const so_value *args, int count,
                         so_value *result)
{
    if (s->depth == 0)
    {
        so_arena_reset(&s->call_arena);
        s->arena = &s->call_arena;
    }
    so_error_clear(&s->err);
    *result = SO_VALUE_NULL;
    if (s->depth++ == 0)
        s->answer = result;
    so_code code = so_call_checked(s, function, args, count, result);
    if (--s->depth == 0)
        s->answer = NULL;
    return code;
}
