/*
 * A test's steps, one after the other; what runs in the background has a thread of its own until it is
 * joined.
 */
#include "run.h"

#include "expect.h"
#include "invariants.h"
#include "scope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    SESSIONS = 26,
    JOIN_SECONDS = 30
};

/* A statement of a step, ready to run. */
typedef struct work
{
    const cf_driver *driver;
    cf_session *session;
    const cf_step *step;
    char *sql;
    cf_value *values;
    size_t count;
    cf_result result;
} work;

typedef struct connection
{
    cf_session *session; /* NULL: not open */
    pthread_t thread;
    work *background; /* running, until joined */
} connection;

typedef struct run
{
    const cf_options *options;
    const cf_suite *suite;
    const cf_test *test;
    cf_database *database;
    connection connections[SESSIONS];
    cf_scope scope;
    char *problem;
    bool missing;     /* a function of the product is */
    const char *file; /* where the problem is */
    int line;
} run;

static void fail(run *r, const cf_step *step, int line, char *problem)
{
    if (r->problem)
    {
        free(problem);
        return;
    }
    r->problem = problem;
    r->file = step ? step->file : r->test->file;
    r->line = line;
}

static connection *connect_session(run *r, const cf_step *step, char name, const char *options)
{
    connection *c = &r->connections[name - 'A'];
    char *error = NULL;

    if (!c->session)
        c->session = r->options->driver->open(r->database, options, &error);
    if (!c->session)
        fail(r, step, step ? step->line : r->test->line, error);
    return c->session ? c : NULL;
}

static void work_free(work *w)
{
    for (size_t i = 0; i < w->count; i++)
        cf_value_free(&w->values[i]);
    free(w->values);
    free(w->sql);
    cf_result_free(&w->result);
    free(w);
}

static void work_do(work *w)
{
    if (w->step->kind == CF_STEP_CALL)
        w->driver->call(w->session, w->sql, w->values, w->count, &w->result);
    else
        w->driver->run(w->session, w->sql, w->values, w->count, &w->result);
}

static void *work_thread(void *argument)
{
    work_do(argument);
    return NULL;
}

/* What came, against the step that says what should have come. */
static void judge(run *r, const cf_step *step, const work *w)
{
    cf_value answer = w->step->kind == CF_STEP_ROWS ? cf_answer_rows(&w->result) : cf_answer_cell(&w->result);
    int line;
    char *problem = cf_expect(step, &w->result, &answer, &r->scope, &line);

    r->missing = r->missing || w->result.missing;

    if (problem)
        fail(r, step, line, problem);
    cf_value_free(&answer);
}

/* Runs `text` for the step, in its session, in the background if it says so. */
static void execute(run *r, const cf_step *step, const char *text)
{
    char *error = NULL;
    work *w = cf_alloc(sizeof(*w));
    connection *c = connect_session(r, step, step->session, "");

    w->driver = r->options->driver;
    w->step = step;
    w->sql = c ? cf_scope_sql(&r->scope, w->driver, text, &w->values, &w->count, &error) : NULL;
    if (c && c->background)
        error = cf_format("session %c is busy in the background", step->session);
    if (!c || error)
    {
        if (error)
            fail(r, step, step->line, error);
        work_free(w);
        return;
    }
    w->session = c->session;
    if (step->background)
    {
        c->background = w;
        if (pthread_create(&c->thread, NULL, work_thread, w))
            abort();
        return;
    }
    work_do(w);
    judge(r, step, w);
    work_free(w);
}

/* Waits for a session's background work; what does not end in time is told to stop, and is a failure. */
static work *join_session(run *r, const cf_step *step, connection *c)
{
    struct timespec until;
    work *w = c->background;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += JOIN_SECONDS;
    if (pthread_timedjoin_np(c->thread, NULL, &until))
    {
        r->options->driver->cancel(c->session);
        pthread_join(c->thread, NULL);
        fail(r, step, step ? step->line : r->test->line,
             cf_format("no answer after %d s, stopped", JOIN_SECONDS));
    }
    c->background = NULL;
    return w;
}

static connection *named_session(run *r, const cf_step *step)
{
    char name = step->text[0];

    if (name < 'A' || name > 'Z' || (step->text[1] && step->text[1] != ' ') ||
        !r->connections[name - 'A'].session)
    {
        fail(r, step, step->line, cf_format("no such session: %s", step->text));
        return NULL;
    }
    return &r->connections[name - 'A'];
}

/* ---- one function per kind of step ------------------------------------------------------------------ */

static void step_call(run *r, const cf_step *step) { execute(r, step, step->text); }

static void step_sql(run *r, const cf_step *step)
{
    const char *text = step->dialect[r->options->dialect];

    execute(r, step, text ? text : step->text);
}

/* handler TYPE OPERATION [OPTIONS]: so_define_operation with this dialect's text. */
static void step_handler(run *r, const cf_step *step)
{
    const char *text = step->dialect[r->options->dialect];
    size_t type = strcspn(step->text, " ");
    const char *name = step->text + type + strspn(step->text + type, " ");
    size_t length = strcspn(name, " ");
    const char *options = name + length + strspn(name + length, " ");
    cf_step call = *step;

    cf_scope_set(&r->scope, "handler_type", 12, cf_value_text(step->text, type));
    cf_scope_set(&r->scope, "handler_name", 12, cf_value_text(name, length));
    cf_scope_set(&r->scope, "handler_text", 12, cf_value_text(text, strlen(text)));
    cf_scope_set(&r->scope, "handler_options", 15,
                 cf_value_text(*options ? options : "{}", *options ? strlen(options) : 2));
    call.kind = CF_STEP_CALL;
    execute(r, &call, "so_define_operation($handler_type, $handler_name, $handler_text, $handler_options)");
}

static void step_clock(run *r, const cf_step *step)
{
    cf_step call = *step;
    char *end;
    long ms = strtol(step->text, &end, 10);
    char *text = cf_format("so_test_clock(%ld)", ms);

    call.kind = CF_STEP_CALL;
    if (end == step->text || *end)
        fail(r, step, step->line, cf_format("not a number of milliseconds: %s", step->text));
    else
        execute(r, &call, text);
    free(text);
}

static void step_transaction(run *r, const cf_step *step)
{
    static const char *const verbs[] = {"begin",      "commit",       "rollback",
                                        "savepoint ", "rollback to ", "release "};

    for (size_t i = sizeof(verbs) / sizeof(verbs[0]); i-- > 0;)
        if (strncmp(step->text, verbs[i], strlen(verbs[i])) == 0)
        {
            char *text = strcmp(verbs[i], "release ") ? cf_format("%s", step->text)
                                                      : cf_format("release savepoint %s", step->text + 8);

            execute(r, step, text);
            free(text);
            return;
        }
    fail(r, step, step->line, cf_format("not a transaction statement: %s", step->text));
}

static void step_join(run *r, const cf_step *step)
{
    connection *c = named_session(r, step);

    if (c && !c->background)
        fail(r, step, step->line, cf_format("session %s does nothing in the background", step->text));
    else if (c)
    {
        work *w = join_session(r, step, c);

        judge(r, step, w);
        work_free(w);
    }
}

static void step_open(run *r, const cf_step *step)
{
    const char *options = step->text + 1 + strspn(step->text + (*step->text ? 1 : 0), " ");

    if (*step->text < 'A' || *step->text > 'Z' || r->connections[*step->text - 'A'].session)
        fail(r, step, step->line, cf_format("cannot be opened: %s", step->text));
    else
        connect_session(r, step, *step->text, options);
}

static void step_close(run *r, const cf_step *step)
{
    connection *c = named_session(r, step);

    if (!c)
        return;
    if (c->background)
        fail(r, step, step->line, cf_format("session %s is busy in the background", step->text));
    else
    {
        r->options->driver->close(c->session);
        c->session = NULL;
    }
}

static void step_let(run *r, const cf_step *step)
{
    char *error = cf_scope_let(&r->scope, step->text);

    if (error)
        fail(r, step, step->line, error);
}

static void step_invariants(run *r, const cf_step *step)
{
    connection *c = connect_session(r, step, step->session, "");
    char *problem = c ? cf_invariants_check(r->options->driver, c->session) : NULL;

    if (problem)
        fail(r, step, step->line, problem);
}

static void run_steps(run *r, const cf_step *steps, size_t count);

static void step_use(run *r, const cf_step *step)
{
    const cf_test *setup = cf_suite_setup(r->suite, step->text);

    run_steps(r, setup->steps, setup->step_count);
}

/* In the order of cf_step_kind. `repeat` and `end` are run_steps' own. */
static void (*const step_functions[])(run *, const cf_step *) = {
    [CF_STEP_CALL] = step_call,   [CF_STEP_SQL] = step_sql,
    [CF_STEP_ROWS] = step_sql,    [CF_STEP_HANDLER] = step_handler,
    [CF_STEP_CLOCK] = step_clock, [CF_STEP_TRANSACTION] = step_transaction,
    [CF_STEP_JOIN] = step_join,   [CF_STEP_OPEN] = step_open,
    [CF_STEP_CLOSE] = step_close, [CF_STEP_LET] = step_let,
    [CF_STEP_REPEAT] = NULL,      [CF_STEP_END] = NULL,
    [CF_STEP_USE] = step_use,     [CF_STEP_INVARIANTS] = step_invariants,
};

/* The index of the `end` that closes the `repeat` at `first`; the parser made sure that there is one. */
static size_t matching_end(const cf_step *steps, size_t first)
{
    size_t depth = 1;
    size_t at = first;

    while (depth)
    {
        at++;
        depth += steps[at].kind == CF_STEP_REPEAT ? 1 : 0;
        depth -= steps[at].kind == CF_STEP_END ? 1 : 0;
    }
    return at;
}

/* repeat N [$name]: the steps up to `end`, with $name from 1 to N. */
static void repeat_steps(run *r, const cf_step *steps, size_t count)
{
    char *end;
    long times = strtol(steps->text, &end, 10);
    const char *name = end + strspn(end, " ");
    size_t length = *name == '$' ? cf_name_length(name + 1) : 0;

    if (times < 1 || (*name && (!length || name[length + 1])))
        fail(r, steps, steps->line, cf_format("not a `repeat N $name`: %s", steps->text));
    for (long i = 1; i <= times && !r->problem; i++)
    {
        if (length)
            cf_scope_set(&r->scope, name + 1, length, cf_value_int(i));
        run_steps(r, steps + 1, count - 1);
    }
}

static void run_steps(run *r, const cf_step *steps, size_t count)
{
    for (size_t i = 0; i < count && !r->problem; i++)
    {
        if (steps[i].kind == CF_STEP_REPEAT)
        {
            size_t last = matching_end(steps, i);

            repeat_steps(r, steps + i, last - i);
            i = last;
        }
        else if (step_functions[steps[i].kind])
            step_functions[steps[i].kind](r, &steps[i]);
    }
}

static void install(run *r)
{
    connection *c = connect_session(r, NULL, 'A', "");
    cf_result result = {0};

    if (!c || r->test->bare)
        return;
    r->options->driver->install(c->session, &result);
    if (result.failed)
        fail(r, NULL, r->test->line, cf_format("installing: %s: %s", result.code, result.message));
    cf_result_free(&result);
}

/* Work that nobody joined is a fault of the test, unless it failed before it came to that. */
static void finish(run *r)
{
    for (int i = 0; i < SESSIONS; i++)
    {
        connection *c = &r->connections[i];

        if (c->background)
        {
            fail(r, c->background->step, c->background->step->line, cf_format("never joined"));
            r->options->driver->cancel(c->session);
            work_free(join_session(r, NULL, c));
        }
        if (c->session)
            r->options->driver->close(c->session);
        c->session = NULL;
    }
    if (!r->problem && !r->test->bare)
    {
        connection *c = connect_session(r, NULL, 'A', "");
        char *problem = c ? cf_invariants_check(r->options->driver, c->session) : NULL;

        if (problem)
            fail(r, NULL, r->test->line, problem);
        if (c)
            r->options->driver->close(c->session);
    }
}

/* One line, whatever the texts hold. */
static char *one_line(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    return text;
}

cf_outcome cf_run_test(const cf_options *options, const cf_suite *suite, const cf_test *test, char **report)
{
    run r = {.options = options, .suite = suite, .test = test};
    char *error = NULL;

    if (test->only_reason && !test->only[options->dialect])
        return CF_SKIPPED;
    if (test->beside_reason && !options->driver->reads_beside(options->uri))
        return CF_SKIPPED;
    r.database = options->driver->create(options->uri, options->extension, &error);
    if (!r.database)
        fail(&r, NULL, test->line, error);
    else
    {
        install(&r);
        if (!r.problem)
            run_steps(&r, test->steps, test->step_count);
        finish(&r);
        options->driver->drop(r.database);
    }
    cf_scope_free(&r.scope);
    if (!r.problem)
        return CF_PASSED;
    *report = one_line(cf_format("%s:%d: %s: %s", r.file, r.line, test->name, r.problem));
    free(r.problem);
    return r.missing ? CF_SKIPPED : CF_FAILED;
}
