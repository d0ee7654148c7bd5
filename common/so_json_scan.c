/*
 * Walking compact JSON text: members, elements, and the bytes behind a JSON string's escapes.
 */
#include "so_json_internal.h"

#include <string.h>

char so_json_first(so_str json)
{
    char first = json.n ? json.p[0] : '\0';
    return first == '-' || (first >= '0' && first <= '9') ? '0' : first;
}

const char *so_json_string_end(const char *at, const char *end)
{
    const char *start = at;

    while (at < end)
    {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            return end;

        /* Escaped if an odd number of backslashes stands before it; each run of them is counted once. */
        const char *before = quote;
        while (before > start && before[-1] == '\\')
            before--;
        if ((quote - before) % 2 == 0)
            return quote;
        at = quote + 1;
    }
    return end;
}

const char *so_json_skip(const char *at, const char *end)
{
    size_t depth = 0;

    while (at < end)
    {
        char c = *at;
        if (c == '"')
        {
            at = so_json_string_end(at + 1, end);
            if (at < end)
                at++;
            if (depth == 0)
                return at;
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
        {
            if (depth == 0)
                return at;
            if (--depth == 0)
                return at + 1;
        }
        else if (c == ',' && depth == 0)
            return at;
        at++;
    }
    return end;
}

void so_json_iter_init(so_json_iter *iter, so_arena *arena, so_str json)
{
    *iter = (so_json_iter){.arena = arena};
    iter->array = json.n && json.p[0] == '[';
    if (json.n >= 2)
    {
        iter->at = json.p + 1;
        iter->end = json.p + json.n - 1;
    }
}

bool so_json_next_raw(so_json_iter *iter, so_str *name, so_str *value)
{
    if (iter->failed || iter->at >= iter->end)
        return false;
    if (*iter->at == ',' && ++iter->at == iter->end)
        return false;

    const char *start = iter->at;
    *name = (so_str){NULL, 0};
    if (!iter->array)
    {
        const char *quote = so_json_string_end(start + 1, iter->end);
        *name = (so_str){start + 1, (size_t)(quote - start - 1)};
        if (iter->end - quote < 2)
        {
            iter->at = iter->end;
            return false;
        }
        start = quote + 2;
    }
    const char *end = so_json_skip(start, iter->end);
    *value = (so_str){start, (size_t)(end - start)};

    /* Compact JSON has a comma here; anything else would be a walk that does not move on. */
    iter->at = end < iter->end && *end == ',' ? end : iter->end;
    return true;
}

/* Reads the string contents of a JSON string one decoded character at a time. */
typedef struct decoder
{
    const char *at;
    const char *end;
    char bytes[4]; /* the decoded character that is being handed out */
    unsigned char count;
    unsigned char given;
} decoder;

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The value of a \u escape with its four digits at `at`, or -1. */
static long unicode_escape(const char *at, const char *end)
{
    long value = 0;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++)
    {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static unsigned char encode_utf8(long value, char to[4])
{
    if (value < 0x80)
    {
        to[0] = (char)value;
        return 1;
    }
    if (value < 0x800)
    {
        to[0] = (char)(0xC0 | value >> 6);
        to[1] = (char)(0x80 | (value & 0x3F));
        return 2;
    }
    if (value < 0x10000)
    {
        to[0] = (char)(0xE0 | value >> 12);
        to[1] = (char)(0x80 | (value >> 6 & 0x3F));
        to[2] = (char)(0x80 | (value & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | value >> 18);
    to[1] = (char)(0x80 | (value >> 12 & 0x3F));
    to[2] = (char)(0x80 | (value >> 6 & 0x3F));
    to[3] = (char)(0x80 | (value & 0x3F));
    return 4;
}

/* Decodes the escape at reader->at into reader->bytes. What checked text cannot hold becomes '?'. */
static void decode_escape(decoder *reader)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *escape = reader->at;

    reader->given = 0;
    reader->count = 1;
    reader->bytes[0] = '?';
    if (reader->end - escape < 2)
    {
        reader->at = reader->end;
        return;
    }

    const char *letter = escape[1] ? strchr(letters, escape[1]) : NULL;
    if (letter)
    {
        reader->at = escape + 2;
        reader->bytes[0] = meanings[letter - letters];
        return;
    }

    long value = unicode_escape(escape, reader->end);
    if (value < 0)
    {
        reader->at = escape + 2;
        return;
    }
    reader->at = escape + 6;
    if (value >= 0xD800 && value <= 0xDFFF)
    {
        long low = value < 0xDC00 ? unicode_escape(reader->at, reader->end) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return;
        reader->at += 6;
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    }
    reader->count = encode_utf8(value, reader->bytes);
}

/* The next decoded byte, or -1 at the end. */
static int next_byte(decoder *reader)
{
    if (reader->given < reader->count)
        return (unsigned char)reader->bytes[reader->given++];
    if (reader->at >= reader->end)
        return -1;
    if (*reader->at != '\\')
        return (unsigned char)*reader->at++;
    decode_escape(reader);
    return (unsigned char)reader->bytes[reader->given++];
}

static bool has_escape(so_str raw) { return raw.n && memchr(raw.p, '\\', raw.n) != NULL; }

static int plain_compare(so_str a, so_str b)
{
    size_t common = a.n < b.n ? a.n : b.n;
    int order = common ? memcmp(a.p, b.p, common) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

int so_json_raw_compare(so_str a, so_str b)
{
    if (!has_escape(a) && !has_escape(b))
        return plain_compare(a, b);

    decoder left = {.at = a.p, .end = a.p + a.n};
    decoder right = {.at = b.p, .end = b.p + b.n};
    for (;;)
    {
        int l = next_byte(&left);
        int r = next_byte(&right);
        if (l != r || l < 0)
            return l - r;
    }
}

/* True if the raw name decodes to the bytes of `plain`, which are not escaped whatever they look like. */
static bool raw_is(so_str raw, so_str plain)
{
    if (!has_escape(raw))
        return so_str_equal(raw, plain);

    decoder reader = {.at = raw.p, .end = raw.p + raw.n};
    for (size_t i = 0; i < plain.n; i++)
        if (next_byte(&reader) != (unsigned char)plain.p[i])
            return false;
    return next_byte(&reader) < 0;
}

/* Decoding never makes a text longer. */
static so_str decode(so_arena *arena, so_str raw)
{
    char *copy = so_arena_alloc(arena, raw.n + 1);
    size_t length = 0;

    if (copy == NULL)
        return (so_str){NULL, 0};
    decoder reader = {.at = raw.p, .end = raw.p + raw.n};
    for (int byte = next_byte(&reader); byte >= 0; byte = next_byte(&reader))
        copy[length++] = (char)byte;
    copy[length] = '\0';
    return (so_str){copy, length};
}

so_str so_json_unquote(so_arena *arena, so_str json)
{
    so_str raw = json.n >= 2 ? (so_str){json.p + 1, json.n - 2} : (so_str){"", 0};
    return has_escape(raw) ? decode(arena, raw) : so_arena_copy_str(arena, raw);
}

bool so_json_iter_next(so_json_iter *iter, so_str *name, so_str *value)
{
    so_str raw;

    if (!so_json_next_raw(iter, &raw, value))
        return false;
    if (iter->array || name == NULL)
        return true;
    if (has_escape(raw))
    {
        raw = decode(iter->arena, raw);
        if (raw.p == NULL)
        {
            iter->failed = true;
            return false;
        }
    }
    *name = raw;
    return true;
}

bool so_json_get(so_arena *arena, so_str object, so_str name, so_str *value)
{
    so_json_iter iter;
    so_str raw;
    so_str found;

    so_json_iter_init(&iter, arena, object);
    if (iter.array)
        return false;
    while (so_json_next_raw(&iter, &raw, &found))
    {
        if (raw_is(raw, name))
        {
            *value = found;
            return true;
        }
    }
    return false;
}

void so_json_quote(so_buffer *buffer, so_str text)
{
    static const char letters[] = "\"\\\b\f\n\r\t";
    static const char meanings[] = "\"\\bfnrt";
    static const char hex[] = "0123456789abcdef";
    size_t plain = 0; /* where the bytes begin that are not written yet */

    so_buffer_add_char(buffer, '"');
    for (size_t i = 0; i < text.n; i++)
    {
        unsigned char c = (unsigned char)text.p[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;

        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter)
            escape[1] = meanings[letter - letters];
        so_buffer_add(buffer, text.p + plain, i - plain);
        so_buffer_add(buffer, escape, letter ? 2 : sizeof escape);
        plain = i + 1;
    }
    if (text.n)
        so_buffer_add(buffer, text.p + plain, text.n - plain);
    so_buffer_add_char(buffer, '"');
}
