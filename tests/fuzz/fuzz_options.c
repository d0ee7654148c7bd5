/*
 * Options: the input is the text of an options object, read by a table with an option of every type, and
 * compared with what Jansson reads there. The first byte can make it NULL, a BLOB or a number instead.
 */
#include "fuzz.h"

#include "so_json.h"
#include "so_names.h"
#include "so_options.h"

#include <jansson.h>

typedef struct given
{
    int64_t number;
    int64_t any_number;
    bool truth;
    so_str text;
    so_str object;
    so_str names;
    so_value when;
    bool has_number, has_any_number, has_truth, has_text, has_object, has_names, has_when;
} given;

#define ROW(member, type, min, max)                                                                          \
    {                                                                                                        \
#member, type, offsetof(given, member), min, max, offsetof(given, has_##member)                      \
    }

static const so_option table[] = {
    ROW(number, SO_OPTION_INT, -5, 1000), ROW(any_number, SO_OPTION_INT, INT64_MIN, INT64_MAX),
    ROW(truth, SO_OPTION_BOOL, 0, 0),     ROW(text, SO_OPTION_TEXT, 0, 0),
    ROW(object, SO_OPTION_OBJECT, 0, 0),  ROW(names, SO_OPTION_NAMES, 0, 0),
    ROW(when, SO_OPTION_WHEN, 0, 0),      {"later", SO_OPTION_LATER, 0, 0, 0, SO_OPTION_UNTOLD},
    {NULL, SO_OPTION_LATER, 0, 0, 0, 0},
};

static json_malloc_t product_alloc;
static json_free_t product_release;

static json_t *oracle(so_str text)
{
    json_get_alloc_funcs(&product_alloc, &product_release);
    json_set_alloc_funcs(malloc, free);
    json_t *json = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES, NULL);
    json_set_alloc_funcs(product_alloc, product_release);
    return json;
}

static void forget(json_t *json)
{
    json_get_alloc_funcs(&product_alloc, &product_release);
    json_set_alloc_funcs(malloc, free);
    json_decref(json);
    json_set_alloc_funcs(product_alloc, product_release);
}

static bool told(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value);
}

static void numbers(const given *got, const json_t *object)
{
    static const char *const names[] = {"number", "any_number"};
    const int64_t values[] = {got->number, got->any_number};

    for (size_t i = 0; i < 2; i++)
    {
        const json_t *value = json_object_get(object, names[i]);
        if (told(object, names[i]))
            REQUIRE(json_is_integer(value)
                        ? values[i] == json_integer_value(value)
                        : json_is_real(value) && (double)values[i] == json_real_value(value),
                    "%s: %lld", names[i], (long long)values[i]);
        else
            REQUIRE(values[i] == -3, "%s without being told: %lld", names[i], (long long)values[i]);
    }
    REQUIRE(got->number >= -5 && got->number <= 1000, "%lld", (long long)got->number);
}

static void taken(const given *got, const json_t *object)
{
    const bool flags[] = {got->has_number, got->has_any_number, got->has_truth, got->has_text,
                          got->has_object, got->has_names,      got->has_when};
    const char *name;
    json_t *value;
    size_t i;

    for (i = 0; table[i].type != SO_OPTION_LATER; i++)
        REQUIRE(flags[i] == told(object, table[i].name), "%s", table[i].name);
    json_object_foreach((json_t *)object, name, value)
    {
        const so_option *row = table;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        REQUIRE(row->name && (row->type != SO_OPTION_LATER || json_is_null(value)), "%s was taken", name);
    }
    numbers(got, object);
    REQUIRE(got->truth == json_is_true(json_object_get(object, "truth")), "truth");
    if (got->has_text)
    {
        const json_t *text = json_object_get(object, "text");
        REQUIRE(got->text.n == json_string_length(text) &&
                    memcmp(got->text.p, json_string_value(text), got->text.n) == 0,
                "text");
    }
    if (got->has_object)
        REQUIRE(got->object.p[0] == '{' && json_is_object(json_object_get(object, "object")), "object");
    if (got->has_names)
    {
        so_error err;
        so_str element;
        json_array_foreach(json_object_get(object, "names"), i, value)
        {
            so_value text = SO_VALUE_STR(((so_str){json_string_value(value), json_string_length(value)}));
            REQUIRE(json_is_string(value) && so_name_check(&text, "name", &element, &err) == SO_OK, "names");
        }
    }
    if (got->has_when)
        REQUIRE(got->when.type == SO_INT || got->when.type == SO_TEXT, "when");
}

/* The gaps between the members, too. */
static bool same_bytes(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    counting counts = {0};
    const so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;
    so_error err;
    given got, before;
    so_value value = SO_VALUE_STR(((so_str){(const char *)data, size}));

    memset(&got, 0, sizeof got);
    got.number = got.any_number = -3;
    memcpy(&before, &got, sizeof got);
    if (size && data[0] == 'n')
        value = SO_VALUE_NULL;
    if (size && data[0] == 'b')
        value.type = SO_BLOB;
    if (size && data[0] == 'i')
        value = SO_VALUE_INT(1);

    so_arena_init(&arena, &allocator);
    so_error_clear(&err);
    so_code code = so_options_read(&arena, &value, "so_fuzz", table, &got, &err);
    json_t *object = value.type == SO_TEXT ? oracle(value.s) : NULL;
    if (code != SO_OK)
    {
        fuzz_error(code, &err,
                   code == SO_INVALID_NAME || code == SO_INVALID_ARGUMENT ? code : SO_INVALID_JSON);
        REQUIRE(same_bytes(&got, &before, sizeof got), "something was written: %s", err.message);
        REQUIRE(code != SO_INVALID_ARGUMENT || json_object_size(object) > 0, "%s", err.message);
    }
    else if (value.type == SO_NULL)
        REQUIRE(same_bytes(&got, &before, sizeof got), "something was written");
    else
    {
        REQUIRE(json_is_object(object), "not an object was taken");
        taken(&got, object);
    }
    forget(object);
    so_arena_free(&arena);
    REQUIRE(counts.out == 0, "%zu allocations were not given back", counts.out);
    return 0;
}
