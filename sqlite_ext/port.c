/*
 * The SQLite port: the hot verbs, the catalog, the table of its methods.
 */
#include "so_sqlite.h"

#include <string.h>
#include <time.h>

#include "sqlite_schema.h"
#include "sqlite_upgrade_1.h"
#include "sqlite_views.h"

SQLITE_EXTENSION_INIT3

static int64_t so_port_changes(so_port *port) { return sqlite3_total_changes(((so_sqlite *)port)->db); }

/* With one writer, who may write may change every actor. */
static bool so_port_must_mark(so_port *port)
{
    (void)port;
    return false;
}

static so_code so_port_hold(so_port *port, int64_t type, so_str key, bool wait, bool *held)
{
    (void)port;
    (void)type;
    (void)key;
    (void)wait;
    *held = true;
    return SO_OK;
}

static void so_port_loose(so_port *port, int64_t type, so_str key)
{
    (void)port;
    (void)type;
    (void)key;
}

static so_code so_port_next_id(so_port *port, const so_newest *newest, int64_t *id)
{
    (void)port;
    *id = newest->id + 1;
    return SO_OK;
}

static int64_t so_port_now_ms(so_port *port)
{
    struct timespec now;
    (void)port;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t so_port_random(so_port *port)
{
    int64_t number;
    (void)port;
    sqlite3_randomness(sizeof number, &number);
    return (number & INT64_C(0x3fffffffffffffff)) | 1;
}

static int64_t so_column_or(sqlite3_stmt *statement, int column, int64_t otherwise)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? otherwise
                                                                 : sqlite3_column_int64(statement, column);
}

/* A text column, copied; p NULL for NULL. */
static bool so_column_text(so_sqlite *connection, sqlite3_stmt *statement, int column, so_str *text)
{
    *text = (so_str){0};
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return true;
    const char *p = (const char *)sqlite3_column_text(statement, column);
    *text = so_arena_copy(connection->session.arena, p == NULL ? "" : p,
                          (size_t)sqlite3_column_bytes(statement, column));
    return p != NULL && text->p != NULL;
}

static void so_look_newest(sqlite3_stmt *statement, so_newest *newest)
{
    newest->id = sqlite3_column_int64(statement, 0);
    newest->inbox = sqlite3_column_int64(statement, 1);
    newest->stamp = sqlite3_column_int64(statement, 2);
    newest->later_due_ms = so_column_or(statement, 3, INT64_MAX);
    newest->empty = newest->id > 0 && sqlite3_column_int(statement, 4) == SO_MESSAGE_ORIGIN;
}

/* The operation in a class, TYPE:OPERATION. */
static bool so_look_class(so_sqlite *connection, sqlite3_stmt *statement, so_str *operation)
{
    if (!so_column_text(connection, statement, 21, operation))
        return false;
    const char *colon = operation->n == 0 ? NULL : memchr(operation->p, ':', operation->n);
    if (colon != NULL)
        *operation = (so_str){colon + 1, operation->n - (size_t)(colon + 1 - operation->p)};
    return true;
}

/* A lane as it is stored tells whether the actor is paused, too. */
static void so_look_lane(sqlite3_stmt *statement, int column, so_slot *slot)
{
    int stored = sqlite3_column_int(statement, column);
    slot->paused = stored >= SO_LANE_PAUSED;
    slot->lane = (so_lane)(stored % SO_LANE_PAUSED);
}

static bool so_look_slot(so_sqlite *connection, sqlite3_stmt *statement, so_slot *slot)
{
    *slot = (so_slot){.kind = SO_SLOT_NONE};
    if (sqlite3_column_type(statement, 22) != SQLITE_NULL)
    {
        slot->kind = SO_SLOT_CLAIMED;
        slot->head = sqlite3_column_int64(statement, 22);
        so_look_lane(statement, 23, slot);
        slot->attempts = sqlite3_column_int64(statement, 24);
        slot->nonce = sqlite3_column_int64(statement, 25);
        slot->expires_ms = sqlite3_column_int64(statement, 26);
        slot->version = sqlite3_column_int64(statement, 30);
        return so_column_text(connection, statement, 27, &slot->worker) &&
               so_column_text(connection, statement, 28, &slot->more) &&
               so_column_text(connection, statement, 29, &slot->error);
    }
    if (sqlite3_column_type(statement, 15) == SQLITE_NULL)
        return true;
    slot->head = sqlite3_column_int64(statement, 15);
    so_look_lane(statement, 16, slot);
    if (slot->head == 0)
        return true;
    slot->kind = SO_SLOT_QUEUED;
    slot->rank = sqlite3_column_int64(statement, 17);
    slot->attempts = sqlite3_column_int64(statement, 18);
    slot->nonce = sqlite3_column_int64(statement, 19);
    return so_column_text(connection, statement, 20, &slot->error) &&
           so_look_class(connection, statement, &slot->operation);
}

static bool so_look_actor(so_sqlite *connection, sqlite3_stmt *statement, so_actor *actor)
{
    actor->exists = sqlite3_column_type(statement, 5) != SQLITE_NULL;
    if (actor->exists)
    {
        actor->incarnation = sqlite3_column_int64(statement, 5);
        actor->revision = sqlite3_column_int64(statement, 6);
        actor->turns = sqlite3_column_int64(statement, 7);
        actor->last = sqlite3_column_int64(statement, 8);
        actor->created_ms = sqlite3_column_int64(statement, 9);
        actor->updated_ms = sqlite3_column_int64(statement, 10);
        actor->members = sqlite3_column_int64(statement, 11);
        actor->bytes = sqlite3_column_int64(statement, 12);
        actor->version = sqlite3_column_int64(statement, 14);
        if (!so_column_text(connection, statement, 13, &actor->state))
            return false;
    }
    return so_look_slot(connection, statement, &actor->slot);
}

static so_code so_port_look(so_port *port, int64_t type, so_str key, so_actor *actor, so_newest *newest)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code = so_sqlite_statement(connection, actor == NULL ? SO_STMT_NEWEST : SO_STMT_LOOK, &statement);
    if (code != SO_OK)
        return code;
    if (actor != NULL)
    {
        *actor = (so_actor){.type = type, .key = key};
        sqlite3_bind_int64(statement, 1, type);
        sqlite3_bind_text64(statement, 2, key.p, key.n, SQLITE_STATIC, SQLITE_UTF8);
    }
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
    {
        so_look_newest(statement, newest);
        if (actor != NULL && !so_look_actor(connection, statement, actor))
            code = so_error_nomem(&connection->session.err);
    }
    else if (rc == SQLITE_DONE)
        code = so_error_set(&connection->session.err, SO_NOT_INSTALLED, "Restore the file from a backup.",
                            "the newest message row is missing");
    return so_sqlite_done(connection, statement, code);
}

static void so_bind_optional(sqlite3_stmt *statement, int index, int64_t number)
{
    if (number == 0)
        sqlite3_bind_null(statement, index);
    else
        sqlite3_bind_int64(statement, index, number);
}

/* Text that is longer than this connection allows must not become NULL: the verb asks so_bound() before it
 * steps, which ends the use of the statement if there was any. */
static void so_bind_str(so_sqlite *connection, sqlite3_stmt *statement, int index, so_str text)
{
    const so_value value = text.p == NULL ? SO_VALUE_NULL : SO_VALUE_STR(text);
    int rc = so_sqlite_bind(statement, index, &value);
    if (rc != SQLITE_OK)
        connection->unbound = rc;
}

static so_code so_bound(so_sqlite *connection, sqlite3_stmt *statement)
{
    int rc = connection->unbound;
    connection->unbound = SQLITE_OK;
    if (rc == SQLITE_OK)
        return SO_OK;
    if (rc == SQLITE_NOMEM)
        return so_sqlite_done(connection, statement, so_error_nomem(&connection->session.err));
    /* SQLite has forgotten it at the next bind. */
    so_error_set(&connection->session.err, SO_ENGINE, NULL, "%s", sqlite3_errstr(rc));
    connection->session.err.engine_code = rc;
    return so_sqlite_done(connection, statement, SO_ENGINE);
}

static so_code so_catalog_start(so_sqlite *connection, so_statement which, const so_value *params,
                                sqlite3_stmt **statement)
{
    so_code code = so_sqlite_statement(connection, which, statement);
    if (code != SO_OK)
        return code;
    int count = sqlite3_bind_parameter_count(*statement);
    for (int i = 0; i < count; i++)
    {
        int rc = so_sqlite_bind(*statement, i + 1, &params[i]);
        if (rc != SQLITE_OK)
            return so_sqlite_done(connection, *statement, so_sqlite_error(connection, rc));
    }
    return SO_OK;
}

static so_value so_column_value(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column))
    {
    case SQLITE_INTEGER:
        return SO_VALUE_INT(sqlite3_column_int64(statement, column));
    case SQLITE_NULL:
        return SO_VALUE_NULL;
    default:
    {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        return SO_VALUE_STR(((so_str){text, (size_t)sqlite3_column_bytes(statement, column)}));
    }
    }
}

static so_code so_port_row(so_port *port, so_statement which, const so_value *params, so_value *columns,
                           bool *found)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    *found = false;
    so_code code = so_catalog_start(connection, which, params, &statement);
    if (code != SO_OK)
        return code;
    if (sqlite3_step(statement) == SQLITE_ROW)
    {
        *found = true;
        int count = sqlite3_column_count(statement);
        for (int i = 0; i < count && code == SO_OK; i++)
        {
            columns[i] = so_column_value(statement, i);
            if (columns[i].type != SO_TEXT)
                continue;
            so_str text = columns[i].s;
            columns[i].s = text.p == NULL ? text : so_arena_copy_str(connection->session.arena, text);
            if (columns[i].s.p == NULL)
                code = so_error_nomem(&connection->session.err);
        }
    }
    return so_sqlite_done(connection, statement, code);
}

static so_code so_port_each(so_port *port, so_statement which, const so_value *params, so_row_fn fn,
                            void *context)
{
    enum
    {
        SO_EACH_COLUMNS = 16
    };
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code = so_catalog_start(connection, which, params, &statement);
    if (code != SO_OK)
        return code;
    int count = sqlite3_column_count(statement);
    while (code == SO_OK && sqlite3_step(statement) == SQLITE_ROW)
    {
        so_value columns[SO_EACH_COLUMNS];
        for (int i = 0; i < count && i < SO_EACH_COLUMNS; i++)
        {
            columns[i] = so_column_value(statement, i);
            if (columns[i].type == SO_TEXT && columns[i].s.p == NULL)
                code = so_error_nomem(&connection->session.err);
        }
        if (code == SO_OK)
            code = fn(&connection->session, context, columns);
    }
    return so_sqlite_done(connection, statement, code);
}

static so_code so_port_change(so_port *port, so_statement which, const so_value *params, int64_t *changed)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code = so_catalog_start(connection, which, params, &statement);
    if (code != SO_OK)
        return code;
    so_sqlite_step(statement);
    *changed = sqlite3_changes(connection->db);
    return so_sqlite_done(connection, statement, SO_OK);
}

static so_code so_port_forget(so_port *port, int64_t id, so_newest *newest)
{
    so_value params[] = {SO_VALUE_INT(id)};
    int64_t changed;
    if (id != newest->id)
        return so_port_change(port, SO_STMT_FORGET, params, &changed);
    so_code code = so_port_change(port, SO_STMT_EMPTY, params, &changed);
    newest->empty = true;
    return code == SO_OK ? so_port_change(port, SO_STMT_FORGET_EMPTY, params, &changed) : code;
}

static so_code so_forget_hollow(so_port *port, int64_t id)
{
    so_value params[] = {SO_VALUE_INT(id)};
    int64_t changed;
    return so_port_change(port, SO_STMT_FORGET_HOLLOW, params, &changed);
}

static so_code so_port_append(so_port *port, const so_message *message, int64_t stamp, int64_t max_inbox,
                              int64_t max_mailbox, int64_t *id, bool *stored)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code = so_sqlite_statement(connection, SO_STMT_APPEND, &statement);
    if (code != SO_OK)
        return code;
    sqlite3_bind_int64(statement, 1, stamp);
    sqlite3_bind_int64(statement, 2, max_mailbox);
    sqlite3_bind_int64(statement, 3, message->type);
    so_bind_str(connection, statement, 4, message->key);
    so_bind_str(connection, statement, 5, message->operation);
    sqlite3_bind_int64(statement, 6, message->created_ms);
    so_bind_optional(statement, 7, message->due_ms);
    so_bind_optional(statement, 8, message->max_attempts);
    so_bind_optional(statement, 9, message->keep);
    so_bind_str(connection, statement, 10, message->args);
    sqlite3_bind_int64(statement, 11, max_inbox);
    so_bind_str(connection, statement, 12, message->idempotency_key);
    if (message->only_to == SO_TO_ANYBODY)
        sqlite3_bind_null(statement, 13);
    else
        sqlite3_bind_int64(statement, 13, message->only_to);
    code = so_bound(connection, statement);
    if (code != SO_OK)
        return code;
    bool alone = connection->piece == SO_PIECE_NONE && sqlite3_get_autocommit(connection->db) &&
                 sqlite3_txn_state(connection->db, NULL) == SQLITE_TXN_NONE;
    if (alone)
        so_sqlite_gate_in(connection);
    else if (connection->piece == SO_PIECE_NONE && so_sqlite_in_transaction(connection))
        code = so_sqlite_ring_at_commit(connection);
    if (code != SO_OK)
        return so_sqlite_done(connection, statement, code);
    sqlite3_set_last_insert_rowid(connection->db, 0);
    int rc = so_sqlite_step(statement);
    /* A progress handler may also stop what is stored already. */
    *id = sqlite3_last_insert_rowid(connection->db);
    *stored =
        (rc == SQLITE_DONE || rc == SQLITE_INTERRUPT) && *id != 0 && sqlite3_changes(connection->db) > 0;
    code = so_sqlite_done(connection, statement, SO_OK);
    if (*stored && code != SO_OK)
    {
        so_error_clear(&connection->session.err);
        code = SO_OK;
    }
    if (alone)
        so_sqlite_gate_out(connection);
    return code;
}

/* A finished message that leaves no row: only its id is used up. */
static so_code so_record_nothing(so_port *port, int64_t id, int64_t inbox)
{
    so_value params[] = {SO_VALUE_INT(id), SO_VALUE_INT(inbox)};
    int64_t changed;
    so_code code = so_port_change(port, SO_STMT_EMPTY_MOVE, params, &changed);
    if (code == SO_OK && changed == 0)
        code = so_port_change(port, SO_STMT_EMPTY_PUT, params, &changed);
    return code;
}

static so_code so_port_record(so_port *port, const so_message *message, so_newest *newest)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    int64_t inbox = newest->inbox > newest->id ? message->id + 1 : newest->inbox;
    so_code code = message->leaves_nothing ? so_record_nothing(port, message->id, inbox)
                                           : so_sqlite_statement(connection, SO_STMT_RECORD, &statement);
    if (code != SO_OK)
        return code;
    if (message->leaves_nothing)
    {
        newest->id = message->id;
        newest->inbox = inbox;
        newest->empty = true;
        return SO_OK;
    }
    sqlite3_bind_int64(statement, 1, message->id);
    sqlite3_bind_int64(statement, 2, inbox);
    sqlite3_bind_int64(statement, 3, newest->stamp);
    sqlite3_bind_int(statement, 4, (int)message->status);
    sqlite3_bind_int64(statement, 5, message->type);
    so_bind_str(connection, statement, 6, message->key);
    so_bind_str(connection, statement, 7, message->operation);
    sqlite3_bind_int64(statement, 8, message->created_ms);
    so_bind_optional(statement, 9, message->keep);
    sqlite3_bind_int64(statement, 10, message->attempts);
    sqlite3_bind_int64(statement, 11, message->finished_ms);
    so_bind_optional(statement, 12, message->incarnation);
    so_bind_optional(statement, 13, message->turn);
    sqlite3_bind_int64(statement, 14, message->revision);
    so_bind_optional(statement, 15, message->previous);
    so_bind_str(connection, statement, 16, message->result);
    so_bind_str(connection, statement, 17, message->error);
    so_bind_str(connection, statement, 18, message->idempotency_key.p == NULL ? (so_str){0} : message->args);
    so_bind_str(connection, statement, 19, message->idempotency_key);
    code = so_bound(connection, statement);
    if (code != SO_OK)
        return code;
    int rc = so_sqlite_step(statement);
    if (rc == SQLITE_DONE)
    {
        newest->id = message->id;
        newest->inbox = inbox;
    }
    code = so_sqlite_done(connection, statement, SO_OK);
    if (code != SO_OK || !newest->empty)
        return code;
    newest->empty = false;
    return so_forget_hollow(port, message->id - 1);
}

static so_code so_port_settle(so_port *port, const so_message *message, so_newest *newest)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    if (message->leaves_nothing)
        return so_port_forget(port, message->id, newest);
    so_code code = so_sqlite_statement(connection, SO_STMT_SETTLE, &statement);
    if (code != SO_OK)
        return code;
    sqlite3_bind_int64(statement, 1, message->id);
    sqlite3_bind_int(statement, 2, (int)message->status);
    sqlite3_bind_int64(statement, 3, message->attempts);
    sqlite3_bind_int64(statement, 4, message->finished_ms);
    so_bind_optional(statement, 5, message->incarnation);
    so_bind_optional(statement, 6, message->turn);
    sqlite3_bind_int64(statement, 7, message->revision);
    so_bind_optional(statement, 8, message->previous);
    so_bind_optional(statement, 9, message->nonce);
    so_bind_str(connection, statement, 10, message->result);
    so_bind_str(connection, statement, 11, message->error);
    code = so_bound(connection, statement);
    if (code != SO_OK)
        return code;
    int rc = so_sqlite_step(statement);
    if (rc == SQLITE_DONE && sqlite3_changes(connection->db) != 1)
        code = so_error_set(&connection->session.err, SO_LOST_CLAIM, NULL,
                            "message %lld was finished by somebody else", (long long)message->id);
    code = so_sqlite_done(connection, statement, code);
    return code == SO_OK && message->hollow != 0 ? so_forget_hollow(port, message->hollow) : code;
}

static so_code so_port_write_actor(so_port *port, const so_actor *actor, bool create)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code =
        so_sqlite_statement(connection, create ? SO_STMT_ACTOR_INSERT : SO_STMT_ACTOR_UPDATE, &statement);
    if (code != SO_OK)
        return code;
    sqlite3_bind_int64(statement, 1, actor->type);
    so_bind_str(connection, statement, 2, actor->key);
    sqlite3_bind_int64(statement, 3, actor->incarnation);
    sqlite3_bind_int64(statement, 4, actor->revision);
    sqlite3_bind_int64(statement, 5, actor->turns);
    sqlite3_bind_int64(statement, 6, actor->last);
    if (create)
        sqlite3_bind_int64(statement, 7, actor->created_ms);
    sqlite3_bind_int64(statement, 8, actor->updated_ms);
    sqlite3_bind_int64(statement, 9, actor->members);
    sqlite3_bind_int64(statement, 10, actor->bytes);
    so_bind_str(connection, statement, 11, actor->state);
    sqlite3_bind_int64(statement, 12, actor->version);
    code = so_bound(connection, statement);
    if (code != SO_OK)
        return code;
    so_sqlite_step(statement);
    return so_sqlite_done(connection, statement, SO_OK);
}

/* A setting of whatever schema there is. */
static so_code so_schema_version(so_sqlite *connection, int64_t *version)
{
    sqlite3_stmt *statement = NULL;
    *version = 0;
    so_code code = so_sqlite_prepare(connection, &statement,
                                     "SELECT value FROM main.solidobj_setting WHERE name = 'schema_version'");
    if (code == SO_NOT_INSTALLED)
        return SO_OK;
    if (code == SO_OK && sqlite3_step(statement) == SQLITE_ROW)
        *version = sqlite3_column_int64(statement, 0);
    int rc = sqlite3_finalize(statement);
    return code == SO_OK && rc != SQLITE_OK ? so_sqlite_error(connection, rc) : code;
}

static so_code so_port_migrate_schema(so_port *port, int64_t *from)
{
    static const struct
    {
        int64_t from;
        const char *text;
    } steps[] = {{0, so_sql_schema},
                 {0, "CREATE VIRTUAL TABLE main.solidobj USING solidobj"},
                 {1, so_sql_upgrade_1},
                 {SO_SCHEMA_VERSION, so_sql_views}};
    so_sqlite *connection = (so_sqlite *)port;
    so_code code = so_schema_version(connection, from);
    if (code != SO_OK || *from >= SO_SCHEMA_VERSION)
        return code;
    code = so_sqlite_guard_begin(connection);
    if (code != SO_OK)
        return code;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof steps / sizeof steps[0]; i++)
    {
        bool wanted = *from == 0 ? steps[i].from == 0 : steps[i].from >= *from;
        if (wanted || steps[i].from == SO_SCHEMA_VERSION)
            rc = sqlite3_exec(connection->db, steps[i].text, NULL, NULL, NULL);
    }
    return rc == SQLITE_OK ? SO_OK : so_sqlite_error(connection, rc);
}

static const so_port_methods so_sqlite_methods = {
    .dialect = SO_DIALECT_SQLITE,
    /* With the longest key an actor's row stays below a quarter of a page of 4096 bytes. */
    .inline_bytes = 512,
    .scope = so_sqlite_scope,
    .begin = so_sqlite_begin,
    .end = so_sqlite_end,
    .writable = so_sqlite_writable,
    .mark = so_sqlite_mark,
    .undo = so_sqlite_mark_undo,
    .release = so_sqlite_mark_release,
    .must_mark = so_port_must_mark,
    .hold = so_port_hold,
    .loose = so_port_loose,
    .next_id = so_port_next_id,
    .changes = so_port_changes,
    .others = so_sqlite_others,
    .now_ms = so_port_now_ms,
    .ticks_ms = so_sqlite_ticks_ms,
    .random = so_port_random,
    .arm = so_sqlite_arm,
    .wait = so_sqlite_wait,
    .ring = so_sqlite_ring,
    .attended = so_sqlite_attended,
    .rung = so_sqlite_rung,
    .awake = so_sqlite_awake,
    .keeps_notes = so_sqlite_keeps_notes,
    .note = so_sqlite_note,
    .noted = so_sqlite_noted,
    .look = so_port_look,
    .append = so_port_append,
    .record = so_port_record,
    .settle = so_port_settle,
    .forget = so_port_forget,
    .write_actor = so_port_write_actor,
    .handler_check = so_sqlite_handler_check,
    .handler_pure = so_sqlite_handler_pure,
    .handler_run = so_sqlite_handler_run,
    .handler_forget = so_sqlite_handler_forget,
    .row = so_port_row,
    .each = so_port_each,
    .change = so_port_change,
    .migrate_schema = so_port_migrate_schema,
};

static void *so_session_alloc(void *context, size_t bytes)
{
    (void)context;
    return sqlite3_malloc64(bytes);
}

static void so_session_release(void *context, void *memory)
{
    (void)context;
    sqlite3_free(memory);
}

so_sqlite *so_sqlite_open(sqlite3 *db)
{
    so_sqlite *connection = sqlite3_malloc64(sizeof *connection);
    if (connection == NULL)
        return NULL;
    memset(connection, 0, sizeof *connection);
    connection->port.methods = &so_sqlite_methods;
    connection->db = db;
    connection->data_version = -1;
    so_session_init(&connection->session, &connection->port,
                    (so_allocator){so_session_alloc, so_session_release, NULL});
    return connection;
}

void so_sqlite_close(so_sqlite *connection)
{
    so_sqlite_handler_forget(&connection->port);
    for (int i = 0; i < SO_STATEMENT_COUNT; i++)
        sqlite3_finalize(connection->statements[i]);
    for (int i = 0; i < SO_CONTROL_COUNT; i++)
        sqlite3_finalize(connection->controls[i]);
    so_doorbell_close(connection->doorbell);
    sqlite3_free(connection->answer);
    so_session_free(&connection->session);
    sqlite3_free(connection);
}
