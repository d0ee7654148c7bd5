/*
 * What a wrapper needs: the table of the product's functions and a way to call one.
 */
#ifndef SO_ENGINE_H
#define SO_ENGINE_H

#include "so_session.h"

typedef so_code (*so_function_fn)(so_session *s, const so_value *args, int count, so_value *result);

enum
{
    SO_FN_DIRECT = 1,  /* only in statements that the application itself wrote, not in views and triggers */
    SO_FN_TURN = 2,    /* only during a turn: SO_NOT_IN_TURN elsewhere */
    SO_FN_IN_TURN = 4, /* allowed during a turn: SO_IN_TURN for the others */
    SO_FN_JSON = 8,    /* answers JSON */
    SO_FN_ROWS = 16    /* answers a JSON array of rows that has a table form, with the columns of `rows` */
};

typedef struct so_function
{
    const char *name;
    int min_args;
    int max_args;
    int flags;
    so_function_fn call;
    const char *rows; /* SO_FN_ROWS: the columns of the table form, separated by commas */
} so_function;

/* Every SQL function of the product; `name` NULL ends it. */
extern const so_function so_functions[];

enum
{
    SO_FUNCTION_MAX_ARGS = 8
};

/*
 * Calls a function. Missing trailing arguments are filled in as SO_NULL. On SO_OK the result's texts live
 * until the session's next call; else the error is in session->err.
 */
so_code so_function_call(so_session *s, const so_function *function, const so_value *args, int count,
                         so_value *result);

#endif
