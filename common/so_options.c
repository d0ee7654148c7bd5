/*
 * Reading an options object by its table. Everything is read and checked before anything is written.
 */
#include "so_options.h"

#include "so_json.h"
#include "so_json_internal.h"
#include "so_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One option as it was given, on its way into the caller's struct. */
typedef struct reading
{
    const so_option *option;
    so_str json;
    bool truth;
    int64_t number;
    so_str text;
    so_value when;
} reading;

/* Where the reading happens and how errors name it. */
typedef struct context
{
    so_arena *arena;
    const char *call;
    so_error *err;
} context;

/* Fills the reading from its JSON (not null); *fits says whether the type is right. */
typedef so_code (*read_function)(const context *in, reading *read, bool *fits);
typedef void (*write_function)(const reading *read, void *field);

/* The 64-bit integer that a real is; false if it has a fraction or is beyond 64 bits (*inside: which). */
static bool whole_real(double real, int64_t *number, bool *inside)
{
    static const double limit = 9223372036854775808.0;

    *inside = real >= -limit && real < limit;
    *number = *inside ? (int64_t)real : 0;
    return *inside && (double)*number == real;
}

static so_code read_int(const context *in, reading *read, bool *fits)
{
    so_str json = read->json;
    const so_option *option = read->option;

    *fits = so_json_first(json) == '0';
    if (!*fits)
        return SO_OK;

    bool inside = true;
    if (so_json_is_real(json))
        *fits = whole_real(so_json_real(json), &read->number, &inside) || !inside;
    else
        read->number = so_json_int(json);
    if (*fits && (!inside || read->number < option->min || read->number > option->max))
        return so_error_set(in->err, SO_INVALID_ARGUMENT, NULL,
                            "option %s of %s must be between %" PRId64 " and %" PRId64, option->name,
                            in->call, option->min, option->max);
    return SO_OK;
}

static so_code read_bool(const context *in, reading *read, bool *fits)
{
    (void)in;
    read->truth = so_json_first(read->json) == 't';
    *fits = read->truth || so_json_first(read->json) == 'f';
    return SO_OK;
}

static so_code read_text(const context *in, reading *read, bool *fits)
{
    *fits = so_json_first(read->json) == '"';
    if (!*fits)
        return SO_OK;
    read->text = so_json_unquote(in->arena, read->json);
    return read->text.p ? SO_OK : so_error_nomem(in->err);
}

static so_code read_object(const context *in, reading *read, bool *fits)
{
    (void)in;
    *fits = so_json_first(read->json) == '{';
    read->text = read->json;
    return SO_OK;
}

static so_code read_names(const context *in, reading *read, bool *fits)
{
    char what[SO_NAME_MAX_BYTES];
    so_json_iter iter;
    so_str element;

    *fits = so_json_first(read->json) == '[';
    if (!*fits)
        return SO_OK;
    snprintf(what, sizeof what, "a name in option %s", read->option->name);
    read->text = read->json;
    so_json_iter_init(&iter, in->arena, read->json);
    while (so_json_iter_next(&iter, NULL, &element))
    {
        so_str name;

        *fits = so_json_first(element) == '"';
        if (!*fits)
            return SO_OK;
        so_str text = so_json_unquote(in->arena, element);
        if (text.p == NULL)
            return so_error_nomem(in->err);
        so_value value = SO_VALUE_STR(text);
        so_code code = so_name_check(&value, what, &name, in->err);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

static so_code read_when(const context *in, reading *read, bool *fits)
{
    char first = so_json_first(read->json);

    *fits = first == '"' || first == '0';
    if (!*fits)
        return SO_OK;
    so_code code = so_json_to_value(in->arena, read->json, &read->when, in->err);
    if (code != SO_OK || read->when.type != SO_REAL)
        return code;

    int64_t number = 0;
    bool inside = true;
    *fits = whole_real(read->when.r, &number, &inside);
    read->when = SO_VALUE_INT(number);
    return SO_OK;
}

static so_code read_later(const context *in, reading *read, bool *fits)
{
    *fits = true;
    return so_error_set(in->err, SO_INVALID_ARGUMENT, NULL,
                        "option %s of %s is not available in this version", read->option->name, in->call);
}

static void write_int(const reading *read, void *field) { *(int64_t *)field = read->number; }

static void write_bool(const reading *read, void *field) { *(bool *)field = read->truth; }

static void write_text(const reading *read, void *field) { *(so_str *)field = read->text; }

static void write_when(const reading *read, void *field) { *(so_value *)field = read->when; }

typedef struct type_entry
{
    read_function read;
    write_function write;
    const char *noun;
} type_entry;

static const type_entry types[] = {
    [SO_OPTION_INT] = {read_int, write_int, "an integer"},
    [SO_OPTION_BOOL] = {read_bool, write_bool, "true or false"},
    [SO_OPTION_TEXT] = {read_text, write_text, "a string"},
    [SO_OPTION_OBJECT] = {read_object, write_text, "an object"},
    [SO_OPTION_NAMES] = {read_names, write_text, "an array of names"},
    [SO_OPTION_WHEN] = {read_when, write_when, "a moment (text, or integer milliseconds)"},
    [SO_OPTION_LATER] = {read_later, NULL, NULL},
};

static so_code refuse_unknown(const context *in, const so_option *table, so_str name)
{
    char hint[SO_ERROR_HINT_BYTES] = "";
    char shown[SO_NAME_MAX_BYTES];
    size_t length = 0;

    for (const so_option *option = table; option->name; option++)
    {
        if (option->type == SO_OPTION_LATER || length >= sizeof hint)
            continue;
        length += (size_t)snprintf(hint + length, sizeof hint - length, "%s%s",
                                   length ? ", " : "Known options: ", option->name);
    }
    so_text_storable(shown, sizeof shown, name.p, name.n);
    return so_error_set(in->err, SO_INVALID_ARGUMENT, length ? hint : "It takes no options.",
                        "%s has no option '%s'", in->call, shown);
}

static so_code read_member(const context *in, const so_option *table, so_str name, reading *read)
{
    bool fits = true;

    read->option = table;
    while (read->option->name && !so_str_is(name, read->option->name))
        read->option++;
    if (read->option->name == NULL)
        return refuse_unknown(in, table, name);
    if (so_json_first(read->json) == 'n')
        return SO_OK;

    const type_entry *type = &types[read->option->type];
    so_code code = type->read(in, read, &fits);
    if (code == SO_OK && !fits)
        return so_error_set(in->err, SO_INVALID_ARGUMENT, NULL, "option %s of %s must be %s",
                            read->option->name, in->call, type->noun);
    return code;
}

static void write_member(const reading *read, void *to)
{
    const so_option *option = read->option;

    if (so_json_first(read->json) == 'n')
        return;
    types[option->type].write(read, (char *)to + option->offset);
    if (option->was_given != SO_OPTION_UNTOLD)
        *(bool *)((char *)to + option->was_given) = true;
}

so_code so_options_read(so_arena *arena, const so_value *value, const char *call, const so_option *table,
                        void *to, so_error *err)
{
    const context in = {arena, call, err};
    char what[SO_NAME_MAX_BYTES];
    size_t known = 0;
    size_t count = 0;
    so_str json, name;
    so_json_iter iter;

    if (value->type == SO_NULL || (value->type == SO_TEXT && so_str_is(value->s, "{}")))
        return SO_OK;
    snprintf(what, sizeof what, "options of %s", call);
    if (value->type != SO_TEXT)
        return so_error_set(err, SO_INVALID_JSON, "Pass an object, as {\"name\": 1}.",
                            "%s must be a JSON object", what);
    so_code code = so_json_check(arena, value->s, SO_JSON_OBJECT, what, 0, &json, err);
    if (code != SO_OK)
        return code;

    /* No member comes twice and unknown ones end the reading, so there are at most as many as known ones. */
    while (table[known].name)
        known++;
    reading *readings = so_arena_zero(arena, (known + 1) * sizeof *readings);
    if (readings == NULL)
        return so_error_nomem(err);

    so_json_iter_init(&iter, arena, json);
    while (so_json_iter_next(&iter, &name, &readings[count].json))
    {
        code = read_member(&in, table, name, &readings[count]);
        if (code != SO_OK)
            return code;
        count++;
    }
    if (iter.failed)
        return so_error_nomem(err);
    for (size_t i = 0; i < count; i++)
        write_member(&readings[i], to);
    return SO_OK;
}
