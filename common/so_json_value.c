/*
 * Between SQL values and JSON values: numbers above all, exactly and in any locale.
 */
#include "so_json_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    /*
     * More significant digits than any double or any midpoint of two doubles has (767): what follows
     * them matters only by being zero or not.
     */
    REAL_DIGITS = 780,
    EXPONENT_LIMIT = 100000000, /* far beyond any double and far from overflow */
    SHORTEST_BYTES = 32
};

bool so_json_is_real(so_str number)
{
    for (size_t i = 0; i < number.n; i++)
        if (number.p[i] == '.' || number.p[i] == 'e' || number.p[i] == 'E')
            return true;
    return false;
}

int64_t so_json_int(so_str number)
{
    size_t at = 0;
    bool negative = number.n && number.p[0] == '-';
    uint64_t magnitude = 0;

    for (at = negative; at < number.n; at++)
        magnitude = magnitude * 10 + (uint64_t)(number.p[at] - '0');
    return (int64_t)(negative ? 0 - magnitude : magnitude);
}

/*
 * strtod() needs a NUL behind the number and reads the locale's decimal point. So the number is written
 * anew as digits and an exponent, without a point: "12.50e3" as "1250e1".
 */
double so_json_real(so_str number)
{
    char text[REAL_DIGITS + 40];
    const char *at = number.p;
    const char *end = number.p + number.n;
    size_t length = 0;
    size_t first_digit;
    long long exponent = 0;
    bool fraction = false;
    bool rest = false; /* a digit other than 0 was left out */

    if (at < end && *at == '-')
        text[length++] = *at++;
    first_digit = length;
    for (; at < end && *at != 'e' && *at != 'E'; at++)
    {
        if (*at == '.')
        {
            fraction = true;
            continue;
        }
        if (length == first_digit && *at == '0')
        {
            exponent -= fraction;
            continue;
        }
        if (length - first_digit == REAL_DIGITS)
        {
            rest = rest || *at != '0';
            exponent += !fraction;
            continue;
        }
        text[length++] = *at;
        exponent -= fraction;
    }
    if (length == first_digit)
        text[length++] = '0';
    if (rest)
    {
        text[length++] = '1';
        exponent--;
    }

    if (at < end && ++at < end)
    {
        long long written = 0;
        bool negative = *at == '-';
        if (*at == '-' || *at == '+')
            at++;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (written < EXPONENT_LIMIT)
                written = written * 10 + (*at - '0');
        exponent += negative ? -written : written;
    }
    snprintf(text + length, sizeof text - length, "e%lld", exponent);
    return strtod(text, NULL);
}

/* The decimal digits of |number| and the exponent of the first one: 0.00123 is "123" and -3. */
typedef struct decimal
{
    char digits[24];
    int count; /* at least 1, without zeros at the end */
    int exponent;
} decimal;

static void to_decimal(double number, int digits, decimal *to)
{
    char text[64];

    /* The locale may put anything between the first and the second digit: only digits are taken. */
    snprintf(text, sizeof text, "%.*e", digits - 1, fabs(number));
    const char *exponent = strrchr(text, 'e');
    for (const char *at = text; at < exponent; at++)
        if (*at >= '0' && *at <= '9')
            to->digits[to->count++] = *at;
    while (to->count > 1 && to->digits[to->count - 1] == '0')
        to->count--;
    to->exponent = atoi(exponent + 1);
}

/* Writes it as a JSON real: 0.00123, 12.0, 1.5e-7, 1e300. Returns the length. */
static size_t write_decimal(const decimal *from, bool negative, char to[SHORTEST_BYTES])
{
    size_t length = 0;

    if (negative)
        to[length++] = '-';
    if (from->exponent < -4 || from->exponent > 15)
    {
        to[length++] = from->digits[0];
        if (from->count > 1)
        {
            to[length++] = '.';
            memcpy(to + length, from->digits + 1, (size_t)from->count - 1);
            length += (size_t)from->count - 1;
        }
        return length + (size_t)snprintf(to + length, SHORTEST_BYTES - length, "e%d", from->exponent);
    }

    /* Position p is the digit of 10^p; there is always one on each side of the point. */
    int last = from->exponent - from->count + 1;
    for (int p = from->exponent > 0 ? from->exponent : 0; p >= (last < -1 ? last : -1); p--)
    {
        if (p == -1)
            to[length++] = '.';
        to[length++] = p <= from->exponent && p >= last ? from->digits[from->exponent - p] : '0';
    }
    return length;
}

/* The fewest digits that read back as the same double; `number` is finite. */
static size_t shortest(double number, char to[SHORTEST_BYTES])
{
    /* 15 digits survive the way through any normal double, so fewer only show as zeros at the end. */
    int digits = fabs(number) < DBL_MIN ? 1 : DBL_DIG;

    for (;; digits++)
    {
        decimal parts = {.count = 0};
        to_decimal(number, digits, &parts);
        size_t length = write_decimal(&parts, signbit(number), to);
        if (digits == DBL_DECIMAL_DIG || so_json_real((so_str){to, length}) == number)
            return length;
    }
}

static so_code text_from(so_arena *arena, const so_value *value, const char *what, so_str *json,
                         so_error *err)
{
    so_buffer buffer;

    if (!so_utf8_valid(value->s.p, value->s.n))
        return so_error_set(err, SO_INVALID_ARGUMENT, NULL, "%s is not valid UTF-8 text without NUL", what);
    so_buffer_init(&buffer, arena);
    so_json_quote(&buffer, value->s);
    *json = so_buffer_str(&buffer);
    return json->p ? SO_OK : so_error_nomem(err);
}

so_code so_json_from_value(so_arena *arena, const so_value *value, bool allow_json, const char *what,
                           so_str *json, so_error *err)
{
    char number[SHORTEST_BYTES];
    so_buffer buffer;

    if (value->type == SO_BLOB)
        return so_error_set(err, SO_INVALID_ARGUMENT, "Pass text, or encode the bytes as text.",
                            "%s is a BLOB, which JSON cannot hold", what);
    if (value->type == SO_TEXT && value->json && allow_json)
        return so_json_check(arena, value->s, SO_JSON_ANY, what, 0, json, err);
    if (value->type == SO_TEXT)
        return text_from(arena, value, what, json, err);
    if (value->type == SO_REAL && !isfinite(value->r))
        return so_error_set(err, SO_INVALID_ARGUMENT, NULL, "%s is infinite or not a number", what);

    so_buffer_init(&buffer, arena);
    if (value->type == SO_INT)
        so_buffer_add_int(&buffer, value->i);
    else if (value->type == SO_REAL)
        so_buffer_add(&buffer, number, shortest(value->r, number));
    else
        so_buffer_add_text(&buffer, "null");
    *json = so_buffer_str(&buffer);
    return json->p ? SO_OK : so_error_nomem(err);
}

so_code so_json_to_value(so_arena *arena, so_str json, so_value *value, so_error *err)
{
    char first = so_json_first(json);

    if (first == 't' || first == 'f')
    {
        *value = SO_VALUE_INT(first == 't');
        return SO_OK;
    }
    if (first == '0')
    {
        *value = so_json_is_real(json) ? (so_value){.type = SO_REAL, .r = so_json_real(json)}
                                       : SO_VALUE_INT(so_json_int(json));
        return SO_OK;
    }
    if (first == 'n')
    {
        *value = SO_VALUE_NULL;
        return SO_OK;
    }
    so_str text = first == '"' ? so_json_unquote(arena, json) : so_arena_copy_str(arena, json);
    if (text.p == NULL)
        return so_error_nomem(err);
    *value = first == '"' ? SO_VALUE_STR(text) : SO_VALUE_JSON(text);
    return SO_OK;
}
