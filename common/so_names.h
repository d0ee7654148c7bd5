/*
 * Names and keys. Names (type, operation, effect, worker): letters, digits, `_ . : -`, first a letter or `_`,
 * 1 to 128 bytes, ASCII. Keys (actor, idempotency, reminder): 1 to 255 bytes of valid UTF-8 without NUL.
 */
#ifndef SO_NAMES_H
#define SO_NAMES_H

#include "so_error.h"
#include "so_value.h"

enum
{
    SO_NAME_MAX_BYTES = 128,
    SO_KEY_MAX_BYTES = 255
};

/* Checks an argument that must be a name: SO_INVALID_NAME, naming `what` ("type"), for anything else, NULL
 * and numbers included. *name is a piece of `value`. */
so_code so_name_check(const so_value *value, const char *what, so_str *name, so_error *err);

/* The same for keys. An integer is not a key: SO_INVALID_NAME with a hint to pass text. */
so_code so_key_check(const so_value *value, const char *what, so_str *key, so_error *err);

/* Two arguments that name an actor: its type and its key. */
so_code so_actor_check(const so_value *args, so_str *type, so_str *key, so_error *err);

#endif
