#include "scope.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text
{
    char *bytes;
    size_t size;
    size_t capacity;
} text;

static void text_add(text *to, const char *bytes, size_t size)
{
    if (to->size + size + 1 > to->capacity)
    {
        to->capacity = (to->size + size + 1) * 2;
        to->bytes = cf_grow(to->bytes, to->capacity, 1);
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = '\0';
}

size_t cf_name_length(const char *name)
{
    size_t length = 0;

    if (isdigit((unsigned char)*name))
        return 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    return length;
}

const cf_value *cf_scope_get(const cf_scope *scope, const char *name, size_t length)
{
    for (size_t i = 0; i < scope->count; i++)
        if (strlen(scope->variables[i].name) == length && memcmp(scope->variables[i].name, name, length) == 0)
            return &scope->variables[i].value;
    return NULL;
}

void cf_scope_set(cf_scope *scope, const char *name, size_t length, cf_value value)
{
    for (size_t i = 0; i < scope->count; i++)
        if (strlen(scope->variables[i].name) == length && memcmp(scope->variables[i].name, name, length) == 0)
        {
            cf_value_free(&scope->variables[i].value);
            scope->variables[i].value = value;
            return;
        }
    scope->variables = cf_grow(scope->variables, scope->count + 1, sizeof(cf_variable));
    scope->variables[scope->count++] = (cf_variable){cf_copy(name, length), value};
}

void cf_scope_free(cf_scope *scope)
{
    for (size_t i = 0; i < scope->count; i++)
    {
        free(scope->variables[i].name);
        cf_value_free(&scope->variables[i].value);
    }
    free(scope->variables);
    memset(scope, 0, sizeof(*scope));
}

static char *no_variable(const char *name, size_t length)
{
    return cf_format("there is no variable $%.*s", (int)length, name);
}

char *cf_scope_sql(const cf_scope *scope, const cf_driver *driver, const char *sql, cf_value **values,
                   size_t *count, char **error)
{
    text to = {0};
    char quote = 0;

    *values = NULL;
    *count = 0;
    text_add(&to, "", 0);
    for (const char *at = sql; *at && !*error; at++)
    {
        size_t length = !quote && (*at == '$' || *at == '@') ? cf_name_length(at + 1) : 0;
        char name[128];

        if (quote ? *at == quote : (*at == '\'' || *at == '"'))
            quote = quote ? 0 : *at;
        if (!length)
        {
            text_add(&to, at, 1);
            continue;
        }
        if (*at == '@')
        {
            char *view = cf_copy(at + 1, length);

            driver->view(view, name, sizeof(name));
            free(view);
        }
        else
        {
            const cf_value *value = cf_scope_get(scope, at + 1, length);

            if (!value)
            {
                *error = no_variable(at + 1, length);
                break;
            }
            *values = cf_grow(*values, *count + 1, sizeof(cf_value));
            (*values)[(*count)++] = cf_value_copy(value);
            driver->placeholder(*count, name);
        }
        text_add(&to, name, strlen(name));
        at += length;
    }
    if (*error)
    {
        free(to.bytes);
        return NULL;
    }
    return to.bytes;
}

static void add_json(text *to, const cf_value *value)
{
    char number[40];

    switch (value->type)
    {
    case CF_NULL:
        text_add(to, "null", 4);
        return;
    case CF_INT:
        snprintf(number, sizeof(number), "%" PRId64, value->number);
        text_add(to, number, strlen(number));
        return;
    case CF_REAL:
        snprintf(number, sizeof(number), "%.17g", value->real);
        text_add(to, number, strlen(number));
        return;
    case CF_TEXT:
    case CF_BLOB:
        break;
    }
    text_add(to, "\"", 1);
    for (size_t i = 0; i < value->size; i++)
    {
        unsigned char c = (unsigned char)value->text[i];

        if (c < 0x20 || c == '"' || c == '\\')
        {
            snprintf(number, sizeof(number), "\\u%04x", c);
            text_add(to, number, 6);
        }
        else
            text_add(to, &value->text[i], 1);
    }
    text_add(to, "\"", 1);
}

char *cf_scope_json(const cf_scope *scope, const char *json, char **error)
{
    text to = {0};
    bool quoted = false;

    text_add(&to, "", 0);
    for (const char *at = json; *at; at++)
    {
        size_t length = !quoted && *at == '$' ? cf_name_length(at + 1) : 0;

        if (length)
        {
            const cf_value *value = cf_scope_get(scope, at + 1, length);

            if (!value)
            {
                *error = no_variable(at + 1, length);
                free(to.bytes);
                return NULL;
            }
            add_json(&to, value);
            at += length;
            continue;
        }
        if (quoted && *at == '\\' && at[1])
            text_add(&to, at++, 1);
        else if (*at == '"')
            quoted = !quoted;
        text_add(&to, at, 1);
    }
    return to.bytes;
}

/* ---- let ------------------------------------------------------------------------------------------ */

/* Reads 'text' with '' for a quote; false if there is none. */
static bool read_quoted(const char **at, text *to)
{
    const char *p = *at;

    if (*p != '\'')
        return false;
    text_add(to, "", 0);
    for (p++; *p && (*p != '\'' || p[1] == '\''); p++)
    {
        text_add(to, p, 1);
        if (*p == '\'')
            p++;
    }
    if (*p != '\'')
        return false;
    *at = p + 1;
    return true;
}

static bool skip_comma(const char **at)
{
    if (**at != ',')
        return false;
    (*at)++;
    return true;
}

static bool read_series(const char **at, text *to)
{
    char *end;
    long from = strtol(*at, &end, 10);
    long till;
    text template = {0};
    text separator = {0};
    bool ok = *end == ',';

    till = ok ? strtol(end + 1, &end, 10) : 0;
    *at = end;
    ok = ok && skip_comma(at) && read_quoted(at, &template) && skip_comma(at) && read_quoted(at, &separator);
    for (long i = from; ok && i <= till; i++)
    {
        if (i > from)
            text_add(to, separator.bytes, separator.size);
        for (size_t c = 0; c < template.size; c++)
        {
            char number[24];

            snprintf(number, sizeof(number), "%ld", i);
            if (template.bytes[c] == '#')
                text_add(to, number, strlen(number));
            else
                text_add(to, &template.bytes[c], 1);
        }
    }
    free(template.bytes);
    free(separator.bytes);
    return ok;
}

static bool read_hex(const char **at, text *to)
{
    unsigned byte;
    char c;

    text_add(to, "", 0);
    while (isxdigit((unsigned char)(*at)[0]) && sscanf(*at, "%2x", &byte) == 1)
    {
        c = (char)byte;
        text_add(to, &c, 1);
        *at += 2;
    }
    return **at == ')';
}

/* A piece with parentheses; sets the type that a single piece has. */
static bool read_function(const char **at, text *to, cf_value *typed)
{
    size_t length = cf_name_length(*at);
    const char *name = *at;
    char *end;
    bool ok = false;

    if (name[length] != '(')
        return false;
    *at += length + 1;
    if (strncmp(name, "series", length) == 0)
        ok = read_series(at, to);
    else if (strncmp(name, "hex", length) == 0)
        ok = read_hex(at, to);
    else if (strncmp(name, "blob", length) == 0)
    {
        typed->type = CF_BLOB;
        ok = read_hex(at, to);
    }
    else if (strncmp(name, "null", length) == 0)
    {
        typed->type = CF_NULL;
        ok = true;
    }
    else if (strncmp(name, "int", length) == 0)
    {
        typed->type = CF_INT;
        typed->number = strtoll(*at, &end, 10);
        ok = end != *at;
        *at = end;
    }
    else if (strncmp(name, "real", length) == 0)
    {
        typed->type = CF_REAL;
        typed->real = strtod(*at, &end);
        ok = end != *at;
        *at = end;
    }
    ok = ok && **at == ')';
    *at += ok ? 1 : 0;
    return ok;
}

static bool read_variable(const cf_scope *scope, const char **at, text *to)
{
    size_t length = **at == '$' ? cf_name_length(*at + 1) : 0;
    const cf_value *value = length ? cf_scope_get(scope, *at + 1, length) : NULL;
    char number[40];

    if (!value || value->type == CF_NULL)
        return false;
    if (value->type == CF_INT)
        snprintf(number, sizeof(number), "%" PRId64, value->number);
    else
        snprintf(number, sizeof(number), "%.17g", value->real);
    if (value->text)
        text_add(to, value->text, value->size);
    else
        text_add(to, number, strlen(number));
    *at += length + 1;
    return true;
}

static bool read_piece(const cf_scope *scope, const char **at, text *to, cf_value *typed)
{
    text piece = {0};
    bool ok = read_quoted(at, &piece);

    if (ok)
    {
        long times = 1;

        if (**at == '*')
        {
            char *end;

            times = strtol(*at + 1, &end, 10);
            *at = end;
        }
        for (long i = 0; i < times; i++)
            text_add(to, piece.bytes, piece.size);
    }
    free(piece.bytes);
    return ok || read_variable(scope, at, to) || read_function(at, to, typed);
}

char *cf_scope_let(cf_scope *scope, const char *line)
{
    size_t length = *line == '$' ? cf_name_length(line + 1) : 0;
    const char *at = line + 1 + length;
    cf_value typed = {.type = CF_TEXT};
    text to = {0};
    size_t pieces = 0;

    text_add(&to, "", 0);
    while (length && at[strspn(at, " \n")])
    {
        at += strspn(at, " \n");
        if (!read_piece(scope, &at, &to, &typed))
        {
            free(to.bytes);
            return cf_format("not a piece of a `let`: %.40s", at);
        }
        pieces++;
    }
    if (!pieces || (typed.type != CF_TEXT && pieces > 1))
    {
        free(to.bytes);
        return cf_format("`let` needs a $name and pieces, a typed one alone");
    }
    if (typed.type == CF_TEXT || typed.type == CF_BLOB)
    {
        typed.text = to.bytes;
        typed.size = to.size;
    }
    else
        free(to.bytes);
    cf_scope_set(scope, line + 1, length, typed);
    return NULL;
}
