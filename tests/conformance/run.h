/*
 * Running one test on a database of its own.
 */
#ifndef CF_RUN_H
#define CF_RUN_H

#include "suite.h"

typedef struct cf_options
{
    const cf_driver *driver;
    int dialect;           /* index of the driver's dialect */
    const char *uri;       /* what stands after "scheme:" */
    const char *extension; /* or NULL */
} cf_options;

typedef enum cf_outcome
{
    CF_PASSED,
    CF_FAILED,
    CF_SKIPPED
} cf_outcome;

/* Runs the test. CF_FAILED: *report is one line, malloc'ed: file:line, test, what was expected and what came.
 */
cf_outcome cf_run_test(const cf_options *options, const cf_suite *suite, const cf_test *test, char **report);

#endif
