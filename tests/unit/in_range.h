/*
 * assert_uint_in_range(), which cmocka 1 calls assert_in_range() and cmocka 2 does not want to be called so
 * any more. Include after cmocka.h.
 */
#ifndef SO_TEST_IN_RANGE_H
#define SO_TEST_IN_RANGE_H

#ifndef assert_uint_in_range
#define assert_uint_in_range(value, minimum, maximum) assert_in_range(value, minimum, maximum)
#endif

#endif
