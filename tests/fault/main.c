/*
 * Faults: memory that runs out, files that fail, a disk that is full, at the chances of a scenario.
 *
 *     fault [--extension PATH] [--scenario FILE] [--mode TEXT] [--part NAME] [--journal wal|delete]
 * [--encoding UTF-16le]
 *           [--thin N | --stride N | --every] [--offset N] [--only N] [--show]
 *
 * By default some chances are tried, from a random one on (it is printed, --offset repeats it): every Nth, N
 * by kind times --thin. --every tries all, --only one; a finding says which. --mode takes the modes whose
 * names begin with TEXT ("memory", "storage-once"); those of memory run with one journal only, unless
 * --journal says which. --show prints the answers of the scenario. The last line is `N passed, N failed, 0
 * skipped`, a test being one mode of one part.
 */
#include "run.h"

#include <dlfcn.h>
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
    const char *part;
    const char *mode;
    const char *journal;
    const char *encoding;
    int64_t stride; /* 0: by kind */
    int64_t thin;
    int64_t offset;
    int64_t only;
} options;

static const ft_mode modes[] = {
    {"memory-once", FT_MEMORY, false, false},     {"memory-lasting", FT_MEMORY, true, false},
    {"memory-abandon", FT_MEMORY, true, true},    {"storage-once", FT_STORAGE, false, false},
    {"storage-lasting", FT_STORAGE, true, false}, {"storage-abandon", FT_STORAGE, true, true},
    {"full-lasting", FT_FULL, true, false},       {"full-abandon", FT_FULL, true, true},
};

/* Between two chances that are tried. */
static const int64_t strides[] = {[FT_MEMORY] = 211, [FT_STORAGE] = 23, [FT_FULL] = 11};

static long passed;
static long not_passed;
static int64_t all_tried;
static int64_t all_failing;

static bool wanted(const char *beginning, const char *name)
{
    return beginning == NULL || strncmp(name, beginning, strlen(beginning)) == 0;
}

/* Tries the chances of one mode of one part. */
static void try_mode(const options *o, ft_place *place, const ft_part *part, bool first, const ft_mode *mode)
{
    ft_measure measure;
    int64_t tried = 0;
    int64_t failing = 0;
    int findings = 0;
    bool reached = true;
    char *problem = ft_measure_take(&measure, place, part, first, mode->source);
    int64_t stride = o->stride > 0 ? o->stride : strides[mode->source] * o->thin;
    int64_t at = o->only > 0 ? o->only : 1 + o->offset % stride;
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
        at += stride;
        if (o->only > 0)
            break;
    }
    if (problem != NULL)
    {
        printf("%s without a fault: %s\n", part->name, problem);
        findings++;
    }
    free(problem);
    all_tried += tried;
    all_failing += failing;
    printf("%-12s %-16s %-7s %-9s %6lld chances, %6lld tried, %6lld calls failed, %d findings\n", part->name,
           mode->name, place->journal, place->encoding, (long long)measure.chances, (long long)tried,
           (long long)failing, findings);
    fflush(stdout);
    if (findings > 0)
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
                (modes[j].source != FT_MEMORY || o->journal != NULL || strcmp(journal, "wal") == 0))
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

/* Fills *o and *shows; false for what is not understood. */
static bool read_options(int argc, char **argv, options *o, bool *shows)
{
    const struct
    {
        const char *name;
        const char **text;
        int64_t *number;
    } known[] = {{"--extension", &o->extension, NULL}, {"--scenario", &o->scenario, NULL},
                 {"--mode", &o->mode, NULL},           {"--part", &o->part, NULL},
                 {"--journal", &o->journal, NULL},     {"--encoding", &o->encoding, NULL},
                 {"--thin", NULL, &o->thin},           {"--stride", NULL, &o->stride},
                 {"--offset", NULL, &o->offset},       {"--only", NULL, &o->only}};
    for (int i = 1; i < argc; i++)
    {
        size_t which = 0;
        if (strcmp(argv[i], "--show") == 0)
            *shows = true;
        else if (strcmp(argv[i], "--every") == 0)
            o->stride = 1;
        else
        {
            while (which < sizeof known / sizeof known[0] && strcmp(argv[i], known[which].name) != 0)
                which++;
            if (which == sizeof known / sizeof known[0] || ++i == argc)
                return false;
            if (known[which].text != NULL)
                *known[which].text = argv[i];
            else
                *known[which].number = strtoll(argv[i], NULL, 10);
        }
    }
    return o->thin > 0 && o->stride >= 0 && o->offset >= 0 && o->only >= 0;
}

static void run_all(const options *o, const ft_scenario *scenario)
{
    static const char *const journals[] = {"wal", "delete"};
    check_functions(o, scenario);
    for (size_t i = 0; i < sizeof journals / sizeof journals[0]; i++)
        if (wanted(o->journal, journals[i]))
            try_place(o, scenario, journals[i], o->encoding);
    /* A fault that nothing notices is no test. */
    if (o->only == 0 && all_failing * 2 <= all_tried)
    {
        printf("only %lld of %lld faults made a call fail\n", (long long)all_failing, (long long)all_tried);
        not_passed++;
    }
    printf("%ld passed, %ld failed, 0 skipped\n", passed, not_passed);
}

int main(int argc, char **argv)
{
    options o = {.extension = "build/solidobj.so",
                 .scenario = "tests/fault/scenario.sql",
                 .encoding = "UTF-8",
                 .thin = 1,
                 .offset = (int64_t)time(NULL)};
    bool shows = false;
    if (!read_options(argc, argv, &o, &shows))
    {
        fputs("fault: see the top of tests/fault/main.c\n", stderr);
        return 2;
    }
    printf("offset %lld\n", (long long)o.offset);
    if (!ft_memory_install() || !ft_storage_install())
    {
        fputs("SQLite does not take the shims\n", stderr);
        return 2;
    }
    /* Kept loaded, so that it is not mapped anew for each connection. */
    void *library = dlopen(o.extension, RTLD_NOW);
    if (library == NULL)
    {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    ft_scenario scenario;
    ft_scenario_read(&scenario, o.scenario);
    if (shows)
        show(&scenario, &o);
    else
        run_all(&o, &scenario);
    ft_scenario_free(&scenario);
    dlclose(library);
    return not_passed == 0 ? 0 : 1;
}
