/*
 * The doorbell and the gate. See doorbell.h.
 *
 * Linux futexes on words of a shared mapping. A count is bumped before its waiters are woken, and a waiter
 * sleeps only while the count is what it read before it looked, so a ring between its look and its sleep is
 * not lost.
 */
#include "doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

enum
{
    SO_DOORBELL_MAGIC = 0x736f6231, /* "sob1" */
    SO_MESSAGE_BELLS = 256,
    SO_GATE_SLOTS = 256,
    SO_GATE_LOOK_MS = 10,  /* how long a waiter sleeps before it looks whether the served one lives */
    SO_GATE_PASS_MS = 250, /* how long the served one may take before the next one goes as well */
    SO_GATE_SPIN_US = 60,  /* how long the next one in line stays awake */
    SO_PATH_BYTES = 4096
};

typedef struct so_bell_word
{
    atomic_uint count;
    atomic_uint waiting;
    atomic_uint picky;
    atomic_int awake; /* workers that will look again before they sleep */
} so_bell_word;

typedef struct so_gate_slot
{
    atomic_uint word;   /* bumped to wake the ticket of this slot */
    atomic_int process; /* who took the ticket */
    atomic_uint awake;  /* its owner is spinning, there is nobody to wake */
    atomic_uint unused;
} so_gate_slot;

/* The file. */
typedef struct so_doorbell_file
{
    atomic_uint magic;
    atomic_int worker; /* the process that slept or woke last as a worker that takes all work, 0: it left */
    atomic_uint unused[10];
    _Atomic int64_t noted_created_ms;
    _Atomic int64_t noted;
    so_bell_word work[2];
    atomic_uint gate_next;
    atomic_uint unused_next[15];
    atomic_uint gate_serving;
    atomic_uint unused_serving[15];
    so_bell_word messages[SO_MESSAGE_BELLS];
    _Atomic int64_t last[SO_MESSAGE_BELLS]; /* the newest message that each of them rang for */
    so_gate_slot slots[SO_GATE_SLOTS];
} so_doorbell_file;

struct so_doorbell
{
    so_doorbell_file *file;
};

_Static_assert(offsetof(so_doorbell_file, noted) == 56, "the layout is the same in every process");

static long so_futex(atomic_uint *word, int operation, unsigned value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static int64_t so_monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t so_monotonic_ms(void) { return so_monotonic_us() / 1000; }

/* False: the time is up. */
static bool so_sleep_on(atomic_uint *word, unsigned value, int64_t milliseconds)
{
    struct timespec timeout = {.tv_sec = (time_t)(milliseconds / 1000),
                               .tv_nsec = (long)(milliseconds % 1000) * 1000000L};
    return so_futex(word, FUTEX_WAIT, value, &timeout) == 0 || errno != ETIMEDOUT;
}

/*
 * Makes the file as long as it has to be, with all of its blocks: touching a mapped page that a full disk has
 * no block for kills the process. Where the file system cannot reserve blocks, the length has to do.
 */
static bool so_doorbell_has_room(int fd, off_t length)
{
    int rc;
    do
        rc = fallocate(fd, 0, 0, sizeof(so_doorbell_file));
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return true;
    return (errno == EOPNOTSUPP || errno == ENOSYS) &&
           (length >= (off_t)sizeof(so_doorbell_file) || ftruncate(fd, sizeof(so_doorbell_file)) == 0);
}

/* Opens or creates the file, as long as it has to be; -1 if that is not possible. */
static int so_doorbell_file_open(const char *path, char name[SO_PATH_BYTES])
{
    struct stat database;
    struct stat bell;
    int n = snprintf(name, SO_PATH_BYTES, "%s-solidobj", path);
    if (n < 0 || n >= SO_PATH_BYTES || stat(path, &database) != 0)
        return -1;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, database.st_mode & 0777);
    if (fd < 0)
        return -1;
    unsigned magic = 0;
    bool usable = fstat(fd, &bell) == 0 && S_ISREG(bell.st_mode) && bell.st_nlink == 1;
    /* A file of another length that does not begin as ours is not a damaged doorbell but somebody's file. */
    if (usable && bell.st_size != 0 && bell.st_size != (off_t)sizeof(so_doorbell_file))
        usable = pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic && magic == SO_DOORBELL_MAGIC;
    if (usable && bell.st_size < (off_t)sizeof(so_doorbell_file))
    {
        /* Ours to make: permissions and owner are the database's, whatever the umask says. */
        if (fchmod(fd, database.st_mode & 0777) != 0 || fchown(fd, database.st_uid, database.st_gid) != 0)
            usable = errno == EPERM;
    }
    usable = usable && so_doorbell_has_room(fd, bell.st_size);
    if (usable)
        return fd;
    close(fd);
    return -1;
}

/* Maps the file; NULL if it is not one of ours. */
static so_doorbell_file *so_doorbell_map(int fd)
{
    void *memory = mmap(NULL, sizeof(so_doorbell_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    so_doorbell_file *file = memory;
    unsigned magic = 0;
    if (atomic_compare_exchange_strong(&file->magic, &magic, SO_DOORBELL_MAGIC) || magic == SO_DOORBELL_MAGIC)
        return file;
    munmap(memory, sizeof(so_doorbell_file));
    return NULL;
}

so_doorbell *so_doorbell_open(const char *path)
{
    char name[SO_PATH_BYTES];
    so_doorbell_file *file = NULL;
    if (path == NULL || path[0] == 0)
        return NULL;
    /* One that is damaged is replaced; who still has it mapped polls. */
    for (int tries = 0; tries < 2 && file == NULL; tries++)
    {
        int fd = so_doorbell_file_open(path, name);
        if (fd < 0)
            return NULL;
        file = so_doorbell_map(fd);
        close(fd);
        if (file == NULL && unlink(name) != 0)
            return NULL;
    }
    so_doorbell *doorbell = file == NULL ? NULL : sqlite3_malloc64(sizeof *doorbell);
    if (doorbell != NULL)
        doorbell->file = file;
    else if (file != NULL)
        munmap(file, sizeof(so_doorbell_file));
    return doorbell;
}

void so_doorbell_close(so_doorbell *doorbell)
{
    if (doorbell == NULL)
        return;
    munmap(doorbell->file, sizeof(so_doorbell_file));
    sqlite3_free(doorbell);
}

static so_bell_word *so_bell_of(const so_doorbell *doorbell, so_bell bell, int64_t message)
{
    so_doorbell_file *file = doorbell->file;
    return bell == SO_BELL_MESSAGE ? &file->messages[message & (SO_MESSAGE_BELLS - 1)] : &file->work[bell];
}

uint32_t so_doorbell_count(const so_doorbell *doorbell, const so_waiting *waiting)
{
    return atomic_load(&so_bell_of(doorbell, waiting->bell, waiting->message)->count);
}

bool so_doorbell_wait(so_doorbell *doorbell, const so_waiting *waiting, uint32_t count, int64_t milliseconds)
{
    so_bell_word *word = so_bell_of(doorbell, waiting->bell, waiting->message);
    atomic_fetch_add(&word->waiting, 1);
    if (waiting->picky)
        atomic_fetch_add(&word->picky, 1);
    else if (waiting->bell == SO_BELL_RUN)
        atomic_store(&doorbell->file->worker, getpid());
    bool woken = so_sleep_on(&word->count, count, milliseconds);
    if (waiting->picky)
        atomic_fetch_sub(&word->picky, 1);
    atomic_fetch_sub(&word->waiting, 1);
    return woken;
}

void so_doorbell_awake(so_doorbell *doorbell, so_bell bell, bool awake)
{
    so_bell_word *word = so_bell_of(doorbell, bell, 0);
    int worker = getpid();
    if (awake)
    {
        atomic_fetch_add(&word->awake, 1);
        atomic_store(&doorbell->file->worker, worker);
        return;
    }
    atomic_compare_exchange_strong(&doorbell->file->worker, &worker, 0);
    if (atomic_fetch_sub(&word->awake, 1) <= 0)
        atomic_store(&word->awake, 0);
}

static bool so_process_dead(int process) { return kill(process, 0) != 0 && errno == ESRCH; }

/* Whoever was killed is counted for ever; those who live say so again within a slice of their sleep. */
bool so_doorbell_attended(const so_doorbell *doorbell, so_bell bell)
{
    const so_bell_word *word = so_bell_of(doorbell, bell, 0);
    if (atomic_load(&word->awake) <= 0 && atomic_load(&word->waiting) <= atomic_load(&word->picky))
        return false;
    int worker = atomic_load(&doorbell->file->worker);
    return worker != 0 && !so_process_dead(worker);
}

void so_doorbell_nobody_awake(so_doorbell *doorbell, so_bell bell)
{
    atomic_store(&so_bell_of(doorbell, bell, 0)->awake, 0);
}

bool so_doorbell_rung(const so_doorbell *doorbell, int64_t message)
{
    return atomic_load(&doorbell->file->last[message & (SO_MESSAGE_BELLS - 1)]) >= message;
}

void so_doorbell_ring(so_doorbell *doorbell, so_bell bell, int64_t message, bool everybody)
{
    so_bell_word *word = so_bell_of(doorbell, bell, message);
    if (bell == SO_BELL_MESSAGE)
    {
        _Atomic int64_t *last = &doorbell->file->last[message & (SO_MESSAGE_BELLS - 1)];
        int64_t before = atomic_load(last);
        while (before < message && !atomic_compare_exchange_weak(last, &before, message))
            ;
    }
    atomic_fetch_add(&word->count, 1);
    if (atomic_load(&word->waiting) == 0)
        return;
    if (atomic_load(&word->awake) > 0 && atomic_load(&word->picky) == 0 && !everybody)
        return;
    bool all = everybody || bell == SO_BELL_MESSAGE || atomic_load(&word->picky) > 0;
    so_futex(&word->count, FUTEX_WAKE, all ? INT32_MAX : 1, NULL);
}

void so_doorbell_note(so_doorbell *doorbell, int64_t message, int64_t created_ms)
{
    atomic_store(&doorbell->file->noted_created_ms, created_ms);
    atomic_store(&doorbell->file->noted, message);
}

int64_t so_doorbell_noted(const so_doorbell *doorbell, int64_t *created_ms)
{
    *created_ms = atomic_load(&doorbell->file->noted_created_ms);
    return atomic_load(&doorbell->file->noted);
}

/* Wakes the owner of a ticket, if there is one and it sleeps. */
static void so_gate_wake(so_doorbell_file *file, unsigned ticket)
{
    so_gate_slot *slot = &file->slots[ticket % SO_GATE_SLOTS];
    if ((int)(atomic_load(&file->gate_next) - ticket) <= 0 || atomic_load(&slot->awake) != 0)
        return;
    atomic_fetch_add(&slot->word, 1);
    so_futex(&slot->word, FUTEX_WAKE, INT32_MAX, NULL);
}

/* Serves the ticket after `ticket`, unless somebody did. */
static void so_gate_serve_next(so_doorbell_file *file, unsigned ticket)
{
    unsigned serving = ticket;
    if (atomic_compare_exchange_strong(&file->gate_serving, &serving, ticket + 1))
        so_gate_wake(file, ticket + 1);
}

/*
 * The next one in line does not sleep: a thread that has to be woken from an idle processor costs more than
 * the transaction it waits for. It yields, so that whoever else can run does.
 */
static bool so_gate_on_deck(so_doorbell_file *file, so_gate_slot *slot, unsigned ticket)
{
    int64_t end = so_monotonic_us() + SO_GATE_SPIN_US;
    atomic_store(&slot->awake, 1);
    while ((int)(ticket - atomic_load(&file->gate_serving)) > 0 && so_monotonic_us() < end)
        sched_yield();
    atomic_store(&slot->awake, 0);
    /* Whoever served us while we looked awake has not woken us. */
    return (int)(ticket - atomic_load(&file->gate_serving)) <= 0;
}

/* Passes tickets whose owners are dead, and one that is held for too long. */
static void so_gate_unblock(so_doorbell_file *file, unsigned ticket, unsigned *served, int64_t *since)
{
    for (;;)
    {
        unsigned serving = atomic_load(&file->gate_serving);
        if ((int)(ticket - serving) <= 0)
            return;
        int64_t now = so_monotonic_ms();
        if (serving != *served)
        {
            *served = serving;
            *since = now;
        }
        int process = atomic_load(&file->slots[serving % SO_GATE_SLOTS].process);
        bool dead = process == 0 || so_process_dead(process);
        if (!dead && now - *since < SO_GATE_PASS_MS)
            return;
        so_gate_serve_next(file, serving);
    }
}

uint32_t so_gate_enter(so_doorbell *doorbell)
{
    so_doorbell_file *file = doorbell->file;
    unsigned ticket = atomic_fetch_add(&file->gate_next, 1);
    so_gate_slot *slot = &file->slots[ticket % SO_GATE_SLOTS];
    atomic_store(&slot->process, getpid());
    unsigned served = atomic_load(&file->gate_serving);
    int64_t since = so_monotonic_ms();
    /* More waiters than slots, or a counter from another life: do without, and move the counter on. */
    if (ticket - served >= SO_GATE_SLOTS)
    {
        atomic_compare_exchange_strong(&file->gate_serving, &served, ticket + 1);
        return ticket;
    }
    for (;;)
    {
        unsigned word = atomic_load(&slot->word);
        int ahead = (int)(ticket - atomic_load(&file->gate_serving));
        if (ahead <= 0 || (ahead == 1 && so_gate_on_deck(file, slot, ticket)))
            return ticket;
        if (!so_sleep_on(&slot->word, word, SO_GATE_LOOK_MS))
            so_gate_unblock(file, ticket, &served, &since);
    }
}

void so_gate_leave(so_doorbell *doorbell, uint32_t ticket)
{
    so_gate_serve_next(doorbell->file, ticket);
    /* The one after next gets ready: waking it takes longer than the transaction that it waits for. */
    so_gate_wake(doorbell->file, ticket + 2);
}
