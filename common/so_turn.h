/*
 * One turn: the handler's inputs, what it asks for, and how it ended. Nothing of it is written here but by
 * the handler itself; so_visit.c applies it.
 */
#ifndef SO_TURN_H
#define SO_TURN_H

#include "so_state.h"

typedef enum so_turn_end
{
    SO_TURN_COMPLETED,
    SO_TURN_REJECTED,
    SO_TURN_FAILED
} so_turn_end;

struct so_turn
{
    so_session *session;
    const so_type *type;
    so_operation *operation;
    const so_message *message;
    so_state *state;
    int64_t attempt;
    int64_t now_ms;
    bool query;

    so_turn_end end;
    so_str result;    /* compact JSON; p NULL: none was given, which means null */
    so_str rejection; /* REJECTED: compact JSON {code, message, details} */
    so_str error;     /* FAILED: a text */
    so_message *tells;
    size_t tell_count, tell_capacity;

    so_str new_state; /* from the columns state and patch */
    so_str patch;
    unsigned columns_seen;
    bool destroys; /* the incarnation ends with this turn */
};

/* What a handler can name, and the columns that it can answer; the position in the table is the port's
 * handle. */
int so_turn_parameter_index(const char *name); /* without the colon; -1: there is no such name */
int so_turn_column_index(const char *name);    /* -1: no such column, -2: an unaliased shorthand, ignored */

/* The names, for messages: ":state, :args, …". */
extern const char so_turn_parameter_names[];

/* The value of a parameter, in the session's arena. Its state is put together only when a handler asks for
 * it. */
so_code so_turn_parameter(so_turn *turn, int index, so_value *value);

/* Takes one column of the last statement's row. SO_FAILED and others: the turn fails with the error in
 * session->err. */
so_code so_turn_column(so_turn *turn, int index, const so_value *value);

/* The same from a JSON object with the columns as members, for so_commit(). */
so_code so_turn_outcome(so_turn *turn, so_str outcome);

/*
 * Runs the operation's handler and takes its outcome into the state. SO_OK with turn->end set, or an engine
 * error that is not the turn's. The state's changes since so_state_mark() are undone unless the turn
 * completed.
 */
so_code so_turn_run(so_turn *turn);

/* Takes the outcome of an external handler into the state, in place of running one. Errors are the caller's:
 * nothing is changed. */
so_code so_turn_conclude(so_turn *turn);

/* Ends the turn as rejected; `details` p NULL: none. Checks the sizes. */
so_code so_turn_reject(so_turn *turn, so_str code, so_str message, so_str details);

/* The same from three SQL values. */
so_code so_turn_reject_values(so_turn *turn, const so_value *args);

/* The shorthands of a handler. */
so_code so_fn_self(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_get(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_set(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_unset(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_members(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_raise(so_session *s, const so_value *args, int count, so_value *result);

#endif
