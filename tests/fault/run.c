/*
 * One run of one part. See run.h.
 */
#include "run.h"

#include "../conformance/invariants.h"
#include "../conformance/scope.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How a step ended. `text` is what it answered, or its error. */
typedef struct answer
{
    bool failed;
    int code;
    char *text;
} answer;

typedef struct run
{
    ft_place *place;
    const ft_part *part;
    sqlite3 *connections[FT_CONNECTIONS];
    int began[FT_CONNECTIONS];
    cf_scope scope;
    char *problem; /* the first */
} run;

static void wrong(run *r, const ft_step *step, char *problem)
{
    if (r->problem == NULL)
        r->problem = step == NULL ? cf_format("%s", problem)
                                  : cf_format("line %d: %s\n    %s", step->line, problem,
                                              step->sql ? step->sql : ".open or .close");
    free(problem);
}

/* ---- the place
 * ---------------------------------------------------------------------------------------------- */

static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-solidobj"};

static void remove_files(const ft_place *place)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    {
        char *name = cf_format("%s%s", place->path, endings[i]);
        unlink(name);
        free(name);
    }
}

void ft_place_make(ft_place *place, const char *extension, const char *journal, const char *encoding)
{
    const char *parent = getenv("TMPDIR");
    char *error = NULL;
    *place = (ft_place){.extension = extension, .journal = journal, .encoding = encoding};
    place->directory = cf_format("%s/solidobj-fault-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(place->directory) == NULL)
    {
        perror(place->directory);
        exit(2);
    }
    place->path = cf_format("%s/test.db", place->directory);
    char *uri = cf_format("%s?journal=%s", place->path, journal);
    place->database = cf_driver_sqlite.create(uri, extension, &error);
    free(uri);
    if (place->database == NULL)
    {
        fprintf(stderr, "%s\n", error);
        exit(2);
    }
}

void ft_place_remove(ft_place *place)
{
    cf_driver_sqlite.drop(place->database);
    rmdir(place->directory);
    free(place->directory);
    free(place->path);
    free(place->base);
}

static void file_failed(const char *path)
{
    perror(path);
    exit(2);
}

void ft_place_keep(ft_place *place)
{
    struct stat status;
    FILE *file = fopen(place->path, "r");
    if (file == NULL || fstat(fileno(file), &status) != 0)
        file_failed(place->path);
    free(place->base);
    place->base_bytes = (size_t)status.st_size;
    place->base = cf_alloc(place->base_bytes);
    if (fread(place->base, 1, place->base_bytes, file) != place->base_bytes)
        file_failed(place->path);
    fclose(file);
}

static void start_file(const ft_place *place, bool first)
{
    remove_files(place);
    if (first)
        return;
    FILE *file = fopen(place->path, "w");
    if (file == NULL || fwrite(place->base, 1, place->base_bytes, file) != place->base_bytes ||
        fclose(file) != 0)
        file_failed(place->path);
}

/* ---- what others see
 * ----------------------------------------------------------------------------------------- */

/* Columns that differ from run to run: times, tokens, the mark of the definitions. */
static const char tables_sql[] =
    "SELECT 'SELECT ''' || t.name || ': '' || group_concat(r, char(10)) FROM (SELECT ' || "
    "group_concat('quote(' || c.name || ')', '||'' ''||')"
    " || ' AS r FROM ' || t.name || ' ORDER BY 1)'"
    " FROM sqlite_schema t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.sql NOT LIKE 'CREATE VIRTUAL%'"
    " AND c.name NOT LIKE '%_ms' AND c.name NOT IN ('nonce', 'stamp', 'rank', 'inbox')"
    " GROUP BY t.name ORDER BY t.name";

/* One text of all tables, or NULL while somebody holds a lock. */
static char *see(run *r)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *tables = NULL;
    char *all = cf_format("%s", "");
    bool paused = ft_the_fault.paused;
    ft_the_fault.paused = true;
    int rc = sqlite3_open_v2(r->place->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, tables_sql, -1, &tables, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(tables)) == SQLITE_ROW)
    {
        sqlite3_stmt *rows = NULL;
        rc = sqlite3_prepare_v2(db, (const char *)sqlite3_column_text(tables, 0), -1, &rows, NULL);
        if (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW &&
            sqlite3_column_type(rows, 0) != SQLITE_NULL)
        {
            char *longer = cf_format("%s%s\n", all, (const char *)sqlite3_column_text(rows, 0));
            free(all);
            all = longer;
        }
        int ended = sqlite3_finalize(rows);
        rc = rc == SQLITE_OK ? ended : rc;
    }
    sqlite3_finalize(tables);
    if (rc != SQLITE_DONE && rc != SQLITE_BUSY)
        wrong(r, NULL, cf_format("another connection cannot read: %s", sqlite3_errmsg(db)));
    sqlite3_close(db);
    ft_the_fault.paused = paused;
    if (rc == SQLITE_DONE)
        return all;
    free(all);
    return NULL;
}

/* The first line in which two texts differ. */
static char *difference(const char *expected, const char *found)
{
    size_t line = 0;
    for (size_t i = 0; expected[i] == found[i] && expected[i] != '\0'; i++)
        line = expected[i] == '\n' ? i + 1 : line;
    return cf_format("\n    expected %.*s\n    found    %.*s", (int)strcspn(expected + line, "\n"),
                     expected + line, (int)strcspn(found + line, "\n"), found + line);
}

/* ---- steps
 * ----------------------------------------------------------------------------------------------------- */

static void answer_error(answer *a, sqlite3 *db, int rc)
{
    int extended = sqlite3_extended_errcode(db);
    free(a->text);
    a->failed = true;
    a->code = (extended & 0xff) == (rc & 0xff) ? extended : rc;
    a->text = cf_format("error: %s", sqlite3_errmsg(db));
}

static void close_connection(run *r, int which)
{
    int rc = sqlite3_close(r->connections[which]);
    if (rc != SQLITE_OK)
        wrong(r, NULL, cf_format("sqlite3_close: %s", sqlite3_errmsg(r->connections[which])));
    r->connections[which] = NULL;
    r->began[which] = -1;
}

static int pragma(sqlite3 *db, const char *name, const char *value)
{
    char *sql = cf_format("PRAGMA %s = '%s'", name, value);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
    return rc;
}

static void step_open(run *r, const ft_step *step, answer *a)
{
    sqlite3 **db = &r->connections[step->connection];
    char *error = NULL;
    int rc = sqlite3_open_v2(r->place->path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK)
        rc = pragma(*db, "encoding", r->place->encoding);
    if (rc == SQLITE_OK)
        rc = pragma(*db, "journal_mode", r->place->journal);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(*db, 2000);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (rc != SQLITE_OK)
        answer_error(a, *db, rc);
    else if ((rc = sqlite3_load_extension(*db, r->place->extension, NULL, &error)) != SQLITE_OK)
    {
        answer_error(a, *db, rc);
        a->code = rc;
        if (error != NULL)
        {
            free(a->text);
            a->text = cf_format("error: %s", error);
        }
    }
    sqlite3_free(error);
    if (a->failed)
        close_connection(r, step->connection);
}

static void bind_all(run *r, const ft_step *step, sqlite3_stmt *statement)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++)
    {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        const cf_value *value = name == NULL ? NULL : cf_scope_get(&r->scope, name + 1, strlen(name + 1));
        int rc = SQLITE_OK;
        if (value == NULL)
            wrong(r, step, cf_format("%s is not known", name == NULL ? "?" : name));
        else if (value->type == CF_INT)
            rc = sqlite3_bind_int64(statement, i, value->number);
        else if (value->type == CF_TEXT)
            rc = sqlite3_bind_text64(statement, i, value->text, value->size, SQLITE_STATIC, SQLITE_UTF8);
        if (rc != SQLITE_OK)
            wrong(r, step, cf_format("cannot bind %s", name));
    }
}

static cf_value column_value(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column))
    {
    case SQLITE_NULL:
        return (cf_value){.type = CF_NULL};
    case SQLITE_INTEGER:
        return cf_value_int(sqlite3_column_int64(statement, column));
    default:
    {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        return cf_value_text(text, (size_t)sqlite3_column_bytes(statement, column));
    }
    }
}

static void take_row(run *r, sqlite3_stmt *statement, answer *a)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++)
    {
        const char *name = sqlite3_column_name(statement, i);
        cf_value value = column_value(statement, i);
        if (name[0] == '$' && cf_name_length(name + 1) == strlen(name + 1))
        {
            cf_scope_set(&r->scope, name + 1, strlen(name + 1), value);
            continue;
        }
        char *shown = value.type == CF_INT ? cf_format("%lld", (long long)value.number)
                                           : cf_copy(value.type == CF_NULL ? "NULL" : value.text,
                                                     value.type == CF_NULL ? 4 : value.size);
        char *longer = cf_format("%s%s%s", a->text, i == 0 ? "" : "|", shown);
        free(shown);
        free(a->text);
        a->text = longer;
        cf_value_free(&value);
    }
    char *longer = cf_format("%s\n", a->text);
    free(a->text);
    a->text = longer;
}

static void step_sql(run *r, const ft_step *step, answer *a)
{
    sqlite3 *db = r->connections[step->connection];
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, step->sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
    {
        /* What the harness binds and reads is its own. */
        ft_the_fault.paused = true;
        bind_all(r, step, statement);
        ft_the_fault.paused = false;
        while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        {
            ft_the_fault.paused = true;
            take_row(r, statement, a);
            ft_the_fault.paused = false;
        }
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        answer_error(a, db, rc);
    sqlite3_finalize(statement);
}

static answer execute(run *r, const ft_step *step)
{
    answer a = {.text = cf_format("%s", "")};
    if (step->kind != FT_STEP_OPEN && r->connections[step->connection] == NULL)
    {
        wrong(r, step, cf_format("the connection is not open"));
        return a;
    }
    switch (step->kind)
    {
    case FT_STEP_OPEN:
        step_open(r, step, &a);
        break;
    case FT_STEP_CLOSE:
        close_connection(r, step->connection);
        break;
    default:
        step_sql(r, step, &a);
    }
    return a;
}

/* Notes which step began the transaction that is open on the step's connection. */
static void note_transaction(run *r, size_t index)
{
    const ft_step *step = &r->part->steps[index];
    sqlite3 *db = r->connections[step->connection];
    int *began = &r->began[step->connection];
    if (db == NULL || sqlite3_get_autocommit(db))
        *began = -1;
    else if (*began < 0)
        *began = (int)index;
}

static void run_begin(run *r, ft_place *place, const ft_part *part, bool first)
{
    *r = (run){.place = place, .part = part};
    for (int i = 0; i < FT_CONNECTIONS; i++)
        r->began[i] = -1;
    start_file(place, first);
}

static void run_close(run *r)
{
    for (int i = 0; i < FT_CONNECTIONS; i++)
        if (r->connections[i] != NULL)
            close_connection(r, i);
    cf_scope_free(&r->scope);
}

/* ---- the measure
 * -------------------------------------------------------------------------------------------- */

char *ft_measure_take(ft_measure *measure, ft_place *place, const ft_part *part, bool first, ft_source source)
{
    run r;
    run_begin(&r, place, part, first);
    *measure = (ft_measure){.answers = cf_alloc(part->count * sizeof(char *)),
                            .seen = cf_alloc(part->count * sizeof(char *)),
                            .began = cf_alloc(part->count * sizeof(int)),
                            .ends = cf_alloc(part->count * sizeof(bool))};
    measure->start = see(&r);
    ft_fault_begin(source, 0, false);
    for (size_t i = 0; i < part->count; i++)
    {
        measure->began[i] = r.began[part->steps[i].connection];
        answer a = execute(&r, &part->steps[i]);
        measure->answers[i] = a.text;
        note_transaction(&r, i);
        measure->ends[i] = measure->began[i] >= 0 && r.began[part->steps[i].connection] < 0;
        measure->seen[i] = see(&r);
    }
    run_close(&r);
    measure->chances = ft_the_fault.count;
    measure->end = see(&r);
    return r.problem;
}

void ft_measure_free(ft_measure *measure, const ft_part *part)
{
    for (size_t i = 0; i < part->count; i++)
    {
        free(measure->answers[i]);
        free(measure->seen[i]);
    }
    free(measure->answers);
    free(measure->seen);
    free(measure->began);
    free(measure->ends);
    free(measure->start);
    free(measure->end);
}

/* ---- a run with a fault
 * -------------------------------------------------------------------------------------- */

/* Whether an answer is the measure's. Where calls may have happened twice an error's text may name another
 * message. */
static bool same_answer(const ft_part *part, const char *expected, const char *found)
{
    size_t bytes =
        strncmp(expected, "error: ", 7) == 0 && part->twice ? strcspn(expected + 7, ":") + 7 : SIZE_MAX;
    return strncmp(expected, found, bytes) == 0;
}

/* Whether the error is the fault's own: the engine's code, as a program's retry logic needs it. */
static bool own_error(const ft_step *step, const answer *a, const char *expected)
{
    /* The step fails without a fault as well, and the memory that was missing was that for the error's text.
     */
    if (ft_the_fault.source == FT_MEMORY && a->code == SQLITE_ERROR && strncmp(expected, "error: ", 7) == 0 &&
        strcmp(a->text, "error: SQL logic error") == 0)
        return true;
    /* sqlite3_load_extension() has one code for all that goes wrong in the library. */
    if (step->kind == FT_STEP_OPEN && a->code == SQLITE_ERROR)
        return true;
    /* Reading the schema for a PRAGMA gives the code without what extends it. */
    if (step->kind == FT_STEP_OPEN && (a->code & 0xff) == (ft_the_fault.codes[0] & 0xff))
        return true;
    if (ft_the_fault.source == FT_MEMORY)
        return (a->code & 0xff) == SQLITE_NOMEM || a->code == SQLITE_IOERR_NOMEM;
    return ft_fault_gave(a->code);
}

static bool same_text(const char *expected, const char *found)
{
    return expected == NULL || found == NULL || strcmp(expected, found) == 0;
}

/*
 * What others see after a step failed: what they saw before it. An abandoned commit may have reached the
 * file, and where calls may happen twice the failed one may have been the first.
 */
static void judge_seen(run *r, size_t index, const ft_measure *measure, bool abandoned)
{
    const ft_step *step = &r->part->steps[index];
    const char *before = index == 0 ? measure->start : measure->seen[index - 1];
    const char *after = abandoned || r->part->twice ? measure->seen[index] : NULL;
    if (step->repeats || before == NULL)
        return;
    char *seen = see(r);
    if (!same_text(before, seen) && (after == NULL || !same_text(after, seen)))
    {
        char *where = difference(before, seen);
        wrong(r, step, cf_format("the failed call has changed something:%s", where));
        free(where);
    }
    free(seen);
}

/* After a failure: where to go on. */
static size_t repeat_from(run *r, size_t index, const ft_measure *measure)
{
    const ft_step *step = &r->part->steps[index];
    sqlite3 *db = r->connections[step->connection];
    bool open = db != NULL && !sqlite3_get_autocommit(db);
    int began = measure->began[index];
    if (began < 0 && open)
        wrong(r, step, cf_format("the failed call has left a transaction open"));
    /* A transaction whose commit failed is over; SQLite calls it open after a RELEASE. */
    if (open && measure->ends[index])
        open = sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK;
    if (began < 0 || open)
        return index;
    r->began[step->connection] = -1;
    return (size_t)began;
}

static void run_steps(run *r, const ft_measure *measure, const ft_mode *mode, bool *failed)
{
    const ft_part *part = r->part;
    bool went_on =
        false; /* a step that commits piece by piece was repeated: what is left for the next is not known */
    size_t failed_at = SIZE_MAX;
    for (size_t i = 0; i < part->count && r->problem == NULL;)
    {
        const ft_step *step = &part->steps[i];
        /* The claim whose rows got lost is held, so that its repetition finds nothing. */
        bool taken = part->twice && failed_at == i;
        bool loose = went_on && step->repeats;
        answer a = execute(r, step);
        bool same = same_answer(part, measure->answers[i], a.text) || (loose && !a.failed) ||
                    (taken && !a.failed && a.text[0] == '\0');
        if (same)
            note_transaction(r, i++);
        else if (*failed || !ft_the_fault.struck || !a.failed)
            wrong(r, step,
                  cf_format("answers\n        %s    instead of\n        %s", a.text, measure->answers[i]));
        else if (!own_error(step, &a, measure->answers[i]))
            wrong(r, step,
                  cf_format("fails with code %d, %s, instead of code %d", a.code, a.text,
                            ft_the_fault.codes[0]));
        else
        {
            *failed = true;
            failed_at = i;
            went_on = step->repeats;
            if (mode->abandon)
                run_close(r);
            ft_fault_end();
            judge_seen(r, i, measure, mode->abandon);
            if (!mode->abandon)
                i = repeat_from(r, i, measure);
        }
        free(a.text);
        if (*failed && mode->abandon)
            return;
    }
}

static void expect_answer(run *r, cf_session *session, const char *sql, const char *expected)
{
    cf_result result = {0};
    cf_driver_sqlite.run(session, sql, NULL, 0, &result);
    if (result.failed)
        wrong(r, NULL, cf_format("a fresh connection: %s: %s: %s", sql, result.code, result.message));
    else
    {
        cf_value none = {.type = CF_NULL};
        char *shown = cf_value_show(result.rows == 0 ? &none : &result.cells[0]);
        if (strcmp(shown, expected) != 0)
            wrong(r, NULL,
                  cf_format("a fresh connection: %s answers %s instead of %s", sql, shown, expected));
        free(shown);
    }
    cf_result_free(&result);
}

/* The file, and a connection that knows nothing of what happened. */
static void judge_end(run *r)
{
    static const struct
    {
        const char *sql;
        const char *answer;
    } calls[] = {
        {"PRAGMA integrity_check", "'ok'"},
        {"SELECT so_install() > 0", "1"},
        {"SELECT so_define_actor('Fresh')", "'Fresh'"},
        {"SELECT so_define_operation('Fresh', 'add',"
         " 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result')",
         "'add'"},
        {"SELECT so_call('Fresh', 'f', 'add')", "'1'"},
        {"SELECT so_send('Fresh', 'f', 'add') > 0", "1"},
        {"SELECT so_run('{\"types\": [\"Fresh\"]}') ->> 'completed'", "1"},
    };
    char *error = NULL;
    cf_session *session = cf_driver_sqlite.open(r->place->database, "", &error);
    if (session == NULL)
    {
        wrong(r, NULL, error);
        return;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0] && r->problem == NULL; i++)
        expect_answer(r, session, calls[i].sql, calls[i].answer);
    error = r->problem == NULL ? cf_invariants_check(&cf_driver_sqlite, session) : NULL;
    if (error != NULL)
        wrong(r, NULL, error);
    cf_driver_sqlite.close(session);
}

char *ft_run(ft_place *place, const ft_part *part, bool first, const ft_measure *measure, const ft_mode *mode,
             int64_t at, bool *reached, bool *failed)
{
    run r;
    int64_t pieces = ft_memory_pieces();
    *failed = false;
    run_begin(&r, place, part, first);
    ft_fault_begin(mode->source, at, mode->lasting);
    run_steps(&r, measure, mode, failed);
    bool whole = r.problem == NULL && !(*failed && mode->abandon);
    run_close(&r);
    ft_fault_end();
    *reached = ft_the_fault.struck;
    if (ft_memory_pieces() != pieces)
        wrong(&r, NULL,
              cf_format("%lld pieces of memory are left after closing",
                        (long long)(ft_memory_pieces() - pieces)));
    char *end = whole && !(part->twice && *failed) ? see(&r) : NULL;
    if (!same_text(measure->end, end))
    {
        char *where = difference(measure->end, end);
        wrong(&r, NULL, cf_format("the tables are not what they are without a fault:%s", where));
        free(where);
    }
    free(end);
    if (r.problem == NULL)
        judge_end(&r);
    return r.problem;
}

char *ft_functions(ft_place *place)
{
    char *error = NULL;
    char *names = NULL;
    cf_result result = {0};
    cf_session *session = cf_driver_sqlite.open(place->database, "", &error);
    if (session == NULL)
    {
        fprintf(stderr, "%s\n", error);
        exit(2);
    }
    cf_driver_sqlite.run(session,
                         "SELECT so_install(); SELECT group_concat(function, char(10)) FROM solidobj", NULL,
                         0, &result);
    if (!result.failed && result.rows == 1 && result.cells[0].type == CF_TEXT)
        names = cf_copy(result.cells[0].text, result.cells[0].size);
    cf_result_free(&result);
    cf_driver_sqlite.close(session);
    return names;
}
