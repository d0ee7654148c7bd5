/*
 * From a user's bytes to compact JSON.
 *
 * Jansson decides what is JSON. Two things are done beside it: the nesting limit, which is lower than
 * Jansson's, and the compact copy, which is cut from the user's text because Jansson's own output spells
 * numbers its way. Ordinary documents take a short way, twenty times as fast, that accepts a subset of what
 * Jansson accepts and never refuses anything by itself: in doubt it hands over.
 */
#include "so_json_internal.h"

#include <jansson.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * Jansson is linked statically into shared libraries. Its archive refers to `stdin` in a way that only an
 * executable can satisfy, so the build renames that symbol in its copy of the archive, and this is what
 * the renamed symbol finds. Nothing reads it: it serves a function for file input that is never called.
 */
extern void *so_json_stdin __attribute__((visibility("hidden")));
void *so_json_stdin;

enum
{
    SHORT_MEMBERS = 32, /* the short way compares every name with every other one of the object */
    SHORT_DEPTH = 8,    /* it recurses */
    SHORT_DIGITS = 18   /* surely within 64 bits, and within double */
};

typedef void *(*alloc_function)(size_t);
typedef void (*release_function)(void *);

static _Atomic(alloc_function) memory_alloc = malloc;
static _Atomic(release_function) memory_release = free;

void so_json_use_allocator(void *(*alloc)(size_t), void (*release)(void *))
{
    atomic_store(&memory_alloc, alloc);
    atomic_store(&memory_release, release);
}

void *so_json_memory_alloc(size_t bytes) { return atomic_load(&memory_alloc)(bytes); }

void so_json_memory_release(void *memory) { atomic_load (&memory_release)(memory); }

/*
 * Jansson does not survive a failed allocation everywhere: its lexer ignores a failed append and then
 * asserts that it happened. So its memory comes from an arena that lives for one parse, and when that has
 * none, the parse is left by longjmp. Nothing is lost by that: Jansson holds nothing but that memory.
 * Its allocator takes no context, hence a variable of the thread.
 */
typedef struct parse_memory
{
    so_arena arena;
    jmp_buf no_memory;
} parse_memory;

static _Thread_local parse_memory *current_parse;
static pthread_once_t jansson_once = PTHREAD_ONCE_INIT;

static void *jansson_alloc(size_t bytes)
{
    void *memory = so_arena_alloc(&current_parse->arena, bytes);
    if (memory == NULL)
        longjmp(current_parse->no_memory, 1);
    return memory;
}

static void jansson_release(void *memory) { (void)memory; /* the whole arena is released after the parse */ }

static void jansson_init(void)
{
    json_set_alloc_funcs(jansson_alloc, jansson_release);
    json_object_seed(0);
}

/* Returns true if Jansson takes `text`, false with *error filled if not, or with *no_memory set. */
static bool parse(parse_memory *memory, so_str text, json_error_t *error, bool *no_memory)
{
    current_parse = memory;
    if (setjmp(memory->no_memory) != 0)
    {
        *no_memory = true;
        return false;
    }
    return json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, error) != NULL;
}

static so_code jansson_check(so_arena *arena, so_str text, const char *what, so_error *err)
{
    parse_memory memory;
    json_error_t error;
    bool no_memory = false;
    locale_t callers_locale = (locale_t)0;

    /*
     * Jansson reads reals with strtod() and knows how to replace the point by another single byte only.
     * Where the process uses anything but a point, the parse runs in the C locale.
     */
    if (strcmp(nl_langinfo(RADIXCHAR), ".") != 0)
    {
        locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (c_locale == (locale_t)0)
            return so_error_nomem(err);
        callers_locale = uselocale(c_locale);
    }

    pthread_once(&jansson_once, jansson_init);
    memset(&error, 0, sizeof error);
    so_arena_init(&memory.arena, arena->allocator);
    bool valid = parse(&memory, text, &error, &no_memory);
    so_arena_free(&memory.arena);

    if (callers_locale != (locale_t)0)
    {
        locale_t c_locale = uselocale(callers_locale);
        freelocale(c_locale);
    }
    if (no_memory)
        return so_error_nomem(err);
    if (valid)
        return SO_OK;
    /* The library's words for this one speak of its own flags. */
    if (strstr(error.text, "\\u0000") != NULL)
        snprintf(error.text, sizeof error.text, "an escaped U+0000 is not allowed");
    return so_error_set(err, SO_INVALID_JSON, NULL, "%s is not valid JSON: %s (line %d, column %d)", what,
                        error.text, error.line, error.column);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/*
 * Copies `text` to `to` less the white space outside strings. Needs no valid JSON. Returns the number of
 * bytes written; *deep is where the nesting passes the limit, or NULL.
 */
static size_t compact_copy(char *to, so_str text, const char **deep)
{
    const char *at = text.p;
    const char *end = text.p + text.n;
    char *out = to;
    int depth = 0;

    *deep = NULL;
    while (at < end)
    {
        char c = *at;
        if (is_space(c))
        {
            at++;
            continue;
        }
        if (c == '"')
        {
            const char *string = at++;
            at = so_json_string_end(at, end);
            if (at < end)
                at++;
            memcpy(out, string, (size_t)(at - string));
            out += at - string;
            continue;
        }
        if ((c == '[' || c == '{') && ++depth > SO_JSON_MAX_DEPTH && *deep == NULL)
            *deep = at;
        if (c == ']' || c == '}')
            depth--;
        *out++ = c;
        at++;
    }
    *out = '\0';
    return (size_t)(out - to);
}

/* The short way: reads `at`, writes `out`, and gives up by returning false, whatever the reason. */
typedef struct short_reader
{
    const char *at;
    const char *end;
    char *out;
} short_reader;

static void short_space(short_reader *reader)
{
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
}

/* One byte between tokens, with white space on both sides. Skips the first space even where it answers false.
 */
static bool short_byte(short_reader *reader, char c)
{
    short_space(reader);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    *reader->out++ = c;
    short_space(reader);
    return true;
}

/* True if any of eight bytes is a control character, a quote, a backslash or not ASCII. */
static bool any_special(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quotes = bytes ^ ones * '"';
    uint64_t escapes = bytes ^ ones * '\\';
    uint64_t below = (bytes - ones * 0x20) | (quotes - ones) | (escapes - ones);

    /* A subtraction borrows into the top bit of the byte it took too much from, and perhaps of those above.
     */
    return ((below | bytes) & ones * 0x80) != 0;
}

/* A string of valid UTF-8 without escapes; *content is the copy without its quotes. */
static bool short_string(short_reader *reader, so_str *content)
{
    const char *at = reader->at;
    const char *end = reader->end;

    if (at == end || *at != '"')
        return false;
    at++;
    for (;;)
    {
        uint64_t eight;
        for (; end - at >= 8; at += 8)
        {
            memcpy(&eight, at, 8);
            if (any_special(eight))
                break;
        }
        if (at == end)
            return false;
        if (*at == '"')
            break;
        size_t bytes = so_utf8_length(at, (size_t)(end - at));
        if (bytes == 0 || (unsigned char)*at < 0x20 || *at == '\\')
            return false;
        at += bytes;
    }
    at++;

    size_t length = (size_t)(at - reader->at);
    memcpy(reader->out, reader->at, length);
    *content = (so_str){reader->out + 1, length - 2};
    reader->out += length;
    reader->at = at;
    return true;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/*
 * A short number without an exponent. What follows it is the caller's to check: anything but the end of a
 * value, an `e` for one, gives up there.
 */
static bool short_number(short_reader *reader)
{
    const char *digits = reader->at + (reader->at < reader->end && *reader->at == '-');
    const char *at = skip_digits(digits, reader->end);

    if (at == digits || (*digits == '0' && at - digits > 1))
        return false;
    if (at < reader->end && *at == '.')
    {
        const char *fraction = at + 1;
        at = skip_digits(fraction, reader->end);
        if (at == fraction)
            return false;
    }
    if (at - digits > SHORT_DIGITS)
        return false;

    memcpy(reader->out, reader->at, (size_t)(at - reader->at));
    reader->out += at - reader->at;
    reader->at = at;
    return true;
}

static bool short_literal(short_reader *reader, so_str literal)
{
    if ((size_t)(reader->end - reader->at) < literal.n || memcmp(reader->at, literal.p, literal.n) != 0)
        return false;
    memcpy(reader->out, literal.p, literal.n);
    reader->out += literal.n;
    reader->at += literal.n;
    return true;
}

static bool short_value(short_reader *reader, int depth);

/* The members of an object and its closing brace. */
static bool short_members(short_reader *reader, int depth)
{
    so_str names[SHORT_MEMBERS];
    int count = 0;

    if (short_byte(reader, '}'))
        return true;
    do
    {
        if (count == SHORT_MEMBERS || !short_string(reader, &names[count]))
            return false;
        for (int i = 0; i < count; i++)
            if (so_str_equal(names[i], names[count]))
                return false;
        count++;
        if (!short_byte(reader, ':') || !short_value(reader, depth))
            return false;
    } while (short_byte(reader, ','));
    return short_byte(reader, '}');
}

/* The elements of an array and its closing bracket. */
static bool short_elements(short_reader *reader, int depth)
{
    if (short_byte(reader, ']'))
        return true;
    do
    {
        if (!short_value(reader, depth))
            return false;
    } while (short_byte(reader, ','));
    return short_byte(reader, ']');
}

/* Each way that fails leaves the reader where it was, or the whole document is given up. */
static bool short_value(short_reader *reader, int depth)
{
    so_str content;

    if (short_byte(reader, '{'))
        return depth < SHORT_DEPTH && short_members(reader, depth + 1);
    if (short_byte(reader, '['))
        return depth < SHORT_DEPTH && short_elements(reader, depth + 1);
    return short_string(reader, &content) || short_number(reader) || short_literal(reader, SO_STR("true")) ||
           short_literal(reader, SO_STR("false")) || short_literal(reader, SO_STR("null"));
}

/* Compacts an ordinary document into `to`; false: not one, or not surely valid. */
static bool short_document(char *to, so_str text, size_t *length)
{
    short_reader reader = {text.p, text.p + text.n, to};

    if (!short_value(&reader, 0))
        return false;
    short_space(&reader);
    if (reader.at != reader.end)
        return false;
    *reader.out = '\0';
    *length = (size_t)(reader.out - to);
    return true;
}

static so_code wrong_kind(so_str compact, so_json_kind kind, const char *what, so_error *err)
{
    char first = so_json_first(compact);

    if (kind == SO_JSON_OBJECT && first != '{')
        return so_error_set(err, SO_INVALID_JSON, "Pass an object, as {\"name\": 1}.",
                            "%s must be a JSON object", what);
    if (kind == SO_JSON_ARRAY && first != '[')
        return so_error_set(err, SO_INVALID_JSON, "Pass an array, as [\"a\", \"b\"].",
                            "%s must be a JSON array", what);
    return SO_OK;
}

static so_code too_large(size_t bytes, size_t max_bytes, const char *what, so_error *err)
{
    if (max_bytes == 0 || bytes <= max_bytes)
        return SO_OK;
    return so_error_set(err, SO_TOO_LARGE, NULL, "%s has %zu bytes of JSON, more than the limit of %zu", what,
                        bytes, max_bytes);
}

/* The long way, with `copy` as the place for the compact form. */
static so_code check_parsed(so_arena *arena, so_str text, const char *what, size_t max_bytes, char *copy,
                            size_t *length, so_error *err)
{
    const char *deep = NULL;

    *length = compact_copy(copy, text, &deep);

    /* Before the parse, whose memory is a multiple of the text's. */
    so_code code = too_large(*length, max_bytes, what, err);
    if (code != SO_OK)
        return code;
    if (deep)
        return so_error_set(err, SO_INVALID_JSON, NULL, "%s is nested more than %d deep (at byte %zu)", what,
                            SO_JSON_MAX_DEPTH, (size_t)(deep - text.p));

    /* Jansson 2.14 overlooks a NUL behind a number or a literal. */
    const char *nul = memchr(text.p, '\0', text.n);
    if (nul)
        return so_error_set(err, SO_INVALID_JSON, NULL, "%s is not valid JSON: it holds a NUL (at byte %zu)",
                            what, (size_t)(nul - text.p));
    return jansson_check(arena, text, what, err);
}

static so_code check(so_arena *arena, so_str text, const char *what, size_t max_bytes, bool short_way,
                     so_str *compact, so_error *err)
{
    char *copy = text.n < SIZE_MAX ? so_arena_alloc(arena, text.n + 1) : NULL;
    size_t length = 0;

    if (copy == NULL)
        return so_error_nomem(err);
    if (text.n == 0)
        return so_error_set(err, SO_INVALID_JSON, NULL, "%s is not valid JSON: it is empty", what);

    so_code code = short_way && short_document(copy, text, &length)
                       ? too_large(length, max_bytes, what, err)
                       : check_parsed(arena, text, what, max_bytes, copy, &length, err);
    if (code == SO_OK)
        *compact = (so_str){copy, length};
    return code;
}

so_code so_json_check_long(so_arena *arena, so_str text, const char *what, so_str *compact, so_error *err)
{
    return check(arena, text, what, 0, false, compact, err);
}

so_code so_json_check(so_arena *arena, so_str text, so_json_kind kind, const char *what, size_t max_bytes,
                      so_str *compact, so_error *err)
{
    so_str checked = {NULL, 0};
    so_code code = check(arena, text, what, max_bytes, true, &checked, err);

    if (code == SO_OK)
        code = wrong_kind(checked, kind, what, err);
    if (code == SO_OK)
        *compact = checked;
    return code;
}

bool so_utf8_valid(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length)
    {
        /* Eight plain bytes at a time: none above 0x7F, and none zero. */
        while (length - at >= 8)
        {
            uint64_t word;
            memcpy(&word, text + at, 8);
            if ((word & UINT64_C(0x8080808080808080)) != 0 ||
                ((word - UINT64_C(0x0101010101010101)) & UINT64_C(0x8080808080808080)) != 0)
                break;
            at += 8;
        }
        if (at == length)
            return true;

        size_t bytes = so_utf8_length(text + at, length - at);
        if (bytes == 0 || text[at] == '\0')
            return false;
        at += bytes;
    }
    return true;
}
