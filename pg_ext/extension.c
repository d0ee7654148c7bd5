/*
 * The life of a backend's session.
 */
#include "so_pg.h"

#include "catalog/namespace.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "so_json.h"

/* What the server looks for by name; before 16 its macros do not say so themselves. */
#pragma GCC visibility push(default)
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "solidobj", .version = SO_VERSION_TEXT);
#else
PG_MODULE_MAGIC;
#endif
#pragma GCC visibility pop

/* A backend is one connection: this is what hangs on it. */
static so_pg *backend;

static void *so_pg_alloc(void *context, size_t bytes)
{
    return MemoryContextAllocExtended(((so_pg *)context)->memory, bytes, MCXT_ALLOC_HUGE);
}

static void so_pg_release(void *context, void *memory)
{
    (void)context;
    if (memory != NULL)
        pfree(memory);
}

static void *so_pg_json_alloc(size_t bytes) { return palloc(bytes); }

static void so_pg_json_release(void *memory)
{
    if (memory != NULL)
        pfree(memory);
}

/* Definitions are announced as changes of solidobj.setting; what was dropped or made is looked up again. */
static void so_pg_relation_changed(Datum argument, Oid relation)
{
    (void)argument;
    if (relation == InvalidOid || relation == backend->setting)
    {
        backend->stamp++;
        backend->setting = InvalidOid;
    }
}

so_code so_pg_find_tables(so_pg *pg)
{
    if (pg->setting != InvalidOid)
        return SO_OK;
    Oid schema = get_namespace_oid("solidobj", true);
    if (schema == InvalidOid || (pg->setting = get_relname_relid("setting", schema)) == InvalidOid)
        return so_error_set(&pg->session.err, SO_NOT_INSTALLED, "Run CREATE EXTENSION solidobj.",
                            "solidobj is not installed in this database");
    pg->sequence = get_relname_relid("message_id", schema);
    return SO_OK;
}

so_pg *so_pg_backend(void)
{
    if (backend != NULL)
        return backend;
    MemoryContext memory = AllocSetContextCreate(TopMemoryContext, "solidobj", ALLOCSET_DEFAULT_SIZES);
    so_pg *pg = MemoryContextAllocZero(memory, sizeof *pg);
    pg->memory = memory;
    pg->port.methods = &so_pg_methods;
    so_json_use_allocator(so_pg_json_alloc, so_pg_json_release);
    so_session_init(&pg->session, &pg->port,
                    (so_allocator){.alloc = so_pg_alloc, .release = so_pg_release, .context = pg});
    backend = pg;
    CacheRegisterRelcacheCallback(so_pg_relation_changed, (Datum)0);
    return pg;
}
