/*
 * One arena per call, freed at once; memory comes from the port (sqlite3_malloc, palloc, malloc).
 */
#ifndef SO_ARENA_H
#define SO_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's allocator. `alloc` may return NULL; `release` takes NULL. */
typedef struct so_allocator
{
    void *(*alloc)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
    void *context;
} so_allocator;

/* A piece of text or bytes that somebody else owns. `p` may be NULL when `n` is 0. Not NUL-terminated. */
typedef struct so_str
{
    const char *p;
    size_t n;
} so_str;

#define SO_STR(literal) ((so_str){(literal), sizeof(literal) - 1})

typedef struct so_arena_block so_arena_block;

typedef struct so_arena
{
    const so_allocator *allocator;
    so_arena_block *blocks;
    char *at;
    size_t left;
    bool failed; /* an allocation failed since the last reset */
} so_arena;

/* `allocator` must outlive the arena. Allocates nothing yet. */
void so_arena_init(so_arena *arena, const so_allocator *allocator);

/* Frees everything but (at most) one block of ordinary size, which the next call uses again. */
void so_arena_reset(so_arena *arena);

/* Frees everything. The arena may be used again. */
void so_arena_free(so_arena *arena);

/* `bytes` bytes, aligned for any type, uninitialised; NULL without memory (then `failed` is set). */
void *so_arena_alloc(so_arena *arena, size_t bytes);

/* The same, zeroed. */
void *so_arena_zero(so_arena *arena, size_t bytes);

/* A copy with a NUL after it (not counted in n). {NULL, 0} without memory; an empty text gives a non-NULL p.
 */
so_str so_arena_copy(so_arena *arena, const char *text, size_t length);
so_str so_arena_copy_str(so_arena *arena, so_str text);

bool so_str_equal(so_str a, so_str b);
bool so_str_is(so_str a, const char *text);

/* A growing text in an arena. After a failed allocation every further append does nothing and `failed` stays
 * set. */
typedef struct so_buffer
{
    so_arena *arena;
    char *p;
    size_t n;
    size_t capacity;
    bool failed;
} so_buffer;

void so_buffer_init(so_buffer *buffer, so_arena *arena);
void so_buffer_add(so_buffer *buffer, const char *text, size_t length);
void so_buffer_add_str(so_buffer *buffer, so_str text);
void so_buffer_add_text(so_buffer *buffer, const char *text);
void so_buffer_add_char(so_buffer *buffer, char c);
void so_buffer_add_int(so_buffer *buffer, int64_t number);

/* What was written; NUL-terminated beyond n. {NULL, 0} when the buffer failed. */
so_str so_buffer_str(so_buffer *buffer);

#endif
