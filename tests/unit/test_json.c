/*
 * JSON on its way in: the same yes or no everywhere, and what was taken keeps its spelling.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "in_range.h"

#include "json_fixture.h"
#include "so_json_internal.h"

static void what_is_taken_keeps_its_spelling_and_loses_white_space(void **state)
{
    static const struct
    {
        const char *text;
        const char *compact; /* NULL: as the text */
    } cases[] = {
        {"{}", NULL},
        {" \t\r\n{ \n} ", "{}"},
        {"[]", NULL},
        {" [ 1 , 2 ] ", "[1,2]"},
        {"{\"by\":1}", NULL},
        {"{ \"a b\" : \" c  d \" , \"e\" : [ { } , null ] }", "{\"a b\":\" c  d \",\"e\":[{},null]}"},
        {"null", NULL},
        {" true ", "true"},
        {"false", NULL},
        {"\"\"", NULL},
        {" \"a\\u0041\\/\\\"\\\\\" ", "\"a\\u0041\\/\\\"\\\\\""},
        {"\"\\ud83d\\ude00\"", NULL},
        {"\"\xf0\x9f\x98\x80\xc3\xa9\x7f\"", NULL},
        {"\"{[,: \"", NULL},
        {"0", NULL},
        {"-0", NULL},
        {"-0.0", NULL},
        {"1.0", NULL},
        {"1.10", NULL},
        {"0.1", NULL},
        {"1e15", NULL},
        {"1E+2", NULL},
        {"5e-324", NULL},
        {"1e-400", NULL},
        {"1.7976931348623157e308", NULL},
        {"9007199254740993", NULL},
        {"9223372036854775807", NULL},
        {"-9223372036854775808", NULL},
        {"{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}", NULL},
        {"{\"\":1,\" \":2,\"A\":3,\"a\":4,\"\xc3\xa9\":5,\"e\xcc\x81\":6}", NULL},
        {"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":"
         "1,"
         "\"13\":1,\"14\":1,\"15\":1,\"16\":1,\"17\":1}",
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(compact_of(cases[i].text).p, cases[i].compact ? cases[i].compact : cases[i].text);
}

static void what_rfc_8259_does_not_know_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "{]",
        "[}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "{}{}",
        "{} x",
        "{},",
        "1 2",
        "1,",
        "tru",
        "truE",
        "True",
        "nul",
        "nulll",
        "tr ue",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "01",
        "-01",
        "+1",
        "-",
        "- 1",
        ".5",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "0x10",
        "1_000",
        "1..0",
        "1.0.0",
        "--1",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\\U0041\"",
        "'a'",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"a\x1f\"",
        "\"a\\",
        "/* c */ 1",
        "// c\n1",
        "# c\n1",
        "[1]//",
        "\xef\xbb\xbf{}",
        "\xc2\xa0{}",
        "{}\v",
        "{}\f",
        "\"a\"\"b\"",
        "{\"a\":tru}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":-}",
        "{\"a\":\"\x01\"}",
        "{\"a\":truefalse}",
        "{\"a\":1true}",
        "{\"a\"::1}",
        "{{}}",
        "{\"a\":{}",
        "`{}`",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(str(texts[i]));
}

static void duplicate_members_are_refused_however_they_are_spelt(void **state)
{
    (void)state;
    refuse(str("{\"a\":1,\"a\":1}"));
    assert_non_null(strstr(err.message, "duplicate"));
    refuse(str("{\"a\":1,\"\\u0061\":2}"));
    refuse(str("{\"\":1,\"\":2}"));
    refuse(str("{\"b\":{\"a\":1,\"c\":[],\"a\":1}}"));
    refuse(str("[{\"\xc3\xa9\":1,\"\\u00e9\":2}]"));
    refuse(str("{\"/\":1,\"\\/\":2}"));
}

static void numbers_beyond_64_bits_or_double_are_refused(void **state)
{
    static const char *const numbers[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "123456789012345678901234567890",
        "1e400",
        "-1e400",
        "1.8e308",
        "1e99999999999999999999",
    };
    char text[80];

    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++)
    {
        refuse(str(numbers[i]));
        snprintf(text, sizeof text, "{\"n\":%s}", numbers[i]);
        refuse(str(text));
        assert_non_null(strstr(err.message, "line 1, column"));
    }
}

static void nul_and_lone_surrogates_are_refused(void **state)
{
    (void)state;
    refuse(str("{\"a\":\"x\\u0000y\"}"));
    refuse(str("{\"\\u0000\":1}"));
    refuse(SO_STR("{\"a\":\"x\0y\"}"));
    refuse(SO_STR("{\"a\0\":1}"));
    refuse(SO_STR("{\0}"));
    refuse(SO_STR("{}\0"));
    refuse(SO_STR("\0"));
    refuse(SO_STR("{\"a\":1\0}"));
    refuse(str("\"\\ud800\""));
    refuse(str("\"\\udc00\""));
    refuse(str("\"\\ud800\\ud800\""));
    refuse(str("\"\\ud800x\""));
    refuse(str("\"\\udc00\\ud800\""));
    refuse(str("{\"\\ud83d\":1}"));
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    static const char *const sequences[] = {
        "\xff",
        "\x80",
        "\xc3",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xe2\x82",
        "\xbf\x5c\x27",
    };
    char text[80];

    (void)state;
    for (size_t i = 0; i < COUNT(sequences); i++)
    {
        snprintf(text, sizeof text, "{\"a\":\"%s\"}", sequences[i]);
        refuse(str(text));
        snprintf(text, sizeof text, "{\"%s\":1}", sequences[i]);
        refuse(str(text));
        assert_false(so_utf8_valid(sequences[i], strlen(sequences[i])));
    }
    refuse(str("\xc3\xa9"));
    assert_true(so_utf8_valid(NULL, 0));
    assert_true(so_utf8_valid("abcdefgh\x01\xf0\x9f\x98\x80zzzzzzzzz", 22));
    assert_false(so_utf8_valid("abcdefgh\0", 9));
    assert_false(so_utf8_valid("abcdefg\0h", 9));
}

static void nested(char *text, int depth, const char *open, const char *inner, char close)
{
    text[0] = '\0';
    for (int i = 0; i < depth; i++)
        strcat(text, open);
    strcat(text, inner);
    size_t length = strlen(text);
    memset(text + length, close, (size_t)depth);
    text[length + (size_t)depth] = '\0';
}

static void nesting_ends_at_100(void **state)
{
    char text[2000];
    char *deep = test_malloc(1000001);

    (void)state;
    nested(text, 100, "[", "", ']');
    compact_of(text);
    nested(text, 100, "{\"a\":", "1", '}');
    compact_of(text);
    nested(text, 101, "[", "", ']');
    refuse(str(text));
    assert_non_null(strstr(err.message, "more than 100 deep (at byte 100)"));
    nested(text, 101, "{\"a\":", "1", '}');
    refuse(str(text));
    nested(text, 100, "[", "\"[[[{{{\\\"[\"", ']');
    compact_of(text);

    memset(deep, '[', 1000000);
    refuse((so_str){deep, 1000000});
    memset(deep, '{', 1000000);
    refuse((so_str){deep, 1000000});
    test_free(deep);
}

static void the_kind_and_the_size_are_checked(void **state)
{
    static const struct
    {
        const char *text;
        size_t max_bytes;
        so_json_kind kind;
        so_code code;
    } cases[] = {
        {"{}", 0, SO_JSON_OBJECT, SO_OK},
        {"[]", 0, SO_JSON_OBJECT, SO_INVALID_JSON},
        {"null", 0, SO_JSON_OBJECT, SO_INVALID_JSON},
        {"\"{}\"", 0, SO_JSON_OBJECT, SO_INVALID_JSON},
        {"7", 0, SO_JSON_OBJECT, SO_INVALID_JSON},
        {" [1]", 0, SO_JSON_ARRAY, SO_OK},
        {"{}", 0, SO_JSON_ARRAY, SO_INVALID_JSON},
        {"1", 0, SO_JSON_ARRAY, SO_INVALID_JSON},
        {"{}", 2, SO_JSON_OBJECT, SO_OK},
        {"{}", 1, SO_JSON_OBJECT, SO_TOO_LARGE},
        {"{ \"a\" :  1 }", 7, SO_JSON_OBJECT, SO_OK},
        {"{ \"a\" :  1 }", 6, SO_JSON_OBJECT, SO_TOO_LARGE},
        {"{ \"a\" :  [] }", 8, SO_JSON_OBJECT, SO_OK},
        {"{ \"a\" :  [] }", 7, SO_JSON_OBJECT, SO_TOO_LARGE},
        {"\"\xc3\xa9\"", 4, SO_JSON_ANY, SO_OK},
        {"\"\xc3\xa9\"", 3, SO_JSON_ANY, SO_TOO_LARGE},
    };
    so_str compact;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
    {
        so_code code = so_json_check(&arena, str(cases[i].text), cases[i].kind, "state", cases[i].max_bytes,
                                     &compact, &err);
        if (code != cases[i].code)
            fail_msg("%s: %s", cases[i].text, so_code_name(code));
        if (code != SO_OK)
            assert_memory_equal(err.message, "state ", 6);
    }
}

static void an_error_says_where(void **state)
{
    (void)state;
    refuse(str("{\"a\": 1,\n \"b\": x}"));
    assert_non_null(strstr(err.message, "line 2, column"));
    refuse(str("{\"%s%n\": %s}"));
    assert_non_null(strstr(err.message, "line 1"));
}

/* ---- the short way against the long one ---- */

/* Pieces that are mostly what an ordinary document is made of, and now and then something else. */
static size_t random_pieces(char *text, size_t capacity)
{
    static const char *const pieces[] = {
        "{",
        "}",
        "{",
        "}",
        "[",
        "]",
        ":",
        ":",
        ",",
        ",",
        " ",
        "\n",
        "\"a\"",
        "\"b\"",
        "\"\"",
        "1",
        "-1",
        "0",
        "true",
        "false",
        "null",
        "\"x y\"",
        "00",
        "-",
        "1.5",
        "1.",
        ".5",
        "1e3",
        "\\",
        "\"",
        "\xc3\xa9",
        "\x01",
        "1234567890123456789",
        "9223372036854775808",
        "\"\\u0061\"",
        "\"\\n\"",
        "tru",
        "\x7f",
        "\"\xc3\xa9\"",
        "\"a\":1",
        "\"b\":[2],",
        ",\"d\":\"e\"",
        "\v",
    };
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = random_below(9); i > 0; i--)
        length +=
            (size_t)snprintf(text + length, capacity - length, "%s", pieces[random_below(COUNT(pieces))]);
    return length;
}

static size_t random_value(char *text, size_t capacity, int depth)
{
    static const char *const scalars[] = {
        "0",
        "-0",
        "7",
        "-12",
        "1.5",
        "-0.25",
        "10.0",
        "true",
        "false",
        "null",
        "\"\"",
        "\"hat\"",
        "\"\xc3\xa9\"",
        "123456789012345678",
        "1234567890123456789",
        "0.12345678901234567",
        "1e3",
        "\"\\t\"",
        "\"\\u0061\"",
        "\"eight or more bytes\"",
        "\"eight \xf0\x9f\x98\x80 or more\"",
        "\"a\x7f\"",
    };
    uint32_t members = random_below(depth == 0 && random_below(40) == 0 ? 40 : 5);
    bool object = random_below(2);
    size_t length = 0;

    if (depth > 9 || (depth > 0 && random_below(3)))
        return (size_t)snprintf(text, capacity, "%s", scalars[random_below(COUNT(scalars))]);
    text[length++] = object ? '{' : '[';
    for (uint32_t i = 0; i < members && length + 4000 < capacity; i++)
    {
        if (i)
            text[length++] = ',';
        if (random_below(5) == 0)
            text[length++] = " \t\r\n"[random_below(4)];
        if (object)
            length += (size_t)snprintf(text + length, capacity - length, "\"%c%c\":", 'a' + random_below(26),
                                       'a' + random_below(26));
        length += random_value(text + length, capacity - length, depth + 1);
    }
    text[length++] = object ? '}' : ']';
    return length;
}

/* In half of the cases with one byte changed, added or taken away. */
static size_t random_document(char *text, size_t capacity)
{
    static const char bytes[] = "{}[]:,\"\\ 01e.-tn\n\x01\x80\xc3";
    uint32_t shape = random_below(8);

    if (shape == 0)
        return random_pieces(text, capacity);
    size_t length = random_value(text, capacity - 1, 0);
    uint32_t at = random_below((uint32_t)length);
    if (shape == 1)
        text[at] = bytes[random_below(sizeof bytes)];
    if (shape == 2)
    {
        memmove(text + at + 1, text + at, length - at);
        text[at] = bytes[random_below(sizeof bytes)];
        length++;
    }
    if (shape == 3)
    {
        memmove(text + at, text + at + 1, length - at - 1);
        length--;
    }
    return length;
}

static void the_short_way_and_the_parser_agree(void **state)
{
    enum
    {
        ROUNDS = 60000,
        CAPACITY = 100000
    };
    char *text = test_malloc(CAPACITY);
    size_t valid = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        so_str document = {text, random_document(text, CAPACITY)};
        so_str compact, other;
        so_code code = check(document, &compact);

        if (so_json_check_long(&arena, document, "args", &other, &err) != code)
            fail_msg("disagreement about %.*s: %s", (int)document.n, text, err.message);
        if (code == SO_OK)
        {
            valid++;
            if (!so_str_equal(compact, other))
                fail_msg("%s is not %s", compact.p, other.p);
        }
        so_arena_reset(&arena);
    }
    assert_uint_in_range(valid, ROUNDS / 4, ROUNDS - ROUNDS / 4);
    test_free(text);
}

static void the_short_way_and_the_parser_agree_about_every_byte_at_every_place(void **state)
{
    static const char document[] =
        "{\"k\":[\"abcdefghijklmnopqr\xc3\xa9\",-10.5,true,null,{\"x\":{}}],\"s\":\"12\"}";
    char text[sizeof document];

    (void)state;
    for (size_t at = 0; at < sizeof document - 1; at++)
    {
        for (int byte = 0; byte < 256; byte++)
        {
            so_str changed = {text, sizeof document - 1};
            so_str compact, other;

            memcpy(text, document, sizeof document);
            text[at] = (char)byte;
            so_code code = check(changed, &compact);
            if (so_json_check_long(&arena, changed, "args", &other, &err) != code)
                fail_msg("disagreement about %s", text);
            if (code == SO_OK)
                assert_true(so_str_equal(compact, other));
            so_arena_reset(&arena);
        }
    }
}

/* ---- out of memory ---- */

static so_code use_everything(so_str text, so_str target)
{
    so_str compact, merged, json;
    so_value value;
    so_code code = so_json_check(&arena, text, SO_JSON_OBJECT, "args", 0, &compact, &err);

    if (code == SO_OK)
        code = so_json_merge_patch(&arena, target, compact, &merged, &err);
    if (code == SO_OK)
        code = so_json_to_value(&arena, merged, &value, &err);
    if (code == SO_OK)
        code = so_json_from_value(&arena, &value, true, "state", &json, &err);
    if (code == SO_OK)
    {
        value.json = false;
        code = so_json_from_value(&arena, &value, true, "state", &json, &err);
    }
    if (code == SO_OK && so_json_unquote(&arena, json).p == NULL)
        code = so_error_nomem(&err);
    if (code == SO_OK)
    {
        so_json_iter iter;
        so_str name;
        so_str member;
        size_t members = 0;

        so_json_iter_init(&iter, &arena, compact);
        while (so_json_iter_next(&iter, &name, &member))
            members++;
        if (iter.failed)
            return so_error_nomem(&err);
        assert_int_equal(members, 40);
    }
    return code;
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    static const so_str target = {"{\"a\":{\"b\":[1,2,3]},\"m1\":0,\"m39x\":7}", 35};
    char text[80000];
    size_t length = 0;
    size_t fail_at;
    so_code code = SO_NOMEM;

    /*
     * Numbers and strings of every length around the sizes at which the parser's buffers grow, members
     * enough for its tables to grow, and names with escapes longer than what is left in a block.
     */
    (void)state;
    for (int i = 0; i < 40; i++)
        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "%c\"m%d\\n%0*d\" : [%.*f, %d, \"%0*d\\u00e9\", {\"k\":[1.5e1,null,{\"k\":{}}]}]", i ? ',' : '{',
            i, 40 * i, 0, i, 1.0 / 3, i, i * 16, 1);
    length += (size_t)snprintf(text + length, sizeof text - length, "}");

    for (fail_at = 1; code != SO_OK; fail_at++)
    {
        so_arena_free(&arena);
        assert_int_equal(counts.out, 0);
        counts.calls = 0;
        counts.fail_at = fail_at;
        so_error_clear(&err);
        code = use_everything((so_str){text, length}, target);
        if (code != (counts.calls < fail_at ? SO_OK : SO_NOMEM))
            fail_msg("allocation %zu: %s: %s", fail_at, so_code_name(code), err.message);
        assert_int_equal(err.code, code);
    }
    assert_uint_in_range(fail_at, 20, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_taken_keeps_its_spelling_and_loses_white_space),
        TEST(what_rfc_8259_does_not_know_is_refused),
        TEST(duplicate_members_are_refused_however_they_are_spelt),
        TEST(numbers_beyond_64_bits_or_double_are_refused),
        TEST(nul_and_lone_surrogates_are_refused),
        TEST(bytes_that_are_not_utf8_are_refused),
        TEST(nesting_ends_at_100),
        TEST(the_kind_and_the_size_are_checked),
        TEST(an_error_says_where),
        TEST(the_short_way_and_the_parser_agree),
        TEST(the_short_way_and_the_parser_agree_about_every_byte_at_every_place),
        TEST(every_failed_allocation_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
