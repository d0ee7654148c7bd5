/*
 * One fault: the Nth chance of a run fails, alone or with all that follow. The shims (memory.c, storage.c)
 * ask at each chance; a run (run.c) sets the fault and looks whether it struck.
 */
#ifndef FT_FAULT_H
#define FT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ft_source
{
    FT_MEMORY,  /* allocations */
    FT_STORAGE, /* calls of the file system, each with its own error */
    FT_FULL     /* writes, all with SQLITE_FULL */
} ft_source;

enum
{
    FT_CODES = 16
};

typedef struct ft_fault
{
    ft_source source;
    int64_t at;    /* the chance that fails; 0: none, count only */
    bool lasting;  /* and all after it, until ft_fault_end() */
    bool paused;   /* what the harness does itself is no chance */
    int64_t count; /* chances so far */
    bool struck;
    bool over;
    int codes[FT_CODES]; /* the different errors that were given */
    int code_count;
    const char *what; /* the call that failed first */
} ft_fault;

extern ft_fault ft_the_fault;

void ft_fault_begin(ft_source source, int64_t at, bool lasting);

/* From now on nothing fails. */
void ft_fault_end(void);

/* Whether this chance fails, with `code`; `what` names the call. */
bool ft_fault_strikes(ft_source source, const char *what, int code);

/* Whether a chance has failed with `code`. */
bool ft_fault_gave(int code);

/* Puts the shim between SQLite and its allocator; before anything else is called. False if SQLite refuses. */
bool ft_memory_install(void);

/* Pieces that are allocated now. */
int64_t ft_memory_pieces(void);

/* Registers a file system over the default one, as the default: it asks for faults, and syncs nothing. */
bool ft_storage_install(void);

#endif
