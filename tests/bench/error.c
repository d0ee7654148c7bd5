#include "error.h"

#include <stdio.h>

int so_bench_fail(so_bench_error *err, const char *format, ...)
{
    if (err->text[0] == '\0')
    {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return -1;
}
