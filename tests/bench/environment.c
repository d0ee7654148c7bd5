#include "environment.h"
#include "child.h"
#include "stats.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum
{
    SETTINGS_SIZE = 256 * 1024,
    FSYNC_ROUNDS = 60
};

/* The value of the first line of `path` that begins with `name`, as /proc and os-release write them. */
static void line_value(const char *path, const char *name, char *value, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[400];
    snprintf(value, size, "unknown");
    while (file && fgets(line, sizeof line, file))
    {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        const char *from = line + strcspn(line, ":=");
        from += *from ? 1 : 0;
        from += strspn(from, " \t\"");
        snprintf(value, size, "%.*s", (int)strcspn(from, "\"\n"), from);
        break;
    }
    if (file)
        fclose(file);
}

/* The file system that holds `directory`: the longest mount point that begins its absolute path. */
static void file_system_find(const char *directory, char *type, size_t size)
{
    char *path = realpath(directory, NULL);
    FILE *mounts = fopen("/proc/self/mounts", "r");
    char line[4096], where[2048], kind[64];
    size_t longest = 0;
    snprintf(type, size, "unknown");
    while (path && mounts && fgets(line, sizeof line, mounts))
    {
        if (sscanf(line, "%*s %2047s %63s", where, kind) != 2)
            continue;
        size_t length = strlen(where);
        bool inside = strncmp(path, where, length) == 0 &&
                      (path[length] == '\0' || path[length] == '/' || where[length - 1] == '/');
        if (!inside || length < longest)
            continue;
        longest = length;
        snprintf(type, size, "%.60s", kind);
    }
    if (mounts)
        fclose(mounts);
    free(path);
}

static void fsync_measure(const char *directory, double fsync_ms[3])
{
    char path[1200], page[4096];
    uint32_t taken[FSYNC_ROUNDS];
    int count = 0;
    fsync_ms[0] = fsync_ms[1] = fsync_ms[2] = -1;
    snprintf(path, sizeof path, "%s/solidobj-bench.XXXXXX", directory);
    memset(page, 'x', sizeof page);
    int file = mkstemp(path);
    if (file < 0)
        return;
    unlink(path);
    for (; count < FSYNC_ROUNDS; count++)
    {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        if (pwrite(file, page, sizeof page, (off_t)count * (off_t)sizeof page) != (ssize_t)sizeof page ||
            fsync(file) != 0)
            break;
        clock_gettime(CLOCK_MONOTONIC, &to);
        taken[count] = so_bench_microseconds((int64_t)(to.tv_sec - from.tv_sec) * 1000000000 +
                                             (to.tv_nsec - from.tv_nsec));
    }
    close(file);
    if (count < FSYNC_ROUNDS)
        return;
    so_bench_sort(taken, FSYNC_ROUNDS);
    so_bench_latency latency = so_bench_latency_of(taken, FSYNC_ROUNDS);
    fsync_ms[0] = latency.p50;
    fsync_ms[1] = latency.min;
    fsync_ms[2] = latency.max;
}

typedef struct inquiry
{
    const so_bench_database *db;
    so_bench_cell cell;
    so_bench_error error;
    char settings[SETTINGS_SIZE];
} inquiry;

/* In a forked process: a fresh database, its settings as text into shared memory. */
static int settings_ask(void *context)
{
    inquiry *asked = context;
    const so_bench_driver *driver = asked->db->driver;
    if (driver->create(asked->db, &asked->cell, &asked->error) != 0)
        return -1;
    so_bench_conn *conn = driver->connect(asked->db, &asked->cell, &asked->error);
    FILE *text = fmemopen(asked->settings, sizeof asked->settings, "w");
    int rc = conn && text ? 0 : so_bench_fail(&asked->error, "out of memory");
    if (rc == 0)
    {
        so_bench_json json = {.to = text};
        so_bench_json_open(&json, NULL, '{');
        rc = driver->settings(conn, &json, &asked->error);
        so_bench_json_close(&json, '}');
    }
    if (text && (fclose(text) != 0 || strlen(asked->settings) + 1 >= sizeof asked->settings))
        rc = so_bench_fail(&asked->error, "the settings do not fit");
    driver->disconnect(conn);
    return rc;
}

static int settings_take(so_bench_environment *env, const so_bench_database *db, unsigned durabilities,
                         so_bench_error *err)
{
    size_t size = 0;
    FILE *all = open_memstream(&env->settings, &size);
    inquiry *asked = so_bench_shared_new(sizeof *asked);
    if (!all || !asked)
        return so_bench_fail(err, "out of memory");
    int rc = 0;
    so_bench_json json = {.to = all};
    if (rc == 0)
        so_bench_json_open(&json, NULL, '{');
    for (int i = 0; rc == 0 && db->driver->durabilities[i]; i++)
    {
        if (!(durabilities & 1u << i))
            continue;
        memset(asked, 0, sizeof *asked);
        asked->db = db;
        asked->cell = (so_bench_cell){.durability = db->driver->durabilities[i], .path = SO_BENCH_CALL};
        rc = so_bench_child_run(settings_ask, asked, &asked->error, NULL, NULL, err);
        db->driver->destroy(db);
        if (rc == 0)
            so_bench_json_raw(&json, asked->cell.durability, asked->settings);
    }
    if (rc == 0)
        so_bench_json_close(&json, '}');
    if (all && fclose(all) != 0 && rc == 0)
        rc = so_bench_fail(err, "out of memory");
    so_bench_shared_free(asked, sizeof *asked);
    return rc;
}

int so_bench_environment_take(so_bench_environment *env, const so_bench_database *db, unsigned durabilities,
                              so_bench_error *err)
{
    struct utsname kernel;
    time_t now = time(NULL);
    struct tm utc;
    memset(env, 0, sizeof *env);
    strftime(env->started_at, sizeof env->started_at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    line_value("/proc/cpuinfo", "model name", env->cpu, sizeof env->cpu);
    line_value("/etc/os-release", "PRETTY_NAME", env->system, sizeof env->system);
    snprintf(env->kernel, sizeof env->kernel, "unknown");
    if (uname(&kernel) == 0)
        snprintf(env->kernel, sizeof env->kernel, "%.60s %.60s %.60s", kernel.sysname, kernel.release,
                 kernel.machine);
    env->cores = sysconf(_SC_NPROCESSORS_ONLN);
    env->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    file_system_find(db->directory, env->file_system, sizeof env->file_system);
    fsync_measure(db->directory, env->fsync_ms);
    return settings_take(env, db, durabilities, err);
}

void so_bench_environment_clear(so_bench_environment *env)
{
    free(env->settings);
    env->settings = NULL;
}

void so_bench_environment_write(const so_bench_environment *env, const so_bench_database *db,
                                const so_bench_plan *plan, so_bench_json *json, const char *name)
{
    so_bench_json_open(json, name, '{');
    so_bench_json_text(json, "started_at", env->started_at);
    so_bench_json_text(json, "cpu", env->cpu);
    so_bench_json_int(json, "cores", env->cores);
    so_bench_json_int(json, "memory_bytes", env->memory_bytes);
    so_bench_json_text(json, "system", env->system);
    so_bench_json_text(json, "kernel", env->kernel);
    so_bench_json_text(json, "compiler", __VERSION__);
    so_bench_json_text(json, "file_system", env->file_system);
    so_bench_json_open(json, "fsync_ms", '{');
    so_bench_json_real(json, "p50", env->fsync_ms[0], 3);
    so_bench_json_real(json, "min", env->fsync_ms[1], 3);
    so_bench_json_real(json, "max", env->fsync_ms[2], 3);
    so_bench_json_close(json, '}');
    so_bench_json_int(json, "seed", plan->seed);
    so_bench_json_text(json, "database", db->driver->scheme);
    so_bench_json_text(json, "engine_version", db->driver->version());
    so_bench_json_raw(json, "settings", env->settings);
    so_bench_json_close(json, '}');
}

void so_bench_environment_print(const so_bench_environment *env, const so_bench_database *db, FILE *to)
{
    fprintf(to, "%s %s; %ld x %s, %.1f GiB; %s, fsync %.3f ms (%.3f to %.3f); %s; %s\n", db->driver->title,
            db->driver->version(), env->cores, env->cpu, (double)env->memory_bytes / (1024.0 * 1024 * 1024),
            env->file_system, env->fsync_ms[0], env->fsync_ms[1], env->fsync_ms[2], env->system,
            env->started_at);
}
