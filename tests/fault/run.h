/*
 * Runs a part of the scenario with one fault, and judges what it did.
 *
 * A first run without a fault is the measure: its answers, and what other connections see after each step. In
 * a run with a fault a step either answers the same or fails with the fault's own error; then other
 * connections see what they saw before it, the caller's transaction is as it was or gone as a whole, and the
 * step, or the transaction from its beginning, is repeated: from there on every answer is the measure's
 * again, and so are the tables at the end.
 */
#ifndef FT_RUN_H
#define FT_RUN_H

#include "../conformance/driver.h"
#include "fault.h"
#include "scenario.h"

typedef struct ft_place
{
    const char *extension;
    const char *journal;  /* "wal", "delete" */
    const char *encoding; /* "UTF-8", "UTF-16le" */
    char *directory;
    char *path;
    cf_database *database; /* for the checks at the end */
    char *base;            /* the file that the first part left */
    size_t base_bytes;
} ft_place;

/* What a part does without a fault, one of each per step. */
typedef struct ft_measure
{
    char **answers;
    char **seen; /* by others after the step */
    char *start;
    char *end;
    int *began; /* the step that began the connection's transaction, -1: none is open before this step */
    bool *ends; /* the step ends it */
    int64_t chances;
} ft_measure;

typedef struct ft_mode
{
    const char *name;
    ft_source source;
    bool lasting; /* the chances after the Nth fail as well, until a step fails */
    bool abandon; /* what failed is not repeated: the connections are closed while everything still fails */
} ft_mode;

void ft_place_make(ft_place *place, const char *extension, const char *journal, const char *encoding);
void ft_place_remove(ft_place *place);

/* Keeps the file of the run before as what the other parts begin with. */
void ft_place_keep(ft_place *place);

/* NULL if it went well, else what is wrong, malloc'ed. Fills *measure; counts the chances of `source`. */
char *ft_measure_take(ft_measure *measure, ft_place *place, const ft_part *part, bool first,
                      ft_source source);
void ft_measure_free(ft_measure *measure, const ft_part *part);

/* The same with chance number `at` failing. *reached: the run had that many. *failed: a step failed. */
char *ft_run(ft_place *place, const ft_part *part, bool first, const ft_measure *measure, const ft_mode *mode,
             int64_t at, bool *reached, bool *failed);

/* The functions of the product, as a connection with the extension lists them: names, one a line. */
char *ft_functions(ft_place *place);

#endif
