/*
 * What the fuzzers share: one function per program that takes any bytes, and a way to say what is wrong.
 */
#ifndef SO_FUZZ_H
#define SO_FUZZ_H

#include "../unit/counting.h"

#include "so_error.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The fuzzer keeps the input of a process that aborts. */
#define REQUIRE(condition, ...)                                                                              \
    do                                                                                                       \
    {                                                                                                        \
        if (!(condition))                                                                                    \
        {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                          \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Strict UTF-8 without NUL, written independently of the product's: by the value that is decoded. */
static inline bool fuzz_utf8(const char *text, size_t length)
{
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;

    while (at < end)
    {
        size_t bytes = *at < 0x80 ? 1 : *at < 0xC0 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF8 ? 4 : 0;
        if (bytes == 0 || (size_t)(end - at) < bytes)
            return false;
        uint32_t value = bytes == 1 ? *at : *at & (0x7FU >> bytes);
        for (size_t i = 1; i < bytes; i++)
        {
            if ((at[i] & 0xC0) != 0x80)
                return false;
            value = value << 6 | (at[i] & 0x3F);
        }
        if (value < least[bytes] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
            return false;
        at += bytes;
    }
    return true;
}

/* An error says what it is, in text that can be stored anywhere. */
static inline void fuzz_error(so_code code, const so_error *err, so_code expected)
{
    REQUIRE(code == expected && err->code == code, "%s, %s", so_code_name(code), so_code_name(err->code));
    REQUIRE(err->message[0] != '\0', "no message");
    REQUIRE(memchr(err->message, '\0', sizeof err->message) && memchr(err->hint, '\0', sizeof err->hint),
            "not terminated");
    REQUIRE(fuzz_utf8(err->message, strlen(err->message)), "%s", err->message);
    REQUIRE(fuzz_utf8(err->hint, strlen(err->hint)), "%s", err->hint);
}

#endif
