/*
 * An SQL value on its way in or out of the engine: what a wrapper hands over and gets back.
 */
#ifndef SO_VALUE_H
#define SO_VALUE_H

#include "so_arena.h"

typedef enum so_value_type
{
    SO_NULL,
    SO_INT,
    SO_REAL,
    SO_TEXT, /* bytes said to be UTF-8, checked by whoever needs it */
    SO_BLOB
} so_value_type;

typedef struct so_value
{
    so_value_type type;
    bool json; /* SO_TEXT only: a JSON document that the database itself made, or that the engine answers */
    int64_t i;
    double r;
    so_str s; /* SO_TEXT, SO_BLOB */
} so_value;

#define SO_VALUE_NULL ((so_value){.type = SO_NULL})
#define SO_VALUE_INT(number) ((so_value){.type = SO_INT, .i = (number)})
#define SO_VALUE_STR(str) ((so_value){.type = SO_TEXT, .s = (str)})
#define SO_VALUE_JSON(str) ((so_value){.type = SO_TEXT, .json = true, .s = (str)})

#endif
