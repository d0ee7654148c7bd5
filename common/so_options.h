/*
 * Options: a JSON object whose members are described by a table; an unknown member is refused by name.
 */
#ifndef SO_OPTIONS_H
#define SO_OPTIONS_H

#include "so_error.h"
#include "so_value.h"

typedef enum so_option_type
{
    SO_OPTION_INT,    /* int64_t; a JSON integer, or a real with a whole value, between min and max */
    SO_OPTION_BOOL,   /* bool */
    SO_OPTION_TEXT,   /* so_str: a JSON string, decoded */
    SO_OPTION_OBJECT, /* so_str: a compact JSON object */
    SO_OPTION_NAMES,  /* so_str: a compact JSON array of strings (each checked as a name) */
    SO_OPTION_WHEN,   /* so_value: an integer, or text, for so_when_parse() */
    SO_OPTION_LATER   /* known to the product, not to this version: refused, the message says so */
} so_option_type;

typedef struct so_option
{
    const char *name; /* NULL ends the table */
    so_option_type type;
    size_t offset;    /* where in the caller's struct the value goes */
    int64_t min, max; /* SO_OPTION_INT */
    size_t was_given; /* offset of a bool that is set when the option is there; SIZE_MAX: none */
} so_option;

#define SO_OPTION_UNTOLD SIZE_MAX

/*
 * Reads `value` (SO_NULL or "{}": nothing to do, quickly) into the struct at `to`, whose fields hold the
 * defaults. JSON null for an option leaves its default (and its `was_given`). Values live in the arena.
 * `call` names the function for the message ("so_send"). SO_INVALID_JSON: not a JSON object.
 * SO_INVALID_ARGUMENT: an unknown option (the hint lists the known ones), a wrong type, a number out of
 * range. SO_INVALID_NAME: an element of SO_OPTION_NAMES. SO_NOMEM. On error nothing the caller may use has
 * been written.
 */
so_code so_options_read(so_arena *arena, const so_value *value, const char *call, const so_option *table,
                        void *to, so_error *err);

#endif
