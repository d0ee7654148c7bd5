/*
 * The suite in memory: what the *.test files say, checked for form. README.md describes the format.
 */
#ifndef CF_SUITE_H
#define CF_SUITE_H

#include "driver.h"

enum
{
    CF_DIALECTS = 3
};

/* "sqlite", "postgres", "mysql": the order of every per-dialect array. */
extern const char *const cf_dialects[CF_DIALECTS];

typedef enum cf_expect_kind
{
    CF_EXPECT_EQUAL,   /* = LITERAL: the same value of the same type */
    CF_EXPECT_JSON,    /* == JSON: equal as JSON values */
    CF_EXPECT_HAS,     /* has JSON: every member named there is equal */
    CF_EXPECT_LACKS,   /* lacks NAME: an object without that member */
    CF_EXPECT_MATCH,   /* ~ REGEX: the value's text matches */
    CF_EXPECT_BETWEEN, /* between A B: a number in that range, ends included */
    CF_EXPECT_COUNT,   /* count N: an array of N elements */
    CF_EXPECT_ERROR,   /* ! CODE [~ REGEX] */
    CF_EXPECT_CAPTURE  /* => $name [PATH]: keeps the value, or a part of a JSON value; checks nothing but that
                          it is there */
} cf_expect_kind;

typedef struct cf_expectation
{
    cf_expect_kind kind;
    char *path; /* the part of a JSON answer that is meant (".state", "[0].claim"), or NULL: the answer itself
                 */
    char *text; /* what stands after the sign */
    int line;
} cf_expectation;

typedef enum cf_step_kind
{
    CF_STEP_CALL,
    CF_STEP_SQL,
    CF_STEP_ROWS,
    CF_STEP_HANDLER,
    CF_STEP_CLOCK,
    CF_STEP_TRANSACTION,
    CF_STEP_JOIN,
    CF_STEP_OPEN,
    CF_STEP_CLOSE,
    CF_STEP_LET,
    CF_STEP_REPEAT,
    CF_STEP_END,
    CF_STEP_USE,
    CF_STEP_INVARIANTS
} cf_step_kind;

typedef struct cf_step
{
    cf_step_kind kind;
    const char *file; /* owned by the suite */
    int line;
    char session; /* 'A' … */
    bool background;
    char *text;                 /* what stands after the directive, continuation lines included */
    char *dialect[CF_DIALECTS]; /* the lines of a per-dialect block, or NULL */
    cf_expectation *expectations;
    size_t expectation_count;
} cf_step;

typedef struct cf_test
{
    char *name;
    char *rule;
    const char *file;
    int line;
    bool setup;             /* a named block for `use`, not a test */
    bool bare;              /* the runner does not call so_install */
    bool only[CF_DIALECTS]; /* meaningful when `only_reason` is set */
    char *only_reason;
    char *beside_reason; /* set: skipped where a reader cannot read beside an open writer */
    char *fails;         /* self-test: the report must hold this */
    cf_step *steps;
    size_t step_count;
} cf_test;

typedef struct cf_suite
{
    cf_test *tests;
    size_t test_count;
    char **files;
    size_t file_count;
} cf_suite;

/* Reads one file into the suite. NULL if it is well-formed, else a malloc'ed "file:line: what is wrong". */
char *cf_suite_read(cf_suite *suite, const char *file);

/* What can only be checked when all files are there: setups that are used exist. The same result. */
char *cf_suite_check(const cf_suite *suite);

/* The setup of that name, or NULL. */
const cf_test *cf_suite_setup(const cf_suite *suite, const char *name);

void cf_suite_free(cf_suite *suite);

#endif
