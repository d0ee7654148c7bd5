/*
 * Before and after the clients: the fresh database with its warm actors, and the check of every counter and
 * every history row against what the operations must have left. Both run in a forked process, with the arena
 * as context.
 */
#ifndef SO_BENCH_VERIFY_H
#define SO_BENCH_VERIFY_H

/* 0, or -1 with the arena's error filled. */
int so_bench_prepare(void *arena);
int so_bench_verify(void *arena);

#endif
