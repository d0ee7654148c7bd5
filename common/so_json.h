/*
 * JSON as the product promises it: strict RFC 8259, depth at most SO_JSON_MAX_DEPTH, no duplicate
 * members, no escaped U+0000, no lone surrogates, integers within 64 bits (signed), reals within double.
 *
 * Checked text is kept as the user spelt it, less the white space between tokens ("compact"). All
 * functions that take a `so_str json` need compact text that so_json_check() gave (or that was stored
 * after it); they scan it and do not check again.
 */
#ifndef SO_JSON_H
#define SO_JSON_H

#include "so_error.h"
#include "so_value.h"

enum
{
    SO_JSON_MAX_DEPTH = 100 /* containers within containers: [[1]] has depth 2 */
};

typedef enum so_json_kind
{
    SO_JSON_ANY,
    SO_JSON_OBJECT,
    SO_JSON_ARRAY
} so_json_kind;

/*
 * Checks `text` and puts its compact form into *compact (in the arena, NUL-terminated).
 * SO_INVALID_JSON: not JSON as above, or not of `kind`; the message names `what` ("args") and says what
 * is wrong and where (byte offset or line and column). SO_TOO_LARGE: the compact form has more than
 * `max_bytes` bytes (0: no limit). SO_NOMEM. The small common case ("{}", a few members) must be fast: it is
 * on the hot path.
 */
so_code so_json_check(so_arena *arena, so_str text, so_json_kind kind, const char *what, size_t max_bytes,
                      so_str *compact, so_error *err);

/* The kind of a compact document, by its first byte: '{' '[' '"' 't' 'f' 'n' or '0' for a number. */
char so_json_first(so_str json);

/* Walks the members of a compact object, or the elements of a compact array. */
typedef struct so_json_iter
{
    so_arena *arena; /* for names that hold escapes */
    const char *at;
    const char *end;
    bool array;
    bool failed; /* out of memory */
} so_json_iter;

/* `json` must be a compact object or array. */
void so_json_iter_init(so_json_iter *iter, so_arena *arena, so_str json);

/*
 * The next member or element; false at the end or without memory (`failed`). *name (objects; may be NULL)
 * is the decoded name, in the document or in the arena; *value is a piece of the document.
 */
bool so_json_iter_next(so_json_iter *iter, so_str *name, so_str *value);

/*
 * The value of the member `name` (decoded bytes) of a compact object, a piece of the document; false if there
 * is none. Takes no memory.
 */
bool so_json_get(so_arena *arena, so_str object, so_str name, so_str *value);

/* A JSON string's decoded bytes, in the arena; `json` starts and ends with '"'. {NULL,0} without memory. */
so_str so_json_unquote(so_arena *arena, so_str json);

/* Appends `text` (valid UTF-8) as a JSON string with its quotes. Escapes only what RFC 8259 asks for. */
void so_json_quote(so_buffer *buffer, so_str text);

/*
 * A JSON value as SQL extraction gives it: string -> text, integer -> SO_INT, real -> SO_REAL, true -> 1,
 * false -> 0, null -> SO_NULL, object or array -> text with `json` set. Text is a copy in the arena.
 * SO_NOMEM.
 */
so_code so_json_to_value(so_arena *arena, so_str json, so_value *value, so_error *err);

/*
 * An SQL value as JSON: NULL -> null, integer, real (shortest form that reads back the same, always with a
 * '.' or exponent), text -> a string. If `allow_json` and value->json, the text is a document and is checked
 * and compacted. SO_INVALID_ARGUMENT, naming `what`: a BLOB, infinity or NaN, text that is not valid UTF-8 or
 * holds a NUL. SO_INVALID_JSON from the check.
 */
so_code so_json_from_value(so_arena *arena, const so_value *value, bool allow_json, const char *what,
                           so_str *json, so_error *err);

/*
 * RFC 7396 (JSON Merge Patch), MergePatch(target, patch), both compact; `target` of length 0 means undefined.
 * Spelling and order of untouched parts are kept; new members come last, in the patch's order. SO_NOMEM;
 * SO_INVALID_JSON only for a patch nested too deep to have passed so_json_check().
 */
so_code so_json_merge_patch(so_arena *arena, so_str target, so_str patch, so_str *merged, so_error *err);

/* Equal as JSON values: member order does not matter; 1 and 1.0 differ, 1.0 and 1.00 are equal. */
bool so_json_equal(so_str a, so_str b);

/* True if the bytes are valid UTF-8 (no surrogates, nothing above U+10FFFF, nothing overlong) without NUL. */
bool so_utf8_valid(const char *text, size_t length);

/*
 * Where memory comes from that no arena gives: so_json_equal()'s, for large objects with members in different
 * orders. Process-wide in this library's private copy, the same functions each time; malloc() and free()
 * until then. All other memory, the JSON library's too, comes from the allocator of the arena that is passed.
 */
void so_json_use_allocator(void *(*alloc)(size_t), void (*release)(void *));

#endif
