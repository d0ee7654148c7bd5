/*
 * Errors as values.
 *
 * Every engine function returns a so_code and, when it is not SO_OK, has filled the one so_error of
 * its session. A port translates the pair into ereport(), sqlite3_result_error() or the C API; the
 * engine never prints and never jumps.
 */
#ifndef SO_ERROR_H
#define SO_ERROR_H

#include <stddef.h>

typedef enum so_code
{
    SO_OK = 0,
    SO_NOT_INSTALLED,
    SO_UNKNOWN_TYPE,
    SO_UNKNOWN_OPERATION,
    SO_UNKNOWN_MESSAGE,
    SO_INVALID_NAME,
    SO_INVALID_JSON,
    SO_INVALID_ARGUMENT,
    SO_TOO_LARGE,
    SO_MAILBOX_FULL,
    SO_IDEMPOTENCY_CONFLICT,
    SO_REJECTED,
    SO_FAILED,
    SO_BLOCKED,
    SO_TIMEOUT,
    SO_LOST_CLAIM,
    SO_DESTROYED,
    SO_INSIDE_TRANSACTION,
    SO_INSIDE_STATEMENT,
    SO_IN_TURN,
    SO_NOT_IN_TURN,
    SO_QUERY_CHANGED_STATE,
    SO_FORBIDDEN,
    SO_VERSION,
    /* Not codes of the product: the engine's own error, kept as it is, and out of memory. */
    SO_ENGINE,
    SO_NOMEM,
    /* Inside the engine only: undo the piece of work and do it again with a mark before each turn. */
    SO_CAUTION,
    /* Likewise: a handler ended the transaction that it ran in. */
    SO_UNDONE,
    SO_CODE_COUNT
} so_code;

enum
{
    SO_ERROR_MESSAGE_BYTES = 1024,
    SO_ERROR_HINT_BYTES = 512
};

/*
 * The error of one call. `engine_code` is the database's own code when `code` is SO_ENGINE, else 0.
 * The texts are valid UTF-8, NUL-terminated, cut on a character boundary; `hint` may be empty.
 */
typedef struct so_error
{
    so_code code;
    int engine_code;
    char message[SO_ERROR_MESSAGE_BYTES];
    char hint[SO_ERROR_HINT_BYTES];
} so_error;

/* The stable name of a code, "SO_UNKNOWN_TYPE"; for SO_ENGINE "SO_ENGINE", for SO_NOMEM "SO_NOMEM". */
const char *so_code_name(so_code code);

/* The five-character SQLSTATE of a code, class "SO"; NULL for SO_OK, SO_ENGINE and SO_NOMEM. */
const char *so_code_sqlstate(so_code code);

/* Forgets whatever the object held. */
void so_error_clear(so_error *err);

/*
 * Fills `err` and returns `code`, so that a caller writes `return so_error_set(…)`. `hint` NULL: the one that
 * the code has. `format` is printf's; text that a user brought goes in through %s or %.*s, never as the
 * format. A port that reports SO_ENGINE sets `engine_code` after this call, which makes it 0. Bytes that are
 * not UTF-8 and control characters are replaced by '?', so that an error text can be stored anywhere.
 */
so_code so_error_set(so_error *err, so_code code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for out of memory; needs none. */
so_code so_error_nomem(so_error *err);

/*
 * Copies as much of `text` (`length` bytes, any bytes, NULs too) as fits into `capacity` bytes
 * including the final NUL: bytes that are not valid UTF-8 and NULs become '?', and the cut falls on a
 * character boundary. Newlines and tabs are kept. Returns the length without the NUL.
 */
size_t so_text_storable(char *to, size_t capacity, const char *text, size_t length);

/*
 * The bytes (1 to 4) of the first character of `text`; 0 if `length` is 0 or they are not valid UTF-8
 * (a surrogate, above U+10FFFF, overlong, cut off).
 */
size_t so_utf8_length(const char *text, size_t length);

#endif
