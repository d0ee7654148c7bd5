/*
 * What the JSON tests share: an arena over the counting allocator for each test, and short ways to check a
 * text. Include after cmocka.h.
 */
#ifndef SO_TEST_JSON_FIXTURE_H
#define SO_TEST_JSON_FIXTURE_H

#include "counting.h"
#include "so_json.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static counting counts;
static const so_allocator allocator = {counting_alloc, counting_release, &counts};
static so_arena arena;
static so_error err;

static int set_up(void **state)
{
    (void)state;
    counts = (counting){0};
    so_arena_init(&arena, &allocator);
    so_error_clear(&err);
    return 0;
}

/* A test that leaks fails here. */
static int tear_down(void **state)
{
    (void)state;
    so_arena_free(&arena);
    return counts.out == 0 ? 0 : -1;
}

static inline so_str str(const char *text) { return (so_str){text, strlen(text)}; }

static inline so_code check(so_str text, so_str *compact)
{
    return so_json_check(&arena, text, SO_JSON_ANY, "args", 0, compact, &err);
}

static inline so_str compact_of(const char *text)
{
    so_str compact = {NULL, 0};

    if (check(str(text), &compact) != SO_OK)
        fail_msg("%s refused: %s", text, err.message);
    assert_int_equal(compact.p[compact.n], 0);
    return compact;
}

static inline void refuse(so_str text)
{
    so_str compact;

    so_error_clear(&err);
    if (check(text, &compact) != SO_INVALID_JSON)
        fail_msg("taken: %.*s", (int)text.n, text.p);
    assert_int_equal(err.code, SO_INVALID_JSON);
    assert_memory_equal(err.message, "args ", 5);
}

/* The same numbers in every run. */
static inline uint32_t random_below(uint32_t limit)
{
    static uint64_t random_state = UINT64_C(88172645463325252);

    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 20) % limit;
}

#endif
