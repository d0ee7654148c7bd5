/*
 * The arena and the buffer that grows in it.
 */
#include "so_arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "in_range.h"

#include "counting.h"

static void nothing_is_allocated_before_the_first_use(void **state)
{
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;

    (void)state;
    so_arena_init(&arena, &allocator);
    assert_int_equal(counts.calls, 0);
    so_arena_reset(&arena);
    so_arena_free(&arena);
    assert_int_equal(counts.calls, 0);
}

static void pieces_are_aligned_apart_and_given_back(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 2047, 2048, 2049, 8175, 8176, 8192, 100000};
    enum
    {
        ROUNDS = 40,
        SIZES = sizeof sizes / sizeof sizes[0]
    };
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    unsigned char *pieces[ROUNDS][SIZES];
    so_arena arena;

    (void)state;
    so_arena_init(&arena, &allocator);
    for (int cycle = 0; cycle < 2; cycle++)
    {
        for (int round = 0; round < ROUNDS; round++)
        {
            for (size_t i = 0; i < SIZES; i++)
            {
                pieces[round][i] = so_arena_alloc(&arena, sizes[i]);
                assert_non_null(pieces[round][i]);
                assert_int_equal((uintptr_t)pieces[round][i] % alignof(max_align_t), 0);
                memset(pieces[round][i], (int)(round * SIZES + i) & 0xFF, sizes[i]);
            }
        }
        for (int round = 0; round < ROUNDS; round++)
            for (size_t i = 0; i < SIZES; i++)
                for (size_t byte = 0; byte < sizes[i]; byte++)
                    if (pieces[round][i][byte] != (unsigned char)(round * SIZES + i))
                        fail_msg("piece %d/%zu overwritten at %zu", round, i, byte);
        so_arena_reset(&arena);
        assert_int_equal(counts.out, 1);
    }
    so_arena_free(&arena);
    assert_int_equal(counts.out, 0);
    assert_non_null(so_arena_alloc(&arena, 1));
    so_arena_free(&arena);
    assert_int_equal(counts.out, 0);
}

static void the_kept_block_serves_the_next_call(void **state)
{
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;

    (void)state;
    so_arena_init(&arena, &allocator);
    so_arena_alloc(&arena, 100000);
    so_arena_alloc(&arena, 1000);
    so_arena_reset(&arena);
    size_t calls = counts.calls;
    for (int call = 0; call < 10; call++)
    {
        assert_non_null(so_arena_alloc(&arena, 1000));
        assert_non_null(so_arena_alloc(&arena, 1000));
        so_arena_reset(&arena);
    }
    assert_int_equal(counts.calls, calls);

    /* A large block alone is not kept. */
    so_arena_free(&arena);
    so_arena_alloc(&arena, 100000);
    so_arena_reset(&arena);
    assert_int_equal(counts.out, 0);
    so_arena_free(&arena);
}

static void sizes_that_no_memory_has_are_refused(void **state)
{
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;

    (void)state;
    so_arena_init(&arena, &allocator);
    for (size_t below = 0; below < 64; below++)
    {
        assert_null(so_arena_alloc(&arena, SIZE_MAX - below));
        assert_true(arena.failed);
        so_arena_reset(&arena);
        assert_false(arena.failed);
    }
    so_str copy = so_arena_copy(&arena, "x", SIZE_MAX);
    assert_null(copy.p);
    assert_true(arena.failed);
    so_arena_free(&arena);
}

static void copies_end_in_a_nul_and_keep_every_byte(void **state)
{
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;

    (void)state;
    so_arena_init(&arena, &allocator);
    so_str copy = so_arena_copy(&arena, "a\0b", 3);
    assert_int_equal(copy.n, 3);
    assert_memory_equal(copy.p, "a\0b", 4);
    copy = so_arena_copy(&arena, NULL, 0);
    assert_non_null(copy.p);
    assert_int_equal(copy.n, 0);
    assert_int_equal(copy.p[0], 0);
    copy = so_arena_copy_str(&arena, SO_STR("hat"));
    assert_string_equal(copy.p, "hat");

    unsigned char *zeroed = NULL;
    memset(so_arena_alloc(&arena, 5000), 0xFF, 5000);
    memset(so_arena_alloc(&arena, 500), 0xFF, 500);
    so_arena_reset(&arena);
    zeroed = so_arena_zero(&arena, 500);
    for (int i = 0; i < 500; i++)
        assert_int_equal(zeroed[i], 0);
    so_arena_free(&arena);
}

static void texts_compare_by_bytes(void **state)
{
    (void)state;
    assert_true(so_str_equal((so_str){NULL, 0}, (so_str){"", 0}));
    assert_true(so_str_equal((so_str){"a\0b", 3}, (so_str){"a\0b", 3}));
    assert_false(so_str_equal((so_str){"a\0b", 3}, (so_str){"a\0c", 3}));
    assert_false(so_str_equal(SO_STR("a"), SO_STR("a ")));
    assert_true(so_str_is(SO_STR("abc"), "abc"));
    assert_false(so_str_is(SO_STR("abc"), "ab"));
    assert_false(so_str_is((so_str){"a\0", 2}, "a"));
    assert_true(so_str_is((so_str){NULL, 0}, ""));
}

static void a_buffer_grows_and_keeps_what_it_has(void **state)
{
    counting counts = {0};
    so_allocator allocator = {counting_alloc, counting_release, &counts};
    so_arena arena;
    so_buffer one, two;
    char expected[16];

    (void)state;
    so_arena_init(&arena, &allocator);
    so_buffer_init(&one, &arena);
    so_buffer_init(&two, &arena);
    for (int i = 0; i < 20000; i++)
    {
        so_buffer_add_int(&one, i % 10);
        so_buffer_add_char(&two, (char)('a' + i % 26));
    }
    so_str text = so_buffer_str(&one);
    assert_int_equal(text.n, 20000);
    assert_int_equal(text.p[20000], 0);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(text.p[i], '0' + i % 10);
    text = so_buffer_str(&two);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(text.p[i], 'a' + i % 26);

    static const int64_t numbers[] = {0, 1, -1, 10, -10, 9007199254740993, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    {
        char printed[32];
        so_buffer_init(&one, &arena);
        so_buffer_add_int(&one, numbers[i]);
        snprintf(printed, sizeof printed, "%lld", (long long)numbers[i]);
        assert_string_equal(so_buffer_str(&one).p, printed);
    }

    so_buffer_init(&one, &arena);
    assert_string_equal(so_buffer_str(&one).p, "");
    so_buffer_add(&one, NULL, 0);
    so_buffer_add_text(&one, "a");
    so_buffer_add_str(&one, SO_STR("bc"));
    so_buffer_str(&one);
    so_buffer_add(&one, "d\0e", 3);
    text = so_buffer_str(&one);
    memcpy(expected, "abcd\0e", 7);
    assert_int_equal(text.n, 6);
    assert_memory_equal(text.p, expected, 7);

    so_buffer_add(&one, "x", SIZE_MAX);
    assert_true(one.failed);
    assert_true(arena.failed);
    assert_null(so_buffer_str(&one).p);
    so_arena_free(&arena);
    assert_int_equal(counts.out, 0);
}

/* Fills an arena in every way; true if nothing failed. */
static bool use_everything(so_arena *arena)
{
    so_buffer buffer;

    so_buffer_init(&buffer, arena);
    void *small = so_arena_alloc(arena, 10);
    void *large = so_arena_zero(arena, 10000);
    for (int i = 0; i < 5000; i++)
        so_buffer_add_text(&buffer, "0123456789");
    so_str copy = so_arena_copy(arena, "0123456789", 10);
    so_str text = so_buffer_str(&buffer);
    bool all = small && large && copy.p && text.p;
    assert_int_equal(all, !arena->failed);
    assert_int_equal(buffer.failed, text.p == NULL);
    if (text.p)
        assert_int_equal(text.n, 50000);
    return all;
}

static void every_failed_allocation_is_seen_and_none_leaks(void **state)
{
    bool all = false;
    size_t fail_at;

    (void)state;
    for (fail_at = 1; !all; fail_at++)
    {
        counting counts = {.fail_at = fail_at};
        so_allocator allocator = {counting_alloc, counting_release, &counts};
        so_arena arena;

        so_arena_init(&arena, &allocator);
        all = use_everything(&arena);
        assert_int_equal(all, counts.calls < fail_at);
        so_arena_reset(&arena);
        assert_true(use_everything(&arena) || counts.calls >= fail_at);
        so_arena_free(&arena);
        assert_int_equal(counts.out, 0);
    }
    assert_uint_in_range(fail_at, 5, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_before_the_first_use),
        cmocka_unit_test(pieces_are_aligned_apart_and_given_back),
        cmocka_unit_test(the_kept_block_serves_the_next_call),
        cmocka_unit_test(sizes_that_no_memory_has_are_refused),
        cmocka_unit_test(copies_end_in_a_nul_and_keep_every_byte),
        cmocka_unit_test(texts_compare_by_bytes),
        cmocka_unit_test(a_buffer_grows_and_keeps_what_it_has),
        cmocka_unit_test(every_failed_allocation_is_seen_and_none_leaks),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
