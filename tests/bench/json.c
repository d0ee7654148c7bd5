#include "json.h"

#include <math.h>

static void text_write(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    {
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(to, "\\u%04x", *c);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

static void begin(so_bench_json *json, const char *name)
{
    if (json->more)
        fputc(',', json->to);
    json->more = true;
    if (name)
    {
        text_write(json->to, name);
        fputc(':', json->to);
    }
}

void so_bench_json_open(so_bench_json *json, const char *name, char bracket)
{
    begin(json, name);
    fputc(bracket, json->to);
    json->more = false;
}

void so_bench_json_close(so_bench_json *json, char bracket)
{
    fputc(bracket, json->to);
    json->more = true;
}

void so_bench_json_text(so_bench_json *json, const char *name, const char *value)
{
    begin(json, name);
    if (value)
        text_write(json->to, value);
    else
        fputs("null", json->to);
}

void so_bench_json_int(so_bench_json *json, const char *name, int64_t value)
{
    begin(json, name);
    fprintf(json->to, "%lld", (long long)value);
}

void so_bench_json_real(so_bench_json *json, const char *name, double value, int decimals)
{
    begin(json, name);
    if (isfinite(value))
        fprintf(json->to, "%.*f", decimals, value);
    else
        fputs("null", json->to);
}

void so_bench_json_bool(so_bench_json *json, const char *name, bool value)
{
    begin(json, name);
    fputs(value ? "true" : "false", json->to);
}

void so_bench_json_raw(so_bench_json *json, const char *name, const char *document)
{
    begin(json, name);
    fputs(document, json->to);
}

void so_bench_json_line(so_bench_json *json)
{
    if (json->more)
        fputc(',', json->to);
    json->more = false;
    fputc('\n', json->to);
}
