/*
 * The scalar functions: the engine's table, registered.
 */
#include "so_sqlite.h"

SQLITE_EXTENSION_INIT3

/* Flags that older versions do not know, and ignore. */
#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000
#endif

static void so_sqlite_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    so_binding *binding = sqlite3_user_data(context);
    so_value result;
    char *message = NULL;
    int rc = so_sqlite_call(binding, values, count, &result, &message);
    if (rc == SQLITE_OK)
        so_sqlite_answer(binding->registration->connection, context, &result);
    else if (rc == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else
    {
        sqlite3_result_error(context, message == NULL ? sqlite3_errstr(rc) : message, -1);
        sqlite3_result_error_code(context, rc);
    }
    sqlite3_free(message);
}

int so_sqlite_register_functions(so_registration *registration)
{
    for (const so_function *function = so_functions; function->name != NULL; function++)
    {
        int flags = SQLITE_UTF8 | SQLITE_SUBTYPE;
        if (function->flags & SO_FN_DIRECT)
            flags |= SQLITE_DIRECTONLY;
        if ((function->flags & SO_FN_JSON) && sqlite3_libversion_number() >= 3045000)
            flags |= SQLITE_RESULT_SUBTYPE;
        for (int args = function->min_args; args <= function->max_args; args++)
        {
            so_binding *binding = so_binding_new(registration, function);
            if (binding == NULL)
                return SQLITE_NOMEM;
            int rc = sqlite3_create_function_v2(registration->db, function->name, args, flags, binding,
                                                so_sqlite_function, NULL, NULL, so_binding_free);
            if (rc != SQLITE_OK)
                return rc;
        }
    }
    return SQLITE_OK;
}
