/*
 * Expectations. JSON numbers are compared by value: 1 and 1.0 are equal, and 64-bit integers exactly.
 */
#include "expect.h"

#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cf_value cf_answer_cell(const cf_result *result)
{
    if (result->failed || !result->rows || !result->columns)
        return (cf_value){.type = CF_NULL};
    return cf_value_copy(&result->cells[0]);
}

static json_t *cell_json(const cf_value *value)
{
    switch (value->type)
    {
    case CF_NULL:
        return json_null();
    case CF_INT:
        return json_integer(value->number);
    case CF_REAL:
        return json_real(value->real);
    case CF_TEXT:
    case CF_BLOB:
        break;
    }
    return json_stringn(value->text, value->size);
}

cf_value cf_answer_rows(const cf_result *result)
{
    json_t *rows = json_array();
    char *text;
    cf_value value;

    for (size_t i = 0; i < result->rows; i++)
    {
        json_t *row = json_object();

        for (size_t c = 0; c < result->columns; c++)
        {
            json_t *cell = cell_json(&result->cells[i * result->columns + c]);

            json_object_set_new(row, result->names[c], cell ? cell : json_string("(not UTF-8)"));
        }
        json_array_append_new(rows, row);
    }
    text = json_dumps(rows, JSON_COMPACT | JSON_ALLOW_NUL);
    value = cf_value_text(text, strlen(text));
    free(text);
    json_decref(rows);
    return value;
}

static json_t *parse(const char *text, size_t size)
{
    return json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
}

/* An answer as JSON: text is a document, a number is itself; NULL if it is neither. */
static json_t *answer_json(const cf_value *answer)
{
    if (answer->type == CF_TEXT)
        return parse(answer->text, answer->size);
    return answer->type == CF_NULL ? NULL : cell_json(answer);
}

static bool matches(const char *pattern, const char *text, char **error)
{
    regex_t regex;
    bool found;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
    {
        *error = cf_format("not a regular expression: %s", pattern);
        return false;
    }
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool same_number(json_t *a, json_t *b)
{
    json_t *real = json_is_real(a) ? a : b;
    json_t *other = real == a ? b : a;
    double number;

    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    number = json_real_value(real);
    if (json_is_real(other))
        return number == json_real_value(other);
    return number >= -9223372036854775808.0 && number < 9223372036854775808.0 &&
           number == (double)(json_int_t)number && (json_int_t)number == json_integer_value(other);
}

static bool same(json_t *expected, json_t *got, bool subset);

static bool same_object(json_t *expected, json_t *got, bool subset)
{
    const char *name;
    json_t *value;

    if (!subset && json_object_size(expected) != json_object_size(got))
        return false;
    json_object_foreach(expected, name, value)
    {
        json_t *other = json_object_get(got, name);

        if (!other || !same(value, other, subset))
            return false;
    }
    return true;
}

static bool same_array(json_t *expected, json_t *got, bool subset)
{
    if (json_array_size(expected) != json_array_size(got))
        return false;
    for (size_t i = 0; i < json_array_size(expected); i++)
        if (!same(json_array_get(expected, i), json_array_get(got, i), subset))
            return false;
    return true;
}

/* In a subset a string "~REGEX" stands for every string that matches it. */
static bool same_pattern(json_t *expected, json_t *got)
{
    char *error = NULL;
    bool ok = json_is_string(got) && matches(json_string_value(expected) + 1, json_string_value(got), &error);

    free(error);
    return ok;
}

static bool same(json_t *expected, json_t *got, bool subset)
{
    if (subset && json_is_string(expected) && json_string_value(expected)[0] == '~')
        return same_pattern(expected, got);
    if (json_is_number(expected) && json_is_number(got))
        return same_number(expected, got);
    if (json_typeof(expected) != json_typeof(got))
        return false;
    if (json_is_object(expected))
        return same_object(expected, got, subset);
    if (json_is_array(expected))
        return same_array(expected, got, subset);
    return json_equal(expected, got);
}

/* ---- one function per sign: true if met; may set *error when the expectation itself is wrong --------- */

typedef bool (*expect_function)(const char *text, const cf_value *answer, cf_scope *scope, char **error);

/* The document that an expectation names: JSON text with variables as values, or a variable alone, whose text
 * is the document. */
static char *wanted_document(const char *text, cf_scope *scope, char **error)
{
    size_t length = *text == '$' ? cf_name_length(text + 1) : 0;
    const cf_value *alone = length && !text[length + 1] ? cf_scope_get(scope, text + 1, length) : NULL;

    if (alone && alone->type == CF_TEXT)
        return cf_copy(alone->text, alone->size);
    return cf_scope_json(scope, text, error);
}

static bool expect_json_kind(const char *text, const cf_value *answer, cf_scope *scope, bool subset,
                             char **error)
{
    char *wanted = wanted_document(text, scope, error);
    json_t *expected = wanted ? parse(wanted, strlen(wanted)) : NULL;
    json_t *got = answer_json(answer);
    bool ok = expected && got && same(expected, got, subset);

    if (!expected && !*error)
        *error = cf_format("not JSON: %s", wanted);
    free(wanted);
    json_decref(expected);
    json_decref(got);
    return ok;
}

static bool expect_json(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    return expect_json_kind(text, answer, scope, false, error);
}

static bool expect_has(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    return expect_json_kind(text, answer, scope, true, error);
}

static bool expect_lacks(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    json_t *got = answer_json(answer);
    bool ok = json_is_object(got) && !json_object_get(got, text);

    (void)scope;
    (void)error;
    json_decref(got);
    return ok;
}

static bool expect_count(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    char *end;
    unsigned long wanted = strtoul(text, &end, 10);
    json_t *got = answer_json(answer);
    bool ok = json_is_array(got) && json_array_size(got) == wanted;

    (void)scope;
    if (*end)
        *error = cf_format("not a number: %s", text);
    json_decref(got);
    return ok;
}

/* NULL, a number, 'text' or $name as a value. */
static bool read_literal(const char *text, const cf_scope *scope, cf_value *value)
{
    size_t length = strlen(text);
    char *end;

    memset(value, 0, sizeof(*value));
    if (strcmp(text, "NULL") == 0)
        return true;
    if (*text == '$' && cf_scope_get(scope, text + 1, length - 1))
    {
        *value = cf_value_copy(cf_scope_get(scope, text + 1, length - 1));
        return true;
    }
    if (*text == '\'' && length >= 2 && text[length - 1] == '\'')
    {
        *value = cf_value_text(text + 1, length - 2);
        value->size = 0;
        for (size_t i = 1; i < length - 1; i++)
        {
            value->text[value->size++] = text[i];
            if (text[i] == '\'')
                i++;
        }
        value->text[value->size] = '\0';
        return true;
    }
    value->number = strtoll(text, &end, 10);
    value->type = CF_INT;
    if (end != text && !*end)
        return true;
    value->real = strtod(text, &end);
    value->type = CF_REAL;
    return end != text && !*end;
}

static bool expect_equal(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    cf_value wanted;
    bool ok;

    if (!read_literal(text, scope, &wanted))
    {
        *error = cf_format("not a value: %s", text);
        return false;
    }
    ok = wanted.type == answer->type;
    if (ok && wanted.type == CF_INT)
        ok = wanted.number == answer->number;
    else if (ok && wanted.type == CF_REAL)
        ok = wanted.real == answer->real;
    else if (ok && wanted.type != CF_NULL)
        ok = wanted.size == answer->size && memcmp(wanted.text, answer->text, wanted.size) == 0;
    cf_value_free(&wanted);
    return ok;
}

static bool expect_match(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    char *shown = answer->type == CF_TEXT ? cf_format("%s", answer->text) : cf_value_show(answer);
    bool ok = answer->type != CF_NULL && matches(text, shown, error);

    (void)scope;
    free(shown);
    return ok;
}

static bool expect_between(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    double from;
    double till;
    double number;
    json_t *got = answer_json(answer);
    bool ok = json_is_number(got);

    (void)scope;
    if (sscanf(text, "%lf %lf", &from, &till) != 2)
    {
        *error = cf_format("not a range: %s", text);
        ok = false;
    }
    number = ok ? json_number_value(got) : 0;
    json_decref(got);
    return ok && from <= number && number <= till;
}

/* Follows .name and [N] from `json`; NULL if there is no such part. Borrowed. */
static json_t *follow(json_t *json, const char *path)
{
    while (json && *path)
    {
        size_t length;

        if (*path == '[')
        {
            char *end;

            json = json_array_get(json, strtoul(path + 1, &end, 10));
            path = *end == ']' ? end + 1 : end;
            continue;
        }
        path += *path == '.' ? 1 : 0;
        length = strcspn(path, ".[");
        json = length ? json_object_getn(json, path, length) : NULL;
        path += length;
    }
    return json;
}

static cf_value json_value(json_t *json)
{
    char *text;
    cf_value value;

    switch (json_typeof(json))
    {
    case JSON_STRING:
        return cf_value_text(json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return cf_value_int(json_integer_value(json));
    case JSON_REAL:
        return (cf_value){.type = CF_REAL, .real = json_real_value(json)};
    case JSON_NULL:
        return (cf_value){.type = CF_NULL};
    default:
        break;
    }
    text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    value = cf_value_text(text, strlen(text));
    free(text);
    return value;
}

static bool expect_capture(const char *text, const cf_value *answer, cf_scope *scope, char **error)
{
    size_t length = *text == '$' ? cf_name_length(text + 1) : 0;

    if (!length || text[length + 1])
    {
        *error = cf_format("not a variable: %s", text);
        return false;
    }
    cf_scope_set(scope, text + 1, length, cf_value_copy(answer));
    return answer->type != CF_NULL;
}

/* In the order of cf_expect_kind; an error is not looked at as a value. */
static const struct
{
    const char *words;
    expect_function meets;
} signs[] = {
    [CF_EXPECT_EQUAL] = {"", expect_equal},
    [CF_EXPECT_JSON] = {"JSON ", expect_json},
    [CF_EXPECT_HAS] = {"JSON with ", expect_has},
    [CF_EXPECT_LACKS] = {"JSON object without ", expect_lacks},
    [CF_EXPECT_MATCH] = {"text like ", expect_match},
    [CF_EXPECT_BETWEEN] = {"a number between ", expect_between},
    [CF_EXPECT_COUNT] = {"elements: ", expect_count},
    [CF_EXPECT_ERROR] = {"error ", NULL},
    [CF_EXPECT_CAPTURE] = {"something for ", expect_capture},
};

static char *show_error(const cf_result *result)
{
    return cf_format("error %s: %s%s%s", result->code, result->message, *result->hint ? " Hint: " : "",
                     result->hint);
}

/* "CODE", "PREFIX*" or either with " ~ REGEX" on the message. An SO_ error must come with a message and a
 * hint. */
static char *expect_error(const cf_expectation *expectation, const cf_result *result, const cf_value *answer)
{
    size_t length = strcspn(expectation->text, " ");
    const char *pattern = strstr(expectation->text, " ~ ");
    bool prefix = length && expectation->text[length - 1] == '*';
    char *problem = NULL;
    char *shown;
    bool ok;

    if (!result->failed)
    {
        shown = cf_value_show(answer);
        problem = cf_format("expected error %s, got %s", expectation->text, shown);
        free(shown);
        return problem;
    }
    length -= prefix ? 1 : 0;
    ok = strncmp(result->code, expectation->text, length) == 0 && (prefix || !result->code[length]);
    if (ok && pattern)
        ok = matches(pattern + 3, result->message, &problem);
    if (problem)
        return problem;
    shown = show_error(result);
    if (!ok)
        problem = cf_format("expected error %s, got %s", expectation->text, shown);
    else if (strncmp(result->code, "SO_", 3) == 0 && (!*result->message || !*result->hint))
        problem = cf_format("expected error %s with a message and a hint, got %s", expectation->text, shown);
    free(shown);
    return problem;
}

/* One expectation against the answer or the part that it names. */
static char *expect_one(const cf_expectation *expectation, const cf_value *answer, cf_scope *scope)
{
    const char *path = expectation->path ? expectation->path : "";
    json_t *whole = *path ? answer_json(answer) : NULL;
    json_t *named = *path ? follow(whole, path) : NULL;
    cf_value part = named ? json_value(named) : (cf_value){.type = CF_NULL};
    char *problem = NULL;

    if ((*path && !named) ||
        !signs[expectation->kind].meets(expectation->text, *path ? &part : answer, scope, &problem))
    {
        char *shown = cf_value_show(answer);

        if (!problem)
            problem = cf_format("expected %s%s%s%s, got %s", path, *path ? " " : "",
                                signs[expectation->kind].words, expectation->text, shown);
        free(shown);
    }
    cf_value_free(&part);
    json_decref(whole);
    return problem;
}

char *cf_expect(const cf_step *step, const cf_result *result, const cf_value *answer, cf_scope *scope,
                int *line)
{
    char *problem = NULL;

    *line = step->line;
    if (step->expectation_count && step->expectations[0].kind == CF_EXPECT_ERROR)
    {
        *line = step->expectations[0].line;
        return expect_error(&step->expectations[0], result, answer);
    }
    if (result->failed)
    {
        char *shown = show_error(result);

        problem = cf_format("expected no error, got %s", shown);
        free(shown);
    }
    for (size_t i = 0; !problem && i < step->expectation_count; i++)
    {
        *line = step->expectations[i].line;
        problem = expect_one(&step->expectations[i], answer, scope);
    }
    return problem;
}
