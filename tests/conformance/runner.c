/*
 * The conformance runner: reads a directory of *.test files, runs each test on a fresh database, says what
 * failed.
 *
 *     conformance [OPTIONS] [DIRECTORY]
 *
 * README.md beside this file describes the format and the options. Exit code: 0 all passed, 1 something
 * failed, 2 it could not run.
 */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    TEST_SECONDS = 180
};

static const cf_driver *const drivers[] = {
    &cf_driver_sqlite,
#ifdef CF_POSTGRES
    &cf_driver_postgres,
#endif
};

typedef struct arguments
{
    cf_options options;
    const char *directory;
    const char *filter;
    bool list;
    bool verbose;
    bool selftest;
} arguments;

typedef struct totals
{
    unsigned passed;
    unsigned failed;
    unsigned skipped;
} totals;

/* The test that runs now, for the alarm's handler. */
static char running[512];

/* A call that never comes back cannot be told from here to stop: say where it hangs and end. */
static void hang(int signal_number)
{
    static const char tail[] = ": hangs, giving up\n";

    (void)signal_number;
    if (write(STDERR_FILENO, running, strlen(running)) < 0 ||
        write(STDERR_FILENO, tail, sizeof(tail) - 1) < 0)
        _exit(3);
    _exit(2);
}

static const char usage[] =
    "usage: conformance [OPTIONS] [DIRECTORY]\n"
    "  DIRECTORY          where the *.test files are (tests/conformance/suite)\n"
    "  --db URI           sqlite:PATH or sqlite:PATH?journal=delete (a temporary SQLite file),\n"
    "                     ?doorbell=none, sqlite::memory:\n"
    "  --extension PATH   the library to load (build/solidobj.so); `none` loads nothing\n"
    "  --filter TEXT      only tests whose name or file holds TEXT\n"
    "  --list             names and rules, nothing is run\n"
    "  --verbose          a line for each test, not only for those that fail\n"
    "  --selftest         every test must fail in the way that its `fails` line says, every file in\n"
    "                     DIRECTORY/malformed must be refused as its first line says\n";

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_test_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".test") == 0;
}

/* Calls `each` for every *.test file, in the order of names; the number of files, or -1. */
static int for_files(const char *directory, void (*each)(const char *file, void *context), void *context)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_test_file, by_name);

    for (int i = 0; i < count; i++)
    {
        char *file = cf_format("%s/%s", directory, entries[i]->d_name);

        each(file, context);
        free(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

typedef struct loading
{
    cf_suite *suite;
    bool failed;
} loading;

static void load_file(const char *file, void *context)
{
    loading *l = context;
    char *error = cf_suite_read(l->suite, file);

    if (error)
    {
        fprintf(stderr, "%s\n", error);
        l->failed = true;
    }
    free(error);
}

static bool load_suite(cf_suite *suite, const char *directory)
{
    loading l = {.suite = suite};
    int files = for_files(directory, load_file, &l);
    char *error = files > 0 && !l.failed ? cf_suite_check(suite) : NULL;

    if (files <= 0)
        fprintf(stderr, "%s: no *.test files here\n", directory);
    if (error)
        fprintf(stderr, "%s\n", error);
    l.failed = l.failed || files <= 0 || error;
    free(error);
    return !l.failed;
}

static bool wanted(const arguments *a, const cf_test *test)
{
    return !test->setup && (!a->filter || strstr(test->name, a->filter) || strstr(test->file, a->filter));
}

/* In a self-test a test passes that fails as it should. */
static cf_outcome judge(const arguments *a, const cf_test *test, cf_outcome outcome, char **report)
{
    char *complaint;

    if (!a->selftest || outcome == CF_SKIPPED)
        return outcome;
    if (outcome == CF_FAILED && test->fails && strstr(*report, test->fails))
        return CF_PASSED;
    complaint =
        cf_format("%s:%d: %s: should have failed with \"%s\", but %s", test->file, test->line, test->name,
                  test->fails ? test->fails : "(no `fails` line)", outcome == CF_FAILED ? *report : "passed");
    free(*report);
    *report = complaint;
    return CF_FAILED;
}

static const char *skip_reason(const cf_test *test)
{
    if (test->beside_reason)
        return test->beside_reason;
    return test->only_reason ? test->only_reason : "a function is not on this database yet";
}

static void run_suite(const arguments *a, const cf_suite *suite, totals *t)
{
    for (size_t i = 0; i < suite->test_count; i++)
    {
        const cf_test *test = &suite->tests[i];
        char *report = NULL;
        cf_outcome outcome;

        if (!wanted(a, test))
            continue;
        snprintf(running, sizeof(running), "%s:%d: %s", test->file, test->line, test->name);
        alarm(TEST_SECONDS);
        outcome = judge(a, test, cf_run_test(&a->options, suite, test, &report), &report);
        alarm(0);
        if (outcome == CF_FAILED)
            printf("FAIL %s\n", report);
        else if (a->verbose)
            printf("%s %s%s%s\n", outcome == CF_PASSED ? "ok  " : "skip", test->name,
                   outcome == CF_SKIPPED ? ": " : "", outcome == CF_SKIPPED ? skip_reason(test) : "");
        fflush(stdout);
        free(report);
        t->passed += outcome == CF_PASSED;
        t->failed += outcome == CF_FAILED;
        t->skipped += outcome == CF_SKIPPED;
    }
}

/* A malformed file begins with "# error: TEXT"; reading it must give an error that holds TEXT. */
static void refuse_file(const char *file, void *context)
{
    totals *t = context;
    cf_suite suite = {0};
    char line[256] = "";
    FILE *stream = fopen(file, "r");
    const char *should = stream && fgets(line, sizeof(line), stream) ? line : "";
    char *error = cf_suite_read(&suite, file);

    if (stream)
        fclose(stream);
    line[strcspn(line, "\n")] = '\0';
    if (!error)
        error = cf_suite_check(&suite);
    if (strncmp(should, "# error: ", 9) == 0 && should[9] && error && strstr(error, should + 9))
        t->passed++;
    else
    {
        printf("FAIL %s:1: should have been refused (%s), got: %s\n", file, should,
               error ? error : "no error");
        t->failed++;
    }
    free(error);
    cf_suite_free(&suite);
}

static bool run_malformed(const arguments *a, totals *t)
{
    char *directory = cf_format("%s/malformed", a->directory);
    bool any = for_files(directory, refuse_file, t) > 0;

    if (!any)
        fprintf(stderr, "%s: no *.test files here\n", directory);
    free(directory);
    return any;
}

static void list_suite(const arguments *a, const cf_suite *suite)
{
    for (size_t i = 0; i < suite->test_count; i++)
        if (wanted(a, &suite->tests[i]))
            printf("%s:%d: %s\n    %s\n", suite->tests[i].file, suite->tests[i].line, suite->tests[i].name,
                   suite->tests[i].rule);
}

static bool choose_driver(arguments *a, const char *uri)
{
    size_t length = strcspn(uri, ":");

    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
    {
        if (strlen(drivers[i]->scheme) != length || strncmp(drivers[i]->scheme, uri, length) != 0)
            continue;
        a->options.driver = drivers[i];
        a->options.uri = uri[length] ? uri + length + 1 : "";
        for (int d = 0; d < CF_DIALECTS; d++)
            if (strcmp(cf_dialects[d], drivers[i]->dialect) == 0)
                a->options.dialect = d;
        return true;
    }
    fprintf(stderr, "conformance: no driver for %s\n", uri);
    return false;
}

static bool read_arguments(arguments *a, int argc, char **argv)
{
    static const struct option longs[] = {
        {"db", required_argument, NULL, 'd'},
        {"extension", required_argument, NULL, 'e'},
        {"filter", required_argument, NULL, 'f'},
        {"list", no_argument, NULL, 'l'},
        {"verbose", no_argument, NULL, 'v'},
        {"selftest", no_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    const char *uri = "sqlite:";
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) >= 0)
    {
        switch (option)
        {
        case 'd':
            uri = optarg;
            break;
        case 'e':
            a->options.extension = strcmp(optarg, "none") ? optarg : NULL;
            break;
        case 'f':
            a->filter = optarg;
            break;
        case 'l':
            a->list = true;
            break;
        case 'v':
            a->verbose = true;
            break;
        case 's':
            a->selftest = true;
            break;
        default:
            return false;
        }
    }
    if (optind < argc)
        a->directory = argv[optind++];
    return optind == argc && choose_driver(a, uri);
}

int main(int argc, char **argv)
{
    arguments a = {.directory = "tests/conformance/suite", .options = {.extension = "build/solidobj.so"}};
    cf_suite suite = {0};
    totals t = {0};
    bool ran = true;

    if (!read_arguments(&a, argc, argv))
    {
        fputs(usage, stderr);
        return 2;
    }
    if (!load_suite(&suite, a.directory))
    {
        cf_suite_free(&suite);
        return 2;
    }
    signal(SIGALRM, hang);
    if (a.list)
        list_suite(&a, &suite);
    else
    {
        run_suite(&a, &suite, &t);
        if (a.selftest)
            ran = run_malformed(&a, &t);
        if (ran && t.passed + t.failed + t.skipped == 0)
        {
            fputs("conformance: no test was chosen\n", stderr);
            ran = false;
        }
        printf("%u passed, %u failed, %u skipped\n", t.passed, t.failed, t.skipped);
    }
    cf_suite_free(&suite);
    return !ran ? 2 : t.failed ? 1 : 0;
}
