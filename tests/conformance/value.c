/*
 * Values and results, and the few memory helpers that everything here shares.
 */
#include "driver.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SHOWN_BYTES = 400
};

static void out_of_memory(void)
{
    fputs("conformance: out of memory\n", stderr);
    exit(2);
}

void *cf_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    if (!memory)
        out_of_memory();
    return memory;
}

void *cf_grow(void *memory, size_t count, size_t item)
{
    void *grown = realloc(memory, (count ? count : 1) * item);

    if (!grown)
        out_of_memory();
    return grown;
}

char *cf_copy(const char *text, size_t size)
{
    char *copy = cf_alloc(size + 1);

    memcpy(copy, text, size);
    return copy;
}

char *cf_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        out_of_memory();
    va_end(arguments);
    return text;
}

cf_value cf_value_text(const char *text, size_t size)
{
    return (cf_value){.type = CF_TEXT, .text = cf_copy(text, size), .size = size};
}

cf_value cf_value_int(int64_t number) { return (cf_value){.type = CF_INT, .number = number}; }

cf_value cf_value_copy(const cf_value *value)
{
    cf_value copy = *value;

    if (value->text)
        copy.text = cf_copy(value->text, value->size);
    return copy;
}

void cf_value_free(cf_value *value)
{
    free(value->text);
    memset(value, 0, sizeof(*value));
}

static char *show_bytes(const cf_value *value)
{
    size_t shown = value->size < SHOWN_BYTES ? value->size : SHOWN_BYTES;
    char *text = cf_alloc(shown * 4 + 64);
    char *at = text;

    *at++ = '\'';
    for (size_t i = 0; i < shown; i++)
    {
        unsigned char c = (unsigned char)value->text[i];

        if (c < 0x20 || c == 0x7f)
            at += sprintf(at, "\\x%02x", c);
        else
            *at++ = (char)c;
    }
    *at++ = '\'';
    if (shown < value->size)
        sprintf(at, "… (%zu bytes)", value->size);
    return text;
}

char *cf_value_show(const cf_value *value)
{
    switch (value->type)
    {
    case CF_NULL:
        return cf_format("NULL");
    case CF_INT:
        return cf_format("%" PRId64, value->number);
    case CF_REAL:
        return cf_format("%.17g (real)", value->real);
    case CF_TEXT:
    case CF_BLOB:
        break;
    }
    return show_bytes(value);
}

void cf_result_free(cf_result *result)
{
    for (size_t i = 0; i < result->rows * result->columns; i++)
        cf_value_free(&result->cells[i]);
    for (size_t i = 0; i < result->columns; i++)
        free(result->names[i]);
    free(result->names);
    free(result->cells);
    free(result->message);
    free(result->hint);
    memset(result, 0, sizeof(*result));
}
