/*
 * solidobj-bench: opens connections, calls so_ functions, takes times, checks the outcome, reports.
 * From top to bottom: the commands, the usage, the steps that every command begins with.
 */
#include "child.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

typedef struct command
{
    const char *name;
    so_bench_command options;
    int (*run)(so_bench_run *run);
    bool all_durabilities; /* unless --quick or --durability says otherwise; else the driver's first */
    const char *help;
} command;

static const command commands[] = {
    {"matrix", SO_BENCH_MATRIX, so_bench_matrix_run, true,
     "throughput and latency: shapes x handlers x topologies x concurrency x paths x durability, beside the "
     "floor"},
    {"wake", SO_BENCH_WAKE, so_bench_wake_run, false,
     "after 2.5 s of idleness: from the start of a durable send to its committed result"},
    {"state", SO_BENCH_STATE, so_bench_state_run, false,
     "one actor beside 0 to 4 MiB of other state: touching one member, and taking the whole state"},
};

static const size_t command_count = sizeof commands / sizeof commands[0];

static void usage_print(FILE *to)
{
    fputs("solidobj-bench " SO_BENCH_VERSION ": what durable actors cost beside the bare transaction\n\n"
          "    solidobj-bench COMMAND --db SCHEME:WHERE [options]\n\n",
          to);
    for (size_t i = 0; i < command_count; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\nsolidobj-bench COMMAND --help lists a command's options. Databases of this build:", to);
    for (size_t i = 0; so_bench_drivers[i]; i++)
        fprintf(to, " %s", so_bench_drivers[i]->scheme);
    fputs("\nExit status: 0, 1 when a cell had an error or was not verified, 2 when the command line is "
          "wrong.\n",
          to);
}

static int refuse(const char *who, const char *text)
{
    fprintf(stderr, "solidobj-bench%s%s: %s\n", *who ? " " : "", who, text);
    return SO_BENCH_USAGE;
}

static const command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int command_unknown(const char *name)
{
    char text[400];
    size_t used = (size_t)snprintf(text, sizeof text, "'%.100s' is no command; there are:", name);
    for (size_t i = 0; i < command_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", commands[i].name);
    return refuse("", text);
}

/* The command line as a shell would take it. */
static char *command_quote(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    for (int i = 0; i < argc; i++)
    {
        bool plain =
            *argv[i] && strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                        "_-./:,=@%+") == strlen(argv[i]);
        fputs(i ? " " : "", to);
        if (plain)
        {
            fputs(argv[i], to);
            continue;
        }
        fputc('\'', to);
        for (const char *c = argv[i]; *c; c++)
            fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, to);
        fputc('\'', to);
    }
    if (fclose(to) != 0)
    {
        free(text);
        return NULL;
    }
    return text;
}

static unsigned durabilities_all(const so_bench_driver *driver)
{
    unsigned bits = 0;
    for (int i = 0; driver->durabilities[i]; i++)
        bits |= 1u << i;
    return bits;
}

/* Everything that can be found wrong before the first measurement. */
static int run_prepare(so_bench_run *run, const command *chosen, so_bench_error *err)
{
    const so_bench_plan *plan = run->plan;
    if (so_bench_database_locate(&run->db, plan, err) != 0)
        return -1;
    run->durabilities = chosen->all_durabilities && !plan->quick ? durabilities_all(run->db.driver) : 1;
    if (plan->durability && so_bench_names_read("--durability", plan->durability,
                                                run->db.driver->durabilities, &run->durabilities, err) != 0)
        return -1;
    if (so_bench_output_open(&run->output, plan->json, err) != 0)
        return -1;
    return so_bench_environment_take(&run->environment, &run->db, run->durabilities, err);
}

int main(int argc, char **argv)
{
    so_bench_error err = {0};
    so_bench_plan plan;
    if (argc < 2)
    {
        usage_print(stderr);
        return SO_BENCH_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--version") == 0)
    {
        usage_print(stdout);
        return SO_BENCH_FINE;
    }
    const command *chosen = command_find(argv[1]);
    if (!chosen)
        return command_unknown(argv[1]);
    if (so_bench_plan_read(&plan, chosen->options, argc - 2, argv + 2, &err) != 0)
        return refuse(chosen->name, err.text);
    if (plan.help)
    {
        printf("solidobj-bench %s: %s\n\n", chosen->name, chosen->help);
        so_bench_plan_help(stdout, chosen->options);
        return SO_BENCH_FINE;
    }
    so_bench_interrupt_catch();
    so_bench_run run = {.plan = &plan, .command = command_quote(argc, argv)};
    int status = run.command && run_prepare(&run, chosen, &err) == 0 ? chosen->run(&run)
                                                                     : refuse(chosen->name, err.text);
    if (so_bench_interrupted())
        status = SO_BENCH_INTERRUPTED;
    so_bench_output_drop(&run.output);
    so_bench_environment_clear(&run.environment);
    free(run.command);
    return status;
}
