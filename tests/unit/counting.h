/*
 * An allocator for tests: counts what is out, and fails once at the allocation that it is told.
 */
#ifndef SO_TEST_COUNTING_H
#define SO_TEST_COUNTING_H

#include "so_arena.h"

#include <stdlib.h>

typedef struct counting
{
    size_t calls;
    size_t fail_at; /* the number of the call that fails, from 1; 0: none */
    size_t out;     /* allocations not given back */
} counting;

static inline void *counting_alloc(void *context, size_t bytes)
{
    counting *counts = context;

    if (++counts->calls == counts->fail_at)
        return NULL;
    counts->out++;
    return malloc(bytes);
}

static inline void counting_release(void *context, void *memory)
{
    counting *counts = context;

    if (memory)
        counts->out--;
    free(memory);
}

#endif
