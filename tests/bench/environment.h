/*
 * Where a run took place: what a reader must know to judge its numbers.
 */
#ifndef SO_BENCH_ENVIRONMENT_H
#define SO_BENCH_ENVIRONMENT_H

#include "driver.h"

typedef struct so_bench_environment
{
    char cpu[200], kernel[200], system[200], file_system[64], started_at[40];
    long cores;
    int64_t memory_bytes;
    double fsync_ms[3]; /* p50, min, max of writing 4 KiB and waiting until it is on the disk; -1: unknown */
    char *settings;     /* a JSON object: the driver's, by durability */
} so_bench_environment;

/*
 * Measures and asks; makes, for each of the plan's durabilities (bits by position), a fresh database and
 * removes it, so that what cannot work fails here, before anything is measured. so_bench_environment_clear
 * frees.
 */
int so_bench_environment_take(so_bench_environment *env, const so_bench_database *db, unsigned durabilities,
                              so_bench_error *err);
void so_bench_environment_clear(so_bench_environment *env);

/* One JSON object. */
void so_bench_environment_write(const so_bench_environment *env, const so_bench_database *db,
                                const so_bench_plan *plan, so_bench_json *json, const char *name);

/* One line for people: engine, machine, disk. */
void so_bench_environment_print(const so_bench_environment *env, const so_bench_database *db, FILE *to);

#endif
