/*
 * Work in a forked process: the load generator itself never opens a database, so nothing of one crosses a
 * fork.
 */
#ifndef SO_BENCH_CHILD_H
#define SO_BENCH_CHILD_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* Memory that forked processes share, zeroed, taken only as far as it is touched. NULL when there is none. */
void *so_bench_shared_new(size_t size);
void so_bench_shared_free(void *memory, size_t size);

/* Called about ten times a second while a child runs. Returning non-zero ends it by force. */
typedef int so_bench_tick(void *context);

/*
 * Forks, runs body(context) in a process group of its own, and waits until that process and all it forked are
 * gone. 0 when body returned 0. -1 with the error filled otherwise; the child's own error, if it left one in
 * *told (which must lie in shared memory), is what counts. tick may be NULL.
 */
int so_bench_child_run(int (*body)(void *context), void *context, so_bench_error *told, so_bench_tick *tick,
                       void *tick_context, so_bench_error *err);

/* In a child that forks: forks, with the parent's death as its own. As fork(). */
int so_bench_child_fork(void);

/* What a wait status other than a good end means, for instance "was killed by signal 11 (Segmentation
 * fault)". */
void so_bench_child_status(int status, char *text, size_t size);

/* From here on SIGINT and SIGTERM end the running child by force; so_bench_interrupted() says so. */
void so_bench_interrupt_catch(void);
bool so_bench_interrupted(void);

#endif
