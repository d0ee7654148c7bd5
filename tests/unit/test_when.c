/*
 * Moments: exact or refused.
 */
#include "so_when.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "in_range.h"

#define NOW INT64_C(1796115600000) /* 2026-12-01T09:00:00Z */

static so_code parse(const char *text, size_t length, int64_t *ms, so_error *err)
{
    so_value value = SO_VALUE_STR(((so_str){text, length}));
    so_error_clear(err);
    return so_when_parse(&value, NOW, "at", ms, err);
}

static void expect(const char *text, int64_t expected)
{
    int64_t ms = -1;
    so_error err;

    if (parse(text, strlen(text), &ms, &err) != SO_OK)
        fail_msg("%s refused: %s", text, err.message);
    if (ms != expected)
        fail_msg("%s gave %lld, not %lld", text, (long long)ms, (long long)expected);
}

static void refuse(const char *text, const char *why)
{
    int64_t ms = -1;
    so_error err;

    if (parse(text, strlen(text), &ms, &err) != SO_INVALID_ARGUMENT)
        fail_msg("'%s' taken as %lld", text, (long long)ms);
    assert_int_equal(ms, -1);
    assert_int_equal(err.code, SO_INVALID_ARGUMENT);
    assert_memory_equal(err.message, "at ", 3);
    if (strstr(err.message, why) == NULL)
        fail_msg("'%s': %s", text, err.message);
    assert_string_not_equal(err.hint, "");
}

static void moments_with_a_zone(void **state)
{
    (void)state;
    expect("1970-01-01T00:00:00Z", 0);
    expect("1970-01-01T00:00:00.001Z", 1);
    expect("2026-12-01T09:00:00Z", NOW);
    expect("2026-12-01T09:00Z", NOW);
    expect("2026-12-01T11:00:00.250+02:00", NOW + 250);
    expect("2026-12-01T11:00:00,25+0200", NOW + 250);
    expect("2026-12-01T11:00:00+02", NOW);
    expect("2026-12-01T03:30:00-05:30", NOW);
    expect("2026-12-02T08:59:00+23:59", NOW);
    expect("2026-12-01T09:00:00-00:00", NOW);
    expect("2026-12-01T09:00:00.250000000000000000000000Z", NOW + 250);
    expect("2026-12-01T09:00:00.999Z", NOW + 999);
    expect("2024-02-29T00:00:00Z", INT64_C(1709164800000));
    expect("2000-02-29T00:00:00Z", INT64_C(951782400000));
    expect("9999-12-31T23:59:59.999Z", SO_WHEN_MAX_MS);
    expect("1969-12-31T23:00:00-01:00", 0);
}

static void moments_that_are_refused(void **state)
{
    (void)state;
    refuse("2026-12-01T09:00:00", "zone is missing");
    refuse("2026-12-01T09:00:00.25", "zone is missing");
    refuse("2026-12-01T09:00:00z", "zone");
    refuse("2026-12-01T09:00:00 Z", "zone");
    refuse("2026-12-01T09:00:00ZZ", "zone");
    refuse("2026-12-01T09:00:00+24:00", "zone");
    refuse("2026-12-01T09:00:00+02:60", "zone");
    refuse("2026-12-01T09:00:00+2", "zone");
    refuse("2026-12-01T09:00:00+02:", "zone");
    refuse("2026-12-01T09:00:00+02:0", "zone");
    refuse("2026-12-01T09:00:00+020", "zone");
    refuse("2026-12-01T09:00:00+02:00x", "zone");
    refuse("2026-12-01T09:00:00[Europe/Berlin]", "zone");
    refuse("2026-12-01T09:00:00.0001Z", "finer than a millisecond");
    refuse("2026-12-01T09:00:00.2500001Z", "finer than a millisecond");
    refuse("2026-12-01T09:00:00.00000000000000000000000000001Z", "finer than a millisecond");
    refuse("2026-12-01T09:00:00.Z", "seconds");
    refuse("2026-12-01T09:00:60Z", "seconds");
    refuse("2026-12-01T09:00:5Z", "seconds");
    refuse("2026-12-01T09:60:00Z", "time");
    refuse("2026-12-01T24:00:00Z", "time");
    refuse("2026-12-01 09:00:00Z", "time");
    refuse("2026-12-01t09:00:00Z", "time");
    refuse("2026-12-01", "time");
    refuse("2026-12-01Z", "time");
    refuse("2026-02-31T00:00:00Z", "no such day");
    refuse("2026-02-29T00:00:00Z", "no such day");
    refuse("2100-02-29T00:00:00Z", "no such day");
    refuse("2026-04-31T00:00:00Z", "no such day");
    refuse("2026-13-01T00:00:00Z", "date");
    refuse("2026-00-01T00:00:00Z", "date");
    refuse("2026-01-00T00:00:00Z", "date");
    refuse("2026-1-1T00:00:00Z", "date");
    refuse("20261201T090000Z", "neither");
    refuse("2026-W49-2T09:00:00Z", "date");
    refuse("+2026-12-01T09:00:00Z", "neither");
    refuse("10000-01-01T00:00:00Z", "neither");
    refuse("", "neither");
    refuse(" 2026-12-01T09:00:00Z", "neither");
    refuse("2026-12-01T09:00:00Z\n", "zone");
    refuse("1796115600000", "neither");
    refuse("now", "neither");
    refuse("1969-12-31T23:59:59.999Z", "1970");
    refuse("1970-01-01T00:00:00+00:01", "1970");
    refuse("0000-01-01T00:00:00Z", "1970");
    refuse("9999-12-31T23:59:59.999-00:01", "9999");
}

static void durations_from_now(void **state)
{
    (void)state;
    expect("PT0S", NOW);
    expect("PT15M", NOW + 15 * 60 * 1000);
    expect("P1DT2H", NOW + 26 * 3600 * 1000);
    expect("P2W", NOW + INT64_C(14) * 86400 * 1000);
    expect("P1W1DT1H1M1S", NOW + INT64_C(694861000));
    expect("PT0.5S", NOW + 500);
    expect("PT0,001S", NOW + 1);
    expect("PT0.001000S", NOW + 1);
    expect("PT1.5H", NOW + 5400 * 1000);
    expect("PT0.1M", NOW + 6000);
    expect("PT0.00001H", NOW + 36);
    expect("P0.5D", NOW + 43200 * 1000);
    expect("P0.5W", NOW + INT64_C(302400000));
    expect("P0.0000003125D", NOW + 27);
}

static void durations_that_are_refused(void **state)
{
    (void)state;
    refuse("P", "form P1DT2H30M");
    refuse("PT", "form");
    refuse("P1DT", "form");
    refuse("P1", "form");
    refuse("PT1", "form");
    refuse("P1H", "form");
    refuse("PT1D", "form");
    refuse("PT1W", "form");
    refuse("PT1M1H", "form");
    refuse("PT1S1S", "form");
    refuse("P1D1W", "form");
    refuse("PTT1S", "form");
    refuse("PT1ST1S", "form");
    refuse("PT1.5H1M", "form");
    refuse("PT.5S", "form");
    refuse("PT1.S", "form");
    refuse("PT-5M", "form");
    refuse("PT+5M", "form");
    refuse("PT5m", "form");
    refuse("pt5M", "neither");
    refuse("-PT5M", "neither");
    refuse("PT5M ", "form");
    refuse("P1Y", "years and months");
    refuse("P1M", "years and months");
    refuse("P1Y2DT1H", "years and months");
    refuse("PT0.0005S", "finer than a millisecond");
    refuse("PT0.0000000000000001H", "finer than a millisecond");
    refuse("PT9999999999999999S", "too long");
    refuse("PT99999999999999999999999999999999S", "too long");
    refuse("P999999999999999W", "too long");
    refuse("P10000000D", "too long");
    refuse("PT253402300799S", "9999");
    refuse("P418900WT70000000000H", "too long");
}

static void numbers_are_milliseconds(void **state)
{
    static const struct
    {
        so_value value;
        int64_t expected; /* -1: refused */
    } cases[] = {
        {{.type = SO_INT, .i = 0}, 0},
        {{.type = SO_INT, .i = NOW}, NOW},
        {{.type = SO_INT, .i = SO_WHEN_MAX_MS}, SO_WHEN_MAX_MS},
        {{.type = SO_INT, .i = SO_WHEN_MAX_MS + 1}, -1},
        {{.type = SO_INT, .i = -1}, -1},
        {{.type = SO_INT, .i = INT64_MIN}, -1},
        {{.type = SO_INT, .i = INT64_MAX}, -1},
        {{.type = SO_REAL, .r = (double)NOW}, NOW},
        {{.type = SO_REAL, .r = (double)SO_WHEN_MAX_MS}, SO_WHEN_MAX_MS},
        {{.type = SO_REAL, .r = 0.0}, 0},
        {{.type = SO_REAL, .r = -0.0}, 0},
        {{.type = SO_REAL, .r = 0.5}, -1},
        {{.type = SO_REAL, .r = -1.0}, -1},
        {{.type = SO_REAL, .r = 1e300}, -1},
        {{.type = SO_REAL, .r = (double)INFINITY}, -1},
        {{.type = SO_REAL, .r = (double)NAN}, -1},
        {{.type = SO_NULL}, -1},
        {{.type = SO_BLOB, .s = {"PT1S", 4}}, -1},
        {{.type = SO_TEXT, .s = {NULL, 0}}, -1},
        {{.type = SO_TEXT, .s = {"PT1S\0", 5}}, -1},
        {{.type = SO_TEXT, .s = {"PT\0001S", 5}}, -1},
        {{.type = SO_TEXT, .s = {"2026-12-01T09:00:00Z\0", 21}}, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        int64_t ms = -1;
        so_error err;
        so_code code = so_when_parse(&cases[i].value, NOW, "when", &ms, &err);

        assert_int_equal(code, cases[i].expected < 0 ? SO_INVALID_ARGUMENT : SO_OK);
        assert_int_equal(ms, cases[i].expected);
        if (code != SO_OK)
            assert_memory_equal(err.message, "when ", 5);
    }
}

static void every_cut_of_a_moment_is_refused_or_a_moment(void **state)
{
    static const char *const texts[] = {"2026-12-01T09:00:00.250+02:00", "P1W2DT3H4M5.250S"};

    (void)state;
    for (size_t i = 0; i < 2; i++)
    {
        for (size_t length = 0; length < strlen(texts[i]); length++)
        {
            /* A copy of exactly this length, so that a checker of memory sees a read beyond it. */
            char *copy = test_malloc(length ? length : 1);
            int64_t ms = -1;
            so_error err;

            memcpy(copy, texts[i], length);
            if (parse(copy, length, &ms, &err) == SO_OK)
                assert_uint_in_range(ms, 1, SO_WHEN_MAX_MS);
            test_free(copy);
        }
    }
}

static void formatting_is_the_calendar_and_reads_back(void **state)
{
    char text[32];

    (void)state;
    so_when_format(NOW + 250, text);
    assert_string_equal(text, "2026-12-01T09:00:00.250Z");
    so_when_format(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    so_when_format(-1, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    so_when_format(INT64_MIN, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    so_when_format(SO_WHEN_MAX_MS, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    so_when_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");

    /* Steps of a little less than half a day meet every day up to 2400 and every time of the day. */
    for (int64_t ms = 0; ms < INT64_C(13569465600000); ms += INT64_C(41234567))
    {
        time_t seconds = (time_t)(ms / 1000);
        struct tm utc;
        char expected[64];

        gmtime_r(&seconds, &utc);
        snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(ms % 1000));
        so_when_format(ms, text);
        if (strcmp(text, expected) != 0)
            fail_msg("%s, not %s", text, expected);
        expect(text, ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_with_a_zone),
        cmocka_unit_test(moments_that_are_refused),
        cmocka_unit_test(durations_from_now),
        cmocka_unit_test(durations_that_are_refused),
        cmocka_unit_test(numbers_are_milliseconds),
        cmocka_unit_test(every_cut_of_a_moment_is_refused_or_a_moment),
        cmocka_unit_test(formatting_is_the_calendar_and_reads_back),
    };
    return cmocka_run_group_tests_name("when", tests, NULL, NULL);
}
