/*
 * The entry point of the loadable extension, and the life of what hangs on a connection.
 *
 * Statements are kept on the connection object of an eponymous virtual table: sqlite3_close() disconnects
 * virtual tables before it looks for statements that were left open, and destroys functions only afterwards.
 */
#include "so_sqlite.h"

#include "so_json.h"

#include <string.h>

SQLITE_EXTENSION_INIT1

static void *so_sqlite_alloc(size_t bytes) { return sqlite3_malloc64(bytes); }

static void so_sqlite_release(void *memory) { sqlite3_free(memory); }

so_registration *so_registration_hold(so_registration *registration)
{
    registration->references++;
    return registration;
}

void so_registration_drop(void *context)
{
    so_registration *registration = context;
    if (--registration->references == 0)
        sqlite3_free(registration);
}

so_binding *so_binding_new(so_registration *registration, const so_function *function)
{
    so_binding *binding = sqlite3_malloc64(sizeof *binding);
    if (binding != NULL)
        *binding = (so_binding){.registration = so_registration_hold(registration), .function = function};
    return binding;
}

void so_binding_free(void *context)
{
    so_binding *binding = context;
    so_registration_drop(binding->registration);
    sqlite3_free(binding);
}

/*
 * Whether this connection has all of it. It asks in a way that reads no file, that is no error where the
 * answer is no (sqlite3_open() takes an error that is left on the connection for its own, and an error is
 * logged), and that a registration which broke off does not answer with yes: the module solidobj is
 * registered last.
 */
static int so_sqlite_registered(sqlite3 *db, bool *registered)
{
    sqlite3_stmt *modules = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &modules, NULL);
    *registered = false;
    while (rc == SQLITE_OK && sqlite3_step(modules) == SQLITE_ROW)
    {
        const char *name = (const char *)sqlite3_column_text(modules, 0);
        *registered = *registered || (name != NULL && strcmp(name, "solidobj") == 0);
    }
    int ended = sqlite3_finalize(modules);
    return rc == SQLITE_OK ? ended : rc;
}

static int so_sqlite_register(sqlite3 *db)
{
    so_registration *registration = sqlite3_malloc64(sizeof *registration);
    if (registration == NULL)
        return SQLITE_NOMEM;
    *registration = (so_registration){.db = db, .references = 1};
    int rc = so_sqlite_register_functions(registration);
    if (rc == SQLITE_OK)
        rc = so_sqlite_register_rows(registration);
    if (rc == SQLITE_OK)
        rc = so_sqlite_register_tables(registration);
    so_registration_drop(registration);
    return rc;
}

#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
    int sqlite3_solidobj_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

/* `error` may be NULL; `api` is when the library is a part of the program. */
int sqlite3_solidobj_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
#ifndef SQLITE_CORE
    if (api == NULL)
        return SQLITE_MISUSE; /* a program that links the loadable library and calls it */
#endif
    SQLITE_EXTENSION_INIT2(api);
    char *message = NULL;
    int rc = SQLITE_ERROR;
    if (sqlite3_libversion_number() < 3038000)
        message = sqlite3_mprintf("solidobj needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
    else
    {
        /* Loading it twice must not pull the connection's state away from under it. */
        bool registered = false;
        rc = so_sqlite_registered(db, &registered);
        if (rc == SQLITE_OK && !registered)
        {
            so_json_use_allocator(so_sqlite_alloc, so_sqlite_release);
            rc = so_sqlite_register(db);
        }
        if (rc != SQLITE_OK)
            message = sqlite3_mprintf("solidobj cannot register its functions: %s", sqlite3_errstr(rc));
    }
    if (error != NULL)
        *error = message;
    else
        sqlite3_free(message);
    return rc;
}
