/*
 * Reading *.test files. Anything that is not understood is an error: a test that is read wrongly would test
 * nothing.
 */
#include "suite.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cf_dialects[CF_DIALECTS] = {"sqlite", "postgres", "mysql"};

enum
{
    ALL_DIALECTS = CF_DIALECTS
};

typedef struct reader
{
    cf_suite *suite;
    const char *file;
    int line;
    cf_test *test;  /* the block being read, or NULL */
    cf_step *step;  /* the step that indented lines belong to, or NULL */
    char **growing; /* the text that a continuation line is added to, or NULL */
    int depth;      /* open `repeat` blocks */
    char *error;
} reader;

/* The directives that are steps. What a step may carry is said here and checked in one place. */
static const struct
{
    const char *word;
    cf_step_kind kind;
    bool in_session; /* may have a session before it */
    bool answers;    /* may have expectations */
    bool blocks;     /* may (sql, rows) or must (handler) be written per dialect */
} directives[] = {
    {"call", CF_STEP_CALL, true, true, false},       {"sql", CF_STEP_SQL, true, true, true},
    {"rows", CF_STEP_ROWS, true, true, true},        {"handler", CF_STEP_HANDLER, true, true, true},
    {"clock", CF_STEP_CLOCK, false, false, false},   {"transaction", CF_STEP_TRANSACTION, true, false, false},
    {"join", CF_STEP_JOIN, false, true, false},      {"open", CF_STEP_OPEN, false, false, false},
    {"close", CF_STEP_CLOSE, false, false, false},   {"let", CF_STEP_LET, false, false, false},
    {"repeat", CF_STEP_REPEAT, false, false, false}, {"end", CF_STEP_END, false, false, false},
    {"use", CF_STEP_USE, false, false, false},       {"invariants", CF_STEP_INVARIANTS, false, false, false},
};

static const struct
{
    const char *sign;
    cf_expect_kind kind;
} expectations[] = {
    {"=", CF_EXPECT_EQUAL},     {"==", CF_EXPECT_JSON}, {"has", CF_EXPECT_HAS},
    {"lacks", CF_EXPECT_LACKS}, {"~", CF_EXPECT_MATCH}, {"between", CF_EXPECT_BETWEEN},
    {"count", CF_EXPECT_COUNT}, {"!", CF_EXPECT_ERROR}, {"=>", CF_EXPECT_CAPTURE},
};

static void refuse(reader *r, const char *what, const char *detail)
{
    if (!r->error)
        r->error = cf_format("%s:%d: %s%s%s", r->file, r->line, what, *detail ? ": " : "", detail);
}

/* Cuts the first word off *text and skips the blanks after it. */
static char *take_word(char **text)
{
    char *word = *text;
    char *end = word + strcspn(word, " \t");

    *text = end + strspn(end, " \t");
    *end = '\0';
    return word;
}

static void find_directive(cf_step_kind kind, size_t *index)
{
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
        if (directives[i].kind == kind)
        {
            *index = i;
            return;
        }
    abort();
}

static bool step_checks(const cf_step *step)
{
    for (size_t i = 0; i < step->expectation_count; i++)
        if (step->expectations[i].kind != CF_EXPECT_CAPTURE)
            return true;
    return step->kind == CF_STEP_INVARIANTS;
}

static bool expects_error(const cf_step *step)
{
    for (size_t i = 0; i < step->expectation_count; i++)
        if (step->expectations[i].kind == CF_EXPECT_ERROR)
            return true;
    return false;
}

static bool has_block(const cf_step *step)
{
    for (size_t i = 0; i < CF_DIALECTS; i++)
        if (step->dialect[i])
            return true;
    return false;
}

/* A finished step: does it have what it needs, for every database that the test runs on? */
static void check_step(reader *r, const cf_step *step)
{
    int line = r->line;
    size_t index;

    r->line = step->line;
    find_directive(step->kind, &index);
    if (step->kind == CF_STEP_HANDLER && !has_block(step))
        refuse(r, "a handler needs its text", "lines `sqlite:`, `postgres:`, `mysql:` or `all:`");
    if (has_block(step) && step->kind != CF_STEP_HANDLER && *step->text)
        refuse(r, "SQL on the line and in a block", "write one of them");
    if (directives[index].blocks && has_block(step))
    {
        for (size_t i = 0; i < CF_DIALECTS; i++)
            if (!step->dialect[i] && (!r->test->only_reason || r->test->only[i]))
                refuse(r, "no text for a database that this test runs on", cf_dialects[i]);
    }
    else if (directives[index].blocks && !*step->text)
        refuse(r, "no SQL", "");
    if (expects_error(step) && step->expectation_count > 1)
        refuse(r, "an error and something else cannot both be expected", "");
    if (step->background && step->expectation_count)
        refuse(r, "a step in the background has its expectations at `join`", "");
    r->line = line;
}

/* A finished test: no test that cannot fail, none without the rule that it guards. */
static void check_test(reader *r)
{
    cf_test *test = r->test;
    bool checks = false;

    if (!test)
        return;
    for (size_t i = 0; i < test->step_count; i++)
    {
        check_step(r, &test->steps[i]);
        checks = checks || step_checks(&test->steps[i]);
    }
    r->line = test->line;
    if (r->depth)
        refuse(r, "a `repeat` without its `end`", test->name);
    if (!test->setup && !test->rule)
        refuse(r, "a test without a `rule` line", test->name);
    if (!test->setup && !checks)
        refuse(r, "a test that checks nothing", test->name);
    if (test->setup && !test->step_count)
        refuse(r, "a setup without a step", test->name);
    r->depth = 0;
}

static void begin_block(reader *r, const char *word, const char *name)
{
    cf_suite *suite = r->suite;
    int line = r->line;

    check_test(r);
    r->line = line;
    if (!*name)
        refuse(r, "no name after", word);
    for (size_t i = 0; i < suite->test_count; i++)
        if (strcmp(suite->tests[i].name, name) == 0)
            refuse(r, "this name is taken", name);
    suite->tests = cf_grow(suite->tests, suite->test_count + 1, sizeof(cf_test));
    r->test = &suite->tests[suite->test_count++];
    *r->test = (cf_test){
        .name = cf_format("%s", name), .file = r->file, .line = r->line, .setup = strcmp(word, "setup") == 0};
    r->step = NULL;
    r->growing = NULL;
}

static void read_only(reader *r, char *text)
{
    char *reason = strchr(text, ':');
    char *word;

    if (!reason || !reason[1 + strspn(reason + 1, " ")])
    {
        refuse(r, "`only` needs a reason", "only sqlite: REASON");
        return;
    }
    *reason++ = '\0';
    r->test->only_reason = cf_format("%s", reason + strspn(reason, " "));
    for (word = strtok(text, ", "); word; word = strtok(NULL, ", "))
    {
        bool known = false;

        for (size_t i = 0; i < CF_DIALECTS; i++)
            if (strcmp(word, cf_dialects[i]) == 0)
                known = r->test->only[i] = true;
        if (!known)
            refuse(r, "unknown database", word);
    }
}

/* Directives about the test as a whole. False: it is not one of them. */
static bool read_property(reader *r, const char *word, char *text)
{
    if (strcmp(word, "rule") == 0)
    {
        if (r->test->rule)
            refuse(r, "a second rule", "");
        if (!*text)
            refuse(r, "an empty rule", "");
        free(r->test->rule);
        r->test->rule = cf_format("%s", text);
        r->growing = &r->test->rule;
    }
    else if (strcmp(word, "bare") == 0)
        r->test->bare = true;
    else if (strcmp(word, "only") == 0)
        read_only(r, text);
    else if (strcmp(word, "beside") == 0)
    {
        if (!*text)
            refuse(r, "`beside` needs a reason", "");
        free(r->test->beside_reason);
        r->test->beside_reason = cf_format("%s", text);
    }
    else if (strcmp(word, "fails") == 0)
        r->test->fails = cf_format("%s", text);
    else
        return false;
    if (r->test->step_count)
        refuse(r, "this belongs before the first step", word);
    r->step = NULL;
    if (strcmp(word, "rule") != 0)
        r->growing = NULL;
    return true;
}

static void read_step(reader *r, char session, bool background, const char *word, char *text)
{
    cf_test *test = r->test;

    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
    {
        if (strcmp(directives[i].word, word) != 0)
            continue;
        if (session && !directives[i].in_session)
            refuse(r, "this does not run in a session", word);
        test->steps = cf_grow(test->steps, test->step_count + 1, sizeof(cf_step));
        r->step = &test->steps[test->step_count++];
        *r->step = (cf_step){.kind = directives[i].kind,
                             .file = r->file,
                             .line = r->line,
                             .session = session ? session : 'A',
                             .background = background,
                             .text = cf_format("%s", text)};
        r->growing = &r->step->text;
        r->depth += r->step->kind == CF_STEP_REPEAT ? 1 : r->step->kind == CF_STEP_END ? -1 : 0;
        if (r->depth < 0)
            refuse(r, "an `end` without its `repeat`", "");
        return;
    }
    refuse(r, "unknown directive", word);
}

static void read_directive(reader *r, char *text)
{
    char session = 0;
    bool background = false;
    char *word = take_word(&text);

    if (strcmp(word, "test") == 0 || strcmp(word, "setup") == 0)
    {
        begin_block(r, word, text);
        return;
    }
    if (!r->test)
    {
        refuse(r, "a file begins with `test` or `setup`", word);
        return;
    }
    if (isupper((unsigned char)word[0]) && (word[1] == ':' || word[1] == '&') && !word[2])
    {
        session = word[0];
        background = word[1] == '&';
        word = take_word(&text);
    }
    if (session || !read_property(r, word, text))
        read_step(r, session, background, word, text);
}

/* `sqlite: SQL` within a step. False: not such a line. */
static bool read_dialect(reader *r, char *text)
{
    size_t length = strcspn(text, ":");

    for (size_t i = 0; i <= CF_DIALECTS; i++)
    {
        const char *name = i == ALL_DIALECTS ? "all" : cf_dialects[i];

        if (text[length] != ':' || strlen(name) != length || strncmp(text, name, length) != 0)
            continue;
        text += length + 1;
        text += strspn(text, " ");
        for (size_t d = 0; d < CF_DIALECTS; d++)
            if (d == i || i == ALL_DIALECTS)
            {
                if (r->step->dialect[d])
                    refuse(r, "this database has a text already", cf_dialects[d]);
                free(r->step->dialect[d]);
                r->step->dialect[d] = cf_format("%s", text);
                r->growing = &r->step->dialect[d];
            }
        if (i == ALL_DIALECTS)
            r->growing = NULL; /* one line for all; longer ones are written out */
        return true;
    }
    return false;
}

/* [PATH] SIGN TEXT. False: not an expectation. */
static bool read_expectation(reader *r, const char *line)
{
    size_t before = *line == '.' || *line == '[' ? strcspn(line, " \t") : 0;
    const char *sign = line + before + strspn(line + before, " \t");
    size_t length = strcspn(sign, " \t");
    const char *text = sign + length + strspn(sign + length, " \t");
    cf_step *step = r->step;
    size_t index;

    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
    {
        if (strlen(expectations[i].sign) != length || strncmp(sign, expectations[i].sign, length) != 0)
            continue;
        find_directive(step->kind, &index);
        if (!directives[index].answers)
            refuse(r, "this step has no answer to check", directives[index].word);
        if (!*text)
            refuse(r, "nothing after", expectations[i].sign);
        if (before && expectations[i].kind == CF_EXPECT_ERROR)
            refuse(r, "an error has no parts", line);
        step->expectations = cf_grow(step->expectations, step->expectation_count + 1, sizeof(cf_expectation));
        step->expectations[step->expectation_count++] =
            (cf_expectation){.kind = expectations[i].kind,
                             .path = before ? cf_copy(line, before) : NULL,
                             .text = cf_format("%s", text),
                             .line = r->line};
        r->growing = &step->expectations[step->expectation_count - 1].text;
        return true;
    }
    return false;
}

static void read_indented(reader *r, char *text)
{
    char *longer;

    if (r->step && (read_dialect(r, text) || read_expectation(r, text)))
        return;
    if (!r->growing)
    {
        refuse(r, "an indented line that belongs to nothing", text);
        return;
    }
    longer = cf_format("%s\n%s", *r->growing, text);
    free(*r->growing);
    *r->growing = longer;
}

static void read_line(reader *r, char *text)
{
    size_t length = strlen(text);
    char *start = text + strspn(text, " \t");

    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    if (!*start || *text == '#')
        return;
    if (start != text)
        read_indented(r, start);
    else
        read_directive(r, start);
}

char *cf_suite_read(cf_suite *suite, const char *file)
{
    reader r = {.suite = suite};
    char *line = NULL;
    size_t capacity = 0;
    size_t before = suite->test_count;
    FILE *stream = fopen(file, "r");

    if (!stream)
        return cf_format("%s: %s", file, strerror(errno));
    suite->files = cf_grow(suite->files, suite->file_count + 1, sizeof(char *));
    r.file = suite->files[suite->file_count++] = cf_format("%s", file);
    while (!r.error && getline(&line, &capacity, stream) >= 0)
    {
        r.line++;
        read_line(&r, line);
    }
    if (!r.error && ferror(stream))
        refuse(&r, "cannot be read", "");
    if (!r.error)
        check_test(&r);
    if (!r.error && suite->test_count == before)
        refuse(&r, "a file without a test", "");
    free(line);
    fclose(stream);
    return r.error;
}

const cf_test *cf_suite_setup(const cf_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->test_count; i++)
        if (suite->tests[i].setup && strcmp(suite->tests[i].name, name) == 0)
            return &suite->tests[i];
    return NULL;
}

char *cf_suite_check(const cf_suite *suite)
{
    for (size_t i = 0; i < suite->test_count; i++)
        for (size_t j = 0; j < suite->tests[i].step_count; j++)
        {
            const cf_step *step = &suite->tests[i].steps[j];

            if (step->kind != CF_STEP_USE)
                continue;
            if (suite->tests[i].setup)
                return cf_format("%s:%d: a setup cannot use another", step->file, step->line);
            if (!cf_suite_setup(suite, step->text))
                return cf_format("%s:%d: no such setup: %s", step->file, step->line, step->text);
        }
    return NULL;
}

static void step_free(cf_step *step)
{
    free(step->text);
    for (size_t i = 0; i < CF_DIALECTS; i++)
        free(step->dialect[i]);
    for (size_t i = 0; i < step->expectation_count; i++)
    {
        free(step->expectations[i].path);
        free(step->expectations[i].text);
    }
    free(step->expectations);
}

void cf_suite_free(cf_suite *suite)
{
    for (size_t i = 0; i < suite->test_count; i++)
    {
        cf_test *test = &suite->tests[i];

        for (size_t j = 0; j < test->step_count; j++)
            step_free(&test->steps[j]);
        free(test->steps);
        free(test->name);
        free(test->rule);
        free(test->only_reason);
        free(test->beside_reason);
        free(test->fails);
    }
    for (size_t i = 0; i < suite->file_count; i++)
        free(suite->files[i]);
    free(suite->files);
    free(suite->tests);
    memset(suite, 0, sizeof(*suite));
}
