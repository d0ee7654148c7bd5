/*
 * Error codes and error texts.
 */
#include "so_error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <wchar.h>
#include <cmocka.h>

#include "in_range.h"

static void every_code_has_its_own_name(void **state)
{
    (void)state;
    for (int code = 0; code < SO_CODE_COUNT; code++)
    {
        assert_non_null(so_code_name(code));
        assert_memory_equal(so_code_name(code), "SO_", 3);
        for (int other = 0; other < code; other++)
            assert_string_not_equal(so_code_name(code), so_code_name(other));
    }
    assert_string_equal(so_code_name(SO_UNKNOWN_TYPE), "SO_UNKNOWN_TYPE");
    assert_string_equal(so_code_name(SO_QUERY_CHANGED_STATE), "SO_QUERY_CHANGED_STATE");
    assert_string_equal(so_code_name(SO_ENGINE), "SO_ENGINE");
    assert_string_equal(so_code_name(SO_NOMEM), "SO_NOMEM");
}

static void every_product_code_has_its_own_sqlstate_of_class_so(void **state)
{
    (void)state;
    for (int code = 0; code < SO_CODE_COUNT; code++)
    {
        const char *sqlstate = so_code_sqlstate(code);
        if (code == SO_OK || code > SO_VERSION)
        {
            assert_null(sqlstate);
            continue;
        }
        assert_non_null(sqlstate);
        assert_int_equal(strlen(sqlstate), 5);
        assert_memory_equal(sqlstate, "SO", 2);
        assert_int_equal(strspn(sqlstate, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 5);
        for (int other = 0; other < code; other++)
            if (so_code_sqlstate(other))
                assert_string_not_equal(sqlstate, so_code_sqlstate(other));
    }
}

static void set_fills_everything_and_answers_the_code(void **state)
{
    so_error err;

    (void)state;
    memset(&err, 'x', sizeof err);
    assert_int_equal(so_error_set(&err, SO_UNKNOWN_TYPE, "Define it.", "no type %s", "Cart"),
                     SO_UNKNOWN_TYPE);
    assert_int_equal(err.code, SO_UNKNOWN_TYPE);
    assert_int_equal(err.engine_code, 0);
    assert_string_equal(err.message, "no type Cart");
    assert_string_equal(err.hint, "Define it.");

    assert_int_equal(so_error_set(&err, SO_FAILED, NULL, "again"), SO_FAILED);
    assert_string_not_equal(err.hint, ""); /* the one that the code has */

    assert_int_equal(so_error_nomem(&err), SO_NOMEM);
    assert_int_equal(err.code, SO_NOMEM);

    so_error_clear(&err);
    assert_int_equal(err.code, SO_OK);
    assert_string_equal(err.message, "");
}

static void a_user_text_has_no_format_effect(void **state)
{
    so_error err;

    (void)state;
    so_error_set(&err, SO_INVALID_NAME, "%s%n", "type '%s'", "%s%n$1?:a'\"\\");
    assert_string_equal(err.message, "type '%s%n$1?:a'\"\\'");
    assert_string_equal(err.hint, "%s%n");
}

static void an_error_may_quote_itself(void **state)
{
    so_error err;

    (void)state;
    so_error_set(&err, SO_FAILED, "hint", "inner");
    so_error_set(&err, SO_REJECTED, err.hint, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
    assert_string_equal(err.hint, "hint");
}

static void a_text_that_cannot_be_formatted_still_gives_an_error(void **state)
{
    so_error err;

    (void)state;
    /* A character that no locale has makes printf itself fail. */
    assert_int_equal(so_error_set(&err, SO_FAILED, NULL, "%lc", (wint_t)0x7FFFFFFF), SO_FAILED);
    assert_string_equal(err.message, "SO_FAILED");
}

static void texts_are_made_storable(void **state)
{
    so_error err;

    (void)state;
    so_error_set(&err, SO_FAILED, "b\x1b[1m\x7f", "a\n\tb\xff\xc3\xa9\xed\xa0\x80");
    assert_string_equal(err.message, "a??b?\xc3\xa9???");
    assert_string_equal(err.hint, "b?[1m?");
}

static void long_texts_are_cut_between_characters(void **state)
{
    char text[3 * SO_ERROR_MESSAGE_BYTES];
    so_error err;

    (void)state;
    for (size_t lead = 0; lead < 4; lead++)
    {
        static const char smile[] = "\xf0\x9f\x98\x80";
        size_t length = lead;
        memset(text, 'a', lead);
        while (length + 4 < sizeof text)
        {
            memcpy(text + length, smile, 4);
            length += 4;
        }
        text[length] = '\0';
        so_error_set(&err, SO_FAILED, text, "%s", text);

        size_t kept = strlen(err.message);
        assert_uint_in_range(kept, SO_ERROR_MESSAGE_BYTES - 4, SO_ERROR_MESSAGE_BYTES - 1);
        assert_int_equal((kept - lead) % 4, 0);
        assert_memory_equal(err.message, text, kept);
        kept = strlen(err.hint);
        assert_uint_in_range(kept, SO_ERROR_HINT_BYTES - 4, SO_ERROR_HINT_BYTES - 1);
        assert_int_equal((kept - lead) % 4, 0);
    }
}

static void storable_keeps_newlines_and_replaces_what_no_database_takes(void **state)
{
    static const struct
    {
        const char *text;
        size_t length;
        size_t capacity;
        const char *expected;
    } cases[] = {
        {"a\n\tb", 4, 32, "a\n\tb"},
        {"a\0b", 3, 32, "a?b"},
        {"\x80\xbf\xc0\xaf\xfe", 5, 32, "?????"},
        {"\xc3", 1, 32, "?"},
        {"\xe2\x82", 2, 32, "??"},
        {"\xe2\x82\xac", 3, 32, "\xe2\x82\xac"},
        {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", 8, 32, "\xf4\x8f\xbf\xbf????"},
        {"\xe0\x9f\xbf\xf0\x8f\xbf\xbf", 7, 32, "???????"},
        {"\xbf\x5c\x27", 3, 32, "?\\'"},
        {"", 0, 32, ""},
        {NULL, 0, 32, ""},
        {"abc", 3, 4, "abc"},
        {"abc", 3, 3, "ab"},
        {"abc", 3, 1, ""},
        {"ab\xc3\xa9", 4, 4, "ab"},
        {"ab\xc3\xa9", 4, 5, "ab\xc3\xa9"},
    };
    char to[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        memset(to, 'z', sizeof to);
        size_t length = so_text_storable(to, cases[i].capacity, cases[i].text, cases[i].length);
        assert_string_equal(to, cases[i].expected);
        assert_int_equal(length, strlen(to));
        for (size_t beyond = cases[i].capacity; beyond < sizeof to; beyond++)
            assert_int_equal(to[beyond], 'z');
    }
    to[0] = 'z';
    assert_int_equal(so_text_storable(to, 0, "abc", 3), 0);
    assert_int_equal(to[0], 'z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_name),
        cmocka_unit_test(every_product_code_has_its_own_sqlstate_of_class_so),
        cmocka_unit_test(set_fills_everything_and_answers_the_code),
        cmocka_unit_test(a_user_text_has_no_format_effect),
        cmocka_unit_test(an_error_may_quote_itself),
        cmocka_unit_test(a_text_that_cannot_be_formatted_still_gives_an_error),
        cmocka_unit_test(texts_are_made_storable),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(storable_keeps_newlines_and_replaces_what_no_database_takes),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
