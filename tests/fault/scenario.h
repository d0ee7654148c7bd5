/*
 * The scenario: plain SQL in parts. A line that begins with a point is for the harness, as in the shell:
 *
 *   .part NAME   a new part, on a copy of the database that the first part left. `.part NAME twice`: a call
 * that is repeated may have happened before (so_ask), so its tables are not compared .open A      opens
 * connection A with the extension; .use A and .close A say what they do
 *
 * A column named "$x" is kept for the parameters $x of later statements, and not compared between runs.
 */
#ifndef FT_SCENARIO_H
#define FT_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

enum
{
    FT_CONNECTIONS = 4
};

typedef enum ft_step_kind
{
    FT_STEP_SQL,
    FT_STEP_OPEN,
    FT_STEP_CLOSE
} ft_step_kind;

typedef struct ft_step
{
    ft_step_kind kind;
    int connection;
    char *sql;
    int line;
    bool repeats; /* commits more than once: a repeat goes on where the failed one stopped */
} ft_step;

typedef struct ft_part
{
    char *name;
    bool twice;
    ft_step *steps;
    size_t count;
} ft_part;

typedef struct ft_scenario
{
    ft_part *parts;
    size_t count;
    char *text;
} ft_scenario;

/* Ends the program with a message if the file cannot be read or understood. */
void ft_scenario_read(ft_scenario *scenario, const char *path);
void ft_scenario_free(ft_scenario *scenario);

#endif
