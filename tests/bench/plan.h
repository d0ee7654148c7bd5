/*
 * What to measure: the axes, one cell of the matrix, and the plan that the command line makes.
 * No database is needed to read a plan; durabilities are names that a driver knows.
 */
#ifndef SO_BENCH_PLAN_H
#define SO_BENCH_PLAN_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum so_bench_shape
{
    SO_BENCH_WARM_HOT,  /* every operation on one existing actor */
    SO_BENCH_WARM_MANY, /* over SO_BENCH_ACTORS existing actors in turn */
    SO_BENCH_COLD_MANY  /* each operation creates an actor */
} so_bench_shape;

typedef enum so_bench_handler
{
    SO_BENCH_SYNCHRONOUS, /* inside the database, in the turn's transaction */
    SO_BENCH_ASYNCHRONOUS /* an external worker claims, yields the processor, commits */
} so_bench_handler;

typedef enum so_bench_topology
{
    SO_BENCH_ONE_PROCESS,
    SO_BENCH_FOUR_PROCESSES
} so_bench_topology;

typedef enum so_bench_path
{
    SO_BENCH_SEND, /* a durable send, then a wait for the committed result */
    SO_BENCH_CALL, /* one so_call */
    SO_BENCH_FLOOR /* the pinned hand-written transaction; no path that anybody can ask for */
} so_bench_path;

typedef enum so_bench_workload
{
    SO_BENCH_COUNTER,
    SO_BENCH_CART_OUTBOX /* known, but needs effects: refused */
} so_bench_workload;

enum
{
    SO_BENCH_ACTORS = 100,
    SO_BENCH_WORKERS = 4,
    SO_BENCH_MAX_CLIENTS = 256,
    SO_BENCH_MAX_LEVELS = 16, /* values of --concurrency */
    SO_BENCH_MAX_REPETITIONS = 100
};

/* Names by enum value; NULL ends each. */
extern const char *const so_bench_shapes[];
extern const char *const so_bench_handlers[];
extern const char *const so_bench_topologies[];
extern const char *const so_bench_paths[]; /* without the floor */
extern const char *const so_bench_workloads[];

typedef struct so_bench_cell
{
    const char *durability; /* a name of the driver's */
    so_bench_topology topology;
    so_bench_shape shape;
    so_bench_handler handler;
    so_bench_path path;
    so_bench_workload workload;
    int concurrency;
} so_bench_cell;

/* When a batch ends. */
typedef struct so_bench_length
{
    int64_t exactly; /* operations; 0: the two minima decide, whichever takes longer */
    int64_t least_operations;
    double least_seconds;
} so_bench_length;

typedef enum so_bench_command
{
    SO_BENCH_MATRIX = 1,
    SO_BENCH_WAKE = 2,
    SO_BENCH_STATE = 4
} so_bench_command;

typedef struct so_bench_plan
{
    const char *db; /* as given: SCHEME:REST */
    const char *json;
    const char *extension;
    const char *durability; /* as given; NULL: the driver's, all of them or (quick, wake, state) the first */
    unsigned shapes, handlers, topologies, paths, workload; /* bits by enum value */
    int concurrency[SO_BENCH_MAX_LEVELS];                   /* ends with 0 when shorter */
    int64_t operations, warmup, repetitions, seed, samples; /* -1: not given */
    bool quick, help;

    /* Derived. */
    so_bench_length cell, floor;
} so_bench_plan;

/*
 * Reads the options after the command. Fails with a message that names the option.
 * Texts point into argv. Nothing is asked of the system: whether the database is there is found out later.
 */
int so_bench_plan_read(so_bench_plan *plan, so_bench_command command, int argc, char **argv,
                       so_bench_error *err);

/*
 * A comma-separated list of names to bits by position in `names`. `option` is for the message.
 * An empty list and unknown names fail; a name given twice counts once.
 */
int so_bench_names_read(const char *option, const char *list, const char *const *names, unsigned *bits,
                        so_bench_error *err);

/* Prints the options of the command, a line each. */
void so_bench_plan_help(FILE *to, so_bench_command command);

/* Whether the combination exists: an asynchronous handler has no call path. */
bool so_bench_cell_exists(so_bench_handler handler, so_bench_path path);

/* The key of operation `number` (warm-up included, counted from 0) into `key`. */
void so_bench_cell_key(const so_bench_cell *cell, int64_t seed, uint64_t number, char key[64]);

/* The key of actor `actor` (0 … so_bench_cell_actors()-1) of a warm shape. */
void so_bench_actor_key(so_bench_shape shape, unsigned actor, char key[64]);

/* How many actors must exist before the first operation. */
unsigned so_bench_cell_actors(const so_bench_cell *cell);

/* At which actor the turn over the warm actors begins. */
unsigned so_bench_cell_offset(const so_bench_cell *cell, int64_t seed);

#endif
