/*
 * The table of error codes, and the one place where an error text is made fit to be stored and shown.
 */
#include "so_error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct code_entry
{
    const char *name;
    const char *sqlstate;
    const char *hint; /* where whoever reports the error has none of its own */
} code_entry;

/* SQLSTATEs are part of the interface: a new code takes the next number, an old one keeps its own. */
static const code_entry codes[SO_CODE_COUNT] = {
    [SO_OK] = {"SO_OK", NULL, NULL},
    [SO_NOT_INSTALLED] = {"SO_NOT_INSTALLED", "SO001", "Run SELECT so_install() once."},
    [SO_UNKNOWN_TYPE] = {"SO_UNKNOWN_TYPE", "SO002", "Define it with so_define_actor."},
    [SO_UNKNOWN_OPERATION] = {"SO_UNKNOWN_OPERATION", "SO003", "Define it with so_define_operation."},
    [SO_UNKNOWN_MESSAGE] = {"SO_UNKNOWN_MESSAGE", "SO004", "No message with this id is in this database."},
    [SO_INVALID_NAME] =
        {"SO_INVALID_NAME", "SO005",
         "A name has letters, digits and _ . : -, a key any text; see the limits in the SQL reference."},
    [SO_INVALID_JSON] = {"SO_INVALID_JSON", "SO006",
                         "JSON is strict RFC 8259: quoted names, no duplicates, no U+0000, integers within "
                         "64 bits, at most 100 levels."},
    [SO_INVALID_ARGUMENT] = {"SO_INVALID_ARGUMENT", "SO007", "See the function in the SQL reference."},
    [SO_TOO_LARGE] = {"SO_TOO_LARGE", "SO008", "Send less, or raise the limit in so_define_actor."},
    [SO_MAILBOX_FULL] = {"SO_MAILBOX_FULL", "SO009",
                         "Wait until a worker has caught up, or raise max_mailbox of the type."},
    [SO_IDEMPOTENCY_CONFLICT] = {"SO_IDEMPOTENCY_CONFLICT", "SO010", "Use a new key for a new message."},
    [SO_REJECTED] = {"SO_REJECTED", "SO011", "The actor refused, and nothing was changed."},
    [SO_FAILED] = {"SO_FAILED", "SO012", "Correct the cause that the message names, and try again."},
    [SO_BLOCKED] = {"SO_BLOCKED", "SO013", "Try again later, or use so_send."},
    [SO_TIMEOUT] = {"SO_TIMEOUT", "SO014", "Ask again with so_wait or so_result."},
    [SO_LOST_CLAIM] = {"SO_LOST_CLAIM", "SO015", "Claim again; nothing was changed."},
    [SO_DESTROYED] = {"SO_DESTROYED", "SO016", "The actor was destroyed; a later message starts a new one."},
    [SO_INSIDE_TRANSACTION] =
        {"SO_INSIDE_TRANSACTION", "SO017",
         "Commit first, close open cursors, and pass arguments as values, not from a subquery."},
    [SO_INSIDE_STATEMENT] = {"SO_INSIDE_STATEMENT", "SO018", "Call it in a SELECT of its own."},
    [SO_IN_TURN] = {"SO_IN_TURN", "SO019", "Send a message with so_tell instead."},
    [SO_NOT_IN_TURN] = {"SO_NOT_IN_TURN", "SO020", "Call it in the SQL of a handler."},
    [SO_QUERY_CHANGED_STATE] = {"SO_QUERY_CHANGED_STATE", "SO021",
                                "Define the operation without \"query\" to change something."},
    [SO_FORBIDDEN] = {"SO_FORBIDDEN", "SO022", "Ask the owner of the installation."},
    [SO_VERSION] = {"SO_VERSION", "SO023", "Load a newer solidobj library."},
    [SO_ENGINE] = {"SO_ENGINE", NULL, NULL},
    [SO_NOMEM] = {"SO_NOMEM", NULL, NULL},
    [SO_CAUTION] = {"SO_CAUTION", NULL, NULL},
    [SO_UNDONE] = {"SO_UNDONE", NULL, NULL},
};

const char *so_code_name(so_code code) { return codes[code].name; }

const char *so_code_sqlstate(so_code code) { return codes[code].sqlstate; }

size_t so_utf8_length(const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text;

    if (length == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;

    size_t bytes = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (length < bytes)
        return 0;

    /* The second byte's range is what keeps out overlong forms, surrogates and values above U+10FFFF. */
    unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < bytes; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return bytes;
}

/*
 * The copy behind both public functions. Never writes ahead of where it reads, so `to` may be `text`.
 * `keep_controls`: whether control characters other than NUL stay.
 */
static size_t copy_storable(char *to, size_t capacity, const char *text, size_t length, int keep_controls)
{
    size_t written = 0;
    size_t at = 0;

    if (capacity == 0)
        return 0;
    while (at < length)
    {
        size_t bytes = so_utf8_length(text + at, length - at);
        unsigned char first = (unsigned char)text[at];

        if (written + (bytes ? bytes : 1) >= capacity)
            break;
        if (bytes == 0 || first == 0 || (!keep_controls && (first < 0x20 || first == 0x7F)))
        {
            to[written++] = '?';
            at++;
            continue;
        }
        memmove(to + written, text + at, bytes);
        written += bytes;
        at += bytes;
    }
    to[written] = '\0';
    return written;
}

size_t so_text_storable(char *to, size_t capacity, const char *text, size_t length)
{
    return copy_storable(to, capacity, text, length, 1);
}

void so_error_clear(so_error *err)
{
    err->code = SO_OK;
    err->engine_code = 0;
    err->message[0] = '\0';
    err->hint[0] = '\0';
}

so_code so_error_set(so_error *err, so_code code, const char *hint, const char *format, ...)
{
    /* Room for one more character than is kept: the cut below then always sees the last one whole. */
    char raw[SO_ERROR_MESSAGE_BYTES + 4];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);

    /* printf itself can fail (a width that does not fit); the code alone is then still a true answer. */
    if (length < 0)
        length = snprintf(raw, sizeof raw, "%s", so_code_name(code));
    size_t bytes = (size_t)length < sizeof raw ? (size_t)length : sizeof raw - 1;

    err->code = code;
    err->engine_code = 0;
    copy_storable(err->message, sizeof err->message, raw, bytes, 0);
    if (hint == NULL)
        hint = codes[code].hint;
    if (hint == NULL)
        err->hint[0] = '\0';
    else
        copy_storable(err->hint, sizeof err->hint, hint, strlen(hint), 0);
    return code;
}

so_code so_error_nomem(so_error *err) { return so_error_set(err, SO_NOMEM, NULL, "out of memory"); }
