/*
 * Checked JSON: walking it, its values as SQL values and back, merge patch and equality.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "in_range.h"

#include "json_fixture.h"

static void walking_gives_every_member_and_element(void **state)
{
    static const char *const names[] = {"a", "", "q\"\\\n\xc3\xa9", "\xf0\x9f\x98\x80", "z"};
    static const char *const values[] = {"1", "\"},]\\\"\"", "{\"a\":[1,{}]}", "[]", "-1.5e3"};
    so_str object = compact_of("{ \"a\": 1, \"\": \"},]\\\"\", \"q\\\"\\\\\\n\\u00e9\": {\"a\":[1,{}]}, "
                               "\"\\ud83D\\uDe00\": [ ], \"z\": -1.5e3 }");
    so_str array = compact_of("[1,\"},]\\\"\",{\"a\":[1,{}]},[],-1.5e3]");
    so_json_iter iter;
    so_str name, value;
    size_t count = 0;

    (void)state;
    so_json_iter_init(&iter, &arena, object);
    for (; so_json_iter_next(&iter, &name, &value); count++)
    {
        assert_true(so_str_is(name, names[count]));
        assert_true(so_str_is(value, values[count]));
        assert_uint_in_range((uintptr_t)value.p, (uintptr_t)object.p, (uintptr_t)object.p + object.n);
    }
    assert_false(iter.failed);
    assert_int_equal(count, 5);
    assert_false(so_json_iter_next(&iter, &name, &value));

    so_json_iter_init(&iter, &arena, array);
    for (count = 0; so_json_iter_next(&iter, NULL, &value); count++)
        assert_true(so_str_is(value, values[count]));
    assert_int_equal(count, 5);

    so_json_iter_init(&iter, &arena, SO_STR("{}"));
    assert_false(so_json_iter_next(&iter, &name, &value));
    so_json_iter_init(&iter, &arena, SO_STR("[]"));
    assert_false(so_json_iter_next(&iter, &name, &value));
}

static void a_member_is_found_by_its_decoded_name(void **state)
{
    so_str object =
        compact_of("{\"x\":{\"a\":0},\"\\u0061\":1,\"a\\\\\":2,\"\xc3\xa9\":3,\"\\t\":\"t\",\"\":null}");
    so_str value = {NULL, 0};

    (void)state;
    assert_true(so_json_get(&arena, object, SO_STR("a"), &value));
    assert_true(so_str_is(value, "1"));
    assert_true(so_json_get(&arena, object, SO_STR("a\\"), &value));
    assert_true(so_str_is(value, "2"));
    assert_true(so_json_get(&arena, object, SO_STR("\xc3\xa9"), &value));
    assert_true(so_str_is(value, "3"));
    assert_true(so_json_get(&arena, object, SO_STR("\t"), &value));
    assert_true(so_str_is(value, "\"t\""));
    assert_true(so_json_get(&arena, object, SO_STR(""), &value));
    assert_true(so_str_is(value, "null"));
    assert_false(so_json_get(&arena, object, SO_STR("\\u0061"), &value));
    assert_false(so_json_get(&arena, object, SO_STR("\\t"), &value));
    assert_false(so_json_get(&arena, object, SO_STR("b"), &value));
    assert_false(so_json_get(&arena, object, SO_STR("aa"), &value));
    assert_false(so_json_get(&arena, SO_STR("{}"), SO_STR("a"), &value));
    assert_false(so_json_get(&arena, SO_STR("[\"a\"]"), SO_STR("a"), &value));
}

static void strings_are_decoded(void **state)
{
    static const struct
    {
        const char *json;
        const char *text;
    } cases[] = {
        {"\"\"", ""},
        {"\"abc\"", "abc"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\\uffff\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf"},
        {"\"\\uD83D\\uDE00\\udbff\\udfff\"", "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
        {"\"\\\\u0041\"", "\\u0041"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
    {
        so_str text = so_json_unquote(&arena, compact_of(cases[i].json));
        assert_true(so_str_is(text, cases[i].text));
        assert_int_equal(text.p[text.n], 0);
    }
}

static void a_quoted_text_reads_back_and_only_what_must_be_is_escaped(void **state)
{
    char text[0x7F];
    so_buffer buffer;

    (void)state;
    for (int c = 1; c < 0x80; c++)
        text[c - 1] = (char)c;
    so_buffer_init(&buffer, &arena);
    so_json_quote(&buffer, (so_str){text, sizeof text});
    so_str json = so_buffer_str(&buffer);
    so_str compact;
    assert_int_equal(check(json, &compact), SO_OK);
    assert_true(so_str_equal(so_json_unquote(&arena, compact), (so_str){text, sizeof text}));

    so_buffer_init(&buffer, &arena);
    so_json_quote(&buffer, SO_STR("a/\"\\\b\f\n\r\t\x01\x1f\x7f\xc3\xa9'"));
    assert_string_equal(so_buffer_str(&buffer).p, "\"a/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9'\"");
    so_buffer_init(&buffer, &arena);
    so_json_quote(&buffer, (so_str){NULL, 0});
    assert_string_equal(so_buffer_str(&buffer).p, "\"\"");
}

/* ---- SQL values ---- */

static so_value value_of(const char *json)
{
    so_value value;

    assert_int_equal(so_json_to_value(&arena, compact_of(json), &value, &err), SO_OK);
    return value;
}

static void a_json_value_becomes_the_sql_value(void **state)
{
    (void)state;
    assert_int_equal(value_of("null").type, SO_NULL);
    assert_true(value_of("true").type == SO_INT && value_of("true").i == 1);
    assert_true(value_of("false").type == SO_INT && value_of("false").i == 0);
    assert_true(value_of("-0").type == SO_INT && value_of("-0").i == 0);
    assert_true(value_of("9007199254740993").i == INT64_C(9007199254740993));
    assert_true(value_of("9223372036854775807").i == INT64_MAX);
    assert_true(value_of("-9223372036854775808").i == INT64_MIN);
    assert_true(value_of("1.0").type == SO_REAL && value_of("1.0").r == 1.0);
    assert_true(value_of("-0.0").type == SO_REAL && signbit(value_of("-0.0").r));
    assert_true(value_of("1e15").type == SO_REAL && value_of("1E15").r == 1e15);

    so_value text = value_of("\"a\\u00e9\"");
    assert_int_equal(text.type, SO_TEXT);
    assert_false(text.json);
    assert_true(so_str_is(text.s, "a\xc3\xa9"));
    so_value object = value_of("{ \"a\": 1.10 }");
    assert_int_equal(object.type, SO_TEXT);
    assert_true(object.json);
    assert_true(so_str_is(object.s, "{\"a\":1.10}"));
    assert_true(value_of("[]").json);
}

static void reals_are_read_as_the_nearest_double(void **state)
{
    static const struct
    {
        const char *text;
        double real;
    } cases[] = {
        {"0.1", 0.1},
        {"1.10", 1.10},
        {"5e-324", 5e-324},
        {"1e-400", 0.0},
        {"0e999999999999999999999", 0.0},
        {"1.7976931348623157e308", DBL_MAX},
        {"2.2250738585072014e-308", DBL_MIN},
        {"0.000000000000000000000000000001e30", 1.0},
        {"1000000000000000000000000000000.0e-30", 1.0},
        {"9007199254740993.0", 9007199254740992.0},
        {"9007199254740993.00000000000000000000000000000001", 9007199254740994.0},
        {"-12.50e3", -12500.0},
    };
    char text[3000];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (value_of(cases[i].text).r != cases[i].real)
            fail_msg("%s gave %.17g", cases[i].text, value_of(cases[i].text).r);

    /* Halfway between two doubles for 2000 digits, and then not. */
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    text[2000] = '\0';
    assert_true(value_of(text).r == 9007199254740992.0);
    text[1999] = '1';
    assert_true(value_of(text).r == 9007199254740994.0);
    memset(text, '0', sizeof text);
    memcpy(text, "0.", 2);
    memcpy(text + 2000, "1e2000", 7);
    assert_true(value_of(text).r == 10.0);
}

static const char *json_of(so_value value, bool allow_json)
{
    so_str json;

    if (so_json_from_value(&arena, &value, allow_json, "result", &json, &err) != SO_OK)
        fail_msg("refused: %s", err.message);
    return json.p;
}

static const char *json_of_real(double real) { return json_of((so_value){.type = SO_REAL, .r = real}, true); }

static void an_sql_value_becomes_json(void **state)
{
    (void)state;
    assert_string_equal(json_of(SO_VALUE_NULL, true), "null");
    assert_string_equal(json_of(SO_VALUE_INT(0), true), "0");
    assert_string_equal(json_of(SO_VALUE_INT(INT64_MIN), true), "-9223372036854775808");
    assert_string_equal(json_of(SO_VALUE_INT(INT64_MAX), true), "9223372036854775807");
    assert_string_equal(json_of(SO_VALUE_STR(SO_STR("{\"a\":1}")), true), "\"{\\\"a\\\":1}\"");
    assert_string_equal(json_of(SO_VALUE_STR(((so_str){NULL, 0})), true), "\"\"");
    assert_string_equal(json_of(SO_VALUE_JSON(SO_STR(" {\"a\" : 1} ")), true), "{\"a\":1}");
    assert_string_equal(json_of(SO_VALUE_JSON(SO_STR("{\"a\":1}")), false), "\"{\\\"a\\\":1}\"");
}

static void reals_are_written_in_the_shortest_form_and_stay_reals(void **state)
{
    static const struct
    {
        double real;
        const char *json;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100.0, "100.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e16"},
        {1.5e300, "1.5e300"},
        {0.001, "0.001"},
        {0.00012, "0.00012"},
        {0.000012, "1.2e-5"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e308"},
        {9007199254740993.0, "9007199254740992.0"},
        {1.0 / 3, "0.3333333333333333"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {123456789.125, "123456789.125"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(json_of_real(cases[i].real), cases[i].json);

    for (int round = 0; round < 20000; round++)
    {
        uint64_t bits = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
        double real;
        memcpy(&real, &bits, sizeof real);
        if (round % 4 == 0)
            real = random_below(1000000) / 1000.0;
        if (!isfinite(real))
            continue;
        so_value back = value_of(json_of_real(real));
        assert_int_equal(back.type, SO_REAL);
        assert_memory_equal(&back.r, &real, sizeof real);
        so_arena_reset(&arena);
    }
}

static void what_json_cannot_hold_is_refused(void **state)
{
    so_value values[] = {
        {.type = SO_BLOB, .s = SO_STR("abc")},          {.type = SO_REAL, .r = (double)INFINITY},
        {.type = SO_REAL, .r = -(double)INFINITY},      {.type = SO_REAL, .r = (double)NAN},
        {.type = SO_TEXT, .s = SO_STR("a\xff")},        {.type = SO_TEXT, .s = SO_STR("a\0b")},
        {.type = SO_TEXT, .s = SO_STR("\xed\xa0\x80")},
    };
    so_value broken = SO_VALUE_JSON(SO_STR("{\"a\":\"\\u0000\"}"));
    so_str json;

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++)
    {
        assert_int_equal(so_json_from_value(&arena, &values[i], true, "result", &json, &err),
                         SO_INVALID_ARGUMENT);
        assert_memory_equal(err.message, "result ", 7);
    }
    assert_int_equal(so_json_from_value(&arena, &broken, true, "result", &json, &err), SO_INVALID_JSON);
}

/* ---- merge patch and equality ---- */

static void merge_patch_is_rfc_7396(void **state)
{
    static const struct
    {
        const char *target; /* NULL: undefined */
        const char *patch;
        const char *merged;
    } cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {NULL, "{\"a\":{\"b\":null,\"c\":[null]},\"d\":null}", "{\"a\":{\"c\":[null]}}"},
        {NULL, "1", "1"},
        {"{\"a\":1}", "{}", "{\"a\":1}"},
        {"{\"n\":1.10,\"\\u0061\":0}", "{\"a\":1,\"z\":2,\"b\":3}",
         "{\"n\":1.10,\"\\u0061\":1,\"z\":2,\"b\":3}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":null,\"\\u0062\":null,\"d\":{}}", "{\"a\":1,\"d\":{}}"},
        {"{\"a\":5}", "{\"a\":{\"b\":null,\"c\":1}}", "{\"a\":{\"c\":1}}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
    {
        so_str target = cases[i].target ? compact_of(cases[i].target) : (so_str){NULL, 0};
        so_str merged;
        assert_int_equal(so_json_merge_patch(&arena, target, compact_of(cases[i].patch), &merged, &err),
                         SO_OK);
        assert_string_equal(merged.p, cases[i].merged);
    }
}

static void equality_is_by_value(void **state)
{
    static const struct
    {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {
        {"{}", "{ }", true},
        {"{}", "[]", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":1}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":{\"x\":[1,{\"p\":0,\"q\":0}],\"y\":2}}", "{\"a\":{\"y\":2,\"x\":[1,{\"q\":0,\"p\":0}]}}",
         true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"[]", "[null]", false},
        {"1", "1.0", false},
        {"1.0", "1.00", true},
        {"10.0", "1e1", true},
        {"-0.0", "0.0", true},
        {"-0", "0", true},
        {"0.1", "0.2", false},
        {"9007199254740993", "9007199254740992", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"\\/\"", "\"/\"", true},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"", true},
        {"\"a\"", "\"A\"", false},
        {"\"a\"", "\"ab\"", false},
        {"\"\"", "null", false},
        {"{\"\\u0061\":1}", "{\"a\":1}", true},
        {"null", "false", false},
        {"true", "false", false},
        {"\"1\"", "1", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
    {
        so_str a = compact_of(cases[i].a);
        so_str b = compact_of(cases[i].b);
        if (so_json_equal(a, b) != cases[i].equal || so_json_equal(b, a) != cases[i].equal)
            fail_msg("%s and %s", a.p, b.p);
    }
}

static size_t equality_allocations;
static bool equality_has_memory;

static void *equality_alloc(size_t bytes)
{
    equality_allocations++;
    return equality_has_memory ? malloc(bytes) : NULL;
}

/* An object of the members first, first + step, … modulo `count`. */
static so_str large_object(int count, int first, int step, int changed)
{
    so_buffer buffer;

    so_buffer_init(&buffer, &arena);
    for (int i = 0; i < count; i++)
    {
        int number = (first + i * step) % count;
        so_buffer_add_text(&buffer, i ? ",\"m" : "{\"m");
        so_buffer_add_int(&buffer, number);
        so_buffer_add_text(&buffer, "\":{\"x\":");
        so_buffer_add_int(&buffer, number == changed ? -1 : number);
        so_buffer_add_text(&buffer, "}");
    }
    so_buffer_add_text(&buffer, "}");
    return so_buffer_str(&buffer);
}

static void large_objects_in_another_order_are_equal_with_and_without_memory(void **state)
{
    so_str straight = large_object(1000, 0, 1, -1);
    so_str mixed = large_object(1000, 500, 7, -1);
    so_str changed = large_object(1000, 500, 7, 499);
    so_str longer = large_object(1001, 500, 7, -1);
    so_str merged;

    (void)state;
    so_json_use_allocator(equality_alloc, free);
    for (int memory = 0; memory < 2; memory++)
    {
        equality_has_memory = memory == 1;
        equality_allocations = 0;
        assert_true(so_json_equal(straight, mixed));
        assert_int_equal(equality_allocations, 1);
        assert_false(so_json_equal(straight, changed));
        assert_false(so_json_equal(straight, longer));
        assert_false(so_json_equal(longer, straight));
    }
    so_json_use_allocator(malloc, free);

    /* A patch of every member in another order leaves the target's order. */
    assert_int_equal(so_json_merge_patch(&arena, changed, straight, &merged, &err), SO_OK);
    assert_true(so_str_equal(merged, mixed));
}

/* ---- locales, damaged text ---- */

/* Uses an installed locale or has one made in a directory of its own; false if the system can do neither. */
static bool enter_locale(const char *name, char *directory)
{
    char command[500];
    char installed[100];

    snprintf(installed, sizeof installed, "%s.UTF-8", name);
    if (setlocale(LC_ALL, installed))
        return true;
    snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s/%s.UTF-8 >%s/log 2>&1", name, directory,
             name, directory);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", directory, 1);
    return setlocale(LC_ALL, installed) != NULL;
}

static void numbers_are_right_in(const char *locale_name)
{
    char directory[] = "/tmp/test_json.XXXXXX";
    char command[100];
    char point[16];

    assert_non_null(mkdtemp(directory));
    bool entered = enter_locale(locale_name, directory);
    snprintf(point, sizeof point, "%s", localeconv()->decimal_point);
    if (entered)
    {
        assert_string_not_equal(point, ".");
        assert_true(value_of("1234.5").r == 1234.5);
        assert_true(value_of("{\"a\":[1.5,1e3,-2.5e-1]}").json);
        assert_string_equal(json_of_real(1234567.25), "1234567.25");
        assert_string_equal(json_of_real(-1.25e-20), "-1.25e-20");
        assert_true(so_json_equal(SO_STR("1.50"), SO_STR("1.5")));
        refuse(str("1,5"));
        refuse(str("[1.5,1e400]"));
        assert_string_equal(localeconv()->decimal_point, point);
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    if (!entered)
        skip();
}

static void numbers_do_not_depend_on_a_decimal_comma(void **state)
{
    (void)state;
    numbers_are_right_in("de_DE");
}

static void numbers_do_not_depend_on_a_decimal_point_of_two_bytes(void **state)
{
    (void)state;
    numbers_are_right_in("ps_AF");
}

static void scanning_damaged_text_ends_and_stays_inside(void **state)
{
    static const char *const documents[] = {
        "{\"a\":[1,{\"b\":\"c\\ud83d\\ude00\"},-1.5e3],\"\\u0064\":{\"e\":null},\"f\":\"\\n\"}",
        "[[\"\\\\\"],{\"a\":1,\"b\":2},true,12345678901234567890123456789]",
    };

    (void)state;
    for (int round = 0; round < 20000; round++)
    {
        const char *document = documents[round % 2];
        size_t length = random_below((uint32_t)strlen(document) + 1);
        char *text = test_malloc(length ? length : 1);
        so_str json = {text, length};
        so_str name, value, merged;
        so_json_iter iter;
        so_value sql;
        size_t count = 0;

        /* A copy of exactly this length, so that a checker of memory sees a read beyond it. */
        memcpy(text, document, length);
        for (uint32_t i = random_below(4); i > 0 && length; i--)
            text[random_below((uint32_t)length)] = "\"\\{}[],:u0"[random_below(10)];

        so_json_iter_init(&iter, &arena, json);
        while (so_json_iter_next(&iter, &name, &value))
            count++;
        assert_uint_in_range(count, 0, length);
        so_json_get(&arena, json, SO_STR("d"), &value);
        assert_int_equal(so_json_to_value(&arena, json, &sql, &err), SO_OK);
        so_json_equal(json, str(document));
        so_json_equal(str(document), json);
        assert_int_equal(so_json_merge_patch(&arena, json, str(document), &merged, &err), SO_OK);
        assert_int_equal(so_json_merge_patch(&arena, str(document), json, &merged, &err), SO_OK);
        so_arena_reset(&arena);
        test_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(walking_gives_every_member_and_element),
        TEST(a_member_is_found_by_its_decoded_name),
        TEST(strings_are_decoded),
        TEST(a_quoted_text_reads_back_and_only_what_must_be_is_escaped),
        TEST(a_json_value_becomes_the_sql_value),
        TEST(reals_are_read_as_the_nearest_double),
        TEST(an_sql_value_becomes_json),
        TEST(reals_are_written_in_the_shortest_form_and_stay_reals),
        TEST(what_json_cannot_hold_is_refused),
        TEST(merge_patch_is_rfc_7396),
        TEST(equality_is_by_value),
        TEST(large_objects_in_another_order_are_equal_with_and_without_memory),
        TEST(numbers_do_not_depend_on_a_decimal_comma),
        TEST(numbers_do_not_depend_on_a_decimal_point_of_two_bytes),
        TEST(scanning_damaged_text_ends_and_stays_inside),
    };
    return cmocka_run_group_tests_name("json values", tests, NULL, NULL);
}
