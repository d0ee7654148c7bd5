/*
 * Whole calls, on a real connection. The input is a script of lines: the name of a call (the table below),
 * and its arguments, each behind a tab. An argument is text; `#5` is an integer, `%1.5` a real, `$ab` a BLOB,
 * `@` the latest claim, `!` the latest message, `~` NULL; what is left out at the end is not passed. Each
 * input has a database of its own, a copy of one that is made once.
 *
 * After every call: no transaction is open that the script did not begin, no statement is left running, an
 * error says what it is, an answer is readable. At the end: the invariants hold, a call that the script knows
 * nothing of answers rightly, the connection closes and has given back all of its memory.
 */
#include "fuzz.h"

#include "invariants.h"

#include <ctype.h>
#include <sqlite3.h>

enum
{
    LINES = 24,
    ARGUMENTS = 5,
    LENGTH_LIMIT = 1000000, /* of any text, so that a handler cannot ask for more */
    PROGRESS_STEPS = 1000,
    BUDGET = 50,          /* so many times that many steps, then a call is interrupted */
    INVARIANTS_EVERY = 8, /* inputs; what is run by itself is the first */
    INTEGRITY_EVERY = 64
};

int sqlite3_solidobj_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

static const char set_up[] =
    "CREATE TABLE plain(a INTEGER PRIMARY KEY, b UNIQUE, c NOT NULL DEFAULT 0);"
    "CREATE TRIGGER into_plain AFTER INSERT ON plain WHEN new.b = 'send'"
    " BEGIN SELECT so_send('T', 'triggered', 'count'); END;"
    "SELECT so_install('{\"test\":true}');"
    "SELECT so_define_actor('T', '{\"initial\":{\"n\":0,\"a\":[1]},\"max_attempts\":3,\"max_mailbox\":20,"
    "\"max_state_bytes\":20000,\"max_payload_bytes\":4000}');"
    "SELECT so_define_operation('T', 'work', NULL);"
    "SELECT so_define_operation('T', 'part', NULL, '{\"members\":[\"n\"]}');"
    "SELECT so_define_operation('T', 'fuzzed', 'SELECT 1 AS result');"
    "SELECT so_define_operation('T', 'count', 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS "
    "result');"
    "SELECT so_define_operation('T', 'look', 'SELECT :state AS result_json', '{\"query\":true}');"
    "SELECT so_define_operation('T', 'echo', 'SELECT :args AS result_json, so_set(''last'', json(:args))');"
    "SELECT so_define_actor('Fixed', '{\"initial\":{\"n\":41}}');"
    "SELECT so_define_operation('Fixed', 'count', 'SELECT so_set(''n'', so_get(''n'') + 1) AS result');"
    "SELECT so_send('T', '1', 'work', '{\"a\":1}'), so_send('T', '1', 'work'), so_send('T', '2', 'part'),"
    " so_send('T', '3', 'count'), so_send('T', '3', 'fuzzed'), so_send('T', '4', 'work', NULL, "
    "'{\"delay_ms\":50}');";

typedef enum answer
{
    ANY,
    JSON,
    CLAIM,   /* the answer is the latest claim */
    MESSAGE, /* the latest message */
    STEPS,   /* JSON, and what was committed before an error stays */
    WAITS,   /* any, and outside a transaction it would wait for a claimed message */
    FAIL     /* so_fail: whatever the text, a live claim's message moves */
} answer;

static const struct call
{
    const char *name;
    const char *sql; /* %s: the arguments; without it, as many as it names */
    answer answers;
} calls[] = {
    {"handler", "SELECT so_define_operation('T', 'fuzzed', ?1, ?2)", ANY},
    {"define", "SELECT so_define_operation(%s)", ANY},
    {"type", "SELECT so_define_actor(%s)", ANY},
    {"migration", "SELECT so_define_migration(%s)", ANY},
    {"drop", "SELECT so_drop_operation(%s)", ANY},
    {"drop-type", "SELECT so_drop_actor(%s)", ANY},
    {"call", "SELECT so_call(%s)", WAITS},
    {"do", "SELECT so_call('T', '9', 'fuzzed', ?1, '{\"timeout_ms\":0}')", ANY},
    {"try", "SELECT so_try(%s)", WAITS},
    {"query", "SELECT so_query(%s)", ANY},
    {"send", "SELECT so_send(%s)", MESSAGE},
    {"batch", "SELECT so_send_batch(%s)", JSON},
    {"find", "SELECT so_find(%s)", ANY},
    {"later", "SELECT so_send('T', ?2, 'fuzzed', ?1, ?3)", MESSAGE},
    {"claim", "SELECT claim FROM so_claim(%s)", CLAIM},
    {"take", "SELECT claim FROM so_claim('w')", CLAIM},
    {"renew", "SELECT so_renew(%s)", ANY},
    {"commit", "SELECT so_commit(%s)", ANY},
    {"reject", "SELECT so_reject(%s)", ANY},
    {"fail", "SELECT so_fail(%s)", FAIL},
    {"release", "SELECT so_release(%s)", ANY},
    {"run", "SELECT so_run(%s)", STEPS},
    {"tick", "SELECT so_tick(%s)", STEPS},
    {"cancel", "SELECT so_cancel(%s)", ANY},
    {"retry", "SELECT so_retry(%s)", ANY},
    {"pause", "SELECT so_pause(%s)", ANY},
    {"resume", "SELECT so_resume(%s)", ANY},
    {"destroy", "SELECT so_destroy(%s)", ANY},
    {"status", "SELECT so_status(%s)", JSON},
    {"result", "SELECT so_result(%s)", ANY},
    {"snapshot", "SELECT so_snapshot(%s)", JSON},
    {"due", "SELECT so_next_due(%s)", ANY},
    {"types", "SELECT so_types()", JSON},
    {"clock", "SELECT so_test_clock(?1)", ANY},
    {"insert", "INSERT INTO plain(b) VALUES(?1)", ANY},
    {"shorthand", "SELECT so_set(?1, ?2), so_get(?1), so_raise(?1), so_tell(?1, ?2, ?3)", ANY},
    {"begin", "BEGIN", ANY},
    {"end", "COMMIT", ANY},
    {"undo", "ROLLBACK", ANY},
};

struct cf_session
{
    sqlite3 *db;
};

typedef struct script
{
    sqlite3 *db;
    int budget;
    bool interrupted;
    char claim[200];
    sqlite3_int64 message;
} script;

/* ---- what the invariants need of a driver ---- */

static void view(const char *name, char *to, size_t capacity)
{
    snprintf(to, capacity, "solidobj_%s_view", name);
}

static void run_invariant(cf_session *session, const char *sql, const cf_value *values, size_t count,
                          cf_result *result)
{
    sqlite3_stmt *statement = NULL;

    (void)values;
    REQUIRE(count == 0, "an invariant has values");
    int rc = sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    REQUIRE(rc == SQLITE_ROW || rc == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(session->db));
    if (rc == SQLITE_ROW)
    {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        result->rows = result->columns = 1;
        result->cells = cf_alloc(sizeof *result->cells);
        result->cells[0] = cf_value_text(text ? text : "NULL", strlen(text ? text : "NULL"));
    }
    sqlite3_finalize(statement);
}

static const cf_driver driver = {.scheme = "sqlite", .dialect = "sqlite", .run = run_invariant, .view = view};

/* ---- a database for each input ---- */

static void execute(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
    REQUIRE(rc == SQLITE_OK, "%s: %s", sql, message);
}

static int progress(void *context)
{
    script *s = context;

    s->interrupted = s->interrupted || --s->budget <= 0;
    return s->budget <= 0;
}

static sqlite3 *open_copy(void)
{
    static unsigned char *image;
    static sqlite3_int64 size;
    sqlite3 *db = NULL;

    if (!image)
    {
        REQUIRE(sqlite3_auto_extension((void (*)(void))sqlite3_solidobj_init) == SQLITE_OK, "extension");
        REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
        execute(db, set_up);
        image = sqlite3_serialize(db, "main", &size, 0);
        REQUIRE(image && sqlite3_close(db) == SQLITE_OK, "image");
    }
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)size);
    REQUIRE(copy, "memory");
    memcpy(copy, image, (size_t)size);
    REQUIRE(sqlite3_deserialize(db, "main", copy, size, size,
                                SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE) == SQLITE_OK,
            "deserialize");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_LIMIT);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, LENGTH_LIMIT / 10);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 25000);
    return db;
}

/* ---- a call ---- */

static void bind(script *s, sqlite3_stmt *statement, int index, const char *text, size_t length)
{
    char number[40];
    char kind = length ? text[0] : '\0';

    snprintf(number, sizeof number, "%.*s", length > 1 ? (int)length - 1 : 0, text + (length > 0));
    if (kind == '#')
        sqlite3_bind_int64(statement, index, strtoll(number, NULL, 10));
    else if (kind == '%')
        sqlite3_bind_double(statement, index, strtod(number, NULL));
    else if (kind == '$')
        sqlite3_bind_blob64(statement, index, text + 1, length - 1, SQLITE_TRANSIENT);
    else if (kind == '~')
        sqlite3_bind_null(statement, index);
    else if (kind == '!')
        sqlite3_bind_int64(statement, index, s->message);
    else if (kind == '@' && length == 1)
        sqlite3_bind_text(statement, index, s->claim, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text64(statement, index, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void check_error(const script *s, const struct call *call, int rc)
{
    const char *message = sqlite3_errmsg(s->db);
    size_t code = 0;

    REQUIRE(fuzz_utf8(message, strlen(message)), "%s: an error that is not UTF-8: %s", call->name, message);
    if (rc != SQLITE_ERROR || strncmp(message, "SO_", 3) != 0)
        return;
    while (isupper((unsigned char)message[code]) || message[code] == '_')
        code++;
    REQUIRE(message[code] == ':' && strstr(message, " Hint: "), "%s: %s", call->name, message);
}

static bool is_json(const char *text, size_t length)
{
    static sqlite3 *judge; /* another connection, so that a finding of this one cannot hide another's */
    static sqlite3_stmt *valid;

    if (!judge)
    {
        REQUIRE(sqlite3_open(":memory:", &judge) == SQLITE_OK, "open");
        REQUIRE(sqlite3_prepare_v2(judge, "SELECT json_valid(?1)", -1, &valid, NULL) == SQLITE_OK, "JSON");
    }
    sqlite3_bind_text(valid, 1, text, (int)length, SQLITE_STATIC);
    bool is = sqlite3_step(valid) == SQLITE_ROW && sqlite3_column_int(valid, 0) == 1;
    sqlite3_reset(valid);
    sqlite3_clear_bindings(valid);
    return is;
}

static void check_answer(script *s, const struct call *call, sqlite3_stmt *statement)
{
    if (call->answers == MESSAGE)
        s->message = sqlite3_column_int64(statement, 0);
    if (sqlite3_column_type(statement, 0) != SQLITE_TEXT)
        return;
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    size_t length = (size_t)sqlite3_column_bytes(statement, 0);
    REQUIRE(fuzz_utf8(text, length), "%s answers what is not UTF-8", call->name);
    REQUIRE((call->answers != JSON && call->answers != STEPS) || is_json(text, length), "%s answers %s",
            call->name, text);
    if (call->answers == CLAIM)
        snprintf(s->claim, sizeof s->claim, "%s", text);
}

/* All bytes of the database as they were before the call. */
static unsigned char *kept;
static sqlite3_int64 kept_size, kept_room;

static void keep_content(sqlite3 *db)
{
    const unsigned char *image = sqlite3_serialize(db, "main", &kept_size, SQLITE_SERIALIZE_NOCOPY);

    REQUIRE(image, "image");
    if (kept_size > kept_room)
    {
        free(kept);
        kept_room = kept_size;
        kept = malloc((size_t)kept_room);
        REQUIRE(kept, "memory");
    }
    memcpy(kept, image, (size_t)kept_size);
}

static bool content_kept(sqlite3 *db)
{
    sqlite3_int64 size = 0;
    const unsigned char *image = sqlite3_serialize(db, "main", &size, SQLITE_SERIALIZE_NOCOPY);

    REQUIRE(image, "image");
    return size == kept_size && memcmp(image, kept, (size_t)size) == 0;
}

/* Outside a transaction the options are ours, else the script's. */
static void do_not_wait(const char **texts, size_t *lengths, int *count)
{
    if (*count == 3)
    {
        texts[3] = "{}";
        lengths[3] = 2;
    }
    if (*count < 3)
        return;
    texts[4] = "{\"timeout_ms\":0}";
    lengths[4] = strlen(texts[4]);
    *count = ARGUMENTS;
}

static sqlite3_stmt *prepare(const script *s, const struct call *call, int count)
{
    static const char *const lists[] = {"", "?1", "?1,?2", "?1,?2,?3", "?1,?2,?3,?4", "?1,?2,?3,?4,?5"};
    char sql[200];
    sqlite3_stmt *statement = NULL;
    const char *at = strstr(call->sql, "%s");

    if (at)
        snprintf(sql, sizeof sql, "%.*s%s%s", (int)(at - call->sql), call->sql, lists[count], at + 2);
    else
        snprintf(sql, sizeof sql, "%s", call->sql);
    sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL); /* another number of arguments is an error, too */
    return statement;
}

static void make_call(script *s, const struct call *call, const char **texts, size_t *lengths, int count)
{
    bool outside = sqlite3_get_autocommit(s->db);
    bool control = strcmp(call->name, "begin") == 0 || strcmp(call->name, "end") == 0;

    if (call->answers == WAITS && outside)
        do_not_wait(texts, lengths, &count);
    sqlite3_stmt *statement = prepare(s, call, count);
    if (!statement)
        return;
    int wanted = sqlite3_bind_parameter_count(statement);
    for (int i = 0; i < count && i < wanted; i++)
        bind(s, statement, i + 1, texts[i], lengths[i]);
    s->budget = BUDGET;
    s->interrupted = false;
    if (outside)
        keep_content(s->db);
    int rc = sqlite3_step(statement);
    for (; rc == SQLITE_ROW; rc = sqlite3_step(statement))
    {
        check_answer(s, call, statement);
        if (getenv("FUZZ_TRACE"))
            fprintf(stderr, "%s: %.400s\n", call->name, (const char *)sqlite3_column_text(statement, 0));
    }
    if (getenv("FUZZ_TRACE") && rc != SQLITE_DONE)
        fprintf(stderr, "%s: %s\n", call->name, sqlite3_errmsg(s->db));
    if (rc != SQLITE_DONE)
        check_error(s, call, rc);
    if (rc != SQLITE_DONE && outside && call->answers != STEPS)
        REQUIRE(sqlite3_get_autocommit(s->db) && content_kept(s->db), "%s changed something: %s", call->name,
                sqlite3_errmsg(s->db));
    /* What the error text holds is no reason to keep the message. */
    if (call->answers == FAIL && count == 2 && lengths[0] == 1 && texts[0][0] == '@' && rc != SQLITE_DONE)
        REQUIRE(s->interrupted || strncmp(sqlite3_errmsg(s->db), "SO_LOST_CLAIM", 13) == 0 ||
                    rc != SQLITE_ERROR,
                "%s", sqlite3_errmsg(s->db));
    sqlite3_finalize(statement);
    s->budget = BUDGET;

    for (sqlite3_stmt *left = sqlite3_next_stmt(s->db, NULL); left; left = sqlite3_next_stmt(s->db, left))
        REQUIRE(!sqlite3_stmt_busy(left), "%s leaves running: %s", call->name, sqlite3_sql(left));
    /* A handler may roll back all of a transaction, and so may an interrupt; nothing may begin one. */
    if (!control)
        REQUIRE(!outside || sqlite3_get_autocommit(s->db), "%s leaves a transaction open", call->name);
}

/* ---- the script ---- */

/* Handlers may write what they like, but who writes the product's own tables has broken the rules. */
static bool holds(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= length; i++)
        if (sqlite3_strnicmp(text + i, word, (int)n) == 0)
            return true;
    return false;
}

static void run_line(script *s, const char *line, size_t length)
{
    const char *texts[ARGUMENTS];
    size_t lengths[ARGUMENTS];
    int count = 0;
    const char *end = line + length;
    const char *tab = memchr(line, '\t', length);
    size_t name = tab ? (size_t)(tab - line) : length;

    while (tab && count < ARGUMENTS)
    {
        texts[count] = tab + 1;
        tab = memchr(tab + 1, '\t', (size_t)(end - tab - 1));
        lengths[count] = (size_t)((tab ? tab : end) - texts[count]);
        count++;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strlen(calls[i].name) == name && memcmp(line, calls[i].name, name) == 0)
            make_call(s, &calls[i], texts, lengths, count);
}

static void run_lines(script *s, const char *text, size_t size)
{
    const char *end = text + size;

    for (int lines = 0; text < end && lines < LINES; lines++)
    {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        run_line(s, text, (size_t)(stop - text));
        text = stop + 1;
    }
}

static sqlite3_int64 number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW, "%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_int64 answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

static void check_end(script *s, unsigned runs)
{
    cf_session session = {s->db};

    s->budget = BUDGET * 1000;
    if (!sqlite3_get_autocommit(s->db))
        execute(s->db, "ROLLBACK");
    char *broken = runs % INVARIANTS_EVERY == 0 ? cf_invariants_check(&driver, &session) : NULL;
    REQUIRE(!broken, "%s", broken);
    if (runs % INTEGRITY_EVERY == 0)
        REQUIRE(number(s->db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1, "integrity");
    for (int expected = 42; expected < 44; expected++)
        REQUIRE(number(s->db, "SELECT so_call('Fixed', 'k', 'count')") == expected, "not %d", expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned runs;
    static sqlite3_int64 at_first = -1;
    const char *text = (const char *)data;
    script s = {.claim = ""};

    if (holds(text, size, "solidobj") || holds(text, size, "sqlite_") || holds(text, size, "Fixed") ||
        holds(text, size, "wait_ms"))
        return 0;
    is_json("1", 1);
    s.db = open_copy();
    sqlite3_progress_handler(s.db, PROGRESS_STEPS, progress, &s);
    s.budget = BUDGET;
    run_lines(&s, text, size);
    check_end(&s, runs++);
    REQUIRE(sqlite3_close(s.db) == SQLITE_OK, "%s", sqlite3_errmsg(s.db));
    if (at_first < 0)
        at_first = sqlite3_memory_used();
    REQUIRE(sqlite3_memory_used() == at_first, "%lld bytes more than after the first run",
            (long long)(sqlite3_memory_used() - at_first));
    return 0;
}
