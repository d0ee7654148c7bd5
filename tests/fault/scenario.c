/*
 * Reads the scenario. See scenario.h.
 */
#include "scenario.h"

#include "../conformance/driver.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls that commit work piece by piece, or wait between commits. */
static const char *const repeating[] = {"so_run(", "so_ask(", "so_wait("};

static void wrong(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    exit(2);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t bytes = 0;
    size_t got = 1;
    if (file == NULL)
    {
        perror(path);
        exit(2);
    }
    while (got > 0)
    {
        text = cf_grow(text, bytes + 65536, 1);
        got = fread(text + bytes, 1, 65535, file);
        bytes += got;
    }
    text[bytes] = '\0';
    fclose(file);
    return text;
}

static ft_step *add_step(ft_part *part, ft_step step)
{
    part->steps = cf_grow(part->steps, part->count + 1, sizeof step);
    part->steps[part->count] = step;
    return &part->steps[part->count++];
}

static bool is_repeating(const char *sql)
{
    for (size_t i = 0; i < sizeof repeating / sizeof repeating[0]; i++)
        if (strstr(sql, repeating[i]) != NULL)
            return true;
    return false;
}

static void point_line(ft_scenario *scenario, const char *path, int number, char *line, int *connection)
{
    ft_part *part = scenario->count == 0 ? NULL : &scenario->parts[scenario->count - 1];
    char *space = strchr(line, ' ');
    char *argument = space == NULL ? line + strlen(line) : space + 1;
    if (space != NULL)
        *space = '\0';
    if (strcmp(line, ".part") == 0)
    {
        char *twice = strstr(argument, " twice");
        scenario->parts = cf_grow(scenario->parts, scenario->count + 1, sizeof *part);
        scenario->parts[scenario->count++] =
            (ft_part){.name = cf_copy(argument, twice ? (size_t)(twice - argument) : strlen(argument)),
                      .twice = twice != NULL};
        return;
    }
    if (part == NULL || argument[0] < 'A' || argument[0] >= 'A' + FT_CONNECTIONS || argument[1] != '\0')
        wrong(path, number, "a connection is A to D, in a part");
    *connection = argument[0] - 'A';
    if (strcmp(line, ".open") == 0)
        add_step(part, (ft_step){.kind = FT_STEP_OPEN, .connection = *connection, .line = number});
    else if (strcmp(line, ".close") == 0)
        add_step(part, (ft_step){.kind = FT_STEP_CLOSE, .connection = *connection, .line = number});
    else if (strcmp(line, ".use") != 0)
        wrong(path, number, "not understood");
}

void ft_scenario_read(ft_scenario *scenario, const char *path)
{
    char *sql = NULL; /* the statement so far */
    int first = 0;
    int number = 0;
    int connection = 0;
    *scenario = (ft_scenario){.text = read_all(path)};
    char *copy = cf_copy(scenario->text, strlen(scenario->text));
    for (char *line = copy, *next; line != NULL; line = next)
    {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        if (sql == NULL && (line[0] == '\0' || strncmp(line, "--", 2) == 0))
            continue;
        if (sql == NULL && line[0] == '.')
        {
            point_line(scenario, path, number, line, &connection);
            continue;
        }
        if (scenario->count == 0)
            wrong(path, number, "this stands in no part");
        char *longer = cf_format("%s%s%s", sql == NULL ? "" : sql, sql == NULL ? "" : "\n", line);
        first = sql == NULL ? number : first;
        free(sql);
        sql = longer;
        if (!sqlite3_complete(sql))
            continue;
        add_step(&scenario->parts[scenario->count - 1], (ft_step){.kind = FT_STEP_SQL,
                                                                  .connection = connection,
                                                                  .sql = sql,
                                                                  .line = first,
                                                                  .repeats = is_repeating(sql)});
        sql = NULL;
    }
    free(copy);
    if (sql != NULL)
        wrong(path, first, "a statement without an end");
}

void ft_scenario_free(ft_scenario *scenario)
{
    for (size_t i = 0; i < scenario->count; i++)
    {
        for (size_t j = 0; j < scenario->parts[i].count; j++)
            free(scenario->parts[i].steps[j].sql);
        free(scenario->parts[i].steps);
        free(scenario->parts[i].name);
    }
    free(scenario->parts);
    free(scenario->text);
}
