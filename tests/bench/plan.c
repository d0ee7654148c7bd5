#include "plan.h"
#include "stats.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *const so_bench_shapes[] = {"warm-hot", "warm-many", "cold-many", NULL};
const char *const so_bench_handlers[] = {"synchronous", "asynchronous", NULL};
const char *const so_bench_topologies[] = {"one-process", "four-processes", NULL};
const char *const so_bench_paths[] = {"send", "call", NULL};
const char *const so_bench_workloads[] = {"counter", "cart-outbox", NULL};

typedef enum option_kind
{
    OPTION_TEXT,   /* const char * */
    OPTION_NAMES,  /* unsigned: bits */
    OPTION_LEVELS, /* int[SO_BENCH_MAX_LEVELS] */
    OPTION_NUMBER, /* int64_t */
    OPTION_FLAG    /* bool; takes no value */
} option_kind;

typedef struct option
{
    const char *name;
    option_kind kind;
    size_t offset;
    unsigned commands;
    const char *const *names; /* OPTION_NAMES */
    int64_t min, max;         /* OPTION_NUMBER, each of OPTION_LEVELS */
    const char *argument, *help;
} option;

#define AT(field) offsetof(so_bench_plan, field)

enum
{
    M = SO_BENCH_MATRIX,
    W = SO_BENCH_WAKE,
    S = SO_BENCH_STATE
};

static const option options[] = {
    {"--db", OPTION_TEXT, AT(db), M | W | S, NULL, 0, 0, "SCHEME:WHERE",
     "the database; for sqlite: a path, fresh files are made beside it and removed, the path itself is not "
     "touched"},
    {"--shapes", OPTION_NAMES, AT(shapes), M, so_bench_shapes, 0, 0, "NAME,…",
     "warm-hot, warm-many, cold-many"},
    {"--handlers", OPTION_NAMES, AT(handlers), M, so_bench_handlers, 0, 0, "NAME,…",
     "synchronous, asynchronous"},
    {"--topologies", OPTION_NAMES, AT(topologies), M, so_bench_topologies, 0, 0, "NAME,…",
     "one-process, four-processes"},
    {"--concurrency", OPTION_LEVELS, AT(concurrency), M, NULL, 1, SO_BENCH_MAX_CLIENTS, "N,…",
     "clients; 1,16"},
    {"--paths", OPTION_NAMES, AT(paths), M, so_bench_paths, 0, 0, "NAME,…", "send, call"},
    {"--durability", OPTION_TEXT, AT(durability), M | W | S, NULL, 0, 0, "NAME,…",
     "sqlite: wal-normal, wal-full, delete-full"},
    {"--workload", OPTION_NAMES, AT(workload), M, so_bench_workloads, 0, 0, "NAME", "counter"},
    {"--operations", OPTION_NUMBER, AT(operations), M, NULL, 1, 100000000, "N",
     "exactly N per cell and repetition; without it at least 10,000 and 2 s"},
    {"--warmup", OPTION_NUMBER, AT(warmup), M, NULL, 0, 100000000, "N",
     "operations before the clock starts; 200"},
    {"--repetitions", OPTION_NUMBER, AT(repetitions), M | S, NULL, 1, SO_BENCH_MAX_REPETITIONS, "N",
     "in fresh processes; 3"},
    {"--samples", OPTION_NUMBER, AT(samples), W, NULL, 5, 100000, "N",
     "wake-ups measured for each topology; 7"},
    {"--seed", OPTION_NUMBER, AT(seed), M, NULL, 0, INT64_MAX, "N", "scatters the keys; 1"},
    {"--quick", OPTION_FLAG, AT(quick), M | S, NULL, 0, 0, NULL,
     "one durability, one repetition, 50 warm-ups, 1 s per cell, 0.7 s per floor, which related cells share"},
    {"--json", OPTION_TEXT, AT(json), M | W | S, NULL, 0, 0, "FILE", "the whole run, every latency included"},
    {"--extension", OPTION_TEXT, AT(extension), M | W | S, NULL, 0, 0, "PATH",
     "the SQLite extension; default: solidobj.so beside this program, else the bare name solidobj"},
    {"--help", OPTION_FLAG, AT(help), M | W | S, NULL, 0, 0, NULL, "this text"},
};

static const size_t option_count = sizeof options / sizeof options[0];

static int names_fail(const char *option_name, const char *word, size_t length, const char *const *names,
                      so_bench_error *err)
{
    char known[400] = "";
    size_t used = 0;
    for (size_t i = 0; names[i] && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    return so_bench_fail(err, "%s: '%.*s' is not one of %s", option_name, (int)(length < 100 ? length : 100),
                         word, known);
}

int so_bench_names_read(const char *option_name, const char *list, const char *const *names, unsigned *bits,
                        so_bench_error *err)
{
    unsigned found = 0;
    for (const char *word = list;; word++)
    {
        size_t length = strcspn(word, ","), i = 0;
        while (names[i] && (strlen(names[i]) != length || memcmp(names[i], word, length) != 0))
            i++;
        if (!names[i])
            return names_fail(option_name, word, length, names, err);
        found |= 1u << i;
        word += length;
        if (*word == '\0')
            break;
    }
    *bits = found;
    return 0;
}

/* One decimal number up to `end`, which is a comma or the end of the text. */
static int number_read(const option *o, const char *text, const char *end, int64_t *value,
                       so_bench_error *err)
{
    char *stop = NULL;
    errno = 0;
    long long number = strtoll(text, &stop, 10);
    bool digits = *text >= '0' && *text <= '9';
    if (!digits || errno != 0 || stop != end || number < o->min || number > o->max)
        return so_bench_fail(err, "%s: '%.*s' is not a whole number from %lld to %lld", o->name,
                             (int)(end - text < 100 ? end - text : 100), text, (long long)o->min,
                             (long long)o->max);
    *value = number;
    return 0;
}

static int levels_read(const option *o, const char *text, int *levels, so_bench_error *err)
{
    int found[SO_BENCH_MAX_LEVELS] = {0}, count = 0;
    for (;; text++)
    {
        int64_t number = 0;
        const char *end = text + strcspn(text, ",");
        if (number_read(o, text, end, &number, err) != 0)
            return -1;
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || found[i] == number;
        if (!known && count == SO_BENCH_MAX_LEVELS)
            return so_bench_fail(err, "%s: at most %d different values", o->name, SO_BENCH_MAX_LEVELS);
        if (!known)
            found[count++] = (int)number;
        text = end;
        if (*text == '\0')
            break;
    }
    memcpy(levels, found, sizeof found);
    return 0;
}

static int option_read(const option *o, const char *value, so_bench_plan *plan, so_bench_error *err)
{
    void *at = (char *)plan + o->offset;
    if (o->kind != OPTION_FLAG && *value == '\0')
        return so_bench_fail(err, "%s: the value is empty", o->name);
    switch (o->kind)
    {
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    case OPTION_NAMES:
        return so_bench_names_read(o->name, value, o->names, at, err);
    case OPTION_LEVELS:
        return levels_read(o, value, at, err);
    case OPTION_NUMBER:
        return number_read(o, value, value + strlen(value), at, err);
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    }
    return so_bench_fail(err, "%s: unknown kind of option", o->name);
}

static const option *option_find(const char *word, size_t length)
{
    for (size_t i = 0; i < option_count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, word, length) == 0)
            return &options[i];
    return NULL;
}

static int words_read(so_bench_plan *plan, so_bench_command command, int argc, char **argv,
                      so_bench_error *err)
{
    for (int i = 0; i < argc; i++)
    {
        const char *word = argv[i];
        size_t length = strcspn(word, "=");
        const option *o = option_find(word, length);
        if (!o)
            return so_bench_fail(err, "%.*s: no such option", (int)(length < 100 ? length : 100), word);
        if (!(o->commands & command))
            return so_bench_fail(err, "%s: not an option of this command", o->name);
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (o->kind == OPTION_FLAG && value)
            return so_bench_fail(err, "%s: takes no value", o->name);
        if (o->kind != OPTION_FLAG && !value)
        {
            if (i + 1 == argc)
                return so_bench_fail(err, "%s: a value is missing (%s)", o->name, o->argument);
            value = argv[++i];
        }
        if (option_read(o, value ? value : "", plan, err) != 0)
            return -1;
    }
    return 0;
}

/* What was not given takes its default, which --quick changes. */
static void defaults_take(so_bench_plan *plan)
{
    if (plan->warmup < 0)
        plan->warmup = plan->quick ? 50 : 200;
    if (plan->repetitions < 0)
        plan->repetitions = plan->quick ? 1 : 3;
    so_bench_length quick = {.least_seconds = 1.0}, full = {.least_operations = 10000, .least_seconds = 2.0};
    plan->cell = plan->quick ? quick : full;
    plan->floor = plan->cell;
    if (plan->quick)
        plan->floor.least_seconds = 0.7;
    if (plan->operations > 0)
        plan->cell = plan->floor = (so_bench_length){.exactly = plan->operations};
}

int so_bench_plan_read(so_bench_plan *plan, so_bench_command command, int argc, char **argv,
                       so_bench_error *err)
{
    *plan = (so_bench_plan){
        .shapes = 1u << SO_BENCH_WARM_HOT | 1u << SO_BENCH_WARM_MANY | 1u << SO_BENCH_COLD_MANY,
        .handlers = 1u << SO_BENCH_SYNCHRONOUS | 1u << SO_BENCH_ASYNCHRONOUS,
        .topologies = 1u << SO_BENCH_ONE_PROCESS | 1u << SO_BENCH_FOUR_PROCESSES,
        .paths = 1u << SO_BENCH_SEND | 1u << SO_BENCH_CALL,
        .workload = 1u << SO_BENCH_COUNTER,
        .concurrency = {1, 16},
        .operations = -1,
        .warmup = -1,
        .repetitions = -1,
        .samples = 7,
        .seed = 1,
    };
    if (words_read(plan, command, argc, argv, err) != 0)
        return -1;
    if (plan->help)
        return 0;
    if (!plan->db)
        return so_bench_fail(err, "--db: which database? For instance --db sqlite:/tmp/bench.db");
    if (plan->workload & 1u << SO_BENCH_CART_OUTBOX)
        return so_bench_fail(
            err, "--workload: cart-outbox needs effects (so_emit), which this version does not have; "
                 "it has: counter");
    if (plan->handlers == 1u << SO_BENCH_ASYNCHRONOUS && plan->paths == 1u << SO_BENCH_CALL)
        return so_bench_fail(err, "--paths: an asynchronous handler has no call path, so no cell is left");
    defaults_take(plan);
    return 0;
}

void so_bench_plan_help(FILE *to, so_bench_command command)
{
    for (size_t i = 0; i < option_count; i++)
    {
        const option *o = &options[i];
        if (!(o->commands & command))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        fprintf(to, "  %-26s %s\n", left, o->help);
    }
}

bool so_bench_cell_exists(so_bench_handler handler, so_bench_path path)
{
    return !(handler == SO_BENCH_ASYNCHRONOUS && path == SO_BENCH_CALL);
}

unsigned so_bench_cell_actors(const so_bench_cell *cell)
{
    static const unsigned actors[] = {[SO_BENCH_WARM_HOT] = 1, [SO_BENCH_WARM_MANY] = SO_BENCH_ACTORS};
    return cell->shape == SO_BENCH_COLD_MANY ? 0 : actors[cell->shape];
}

unsigned so_bench_cell_offset(const so_bench_cell *cell, int64_t seed)
{
    unsigned actors = so_bench_cell_actors(cell);
    return actors ? (unsigned)(so_bench_scatter((uint64_t)seed) % actors) : 0;
}

void so_bench_actor_key(so_bench_shape shape, unsigned actor, char key[64])
{
    snprintf(key, 64, "%s-%u", so_bench_shapes[shape], actor);
}

void so_bench_cell_key(const so_bench_cell *cell, int64_t seed, uint64_t number, char key[64])
{
    unsigned actors = so_bench_cell_actors(cell);
    if (actors > 0)
    {
        so_bench_actor_key(cell->shape, (unsigned)((number + so_bench_cell_offset(cell, seed)) % actors),
                           key);
        return;
    }
    /* Keys that ascend would make every insertion into an index the cheap one at its end. */
    uint64_t scattered = so_bench_scatter(number + so_bench_scatter((uint64_t)seed));
    snprintf(key, 64, "%s-%016llx", so_bench_shapes[cell->shape], (unsigned long long)scattered);
}
