/*
 * The entry point of the loadable extension, and the life of what hangs on a connection.
 *
 * Statements are kept on the connection object of an eponymous virtual table: sqlite3_close() disconnects
 * virtual tables before it looks for statements that were left open, and destroys functions only afterwards.
 */
#include "so_sqlite.h"

#include "so_json.h"

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

#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
    int sqlite3_solidobj_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

int sqlite3_solidobj_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)api;
    if (sqlite3_libversion_number() < 3038000)
    {
        *error = sqlite3_mprintf("solidobj needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    /* Loading it twice must not pull the connection's state away from under it. */
    sqlite3_stmt *loaded = NULL;
    int there = sqlite3_prepare_v2(db, "SELECT so_version()", -1, &loaded, NULL);
    sqlite3_finalize(loaded);
    if (there == SQLITE_OK)
        return SQLITE_OK;
    /* sqlite3_open() takes the error that an automatic extension leaves on the connection for its own. */
    sqlite3_prepare_v2(db, "SELECT 1", -1, &loaded, NULL);
    sqlite3_finalize(loaded);
    so_json_use_allocator(so_sqlite_alloc, so_sqlite_release);
    so_registration *registration = sqlite3_malloc64(sizeof *registration);
    if (registration == NULL)
        return SQLITE_NOMEM;
    *registration = (so_registration){.db = db, .references = 1};
    int rc = so_sqlite_register_tables(registration);
    if (rc == SQLITE_OK)
        rc = so_sqlite_register_functions(registration);
    if (rc == SQLITE_OK)
        rc = so_sqlite_register_rows(registration);
    so_registration_drop(registration);
    if (rc != SQLITE_OK)
        *error = sqlite3_mprintf("solidobj cannot register its functions: %s", sqlite3_errstr(rc));
    return rc;
}
