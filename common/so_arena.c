/*
 * The arena: blocks from the port's allocator, handed out from the front, given back all at once.
 */
#include "so_arena.h"

#include <stdalign.h>
#include <string.h>

enum
{
    /* With its header one ordinary block is 8 KiB: what an ordinary call needs, so that it never asks again.
     */
    BLOCK_BYTES = 8192,
    /* A larger piece gets a block of its own, so that it does not waste the rest of the current one. */
    LARGE_BYTES = BLOCK_BYTES / 4,
    BUFFER_FIRST_BYTES = 128
};

struct so_arena_block
{
    so_arena_block *next;
    size_t bytes; /* usable, after the header */
};

#define ALIGNMENT (alignof(max_align_t))
#define ROUND_UP(bytes) (((bytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)
#define HEADER_BYTES ROUND_UP(sizeof(so_arena_block))
#define ORDINARY_BYTES (BLOCK_BYTES - HEADER_BYTES)

void so_arena_init(so_arena *arena, const so_allocator *allocator)
{
    *arena = (so_arena){.allocator = allocator};
}

static void release_blocks(so_arena *arena, so_arena_block *block)
{
    while (block)
    {
        so_arena_block *next = block->next;
        arena->allocator->release(arena->allocator->context, block);
        block = next;
    }
}

void so_arena_reset(so_arena *arena)
{
    so_arena_block *kept = NULL;
    so_arena_block **link = &arena->blocks;

    while (*link && (*link)->bytes != ORDINARY_BYTES)
        link = &(*link)->next;
    if (*link)
    {
        kept = *link;
        *link = kept->next;
        kept->next = NULL;
    }
    release_blocks(arena, arena->blocks);

    arena->blocks = kept;
    arena->at = kept ? (char *)kept + HEADER_BYTES : NULL;
    arena->left = kept ? kept->bytes : 0;
    arena->failed = false;
}

void so_arena_free(so_arena *arena)
{
    release_blocks(arena, arena->blocks);
    *arena = (so_arena){.allocator = arena->allocator};
}

static so_arena_block *new_block(so_arena *arena, size_t bytes)
{
    so_arena_block *block = arena->allocator->alloc(arena->allocator->context, HEADER_BYTES + bytes);

    if (block == NULL)
    {
        arena->failed = true;
        return NULL;
    }
    block->bytes = bytes;
    return block;
}

static void *alloc_in_new_block(so_arena *arena, size_t bytes)
{
    if (bytes > LARGE_BYTES)
    {
        so_arena_block *block = new_block(arena, bytes);
        if (block == NULL)
            return NULL;

        /* Behind the head: the head is the block that `at` and `left` are about. */
        so_arena_block **link = arena->blocks ? &arena->blocks->next : &arena->blocks;
        block->next = *link;
        *link = block;
        return (char *)block + HEADER_BYTES;
    }

    so_arena_block *block = new_block(arena, ORDINARY_BYTES);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = (char *)block + HEADER_BYTES + bytes;
    arena->left = block->bytes - bytes;
    return (char *)block + HEADER_BYTES;
}

void *so_arena_alloc(so_arena *arena, size_t bytes)
{
    /* No object is larger than PTRDIFF_MAX, so no allocator is asked for it. */
    if (bytes > PTRDIFF_MAX - HEADER_BYTES - ALIGNMENT)
    {
        arena->failed = true;
        return NULL;
    }
    bytes = bytes ? ROUND_UP(bytes) : ALIGNMENT;
    if (bytes > arena->left)
        return alloc_in_new_block(arena, bytes);

    void *memory = arena->at;
    arena->at += bytes;
    arena->left -= bytes;
    return memory;
}

void *so_arena_zero(so_arena *arena, size_t bytes)
{
    void *memory = so_arena_alloc(arena, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

so_str so_arena_copy(so_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? so_arena_alloc(arena, length + 1) : NULL;
    if (copy == NULL)
    {
        arena->failed = true;
        return (so_str){NULL, 0};
    }
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return (so_str){copy, length};
}

so_str so_arena_copy_str(so_arena *arena, so_str text) { return so_arena_copy(arena, text.p, text.n); }

bool so_str_equal(so_str a, so_str b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }

bool so_str_is(so_str a, const char *text) { return so_str_equal(a, (so_str){text, strlen(text)}); }

void so_buffer_init(so_buffer *buffer, so_arena *arena) { *buffer = (so_buffer){.arena = arena}; }

/* Makes room for `more` bytes and the final NUL. */
static bool reserve(so_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (more < buffer->capacity - buffer->n)
        return true;

    size_t wanted = buffer->n + more + 1;
    if (wanted <= more)
    {
        buffer->arena->failed = true;
        buffer->failed = true;
        return false;
    }
    size_t capacity = buffer->capacity ? buffer->capacity : BUFFER_FIRST_BYTES;
    while (capacity < wanted)
        capacity = capacity <= SIZE_MAX / 2 ? capacity * 2 : wanted;

    /* The newest piece of the arena can grow where it is; a text that is built in one go seldom moves. */
    so_arena *arena = buffer->arena;
    size_t growth = capacity - buffer->capacity;
    if (buffer->p && buffer->p + buffer->capacity == arena->at && growth <= arena->left)
    {
        arena->at += growth;
        arena->left -= growth;
        buffer->capacity = capacity;
        return true;
    }

    char *p = so_arena_alloc(arena, capacity);
    if (p == NULL)
    {
        buffer->failed = true;
        return false;
    }
    if (buffer->p)
        memcpy(p, buffer->p, buffer->n);
    buffer->p = p;
    buffer->capacity = capacity;
    return true;
}

void so_buffer_add(so_buffer *buffer, const char *text, size_t length)
{
    if (length == 0 || !reserve(buffer, length))
        return;
    memcpy(buffer->p + buffer->n, text, length);
    buffer->n += length;
}

void so_buffer_add_str(so_buffer *buffer, so_str text) { so_buffer_add(buffer, text.p, text.n); }

void so_buffer_add_text(so_buffer *buffer, const char *text) { so_buffer_add(buffer, text, strlen(text)); }

void so_buffer_add_char(so_buffer *buffer, char c)
{
    if (reserve(buffer, 1))
        buffer->p[buffer->n++] = c;
}

void so_buffer_add_int(so_buffer *buffer, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0)
        *--at = '-';
    so_buffer_add(buffer, at, (size_t)(digits + sizeof digits - at));
}

so_str so_buffer_str(so_buffer *buffer)
{
    if (!reserve(buffer, 0))
        return (so_str){NULL, 0};
    buffer->p[buffer->n] = '\0';
    return (so_str){buffer->p, buffer->n};
}
