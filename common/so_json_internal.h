/*
 * What the JSON files share and nobody else needs: scanning compact text without decoding it.
 *
 * Every function here stays inside the bytes that it is given, whatever they are. For text that is not
 * compact JSON the answers mean nothing, but nothing outside is read and every walk ends.
 */
#ifndef SO_JSON_INTERNAL_H
#define SO_JSON_INTERNAL_H

#include "so_json.h"

/*
 * so_json_check() of any kind without its short way: the JSON library's word about every document. The two
 * agree about everything; this one is for the test that compares them.
 */
so_code so_json_check_long(so_arena *arena, so_str text, const char *what, so_str *compact, so_error *err);

/* The closing quote of the string whose opening quote is before `at`; `end` if there is none. */
const char *so_json_string_end(const char *at, const char *end);

/* The end of the value that starts at `at`. */
const char *so_json_skip(const char *at, const char *end);

/* so_json_iter_next() without decoding: *name is what stands between the quotes, escapes and all. */
bool so_json_next_raw(so_json_iter *iter, so_str *name, so_str *value);

/* Order of two raw names (or string contents) by their decoded bytes: negative, 0, positive. */
int so_json_raw_compare(so_str a, so_str b);

/* True if a JSON number has a fraction or an exponent. */
bool so_json_is_real(so_str number);

/* A JSON integer within 64 bits. */
int64_t so_json_int(so_str number);

/* A JSON number as the nearest double, in any locale. */
double so_json_real(so_str number);

/* For memory that no arena can give; free with so_json_memory_release(). NULL without memory. */
void *so_json_memory_alloc(size_t bytes);
void so_json_memory_release(void *memory);

#endif
