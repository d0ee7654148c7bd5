#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum
{
    BAR_WIDTH = 24
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What is left, as long as the rest goes as the finished part did; before anything is finished, as was
 * expected. */
static double seconds_left(const so_bench_progress *progress)
{
    double pace = 1;
    if (progress->weight_done > 0)
        pace = (seconds_now() - progress->began) / progress->weight_done;
    double left = (progress->weight - progress->weight_done) * pace;
    return left > 0 ? left : 0;
}

static void bar_draw(const so_bench_progress *progress, uint64_t operations)
{
    double part = progress->weight > 0 ? progress->weight_done / progress->weight : 1;
    int filled = (int)(part * BAR_WIDTH), left = (int)(seconds_left(progress) + 0.5);
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %d/%d, %d:%02d left  %s", bar, progress->done, progress->steps, left / 60,
            left % 60, progress->now);
    if (operations > 0)
        fprintf(stderr, " %llu", (unsigned long long)operations);
    fflush(stderr);
}

void so_bench_progress_start(so_bench_progress *progress, int steps, double expected_seconds)
{
    *progress = (so_bench_progress){.steps = steps,
                                    .weight = expected_seconds,
                                    .began = seconds_now(),
                                    .terminal = isatty(STDERR_FILENO)};
}

void so_bench_progress_begin(so_bench_progress *progress, const char *text)
{
    snprintf(progress->now, sizeof progress->now, "%s", text);
    if (progress->terminal)
        bar_draw(progress, 0);
}

void so_bench_progress_watch(void *context, uint64_t operations)
{
    so_bench_progress *progress = context;
    if (progress->terminal)
        bar_draw(progress, operations);
}

void so_bench_progress_step(so_bench_progress *progress, double expected_seconds, const char *outcome)
{
    progress->done++;
    progress->weight_done += expected_seconds;
    if (progress->terminal)
        bar_draw(progress, 0);
    else
        fprintf(stderr, "[%d/%d, %.0f s left] %s: %s\n", progress->done, progress->steps,
                seconds_left(progress), progress->now, outcome);
}

void so_bench_progress_say(so_bench_progress *progress, const char *text)
{
    fprintf(stderr, "%s%s\n", progress->terminal ? "\r\033[K" : "", text);
}

void so_bench_progress_end(so_bench_progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stderr);
}
