/*
 * Moments and durations, read exactly: everything is counted in integer milliseconds, and what does not
 * come out whole is refused.
 */
#include "so_when.h"

#include <math.h>
#include <string.h>

enum
{
    SHOWN_BYTES = 48,
    MAX_DIGITS = 15, /* of a number in a duration: more than SO_WHEN_MAX_MS has, and far from overflow */
    MS_PER_SECOND = 1000,
    MS_PER_MINUTE = 60 * MS_PER_SECOND,
    MS_PER_HOUR = 60 * MS_PER_MINUTE,
    MS_PER_DAY = 24 * MS_PER_HOUR,
    DAYS_PER_WEEK = 7,
    DAYS_PER_ERA = 146097 /* 400 years */
};

static const char when_hint[] = "Pass ISO 8601 with a zone (2026-12-01T09:00:00Z), an ISO 8601 duration "
                                "(PT15M), or integer milliseconds since "
                                "1970 UTC.";

typedef struct reader
{
    const char *at;
    const char *end;
} reader;

/* A fraction such as .250, kept as digits without zeros at the end. */
typedef struct fraction
{
    bool given;
    int64_t digits;
    int64_t scale; /* 10 to the number of digits; 0: more digits than can matter */
} fraction;

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar, year 0 or later. */
static int64_t days_of(int64_t year, int month, int day)
{
    /* Years that begin in March put the leap day at the end, where it moves no other day. */
    int64_t shifted = month > 2 ? year : year - 1;
    int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * DAYS_PER_ERA + day_of_era - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap);
}

static bool take(reader *from, char c)
{
    if (from->at == from->end || *from->at != c)
        return false;
    from->at++;
    return true;
}

static bool at_digit(const reader *from)
{
    return from->at < from->end && *from->at >= '0' && *from->at <= '9';
}

/* Exactly `count` digits with a value between `low` and `high`. */
static bool take_number(reader *from, int count, int low, int high, int *number)
{
    int value = 0;

    for (int i = 0; i < count; i++)
    {
        if (!at_digit(from))
            return false;
        value = value * 10 + (*from->at++ - '0');
    }
    *number = value;
    return value >= low && value <= high;
}

/* An optional fraction; false only for a point without digits. */
static bool take_fraction(reader *from, fraction *part)
{
    *part = (fraction){false, 0, 1};
    if (!take(from, '.') && !take(from, ','))
        return true;

    const char *first = from->at;
    while (at_digit(from))
        from->at++;
    const char *last = from->at;
    part->given = true;
    while (last > first && last[-1] == '0')
        last--;
    if (last - first > MAX_DIGITS)
        part->scale = 0;
    for (const char *at = first; at < last && part->scale != 0; at++)
    {
        part->digits = part->digits * 10 + (*at - '0');
        part->scale *= 10;
    }
    return from->at > first;
}

/* The fraction of a unit in milliseconds; false if that is not a whole number. */
static bool fraction_ms(const fraction *part, int64_t unit_ms, int64_t *ms)
{
    if (part->scale == 0)
        return false;

    /* digits < 10^15 and a week has less than 10^9 ms: split so that no product leaves 64 bits. */
    int64_t scale = part->scale;
    int64_t unit = unit_ms;
    for (int factor = 2; factor <= 5; factor += 3)
    {
        while (scale % factor == 0 && unit % factor == 0)
        {
            scale /= factor;
            unit /= factor;
        }
    }
    if (part->digits % scale != 0)
        return false;
    *ms = part->digits / scale * unit;
    return true;
}

/* Z, +hh:mm, +hhmm or +hh, in minutes east of UTC. */
static bool take_zone(reader *from, int *minutes_east)
{
    int hours = 0;
    int minutes = 0;

    *minutes_east = 0;
    if (take(from, 'Z'))
        return true;
    bool west = from->at < from->end && *from->at == '-';
    if (!take(from, '+') && !take(from, '-'))
        return false;
    if (!take_number(from, 2, 0, 23, &hours))
        return false;
    if ((take(from, ':') || from->at < from->end) && !take_number(from, 2, 0, 59, &minutes))
        return false;
    *minutes_east = (west ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

/* What is wrong with the text, or NULL and *ms. */
static const char *parse_moment(reader from, int64_t *ms)
{
    int year, month, day, hour, minute, second = 0, east;
    fraction part = {false, 0, 1};
    int64_t part_ms = 0;

    if (!take_number(&from, 4, 0, 9999, &year) || !take(&from, '-'))
        return "it is neither a moment nor a duration of ISO 8601";
    if (!take_number(&from, 2, 1, 12, &month) || !take(&from, '-') || !take_number(&from, 2, 1, 31, &day))
        return "the date is not of the form 2026-12-01";
    if (day > days_in_month(year, month))
        return "there is no such day";
    if (!take(&from, 'T') || !take_number(&from, 2, 0, 23, &hour) || !take(&from, ':') ||
        !take_number(&from, 2, 0, 59, &minute))
        return "the time is not of the form T09:00:00";
    if (take(&from, ':') && (!take_number(&from, 2, 0, 59, &second) || !take_fraction(&from, &part)))
        return "the seconds are not of the form 00.000 to 59.999";
    if (from.at == from.end)
        return "the zone is missing";
    if (!take_zone(&from, &east) || from.at != from.end)
        return "the zone is neither Z nor of the form +02:00";
    if (!fraction_ms(&part, MS_PER_SECOND, &part_ms))
        return "the fraction is finer than a millisecond";

    int64_t seconds = ((int64_t)hour * 60 + minute - east) * 60 + second;
    *ms = days_of(year, month, day) * MS_PER_DAY + seconds * MS_PER_SECOND + part_ms;
    return NULL;
}

typedef struct unit
{
    char letter;
    bool time; /* after the T */
    int64_t ms;
} unit;

/* In the order in which ISO 8601 writes them. */
static const unit units[] = {
    {'W', false, (int64_t)DAYS_PER_WEEK *MS_PER_DAY},
    {'D', false, MS_PER_DAY},
    {'H', true, MS_PER_HOUR},
    {'M', true, MS_PER_MINUTE},
    {'S', true, MS_PER_SECOND},
};

enum
{
    UNIT_COUNT = sizeof units / sizeof units[0]
};

/* The next unit with this letter, at or after `from`; UNIT_COUNT if there is none. */
static int find_unit(int from, char letter, bool time)
{
    while (from < UNIT_COUNT && (units[from].letter != letter || units[from].time != time))
        from++;
    return from;
}

/* One number with its unit, added to *ms. */
static const char *parse_component(reader *from, bool time, int *next_unit, bool *last, int64_t *ms)
{
    static const char malformed[] = "the duration is not of the form P1DT2H30M";
    int64_t number = 0;
    int64_t part_ms = 0;
    fraction part;

    const char *first = from->at;
    for (; at_digit(from) && from->at - first <= MAX_DIGITS; from->at++)
        number = number * 10 + (*from->at - '0');
    if (from->at == first || *last)
        return malformed;
    if (from->at - first > MAX_DIGITS)
        return "the duration is too long";
    if (!take_fraction(from, &part) || from->at == from->end)
        return malformed;

    char letter = *from->at++;
    if (!time && (letter == 'Y' || letter == 'M'))
        return "years and months have no fixed length";
    int found = find_unit(*next_unit, letter, time);
    if (found == UNIT_COUNT)
        return malformed;
    if (number > SO_WHEN_MAX_MS / units[found].ms)
        return "the duration is too long";
    if (!fraction_ms(&part, units[found].ms, &part_ms))
        return "the fraction is finer than a millisecond";

    *ms += number * units[found].ms + part_ms;
    *next_unit = found + 1;
    *last = part.given; /* only the last component may have a fraction */
    return NULL;
}

/* `from` is behind the P. */
static const char *parse_duration(reader from, int64_t *ms)
{
    bool time = false;
    bool last = false;
    int next_unit = 0;
    const char *wrong = NULL;

    *ms = 0;
    do
    {
        if (!time && take(&from, 'T'))
            time = true;
        wrong = parse_component(&from, time, &next_unit, &last, ms);
    } while (wrong == NULL && from.at < from.end);
    return wrong;
}

static so_code refuse(const so_value *value, const char *what, const char *why, so_error *err)
{
    char shown[SHOWN_BYTES];

    if (value->type == SO_INT)
        return so_error_set(err, SO_INVALID_ARGUMENT, when_hint, "%s is not a moment: %lld: %s", what,
                            (long long)value->i, why);
    if (value->type == SO_REAL)
        return so_error_set(err, SO_INVALID_ARGUMENT, when_hint, "%s is not a moment: %.17g: %s", what,
                            value->r, why);
    if (value->type != SO_TEXT)
        return so_error_set(err, SO_INVALID_ARGUMENT, when_hint, "%s is not a moment: %s", what, why);
    size_t length = so_text_storable(shown, sizeof shown, value->s.p, value->s.n);
    return so_error_set(err, SO_INVALID_ARGUMENT, when_hint, "%s is not a moment: '%s%s': %s", what, shown,
                        length < value->s.n ? "..." : "", why);
}

so_code so_when_parse(const so_value *value, int64_t now_ms, const char *what, int64_t *when_ms,
                      so_error *err)
{
    static const char outside[] = "it is not between the years 1970 and 9999";
    const char *wrong = NULL;
    int64_t ms = 0;

    if (value->type == SO_INT)
        ms = value->i;
    else if (value->type == SO_REAL)
    {
        if (!(value->r >= 0 && value->r <= (double)SO_WHEN_MAX_MS))
            return refuse(value, what, outside, err);
        ms = (int64_t)value->r;
        wrong = (double)ms == value->r ? NULL : "it is not a whole number of milliseconds";
    }
    else if (value->type == SO_TEXT)
    {
        const char *text = value->s.n ? value->s.p : "";
        reader from = {text, text + value->s.n};
        if (take(&from, 'P'))
        {
            /* Each component is within the limit, and so are their sum and the clock: no overflow. */
            wrong = parse_duration(from, &ms);
            ms += now_ms;
        }
        else
            wrong = parse_moment(from, &ms);
    }
    else
        wrong = value->type == SO_NULL ? "it is NULL" : "it is a BLOB";

    if (wrong == NULL && (ms < 0 || ms > SO_WHEN_MAX_MS))
        wrong = outside;
    if (wrong)
        return refuse(value, what, wrong, err);
    *when_ms = ms;
    return SO_OK;
}

static char *put_number(char *to, int64_t number, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
    {
        to[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return to + digits;
}

void so_when_format(int64_t when_ms, char to[32])
{
    int64_t ms = when_ms < 0 ? 0 : when_ms > SO_WHEN_MAX_MS ? SO_WHEN_MAX_MS : when_ms;
    int64_t days = ms / MS_PER_DAY;
    int64_t in_day = ms % MS_PER_DAY;

    /* A guess that is never more than one year late, and then a look at the calendar itself. */
    int64_t year = 1970 + days / 365;
    while (days_of(year, 1, 1) > days)
        year--;
    int month = 12;
    while (days_of(year, month, 1) > days)
        month--;
    int64_t day = days - days_of(year, month, 1) + 1;

    to = put_number(to, year, 4);
    *to++ = '-';
    to = put_number(to, month, 2);
    *to++ = '-';
    to = put_number(to, day, 2);
    *to++ = 'T';
    to = put_number(to, in_day / MS_PER_HOUR, 2);
    *to++ = ':';
    to = put_number(to, in_day / MS_PER_MINUTE % 60, 2);
    *to++ = ':';
    to = put_number(to, in_day / MS_PER_SECOND % 60, 2);
    *to++ = '.';
    to = put_number(to, in_day % MS_PER_SECOND, 3);
    *to++ = 'Z';
    *to = '\0';
}
