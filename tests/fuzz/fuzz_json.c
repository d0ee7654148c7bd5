/*
 * JSON. The input is a document, or two with a NUL between them: a target and a patch.
 *
 * What is taken and what is refused is compared with Jansson and with the nesting limit, counted by another
 * way; what is taken, also with SQLite's own reader. Results are compared with Jansson's values.
 */
#include "fuzz.h"

#include "so_json.h"

#include <jansson.h>
#include <math.h>
#include <sqlite3.h>

/* Jansson itself gets the C library's memory while the oracle has its turn, not the product's arena. */
static json_malloc_t product_alloc;
static json_free_t product_release;

static void oracle_begin(void)
{
    json_get_alloc_funcs(&product_alloc, &product_release);
    json_set_alloc_funcs(malloc, free);
}

static void oracle_end(void) { json_set_alloc_funcs(product_alloc, product_release); }

static int depth_of(const json_t *json)
{
    int deepest = 0;
    const char *name;
    json_t *value;
    size_t i;

    if (json_is_object(json))
        json_object_foreach((json_t *)json, name, value)
        {
            int depth = depth_of(value);
            deepest = depth > deepest ? depth : deepest;
        }
    else if (json_is_array(json))
        json_array_foreach(json, i, value)
        {
            int depth = depth_of(value);
            deepest = depth > deepest ? depth : deepest;
        }
    else
        return 0;
    return deepest + 1;
}

/*
 * Jansson's rules are the documented ones (duplicates, \u0000, surrogates, ranges) but for the depth, and for
 * a NUL behind a number or a literal, which it overlooks.
 */
static json_t *oracle(so_str text)
{
    json_error_t error;
    json_t *json = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

    if (json && (depth_of(json) > SO_JSON_MAX_DEPTH || memchr(text.p, '\0', text.n)))
    {
        json_decref(json);
        json = NULL;
    }
    return json;
}

static bool sqlite_takes(so_str json)
{
    static sqlite3 *db;
    static sqlite3_stmt *valid;

    if (!db)
    {
        REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK, "SQLite");
        REQUIRE(sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &valid, NULL) == SQLITE_OK, "SQLite");
    }
    sqlite3_bind_text(valid, 1, json.p, (int)json.n, SQLITE_STATIC);
    REQUIRE(sqlite3_step(valid) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    bool takes = sqlite3_column_int(valid, 0) == 1;
    sqlite3_reset(valid);
    return takes;
}

/* RFC 7396 as its text has it, over Jansson's values. */
static json_t *merged_by_rfc(json_t *target, json_t *patch)
{
    const char *name;
    json_t *value;

    if (!json_is_object(patch))
        return json_incref(patch);
    json_t *merged = json_is_object(target) ? json_copy(target) : json_object();
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value))
            json_object_del(merged, name);
        else
            json_object_set_new_nocheck(merged, name, merged_by_rfc(json_object_get(merged, name), value));
    }
    return merged;
}

/* Is the product's `json` this value? */
static void same(so_str json, json_t *expected)
{
    oracle_begin();
    json_t *actual = oracle(json);
    REQUIRE(actual, "not JSON: %.*s", (int)json.n, json.p);
    REQUIRE(json_equal(actual, expected), "another value: %.*s", (int)json.n, json.p);
    json_decref(actual);
    oracle_end();
}

static void round_trip_string(so_arena *arena, so_str json, json_t *value)
{
    so_buffer buffer;
    so_str text = so_json_unquote(arena, json);

    REQUIRE(text.p && text.n == json_string_length(value) &&
                memcmp(text.p, json_string_value(value), text.n) == 0,
            "%.*s is read as %.*s", (int)json.n, json.p, (int)text.n, text.p);
    so_buffer_init(&buffer, arena);
    so_json_quote(&buffer, text);
    so_str quoted = so_buffer_str(&buffer);
    REQUIRE(so_json_equal(json, quoted), "%.*s becomes %.*s", (int)json.n, json.p, (int)quoted.n, quoted.p);
}

static void round_trip_value(so_arena *arena, so_str json, json_t *expected)
{
    so_error err;
    so_value value;
    so_str again;

    so_error_clear(&err);
    REQUIRE(so_json_to_value(arena, json, &value, &err) == SO_OK, "%s", err.message);
    if (json_is_integer(expected))
        REQUIRE(value.type == SO_INT && value.i == json_integer_value(expected), "%.*s", (int)json.n, json.p);
    else if (json_is_real(expected))
        REQUIRE(value.type == SO_REAL && value.r == json_real_value(expected), "%.*s", (int)json.n, json.p);
    else if (json_is_boolean(expected))
        REQUIRE(value.type == SO_INT && value.i == json_is_true(expected), "%.*s", (int)json.n, json.p);
    else if (json_is_null(expected))
        REQUIRE(value.type == SO_NULL, "%.*s", (int)json.n, json.p);
    else
        REQUIRE(value.type == SO_TEXT && value.json != json_is_string(expected), "%.*s", (int)json.n, json.p);
    if (json_is_boolean(expected))
        return;
    REQUIRE(so_json_from_value(arena, &value, true, "value", &again, &err) == SO_OK, "%s", err.message);
    REQUIRE(so_json_equal(json, again), "%.*s becomes %.*s", (int)json.n, json.p, (int)again.n, again.p);
}

/* Every value of the document, by walking and by name. */
static void walk(so_arena *arena, so_str json, json_t *expected)
{
    static const char firsts[] = {
        [JSON_OBJECT] = '{', [JSON_ARRAY] = '[', [JSON_STRING] = '"', [JSON_INTEGER] = '0',
        [JSON_REAL] = '0',   [JSON_TRUE] = 't',  [JSON_FALSE] = 'f',  [JSON_NULL] = 'n'};
    so_json_iter iter;
    so_str name, value, found;
    size_t count = 0;

    REQUIRE(so_json_first(json) == firsts[json_typeof(expected)], "%.*s", (int)json.n, json.p);
    round_trip_value(arena, json, expected);
    if (json_is_string(expected))
        round_trip_string(arena, json, expected);
    if (!json_is_object(expected) && !json_is_array(expected))
        return;

    so_json_iter_init(&iter, arena, json);
    while (so_json_iter_next(&iter, &name, &value))
    {
        json_t *child;
        if (json_is_object(expected))
        {
            so_str copy = so_arena_copy_str(arena, name);
            child = json_object_get(expected, copy.p);
            REQUIRE(so_json_get(arena, json, name, &found) && found.p == value.p && found.n == value.n,
                    "the member %s is not found", copy.p);
        }
        else
            child = json_array_get(expected, count);
        REQUIRE(child, "a member more in %.*s", (int)json.n, json.p);
        walk(arena, value, child);
        count++;
    }
    REQUIRE(!iter.failed, "out of memory");
    REQUIRE(count == (json_is_object(expected) ? json_object_size(expected) : json_array_size(expected)),
            "%zu members in %.*s", count, (int)json.n, json.p);
    REQUIRE(!json_is_object(expected) || json_object_get(expected, "no such member") ||
                !so_json_get(arena, json, SO_STR("no such member"), &found),
            "%.*s", (int)json.n, json.p);
}

/* Checks a text in every way; *compact and the oracle's value, or NULL. */
static json_t *check(so_arena *arena, so_str text, so_str *compact)
{
    so_error err;
    so_str once, other;

    oracle_begin();
    json_t *expected = oracle(text);
    oracle_end();

    so_error_clear(&err);
    so_code code = so_json_check(arena, text, SO_JSON_ANY, "args", 0, &once, &err);
    REQUIRE((code == SO_OK) == (expected != NULL), "%s: %.*s", so_code_name(code), (int)text.n, text.p);
    if (code != SO_OK)
    {
        fuzz_error(code, &err, SO_INVALID_JSON);
        return NULL;
    }
    REQUIRE(once.n <= text.n && once.p[once.n] == '\0', "length %zu", once.n);
    REQUIRE(sqlite_takes(once), "%.*s", (int)once.n, once.p);
    same(once, expected);
    REQUIRE(so_json_check(arena, once, SO_JSON_ANY, "args", once.n, &other, &err) == SO_OK &&
                so_str_equal(once, other),
            "compact again: %.*s", (int)other.n, other.p);
    REQUIRE(so_json_check(arena, text, SO_JSON_ANY, "args", once.n - 1, &other, &err) == SO_TOO_LARGE ||
                once.n == 1,
            "one byte too many: %.*s", (int)once.n, once.p);
    REQUIRE((so_json_check(arena, text, SO_JSON_OBJECT, "args", 0, &other, &err) == SO_OK) ==
                json_is_object(expected),
            "object");
    REQUIRE((so_json_check(arena, text, SO_JSON_ARRAY, "args", 0, &other, &err) == SO_OK) ==
                json_is_array(expected),
            "array");
    REQUIRE(so_json_equal(once, once), "not equal to itself: %.*s", (int)once.n, once.p);
    walk(arena, once, expected);
    *compact = once;
    return expected;
}

static void merge(so_arena *arena, so_str target, json_t *target_value, so_str patch, json_t *patch_value)
{
    so_error err;
    so_str merged, compact;

    so_error_clear(&err);
    REQUIRE(so_json_merge_patch(arena, target, patch, &merged, &err) == SO_OK, "%s", err.message);
    REQUIRE(so_json_check(arena, merged, SO_JSON_ANY, "merged", 0, &compact, &err) == SO_OK, "%s: %.*s",
            err.message, (int)merged.n, merged.p);
    REQUIRE(so_str_equal(merged, compact), "not compact: %.*s", (int)merged.n, merged.p);
    oracle_begin();
    json_t *expected = merged_by_rfc(target_value, patch_value);
    oracle_end();
    same(merged, expected);
    oracle_begin();
    json_decref(expected);
    oracle_end();
}

static void pair(so_arena *arena, so_str a, json_t *a_value, so_str b, json_t *b_value)
{
    bool equal = so_json_equal(a, b);

    REQUIRE(equal == so_json_equal(b, a), "%.*s and %.*s", (int)a.n, a.p, (int)b.n, b.p);
    REQUIRE(equal == (json_equal(a_value, b_value) != 0), "%.*s and %.*s", (int)a.n, a.p, (int)b.n, b.p);
    merge(arena, a, a_value, b, b_value);
    merge(arena, b, b_value, a, a_value);
    merge(arena, (so_str){NULL, 0}, NULL, b, b_value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    counting counts = {0};
    const so_allocator allocator = {counting_alloc, counting_release, &counts};
    const char *text = (const char *)data;
    const char *cut = size ? memchr(text, '\0', size) : NULL;
    size_t first = cut ? (size_t)(cut - text) : size;
    so_arena arena;
    so_str a, b;

    so_arena_init(&arena, &allocator);
    json_t *a_value = check(&arena, (so_str){text, first}, &a);
    json_t *b_value = cut ? check(&arena, (so_str){cut + 1, size - first - 1}, &b) : NULL;
    if (a_value && b_value)
        pair(&arena, a, a_value, b, b_value);
    else if (cut && !a_value)
        check(&arena, (so_str){text, size}, &a); /* a NUL within, which nothing takes */
    oracle_begin();
    json_decref(a_value);
    json_decref(b_value);
    oracle_end();
    so_arena_free(&arena);
    REQUIRE(counts.out == 0, "%zu allocations were not given back", counts.out);
    return 0;
}
