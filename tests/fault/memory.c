/*
 * The allocator shim: SQLite's own, but for the allocations that fail.
 */
#include "fault.h"

#include <sqlite3.h>
#include <stddef.h>

static sqlite3_mem_methods real;
static int64_t pieces;

static void *memory_malloc(int bytes)
{
    void *memory = ft_fault_strikes(FT_MEMORY, "malloc", SQLITE_NOMEM) ? NULL : real.xMalloc(bytes);
    pieces += memory != NULL;
    return memory;
}

static void memory_free(void *memory)
{
    pieces -= memory != NULL;
    real.xFree(memory);
}

static void *memory_realloc(void *memory, int bytes)
{
    return ft_fault_strikes(FT_MEMORY, "realloc", SQLITE_NOMEM) ? NULL : real.xRealloc(memory, bytes);
}

int64_t ft_memory_pieces(void) { return pieces; }

bool ft_memory_install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
        return false;
    sqlite3_mem_methods shim = real;
    shim.xMalloc = memory_malloc;
    shim.xFree = memory_free;
    shim.xRealloc = memory_realloc;
    /* Without the small pieces that a connection keeps for itself every allocation comes here. */
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &shim) == SQLITE_OK &&
           sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK;
}
