/*
 * Does an answer meet its expectations?
 */
#ifndef CF_EXPECT_H
#define CF_EXPECT_H

#include "scope.h"
#include "suite.h"

/* A step's answer as one value: the only cell, or all rows as a JSON array of objects. The caller frees it.
 */
cf_value cf_answer_cell(const cf_result *result);
cf_value cf_answer_rows(const cf_result *result);

/*
 * NULL if `result`, whose value is `answer`, is what the step expects (no error, unless one is expected);
 * captures are put into the scope. Else what was expected and what came, malloc'ed; *line is then the
 * expectation's.
 */
char *cf_expect(const cf_step *step, const cf_result *result, const cf_value *answer, cf_scope *scope,
                int *line);

#endif
