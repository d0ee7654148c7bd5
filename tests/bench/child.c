#include "child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void interrupt_note(int number) { interrupted = number; }

void so_bench_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = interrupt_note};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool so_bench_interrupted(void) { return interrupted != 0; }

void *so_bench_shared_new(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void so_bench_shared_free(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

void so_bench_child_status(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

int so_bench_child_fork(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return 0;
}

/* Waits until nobody holds the pipe's other end any more, that is, until all processes of the child are gone.
 */
static void end_wait(int pipe_end, pid_t group, so_bench_tick *tick, void *tick_context)
{
    bool killed = false;
    for (;;)
    {
        struct pollfd end = {.fd = pipe_end, .events = POLLIN};
        if (poll(&end, 1, 100) > 0)
            return;
        if (!killed && (interrupted || (tick && tick(tick_context) != 0)))
        {
            kill(-group, SIGKILL);
            killed = true;
        }
    }
}

int so_bench_child_run(int (*body)(void *context), void *context, so_bench_error *told, so_bench_tick *tick,
                       void *tick_context, so_bench_error *err)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return so_bench_fail(err, "no pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = so_bench_child_fork();
    if (pid == 0)
    {
        setpgid(0, 0);
        close(ends[0]);
        _exit(body(context) == 0 ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0)
    {
        close(ends[0]);
        return so_bench_fail(err, "no process: %s", strerror(errno));
    }
    setpgid(pid, pid); /* on both sides: whoever comes first */
    end_wait(ends[0], pid, tick, tick_context);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && told->text[0] == '\0')
        return 0;
    char how[100];
    so_bench_child_status(status, how, sizeof how);
    if (interrupted)
        return so_bench_fail(err, "interrupted");
    if (told->text[0])
        return so_bench_fail(err, "%s", told->text);
    return so_bench_fail(err, "the process of the clients %s", how);
}
