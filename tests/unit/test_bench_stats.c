/*
 * The load generator's arithmetic and its command line: a wrong percentile or a silently ignored option would
 * make every published number wrong.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "../bench/plan.h"
#include "../bench/stats.h"

#define assert_near(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

/* Percentiles are by nearest rank: always a value that was measured, never one between two. */
static void test_percentile_takes_nearest_rank(void **state)
{
    (void)state;
    const uint32_t five[] = {15, 20, 35, 40, 50};
    assert_int_equal(so_bench_percentile(five, 5, 5), 15);
    assert_int_equal(so_bench_percentile(five, 5, 20), 15);
    assert_int_equal(so_bench_percentile(five, 5, 30), 20);
    assert_int_equal(so_bench_percentile(five, 5, 40), 20);
    assert_int_equal(so_bench_percentile(five, 5, 50), 35);
    assert_int_equal(so_bench_percentile(five, 5, 100), 50);
}

/* A rank that is a whole number is not rounded up by floating point. */
static void test_percentile_of_a_round_number(void **state)
{
    (void)state;
    uint32_t values[1000];
    for (uint32_t i = 0; i < 1000; i++)
        values[i] = i + 1;
    for (int percent = 1; percent <= 100; percent++)
    {
        assert_int_equal(so_bench_percentile(values, 100, percent), percent);
        assert_int_equal(so_bench_percentile(values, 1000, percent), percent * 10);
    }
}

static void test_percentile_of_little(void **state)
{
    (void)state;
    const uint32_t one[] = {7};
    assert_int_equal(so_bench_percentile(one, 0, 50), 0);
    assert_int_equal(so_bench_percentile(one, 1, 1), 7);
    assert_int_equal(so_bench_percentile(one, 1, 99), 7);
}

static void test_latency_is_in_milliseconds(void **state)
{
    (void)state;
    uint32_t values[] = {4000, 1000, 3000, 2000};
    so_bench_sort(values, 4);
    so_bench_latency latency = so_bench_latency_of(values, 4);
    assert_near(latency.p50, 2.0);
    assert_near(latency.p95, 4.0);
    assert_near(latency.p99, 4.0);
    assert_near(latency.min, 1.0);
    assert_near(latency.max, 4.0);
    latency = so_bench_latency_of(values, 0);
    assert_near(latency.max, 0);
}

static void test_range_of_repetitions(void **state)
{
    (void)state;
    const double odd[] = {30, 10, 20}, even[] = {4, 1, 2, 8}, equal[] = {5, 5, 5, 1};
    so_bench_range range = so_bench_range_of(odd, 3);
    assert_near(range.median, 20);
    assert_near(range.min, 10);
    assert_near(range.max, 30);
    assert_near(so_bench_range_of(even, 4).median, 3);
    assert_near(so_bench_range_of(equal, 4).median, 5);
    assert_near(so_bench_range_of(odd, 1).median, 30);
    assert_near(so_bench_range_of(odd, 0).median, 0);
}

/* Fairness: throughput of the slowest client over that of the fastest; a starved client makes it 0. */
static void test_fairness(void **state)
{
    (void)state;
    const so_bench_share even[] = {{100, 1}, {200, 2}}, starved[] = {{100, 1}, {0, 1}},
                         half[] = {{100, 2}, {100, 1}};
    const so_bench_share idle[] = {{0, 1}, {0, 0}};
    assert_near(so_bench_fairness(even, 2), 1);
    assert_near(so_bench_fairness(starved, 2), 0);
    assert_near(so_bench_fairness(half, 2), 0.5);
    assert_near(so_bench_fairness(half, 1), 1);
    assert_near(so_bench_fairness(idle, 2), 0);
    assert_near(so_bench_fairness(even, 0), 0);
}

static void test_microseconds_round_and_stay_within_their_type(void **state)
{
    (void)state;
    assert_int_equal(so_bench_microseconds(-5), 0);
    assert_int_equal(so_bench_microseconds(1499), 1);
    assert_int_equal(so_bench_microseconds(1500), 2);
    assert_int_equal(so_bench_microseconds(INT64_C(7200) * 1000000000), UINT32_MAX);
}

/* What verification expects of each actor agrees with the keys that the clients used. */
static void test_in_turn_agrees_with_the_keys(void **state)
{
    (void)state;
    const uint64_t totals[] = {0, 1, 99, 100, 101, 250, 12345};
    so_bench_cell cell = {.shape = SO_BENCH_WARM_MANY};
    unsigned actors = so_bench_cell_actors(&cell);
    assert_int_equal(actors, SO_BENCH_ACTORS);
    for (int64_t seed = 0; seed < 3; seed++)
        for (size_t t = 0; t < sizeof totals / sizeof totals[0]; t++)
        {
            uint64_t counted[SO_BENCH_ACTORS] = {0};
            char key[64], known[64];
            for (uint64_t number = 0; number < totals[t]; number++)
            {
                so_bench_cell_key(&cell, seed, number, key);
                for (unsigned actor = 0; actor < actors; actor++)
                {
                    so_bench_actor_key(cell.shape, actor, known);
                    counted[actor] += strcmp(key, known) == 0;
                }
            }
            for (unsigned actor = 0; actor < actors; actor++)
                assert_int_equal(counted[actor], so_bench_in_turn(totals[t], actors,
                                                                  so_bench_cell_offset(&cell, seed), actor));
        }
}

/* Each operation of the cold shape has a key of its own, and another seed has other keys. */
static void test_cold_keys_differ(void **state)
{
    (void)state;
    enum
    {
        KEYS = 2000
    };
    static char keys[KEYS][64];
    so_bench_cell cell = {.shape = SO_BENCH_COLD_MANY};
    char other[64];
    assert_int_equal(so_bench_cell_actors(&cell), 0);
    for (uint64_t i = 0; i < KEYS; i++)
        so_bench_cell_key(&cell, 1, i, keys[i]);
    for (int i = 0; i < KEYS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    so_bench_cell_key(&cell, 2, 0, other);
    assert_string_not_equal(keys[0], other);
}

static int read_words(so_bench_plan *plan, so_bench_command command, const char *line, so_bench_error *err)
{
    static char text[500];
    char *words[30];
    int count = 0;
    memset(err, 0, sizeof *err);
    strncpy(text, line, sizeof text - 1);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    return so_bench_plan_read(plan, command, count, words, err);
}

static void test_plan_defaults(void **state)
{
    (void)state;
    so_bench_plan plan;
    so_bench_error err;
    assert_int_equal(read_words(&plan, SO_BENCH_MATRIX, "--db sqlite:x", &err), 0);
    assert_string_equal(plan.db, "sqlite:x");
    assert_int_equal(plan.shapes, 7);
    assert_int_equal(plan.handlers, 3);
    assert_int_equal(plan.paths, 3);
    assert_int_equal(plan.topologies, 3);
    assert_int_equal(plan.concurrency[0], 1);
    assert_int_equal(plan.concurrency[1], 16);
    assert_int_equal(plan.concurrency[2], 0);
    assert_int_equal(plan.warmup, 200);
    assert_int_equal(plan.repetitions, 3);
    assert_int_equal(plan.cell.exactly, 0);
    assert_int_equal(plan.cell.least_operations, 10000);
    assert_near(plan.cell.least_seconds, 2);
    assert_near(plan.floor.least_seconds, 2);
}

static void test_plan_quick_and_what_overrides_it(void **state)
{
    (void)state;
    so_bench_plan plan;
    so_bench_error err;
    assert_int_equal(read_words(&plan, SO_BENCH_MATRIX, "--quick --db sqlite:x", &err), 0);
    assert_int_equal(plan.warmup, 50);
    assert_int_equal(plan.repetitions, 1);
    assert_int_equal(plan.cell.least_operations, 0);
    assert_near(plan.cell.least_seconds, 1);
    assert_near(plan.floor.least_seconds, 0.7);
    assert_int_equal(
        read_words(&plan, SO_BENCH_MATRIX, "--operations=250 --warmup 25 --quick --db=sqlite:x", &err), 0);
    assert_int_equal(plan.cell.exactly, 250);
    assert_int_equal(plan.floor.exactly, 250);
    assert_int_equal(plan.warmup, 25);
}

static void test_plan_narrows_axes(void **state)
{
    (void)state;
    so_bench_plan plan;
    so_bench_error err;
    assert_int_equal(read_words(&plan, SO_BENCH_MATRIX,
                                "--db sqlite:x --shapes cold-many,warm-hot,cold-many --handlers synchronous "
                                "--topologies four-processes --concurrency 3,3,200 --paths call --seed 0",
                                &err),
                     0);
    assert_int_equal(plan.shapes, 1u << SO_BENCH_COLD_MANY | 1u << SO_BENCH_WARM_HOT);
    assert_int_equal(plan.handlers, 1u << SO_BENCH_SYNCHRONOUS);
    assert_int_equal(plan.topologies, 1u << SO_BENCH_FOUR_PROCESSES);
    assert_int_equal(plan.paths, 1u << SO_BENCH_CALL);
    assert_int_equal(plan.concurrency[0], 3);
    assert_int_equal(plan.concurrency[1], 200);
    assert_int_equal(plan.concurrency[2], 0);
    assert_int_equal(plan.seed, 0);
}

/* A refusal names the option that is wrong. */
static void test_plan_refusals_name_the_option(void **state)
{
    (void)state;
    static const struct
    {
        const char *line, *option;
        so_bench_command command;
    } refused[] = {
        {"", "--db", SO_BENCH_MATRIX},
        {"--db", "--db", SO_BENCH_MATRIX},
        {"--db=", "--db", SO_BENCH_MATRIX},
        {"--db x --shapes warm", "--shapes", SO_BENCH_MATRIX},
        {"--db x --shapes warm-hot,", "--shapes", SO_BENCH_MATRIX},
        {"--db x --handlers Synchronous", "--handlers", SO_BENCH_MATRIX},
        {"--db x --paths floor", "--paths", SO_BENCH_MATRIX},
        {"--db x --topologies two-processes", "--topologies", SO_BENCH_MATRIX},
        {"--db x --concurrency 0", "--concurrency", SO_BENCH_MATRIX},
        {"--db x --concurrency 1,,2", "--concurrency", SO_BENCH_MATRIX},
        {"--db x --concurrency 257", "--concurrency", SO_BENCH_MATRIX},
        {"--db x --concurrency 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "--concurrency", SO_BENCH_MATRIX},
        {"--db x --operations 0", "--operations", SO_BENCH_MATRIX},
        {"--db x --operations 1e3", "--operations", SO_BENCH_MATRIX},
        {"--db x --operations +5", "--operations", SO_BENCH_MATRIX},
        {"--db x --operations 99999999999999999999", "--operations", SO_BENCH_MATRIX},
        {"--db x --warmup -1", "--warmup", SO_BENCH_MATRIX},
        {"--db x --repetitions 101", "--repetitions", SO_BENCH_MATRIX},
        {"--db x --seed x", "--seed", SO_BENCH_MATRIX},
        {"--db x --workload cart-outbox", "--workload", SO_BENCH_MATRIX},
        {"--db x --handlers asynchronous --paths call", "--paths", SO_BENCH_MATRIX},
        {"--db x --quick=yes", "--quick", SO_BENCH_MATRIX},
        {"--db x --nonsense 1", "--nonsense", SO_BENCH_MATRIX},
        {"--db x stray", "stray", SO_BENCH_MATRIX},
        {"--db x --shapes warm-hot", "--shapes", SO_BENCH_WAKE},
        {"--db x --samples 4", "--samples", SO_BENCH_WAKE},
        {"--db x --operations 5", "--operations", SO_BENCH_STATE},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    {
        so_bench_plan plan;
        so_bench_error err;
        assert_int_equal(read_words(&plan, refused[i].command, refused[i].line, &err), -1);
        assert_memory_equal(err.text, refused[i].option, strlen(refused[i].option));
    }
}

static void test_names_list_what_is_known(void **state)
{
    (void)state;
    const char *const names[] = {"one", "two", NULL};
    unsigned bits = 9;
    so_bench_error err = {0};
    assert_int_equal(so_bench_names_read("--durability", "two", names, &bits, &err), 0);
    assert_int_equal(bits, 2);
    assert_int_equal(so_bench_names_read("--durability", "two,three", names, &bits, &err), -1);
    assert_int_equal(bits, 2);
    assert_string_equal(err.text, "--durability: 'three' is not one of one, two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentile_takes_nearest_rank),
        cmocka_unit_test(test_percentile_of_a_round_number),
        cmocka_unit_test(test_percentile_of_little),
        cmocka_unit_test(test_latency_is_in_milliseconds),
        cmocka_unit_test(test_range_of_repetitions),
        cmocka_unit_test(test_fairness),
        cmocka_unit_test(test_microseconds_round_and_stay_within_their_type),
        cmocka_unit_test(test_in_turn_agrees_with_the_keys),
        cmocka_unit_test(test_cold_keys_differ),
        cmocka_unit_test(test_plan_defaults),
        cmocka_unit_test(test_plan_quick_and_what_overrides_it),
        cmocka_unit_test(test_plan_narrows_axes),
        cmocka_unit_test(test_plan_refusals_name_the_option),
        cmocka_unit_test(test_names_list_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
