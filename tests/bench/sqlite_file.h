/*
 * The file that the SQLite runs use: beside the path of --db, fresh each time, and gone afterwards with all
 * its companions.
 */
#ifndef SO_BENCH_SQLITE_FILE_H
#define SO_BENCH_SQLITE_FILE_H

#include "driver.h"

/* `locate` of the driver: PATH gives PATH.bench-PID beside it, which must be possible to create. */
int so_bench_sqlite_file_locate(so_bench_database *db, const char *where, const char *extension,
                                so_bench_error *err);

/* Makes the empty file. Fails when it is there already. */
int so_bench_sqlite_file_claim(const char *location, so_bench_error *err);

/* Removes the file, its journals, and whatever else was made beside it under its name (NAME-… and NAME.…). */
void so_bench_sqlite_file_remove(const char *location);

#endif
