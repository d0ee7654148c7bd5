/*
 * Faults: memory that runs out, files that fail, a disk that is full, at each chance of a scenario.
 *
 *     fault [--extension PATH] [--scenario FILE] [--what memory,storage,full] [--part NAME] [--mode NAME]
 *           [--journal wal|delete] [--encoding UTF-8|UTF-16le] [--stride N] [--offset N] [--every] [--only N]
 *
 * Every Nth chance is tried (--stride, from --offset, which is printed); --every tries all of them. A finding
 * says how to repeat it. The last line is `N passed, N failed, 0 skipped`, a test being one mode of one part.
 */
#include "run.h"

#include <dlfcn.h>
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    FINDINGS = 20 /* in one mode of one part; more say nothing new */
};

typedef struct options
{
    const char *extension;
    const char *scenario;
    const char *what;
    const char *part;
    const char *mode;
    const char *journal;
    const char *encoding;
    int64_t stride;
    int64_t offset; /* -1: by the clock */
    int64_t only;
} options;

static const ft_mode modes[] = {
    {"memory-once", FT_MEMORY, false, false},     {"memory-lasting", FT_MEMORY, true, false},
    {"memory-abandon", FT_MEMORY, true, true},    {"storage-once", FT_STORAGE, false, false},
    {"storage-lasting", FT_STORAGE, true, false}, {"storage-abandon", FT_STORAGE, true, true},
    {"full-lasting", FT_FULL, true, false},       {"full-abandon", FT_FULL, true, true},
};

static long passed;
static long not_passed;

static bool wanted(const char *list, const char *name) { return list == NULL || strstr(list, name) != NULL; }

/* Tries the chances of one mode of one part. */
static void try_mode(const options *o, ft_place *place, const ft_part *part, bool first, const ft_mode *mode)
{
    ft_measure measure;
    int64_t tried = 0;
    int64_t failing = 0;
    int findings = 0;
    bool reached = true;
    char *problem = ft_measure_take(&measure, place, part, first, mode->source);
    int64_t at = o->only > 0 ? o->only : 1 + o->offset % o->stride;
    while (problem == NULL && reached && findings < FINDINGS)
    {
        bool failed;
        problem = ft_run(place, part, first, &measure, mode, at, &reached, &failed);
        tried += reached;
        failing += failed;
        if (problem != NULL)
        {
            printf("%s %s %s %s, chance %lld (%s): %s\n", part->name, mode->name, place->journal,
                   place->encoding, (long long)at, ft_the_fault.what ? ft_the_fault.what : "-", problem);
            free(problem);
            problem = NULL;
            findings++;
        }
        at += o->stride;
        if (o->only > 0)
            break;
    }
    if (problem != NULL)
        printf("%s without a fault: %s\n", part->name, problem);
    free(problem);
    printf("%-12s %-16s %-7s %-9s %6lld chances, %6lld tried, %6lld calls failed, %d findings\n", part->name,
           mode->name, place->journal, place->encoding, (long long)measure.chances, (long long)tried,
           (long long)failing, findings);
    fflush(stdout);
    if (findings > 0 || (tried > 0 && failing == 0 && o->only == 0 && tried * 4 > 100))
        not_passed++;
    else
        passed++;
    ft_measure_free(&measure, part);
}

static void try_place(const options *o, const ft_scenario *scenario, const char *journal,
                      const char *encoding)
{
    ft_place place;
    ft_measure measure;
    ft_place_make(&place, o->extension, journal, encoding);
    char *problem = ft_measure_take(&measure, &place, &scenario->parts[0], true, FT_MEMORY);
    if (problem != NULL)
    {
        fprintf(stderr, "without a fault: %s\n", problem);
        exit(1);
    }
    ft_place_keep(&place);
    ft_measure_free(&measure, &scenario->parts[0]);
    for (size_t i = 0; i < scenario->count; i++)
        for (size_t j = 0; j < sizeof modes / sizeof modes[0]; j++)
            if (wanted(o->part, scenario->parts[i].name) && wanted(o->mode, modes[j].name) &&
                strncmp(modes[j].name, o->what, strlen(o->what)) == 0)
                try_mode(o, &place, &scenario->parts[i], i == 0, &modes[j]);
    ft_place_remove(&place);
}

/* A function that is in no statement of the scenario is a failure: whoever adds one adds its use here. */
static void check_functions(const options *o, const ft_scenario *scenario)
{
    ft_place place;
    long missing = 0;
    ft_place_make(&place, o->extension, "delete", "UTF-8");
    char *names = ft_functions(&place);
    ft_place_remove(&place);
    for (char *name = names == NULL ? NULL : strtok(names, "\n"); name != NULL; name = strtok(NULL, "\n"))
    {
        char *call = cf_format("%s(", name);
        if (strstr(scenario->text, call) == NULL)
        {
            printf("the scenario never calls %s\n", name);
            missing++;
        }
        free(call);
    }
    if (names == NULL || missing > 0)
        not_passed++;
    else
        passed++;
    free(names);
}

static void show(const ft_scenario *scenario, const options *o)
{
    ft_place place;
    ft_place_make(&place, o->extension, "wal", "UTF-8");
    for (size_t i = 0; i < scenario->count; i++)
    {
        ft_measure measure;
        char *problem = ft_measure_take(&measure, &place, &scenario->parts[i], i == 0, FT_MEMORY);
        if (i == 0)
            ft_place_keep(&place);
        for (size_t j = 0; j < scenario->parts[i].count; j++)
            printf("%s:%d: %s\n=> %s\n", scenario->parts[i].name, scenario->parts[i].steps[j].line,
                   scenario->parts[i].steps[j].sql ? scenario->parts[i].steps[j].sql : "",
                   measure.answers[j]);
        if (problem)
            printf("!! %s\n", problem);
        free(problem);
        ft_measure_free(&measure, &scenario->parts[i]);
    }
    ft_place_remove(&place);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"extension", required_argument, NULL, 'x'},
                                          {"scenario", required_argument, NULL, 's'},
                                          {"what", required_argument, NULL, 'w'},
                                          {"part", required_argument, NULL, 'p'},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"journal", required_argument, NULL, 'j'},
                                          {"encoding", required_argument, NULL, 'e'},
                                          {"stride", required_argument, NULL, 'n'},
                                          {"offset", required_argument, NULL, 'o'},
                                          {"every", no_argument, NULL, 'a'},
                                          {"only", required_argument, NULL, '1'},
                                          {"show", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    options o = {.extension = "build/solidobj.so",
                 .scenario = "tests/fault/scenario.sql",
                 .what = "",
                 .stride = 97,
                 .offset = -1};
    bool shows = false;
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
    {
        switch (c)
        {
        case 'x':
            o.extension = optarg;
            break;
        case 's':
            o.scenario = optarg;
            break;
        case 'w':
            o.what = optarg;
            break;
        case 'p':
            o.part = optarg;
            break;
        case 'm':
            o.mode = optarg;
            break;
        case 'j':
            o.journal = optarg;
            break;
        case 'e':
            o.encoding = optarg;
            break;
        case 'n':
            o.stride = strtoll(optarg, NULL, 10);
            break;
        case 'o':
            o.offset = strtoll(optarg, NULL, 10);
            break;
        case 'a':
            o.stride = 1;
            break;
        case '1':
            o.only = strtoll(optarg, NULL, 10);
            break;
        case 'v':
            shows = true;
            break;
        default:
            return 2;
        }
    }
    if (o.stride < 1)
        return 2;
    if (o.offset < 0)
        o.offset = (int64_t)time(NULL) % o.stride;
    printf("stride %lld, offset %lld\n", (long long)o.stride, (long long)o.offset);
    if (!ft_memory_install() || !ft_storage_install())
    {
        fputs("SQLite does not take the shims\n", stderr);
        return 2;
    }
    /* Kept loaded, so that it is not mapped anew for each connection. */
    if (dlopen(o.extension, RTLD_NOW) == NULL)
    {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    ft_scenario scenario;
    ft_scenario_read(&scenario, o.scenario);
    if (shows)
        show(&scenario, &o);
    else
    {
        check_functions(&o, &scenario);
        for (int journal = 0; journal < 2; journal++)
        {
            const char *name = journal == 0 ? "wal" : "delete";
            if (wanted(o.journal, name))
                try_place(&o, &scenario, name, o.encoding == NULL ? "UTF-8" : o.encoding);
        }
        printf("%ld passed, %ld failed, 0 skipped\n", passed, not_passed);
    }
    ft_scenario_free(&scenario);
    return not_passed == 0 ? 0 : 1;
}
