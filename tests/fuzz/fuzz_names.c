/*
 * Names, keys and moments. The first byte says as what kind of value the rest is passed: i, r (eight bytes),
 * b, n, or text.
 */
#include "fuzz.h"

#include "so_json.h"
#include "so_names.h"
#include "so_when.h"

#include <time.h>

#define NOW_MS INT64_C(1796115600000) /* 2026-12-01T09:00:00Z */

static bool is_name(so_str text)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char later[] = "0123456789.:-";

    if (text.n < 1 || text.n > 128 || !memchr(first, text.p[0], sizeof first - 1))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!memchr(first, text.p[i], sizeof first - 1) && !memchr(later, text.p[i], sizeof later - 1))
            return false;
    return true;
}

static void names(const so_value *value)
{
    so_error err;
    so_str got;
    bool text = value->type == SO_TEXT;

    so_error_clear(&err);
    so_code code = so_name_check(value, "type", &got, &err);
    REQUIRE((code == SO_OK) == (text && is_name(value->s)), "%s", so_code_name(code));
    if (code != SO_OK)
        fuzz_error(code, &err, SO_INVALID_NAME);
    else
        REQUIRE(so_str_equal(got, value->s), "another name");

    so_error_clear(&err);
    code = so_key_check(value, "key", &got, &err);
    bool valid = text && value->s.n >= 1 && value->s.n <= 255 && fuzz_utf8(value->s.p, value->s.n) &&
                 !memchr(value->s.p, '\0', value->s.n);
    REQUIRE((code == SO_OK) == valid, "%s", so_code_name(code));
    if (code != SO_OK)
        fuzz_error(code, &err, SO_INVALID_NAME);
    else
        REQUIRE(so_str_equal(got, value->s), "another key");
}

/* The C library's reading of a moment that was taken, to the second. */
static int64_t seconds_by_libc(const char *text)
{
    struct tm tm = {.tm_mday = 1};
    const char *at = strptime(text, "%Y-%m-%dT%H:%M", &tm);

    REQUIRE(at, "%s", text);
    if (*at == ':')
    {
        at = strptime(at, ":%S", &tm);
        REQUIRE(at, "%s", text);
        if (*at == '.' || *at == ',')
            at += 1 + strspn(at + 1, "0123456789");
    }
    struct tm zone = {.tm_mday = 1};
    at = strptime(at, "%z", &zone);
    REQUIRE(at && *at == '\0', "%s", text);
    return (int64_t)timegm(&tm) - zone.tm_gmtoff;
}

static void format(int64_t ms)
{
    char text[32];
    char expected[64];
    char fraction[16];
    struct tm tm;
    time_t seconds = (time_t)(ms / 1000);
    int64_t again = -1;
    so_error err;

    so_when_format(ms, text);
    gmtime_r(&seconds, &tm);
    strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(fraction, sizeof fraction, ".%03dZ", (int)(ms % 1000));
    strcat(expected, fraction);
    REQUIRE(strcmp(text, expected) == 0, "%s, not %s", text, expected);
    so_value value = SO_VALUE_STR(((so_str){text, strlen(text)}));
    REQUIRE(so_when_parse(&value, NOW_MS, "at", &again, &err) == SO_OK && again == ms, "%s: %lld", text,
            (long long)again);
}

static void moments(const so_value *value)
{
    char text[600];
    so_error err;
    int64_t ms = -1;

    so_error_clear(&err);
    so_code code = so_when_parse(value, NOW_MS, "at", &ms, &err);
    if (code != SO_OK)
    {
        REQUIRE(value->type != SO_INT || value->i < 0 || value->i > SO_WHEN_MAX_MS, "%lld",
                (long long)value->i);
        fuzz_error(code, &err, SO_INVALID_ARGUMENT);
        return;
    }
    REQUIRE(ms >= 0 && ms <= SO_WHEN_MAX_MS, "%lld", (long long)ms);
    REQUIRE(value->type != SO_INT || value->i == ms, "%lld", (long long)ms);
    REQUIRE(value->type != SO_REAL || value->r == (double)ms, "%lld", (long long)ms);
    format(ms);
    if (value->type != SO_TEXT || value->s.n >= sizeof text)
        return;
    memcpy(text, value->s.p, value->s.n);
    text[value->s.n] = '\0';
    REQUIRE(strlen(text) == value->s.n, "a NUL was taken");
    if (text[0] == 'P')
        REQUIRE(ms >= NOW_MS, "%s: %lld", text, (long long)ms);
    else
        REQUIRE(ms / 1000 == seconds_by_libc(text), "%s: %lld", text, (long long)ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    so_value value;

    if (size == 0)
        return 0;
    /* Exactly as long as the input, so that the sanitizer sees a read beyond it. */
    char *copy = malloc(size - 1 ? size - 1 : 1);
    REQUIRE(copy, "memory");
    memcpy(copy, data + 1, size - 1);
    so_str text = {copy, size - 1};
    value = SO_VALUE_STR(text);
    if (data[0] == 'b')
        value.type = SO_BLOB;
    if (data[0] == 'n')
        value.type = SO_NULL;
    if (data[0] == 'i' && text.n >= sizeof value.i)
    {
        value.type = SO_INT;
        memcpy(&value.i, copy, sizeof value.i);
    }
    if (data[0] == 'r' && text.n >= sizeof value.r)
    {
        value.type = SO_REAL;
        memcpy(&value.r, copy, sizeof value.r);
    }
    REQUIRE(so_utf8_valid(text.p, text.n) == (fuzz_utf8(text.p, text.n) && !memchr(text.p, '\0', text.n)),
            "UTF-8");
    names(&value);
    moments(&value);
    if (value.type == SO_INT)
        format(value.i < 0 ? 0 : value.i > SO_WHEN_MAX_MS ? SO_WHEN_MAX_MS : value.i);
    free(copy);
    return 0;
}
