/*
 * What every command has in hand: the plan, the database, the environment, the JSON file.
 */
#ifndef SO_BENCH_RUN_H
#define SO_BENCH_RUN_H

#include "environment.h"
#include "stats.h"

#define SO_BENCH_VERSION "0.1.0"

/* A file that appears whole or not at all: written beside its place, moved there at the end. Devices are
 * written directly. */
typedef struct so_bench_output
{
    FILE *file; /* NULL: none is wanted */
    const char *path;
    char aside[1100]; /* where it is written until then; empty: at its place */
} so_bench_output;

typedef struct so_bench_run
{
    const so_bench_plan *plan;
    so_bench_database db;
    unsigned durabilities; /* bits by position in the driver's list */
    so_bench_environment environment;
    so_bench_output output;
    char *command; /* the command line, quoted for a shell */
} so_bench_run;

/* Exit statuses: 0 all is well, 1 something measured was wrong, 2 the command line was, 130 interrupted. */
enum
{
    SO_BENCH_FINE = 0,
    SO_BENCH_WRONG = 1,
    SO_BENCH_USAGE = 2,
    SO_BENCH_INTERRUPTED = 130
};

/* The commands: measure, print Markdown on stdout, write JSON into the run's output if there is one. Give the
 * exit status. */
int so_bench_matrix_run(so_bench_run *run);
int so_bench_wake_run(so_bench_run *run);
int so_bench_state_run(so_bench_run *run);

/* The output of `path`; NULL: none. */
int so_bench_output_open(so_bench_output *output, const char *path, so_bench_error *err);
/* Puts it in its place. */
int so_bench_output_keep(so_bench_output *output, so_bench_error *err);
/* Drops what has not been kept. */
void so_bench_output_drop(so_bench_output *output);

/* The members that begin every JSON file: solidobj_bench, command, environment. Opens the outermost object.
 */
void so_bench_run_head(const so_bench_run *run, so_bench_json *json);
/* Closes it and keeps the file. Gives `status`, or SO_BENCH_WRONG with a message when the file cannot be
 * written. */
int so_bench_run_tail(so_bench_run *run, so_bench_json *json, int status);

/* Members of the object that is open: database, engine_version, durability. */
void so_bench_run_where(const so_bench_run *run, so_bench_json *json, const char *durability);

/* {median, min, max} and {p50, p95, p99, max}. */
void so_bench_json_range(so_bench_json *json, const char *name, so_bench_range range);
void so_bench_json_latency(so_bench_json *json, const char *name, so_bench_latency latency);
/* [ms, …] as one array. */
void so_bench_json_latencies(so_bench_json *json, const char *name, const uint32_t *latencies, size_t count);

#endif
