#include "run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int so_bench_output_open(so_bench_output *output, const char *path, so_bench_error *err)
{
    struct stat found;
    *output = (so_bench_output){.path = path};
    if (!path)
        return 0;
    bool special = stat(path, &found) == 0 && !S_ISREG(found.st_mode);
    int length = snprintf(output->aside, sizeof output->aside, "%s.part-%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof output->aside)
        return so_bench_fail(err, "--json: the path is too long");
    if (special)
        output->aside[0] = '\0';
    output->file = fopen(special ? path : output->aside, "w");
    if (!output->file)
        return so_bench_fail(err, "--json: %s cannot be written: %s", path, strerror(errno));
    return 0;
}

int so_bench_output_keep(so_bench_output *output, so_bench_error *err)
{
    if (!output->file)
        return 0;
    bool failed = ferror(output->file) != 0;
    failed = fclose(output->file) != 0 || failed;
    output->file = NULL;
    if (!failed && (output->aside[0] == '\0' || rename(output->aside, output->path) == 0))
    {
        output->aside[0] = '\0';
        return 0;
    }
    so_bench_fail(err, "--json: %s cannot be written: %s", output->path, strerror(errno));
    so_bench_output_drop(output);
    return -1;
}

void so_bench_output_drop(so_bench_output *output)
{
    if (output->file)
        fclose(output->file);
    output->file = NULL;
    if (output->aside[0])
        unlink(output->aside);
}

void so_bench_run_head(const so_bench_run *run, so_bench_json *json)
{
    so_bench_json_open(json, NULL, '{');
    so_bench_json_text(json, "solidobj_bench", SO_BENCH_VERSION);
    so_bench_json_text(json, "command", run->command);
    so_bench_json_line(json);
    so_bench_environment_write(&run->environment, &run->db, run->plan, json, "environment");
    so_bench_json_line(json);
}

int so_bench_run_tail(so_bench_run *run, so_bench_json *json, int status)
{
    so_bench_error err = {0};
    so_bench_json_close(json, '}');
    fputc('\n', json->to);
    if (so_bench_output_keep(&run->output, &err) == 0)
        return status;
    fprintf(stderr, "solidobj-bench: %s\n", err.text);
    return SO_BENCH_WRONG;
}

void so_bench_run_where(const so_bench_run *run, so_bench_json *json, const char *durability)
{
    so_bench_json_text(json, "database", run->db.driver->scheme);
    so_bench_json_text(json, "engine_version", run->db.driver->version());
    so_bench_json_text(json, "durability", durability);
}

void so_bench_json_range(so_bench_json *json, const char *name, so_bench_range range)
{
    so_bench_json_open(json, name, '{');
    so_bench_json_real(json, "median", range.median, 1);
    so_bench_json_real(json, "min", range.min, 1);
    so_bench_json_real(json, "max", range.max, 1);
    so_bench_json_close(json, '}');
}

void so_bench_json_latency(so_bench_json *json, const char *name, so_bench_latency latency)
{
    so_bench_json_open(json, name, '{');
    so_bench_json_real(json, "p50", latency.p50, 3);
    so_bench_json_real(json, "p95", latency.p95, 3);
    so_bench_json_real(json, "p99", latency.p99, 3);
    so_bench_json_real(json, "max", latency.max, 3);
    so_bench_json_close(json, '}');
}

void so_bench_json_latencies(so_bench_json *json, const char *name, const uint32_t *latencies, size_t count)
{
    so_bench_json_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        so_bench_json_real(json, NULL, latencies[i] / 1000.0, 3);
    so_bench_json_close(json, ']');
}
