/*
 * Names and keys at the edge: what is refused is refused whole, what is taken is taken byte for byte.
 */
#include "so_names.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "in_range.h"

typedef so_code (*check_function)(const so_value *value, const char *what, so_str *taken, so_error *err);

static void takes(check_function check, const char *text, size_t length)
{
    so_value value = SO_VALUE_STR(((so_str){text, length}));
    so_str taken = {NULL, 0};
    so_error err;

    so_error_clear(&err);
    assert_int_equal(check(&value, "type", &taken, &err), SO_OK);
    assert_ptr_equal(taken.p, text);
    assert_int_equal(taken.n, length);
}

static void refuses(check_function check, so_value value)
{
    so_str taken = {NULL, 7};
    so_error err;

    assert_int_equal(check(&value, "worker", &taken, &err), SO_INVALID_NAME);
    assert_int_equal(err.code, SO_INVALID_NAME);
    assert_non_null(strstr(err.message, "worker"));
    assert_string_not_equal(err.hint, "");
    assert_null(taken.p);
}

static void refuses_text(check_function check, const char *text, size_t length)
{
    refuses(check, SO_VALUE_STR(((so_str){text, length})));
}

static void names_have_letters_digits_and_four_signs(void **state)
{
    static const char *const good[] = {"Cart", "c", "_", "_1", "a.b:c-d_e", "Z9", "a--", "a:b", "select"};
    static const char *const bad[] = {
        "",
        " ",
        "1a",
        "-a",
        ".a",
        ":a",
        "a b",
        "a/b",
        "100%",
        "a'b",
        "a\"b",
        "a\\b",
        "a\nb",
        "a;",
        "a%sb",
        "%n",
        "$1",
        "?",
        ":a b",
        "a\tb",
        "\xc3\xa9",
        "a\xc3\xa9",
        " a",
        "a ",
        "a`",
        "a@",
        "a[",
        "a{",
        "a\x7f",
        "\xef\xbb\xbf_",
        "a\xbf\x5c\x27",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        takes(so_name_check, good[i], strlen(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses_text(so_name_check, bad[i], strlen(bad[i]));
}

static void every_byte_is_in_a_name_or_not_by_the_rule(void **state)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char later[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.:-";

    (void)state;
    for (int c = 0; c < 256; c++)
    {
        char text[2] = {(char)c, 'a'};
        if (c && strchr(first, c))
            takes(so_name_check, text, 2);
        else
            refuses_text(so_name_check, text, 2);
        text[0] = 'a';
        text[1] = (char)c;
        if (c && strchr(later, c))
            takes(so_name_check, text, 2);
        else
            refuses_text(so_name_check, text, 2);
    }
}

static void lengths_are_counted_in_bytes_and_never_cut(void **state)
{
    static const char smile[] = {'\xf0', '\x9f', '\x98', '\x80'};
    char text[300];

    (void)state;
    memset(text, 'a', sizeof text);
    takes(so_name_check, text, 128);
    refuses_text(so_name_check, text, 129);
    takes(so_key_check, text, 255);
    refuses_text(so_key_check, text, 256);
    refuses_text(so_key_check, text, 300);

    /* 255 characters of four bytes are 1020 bytes; 63 of them and three letters are 255. */
    for (size_t i = 0; i + 4 <= sizeof text; i += 4)
        memcpy(text + i, smile, sizeof smile);
    refuses_text(so_key_check, text, 256);
    memset(text + 252, 'a', 3);
    takes(so_key_check, text, 255);
    memcpy(text + 252, smile, sizeof smile);
    refuses_text(so_key_check, text, 255);
}

static void keys_are_any_utf8_text_without_nul(void **state)
{
    static const char *const good[] = {
        " ",
        "a/b",
        "100%",
        "a'b",
        "a\"b",
        "a\\b",
        "a\nb",
        "a:b",
        "a||b",
        "%s%n$1?:a",
        "A",
        "a ",
        "\x01\x7f",
        "\xc3\xa9",
        "e\xcc\x81",
        "'; DROP TABLE t;--",
        "\xef\xbf\xbf",
        "\xf4\x8f\xbf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
    };
    static const char *const bad[] = {
        "",
        "\xff",
        "a\x80",
        "\xc3",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "a\xbf\x5c\x27",
        "abcdefgh\xc3",
        "abcdefghi\x80",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        takes(so_key_check, good[i], strlen(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses_text(so_key_check, bad[i], strlen(bad[i]));
}

static void a_raw_nul_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 20; length++)
    {
        for (size_t at = 0; at < length; at++)
        {
            char text[20];
            memset(text, 'a', sizeof text);
            text[at] = '\0';
            refuses_text(so_name_check, text, length);
            refuses_text(so_key_check, text, length);
        }
    }
}

static void what_is_not_text_is_no_name_and_no_key(void **state)
{
    so_value blob = {.type = SO_BLOB, .s = SO_STR("abc")};
    so_value real = {.type = SO_REAL, .r = 1};
    so_value number = SO_VALUE_INT(1);
    so_str taken;
    so_error err;

    (void)state;
    refuses(so_name_check, SO_VALUE_NULL);
    refuses(so_name_check, blob);
    refuses(so_name_check, real);
    refuses(so_name_check, number);
    refuses(so_key_check, SO_VALUE_NULL);
    refuses(so_key_check, blob);
    refuses(so_key_check, real);
    refuses(so_key_check, number);

    so_key_check(&number, "key", &taken, &err);
    assert_string_equal(err.hint, "Pass the number as text.");
}

static void a_refused_name_is_shown_short_and_harmless(void **state)
{
    char text[2000];
    so_value value = SO_VALUE_STR(((so_str){text, sizeof text}));
    so_str taken;
    so_error err;

    (void)state;
    memset(text, '\n', sizeof text);
    so_name_check(&value, "type", &taken, &err);
    assert_uint_in_range(strlen(err.message), 20, 200);
    assert_null(strchr(err.message, '\n'));
    assert_non_null(strstr(err.message, "2000 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_letters_digits_and_four_signs),
        cmocka_unit_test(every_byte_is_in_a_name_or_not_by_the_rule),
        cmocka_unit_test(lengths_are_counted_in_bytes_and_never_cut),
        cmocka_unit_test(keys_are_any_utf8_text_without_nul),
        cmocka_unit_test(a_raw_nul_is_refused_wherever_it_stands),
        cmocka_unit_test(what_is_not_text_is_no_name_and_no_key),
        cmocka_unit_test(a_refused_name_is_shown_short_and_harmless),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
