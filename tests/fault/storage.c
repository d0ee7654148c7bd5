/*
 * The file system shim: hands every call on to the default file system, but for those that fail.
 *
 * It syncs nothing: a sync only counts as a chance to fail, so that thousands of runs are quick.
 */
#include "fault.h"

#include <sqlite3.h>
#include <string.h>

typedef struct storage_file
{
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct, in the same piece of memory */
} storage_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim_vfs;

static sqlite3_file *real_of(sqlite3_file *file) { return ((storage_file *)file)->real; }

static bool strikes(const char *what, int code) { return ft_fault_strikes(FT_STORAGE, what, code); }

static int file_close(sqlite3_file *file) { return real_of(file)->pMethods->xClose(real_of(file)); }

static int file_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 at)
{
    return strikes("read", SQLITE_IOERR_READ) ? SQLITE_IOERR_READ
                                              : real_of(file)->pMethods->xRead(real_of(file), to, bytes, at);
}

static int file_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    if (ft_fault_strikes(FT_FULL, "write", SQLITE_FULL))
        return SQLITE_FULL;
    return strikes("write", SQLITE_IOERR_WRITE)
               ? SQLITE_IOERR_WRITE
               : real_of(file)->pMethods->xWrite(real_of(file), from, bytes, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    return strikes("truncate", SQLITE_IOERR_TRUNCATE)
               ? SQLITE_IOERR_TRUNCATE
               : real_of(file)->pMethods->xTruncate(real_of(file), bytes);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return strikes("sync", SQLITE_IOERR_FSYNC) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
    return strikes("size", SQLITE_IOERR_FSTAT) ? SQLITE_IOERR_FSTAT
                                               : real_of(file)->pMethods->xFileSize(real_of(file), bytes);
}

static int file_lock(sqlite3_file *file, int level)
{
    return strikes("lock", SQLITE_IOERR_LOCK) ? SQLITE_IOERR_LOCK
                                              : real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_reserved(sqlite3_file *file, int *reserved)
{
    return strikes("look for a lock", SQLITE_IOERR_CHECKRESERVEDLOCK)
               ? SQLITE_IOERR_CHECKRESERVEDLOCK
               : real_of(file)->pMethods->xCheckReservedLock(real_of(file), reserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int file_sector(sqlite3_file *file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }

static int file_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **memory)
{
    return strikes("map shared memory", SQLITE_IOERR_SHMMAP)
               ? SQLITE_IOERR_SHMMAP
               : real_of(file)->pMethods->xShmMap(real_of(file), page, bytes, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    /* Giving a lock back cannot fail. */
    if ((flags & SQLITE_SHM_LOCK) && strikes("lock shared memory", SQLITE_IOERR_SHMLOCK))
        return SQLITE_IOERR_SHMLOCK;
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int storage_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    storage_file *opened = (storage_file *)file;
    opened->base.pMethods = NULL;
    if (strikes("open", SQLITE_CANTOPEN))
        return SQLITE_CANTOPEN;
    opened->real = (sqlite3_file *)(opened + 1);
    memset(opened->real, 0, (size_t)real_vfs->szOsFile);
    int rc = real_vfs->xOpen(real_vfs, name, opened->real, flags, out);
    if (opened->real->pMethods != NULL)
        opened->base.pMethods = &file_methods;
    return rc;
}

static int storage_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    (void)sync;
    return strikes("delete", SQLITE_IOERR_DELETE) ? SQLITE_IOERR_DELETE
                                                  : real_vfs->xDelete(real_vfs, name, 0);
}

static int storage_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    (void)vfs;
    return strikes("access", SQLITE_IOERR_ACCESS) ? SQLITE_IOERR_ACCESS
                                                  : real_vfs->xAccess(real_vfs, name, flags, result);
}

bool ft_storage_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    if (real_vfs == NULL)
        return false;
    shim_vfs = *real_vfs;
    shim_vfs.zName = "fault";
    shim_vfs.szOsFile = (int)sizeof(storage_file) + real_vfs->szOsFile;
    shim_vfs.pNext = NULL;
    shim_vfs.xOpen = storage_open;
    shim_vfs.xDelete = storage_delete;
    shim_vfs.xAccess = storage_access;
    return sqlite3_vfs_register(&shim_vfs, 1) == SQLITE_OK;
}
