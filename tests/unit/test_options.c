/*
 * Options: read by the table, refused by name, nothing written on error.
 */
#include "so_options.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "in_range.h"

#include "counting.h"

typedef struct settings
{
    int64_t count;
    int64_t any;
    bool flag;
    so_str text;
    so_str object;
    so_str names;
    so_value at;
    bool at_given;
    bool count_given;
} settings;

static const so_option table[] = {
    {"count", SO_OPTION_INT, offsetof(settings, count), -5, 100, offsetof(settings, count_given)},
    {"any", SO_OPTION_INT, offsetof(settings, any), INT64_MIN, INT64_MAX, SO_OPTION_UNTOLD},
    {"flag", SO_OPTION_BOOL, offsetof(settings, flag), 0, 0, SO_OPTION_UNTOLD},
    {"text", SO_OPTION_TEXT, offsetof(settings, text), 0, 0, SO_OPTION_UNTOLD},
    {"object", SO_OPTION_OBJECT, offsetof(settings, object), 0, 0, SO_OPTION_UNTOLD},
    {"names", SO_OPTION_NAMES, offsetof(settings, names), 0, 0, SO_OPTION_UNTOLD},
    {"at", SO_OPTION_WHEN, offsetof(settings, at), 0, 0, offsetof(settings, at_given)},
    {"idempotency_key", SO_OPTION_LATER, 0, 0, 0, SO_OPTION_UNTOLD},
    {NULL, SO_OPTION_INT, 0, 0, 0, 0},
};

static counting counts;
static const so_allocator allocator = {counting_alloc, counting_release, &counts};
static so_arena arena;

static int set_up(void **state)
{
    (void)state;
    counts = (counting){0};
    so_arena_init(&arena, &allocator);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    so_arena_free(&arena);
    return counts.out == 0 ? 0 : -1;
}

static settings defaults(void)
{
    settings set;

    memset(&set, 0, sizeof set);
    set.count = 7;
    set.any = 8;
    set.text = SO_STR("default");
    return set;
}

static so_code read_text(const char *text, settings *set, so_error *err)
{
    so_value value = SO_VALUE_STR(((so_str){text, strlen(text)}));
    so_error_clear(err);
    return so_options_read(&arena, &value, "so_send", table, set, err);
}

static settings accept(const char *text)
{
    settings set = defaults();
    so_error err;

    if (read_text(text, &set, &err) != SO_OK)
        fail_msg("%s refused: %s", text, err.message);
    return set;
}

/* `why` must stand in the message, and no field may have changed. */
static void refuse(const char *text, so_code code, const char *why)
{
    settings set = defaults();
    settings before = set;
    so_error err;
    so_code got = read_text(text, &set, &err);

    if (got != code)
        fail_msg("%s gave %s: %s", text, so_code_name(got), err.message);
    assert_int_equal(err.code, code);
    if (strstr(err.message, why) == NULL || strstr(err.message, "so_send") == NULL)
        fail_msg("%s: %s", text, err.message);
    assert_memory_equal(&set, &before, sizeof set);
}

static void nothing_given_leaves_the_defaults_and_takes_no_memory(void **state)
{
    settings set = defaults();
    settings before = set;
    so_value none = SO_VALUE_NULL;
    so_error err;

    (void)state;
    assert_int_equal(so_options_read(&arena, &none, "so_send", table, &set, &err), SO_OK);
    assert_memory_equal(&set, &before, sizeof set);
    assert_int_equal(read_text("{}", &set, &err), SO_OK);
    assert_memory_equal(&set, &before, sizeof set);
    assert_int_equal(counts.calls, 0);
    assert_int_equal(read_text(" { } ", &set, &err), SO_OK);
    assert_memory_equal(&set, &before, sizeof set);
}

static void every_type_is_read(void **state)
{
    (void)state;
    settings set =
        accept("{ \"count\": 42, \"flag\": true, \"text\": \"a\\u00e9\\n\", \"object\": { \"a\" : 1.50 },"
               " \"names\": [\"a\", \"b.c\"], \"at\": \"PT5M\", \"any\": -9223372036854775808 }");

    assert_int_equal(set.count, 42);
    assert_true(set.count_given);
    assert_true(set.any == INT64_MIN);
    assert_true(set.flag);
    assert_true(so_str_is(set.text, "a\xc3\xa9\n"));
    assert_true(so_str_is(set.object, "{\"a\":1.50}"));
    assert_true(so_str_is(set.names, "[\"a\",\"b.c\"]"));
    assert_int_equal(set.at.type, SO_TEXT);
    assert_true(so_str_is(set.at.s, "PT5M"));
    assert_true(set.at_given);
}

static void an_escaped_option_name_is_the_same_option(void **state)
{
    (void)state;
    settings set = accept("{\"c\\u006funt\":1}");
    assert_int_equal(set.count, 1);
    refuse("{\"count\":1,\"c\\u006funt\":2}", SO_INVALID_JSON, "duplicate");
}

static void null_leaves_the_default(void **state)
{
    (void)state;
    settings set = accept("{\"count\":null,\"text\":null,\"at\":null,\"idempotency_key\":null}");
    assert_int_equal(set.count, 7);
    assert_true(so_str_is(set.text, "default"));
    assert_false(set.count_given);
    assert_false(set.at_given);
}

static void integers_are_taken_in_every_spelling_of_a_whole_number(void **state)
{
    (void)state;
    assert_int_equal(accept("{\"count\":100}").count, 100);
    assert_int_equal(accept("{\"count\":-5}").count, -5);
    assert_int_equal(accept("{\"count\":12.0}").count, 12);
    assert_int_equal(accept("{\"count\":1e1}").count, 10);
    assert_int_equal(accept("{\"count\":0.5e1}").count, 5);
    assert_int_equal(accept("{\"count\":-0.0}").count, 0);
    assert_int_equal(accept("{\"count\":-0}").count, 0);
    assert_true(accept("{\"any\":9223372036854775807}").any == INT64_MAX);
    assert_true(accept("{\"any\":9007199254740993}").any == INT64_C(9007199254740993));
    refuse("{\"count\":101}", SO_INVALID_ARGUMENT, "option count of so_send must be between -5 and 100");
    refuse("{\"count\":-6}", SO_INVALID_ARGUMENT, "between");
    refuse("{\"count\":101.0}", SO_INVALID_ARGUMENT, "between");
    refuse("{\"count\":1e300}", SO_INVALID_ARGUMENT, "between");
    refuse("{\"any\":9223372036854775808.0}", SO_INVALID_ARGUMENT, "between");
    refuse("{\"count\":1.5}", SO_INVALID_ARGUMENT, "must be an integer");
    refuse("{\"count\":\"1\"}", SO_INVALID_ARGUMENT, "must be an integer");
    refuse("{\"count\":true}", SO_INVALID_ARGUMENT, "must be an integer");
    refuse("{\"count\":[1]}", SO_INVALID_ARGUMENT, "must be an integer");
    refuse("{\"any\":18446744073709551615}", SO_INVALID_JSON, "integer");
}

static void a_wrong_type_is_refused(void **state)
{
    (void)state;
    refuse("{\"flag\":1}", SO_INVALID_ARGUMENT, "option flag of so_send must be true or false");
    refuse("{\"flag\":\"true\"}", SO_INVALID_ARGUMENT, "true or false");
    refuse("{\"text\":1}", SO_INVALID_ARGUMENT, "must be a string");
    refuse("{\"text\":{}}", SO_INVALID_ARGUMENT, "must be a string");
    refuse("{\"object\":[]}", SO_INVALID_ARGUMENT, "must be an object");
    refuse("{\"object\":\"{}\"}", SO_INVALID_ARGUMENT, "must be an object");
    refuse("{\"names\":\"a\"}", SO_INVALID_ARGUMENT, "must be an array of names");
    refuse("{\"names\":[\"a\",1]}", SO_INVALID_ARGUMENT, "must be an array of names");
    refuse("{\"names\":[null]}", SO_INVALID_ARGUMENT, "must be an array of names");
    refuse("{\"at\":true}", SO_INVALID_ARGUMENT, "must be a moment");
    refuse("{\"at\":1.5}", SO_INVALID_ARGUMENT, "must be a moment");
    refuse("{\"at\":1e30}", SO_INVALID_ARGUMENT, "must be a moment");
}

static void names_in_an_array_are_checked_as_names(void **state)
{
    settings set = defaults();
    so_error err;

    (void)state;
    assert_true(so_str_is(accept("{\"names\":[]}").names, "[]"));
    assert_true(so_str_is(accept("{\"names\":[\"\\u0061\"]}").names, "[\"\\u0061\"]"));
    assert_int_equal(read_text("{\"names\":[\"a\",\"b c\"]}", &set, &err), SO_INVALID_NAME);
    assert_non_null(strstr(err.message, "option names"));
    assert_int_equal(read_text("{\"names\":[\"\"]}", &set, &err), SO_INVALID_NAME);
    assert_null(set.names.p);
}

static void a_moment_is_an_integer_or_text(void **state)
{
    (void)state;
    settings set = accept("{\"at\":1796115600000}");
    assert_int_equal(set.at.type, SO_INT);
    assert_true(set.at.i == INT64_C(1796115600000));
    set = accept("{\"at\":1796115600000.0}");
    assert_int_equal(set.at.type, SO_INT);
    assert_true(set.at.i == INT64_C(1796115600000));
}

static void an_unknown_option_is_refused_by_name_and_the_known_ones_are_told(void **state)
{
    settings set = defaults();
    so_error err;

    (void)state;
    refuse("{\"cuont\":1}", SO_INVALID_ARGUMENT, "so_send has no option 'cuont'");
    refuse("{\"Count\":1}", SO_INVALID_ARGUMENT, "'Count'");
    refuse("{\"\":1}", SO_INVALID_ARGUMENT, "''");
    refuse("{\"count \":null}", SO_INVALID_ARGUMENT, "'count '");
    refuse("{\"%s%n\":1}", SO_INVALID_ARGUMENT, "'%s%n'");
    read_text("{\"cuont\":1}", &set, &err);
    assert_string_equal(err.hint, "Known options: count, any, flag, text, object, names, at");
}

static void a_table_without_options_says_so(void **state)
{
    static const so_option none[] = {{NULL, SO_OPTION_INT, 0, 0, 0, 0}};
    so_value value = SO_VALUE_STR(SO_STR("{\"a\":1}"));
    so_error err;

    (void)state;
    assert_int_equal(so_options_read(&arena, &value, "so_types", none, NULL, &err), SO_INVALID_ARGUMENT);
    assert_string_equal(err.hint, "It takes no options.");
}

static void more_known_options_than_a_hint_holds_do_no_harm(void **state)
{
    so_option many[101];
    char names[100][16];
    so_value value = SO_VALUE_STR(SO_STR("{\"a\":1}"));
    so_error err;

    (void)state;
    memset(many, 0, sizeof many);
    for (int i = 0; i < 100; i++)
    {
        memset(names[i], 'a' + i % 26, 15);
        names[i][15] = '\0';
        many[i].name = names[i];
    }
    assert_int_equal(so_options_read(&arena, &value, "so_send", many, NULL, &err), SO_INVALID_ARGUMENT);
    assert_int_equal(strlen(err.hint), SO_ERROR_HINT_BYTES - 1);
}

static void an_option_of_a_later_version_is_refused_by_name(void **state)
{
    (void)state;
    refuse("{\"idempotency_key\":\"a\"}", SO_INVALID_ARGUMENT,
           "option idempotency_key of so_send is not available in this version");
}

static void nothing_is_written_when_a_later_member_is_wrong(void **state)
{
    (void)state;
    refuse("{\"count\":1,\"flag\":true,\"text\":\"x\",\"at\":1,\"nope\":1}", SO_INVALID_ARGUMENT, "nope");
    refuse("{\"count\":1,\"flag\":true,\"text\":7}", SO_INVALID_ARGUMENT, "text");
}

static void what_is_not_an_object_is_invalid_json(void **state)
{
    static const char *const texts[] = {"",       " ", "null",         "[]",        "1",
                                        "\"{}\"", "{", "{\"count\":1", "{count:1}", "{}x"};
    so_value others[] = {SO_VALUE_INT(1), {.type = SO_REAL, .r = 1}, {.type = SO_BLOB, .s = SO_STR("{}")}};
    settings set = defaults();
    so_error err;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse(texts[i], SO_INVALID_JSON, "options of so_send");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(so_options_read(&arena, &others[i], "so_send", table, &set, &err), SO_INVALID_JSON);
    refuse("{\"text\":\"a\\u0000b\"}", SO_INVALID_JSON, "options of so_send");
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    /* Texts too large for a block of the arena, so that each of them asks for memory. */
    enum
    {
        LARGE = 3000
    };
    static const char frame[] =
        "{\"count\":1,\"t\\u0065xt\":\"\\n%*s\",\"object\":{\"x\":1.5},\"names\":[\"n\"],\"at\":\"%*s\"}";
    char text[3 * LARGE];
    size_t fail_at;
    so_code code = SO_NOMEM;

    (void)state;
    snprintf(text, sizeof text, frame, LARGE, "", LARGE, "");
    so_value value = SO_VALUE_STR(((so_str){text, strlen(text)}));
    for (fail_at = 1; code != SO_OK; fail_at++)
    {
        settings set = defaults();
        settings before = set;
        so_error err;

        so_arena_free(&arena);
        counts.calls = 0;
        counts.fail_at = fail_at;
        code = so_options_read(&arena, &value, "so_send", table, &set, &err);
        assert_int_equal(code, counts.calls < fail_at ? SO_OK : SO_NOMEM);
        if (code == SO_OK)
            break;
        assert_int_equal(err.code, SO_NOMEM);
        assert_memory_equal(&set, &before, sizeof set);
    }
    assert_uint_in_range(fail_at, 5, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_given_leaves_the_defaults_and_takes_no_memory),
        TEST(every_type_is_read),
        TEST(an_escaped_option_name_is_the_same_option),
        TEST(null_leaves_the_default),
        TEST(integers_are_taken_in_every_spelling_of_a_whole_number),
        TEST(a_wrong_type_is_refused),
        TEST(names_in_an_array_are_checked_as_names),
        TEST(a_moment_is_an_integer_or_text),
        TEST(an_unknown_option_is_refused_by_name_and_the_known_ones_are_told),
        TEST(a_table_without_options_says_so),
        TEST(more_known_options_than_a_hint_holds_do_no_harm),
        TEST(an_option_of_a_later_version_is_refused_by_name),
        TEST(nothing_is_written_when_a_later_member_is_wrong),
        TEST(what_is_not_an_object_is_invalid_json),
        TEST(every_failed_allocation_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
