/*
 * The SQLite port: what belongs to one connection.
 */
#ifndef SO_SQLITE_H
#define SO_SQLITE_H

#include "so_engine.h"

#include "doorbell.h"

#include <sqlite3ext.h>

/* The statements that begin, end and wait; prepared once like the catalog's. */
typedef enum so_control
{
    SO_CONTROL_BEGIN_WRITE,
    SO_CONTROL_BEGIN_READ,
    SO_CONTROL_COMMIT,
    SO_CONTROL_ROLLBACK,
    SO_CONTROL_WORK,
    SO_CONTROL_WORK_UNDO,
    SO_CONTROL_WORK_RELEASE,
    SO_CONTROL_MARK,
    SO_CONTROL_MARK_UNDO,
    SO_CONTROL_MARK_RELEASE,
    SO_CONTROL_LOCK,
    SO_CONTROL_DATA_VERSION,
    SO_CONTROL_RING,
    SO_CONTROL_QUERY_ONLY,
    SO_CONTROL_PROBE,
    SO_CONTROL_COUNT
} so_control;

/* How the piece of work that is open was begun. */
typedef enum so_piece
{
    SO_PIECE_NONE,
    SO_PIECE_TRANSACTION,
    SO_PIECE_SAVEPOINT,
    SO_PIECE_NOTHING /* reading under a statement of the caller that writes */
} so_piece;

typedef struct so_handler so_handler;

/* Rings that wait for the commit of what they tell of. */
typedef struct so_rings
{
    bool any;
    bool work[2]; /* SO_BELL_RUN, SO_BELL_EXTERNAL */
    bool everybody[2];
    uint64_t bells[4];     /* one bit for each bell of SO_BELL_MESSAGE … */
    int64_t messages[256]; /* … and the newest message that it rings for */
} so_rings;

void so_rings_clear(so_rings *rings);

typedef struct so_sqlite
{
    so_port port;
    so_session session;
    sqlite3 *db;
    sqlite3_stmt *statements[SO_STATEMENT_COUNT];
    sqlite3_stmt *controls[SO_CONTROL_COUNT];
    sqlite3_stmt *guard; /* runs while the schema is made */
    so_handler *handlers;
    so_piece piece;
    bool writing;  /* the piece of work may write */
    bool prepared; /* what begins and ends a piece of work is */
    bool gated;    /* the piece of work holds `ticket` of the gate */
    uint32_t ticket;
    int unbound;           /* SQLite's code for a text that could not be bound */
    int64_t data_version;  /* as of the last wait, -1: never waited */
    so_doorbell *doorbell; /* NULL: there is none, poll */
    bool doorbell_tried;
    bool awake; /* this connection is a worker that will look again before it sleeps */
    uint32_t armed;
    so_rings rings;
    bool rings_at_commit; /* SQLite will tell of the commit of the transaction that is open */
    char *answer;         /* memory for the answer of the call that runs, or NULL */
    size_t answer_bytes;
} so_sqlite;

/* Made when the extension is loaded, freed when the connection closes; `connection` comes and goes in
 * between. */
typedef struct so_registration
{
    sqlite3 *db;
    so_sqlite *connection;
    int references;
} so_registration;

/* A function of the product on this connection. */
typedef struct so_binding
{
    so_registration *registration;
    const so_function *function;
} so_binding;

so_sqlite *so_sqlite_open(sqlite3 *db);
void so_sqlite_close(so_sqlite *connection);

/* The connection of a registration, made at its first use; else SQLite's code and a message
 * (sqlite3_malloc'ed). */
int so_sqlite_connection(so_registration *registration, so_sqlite **connection, char **message);

/* Statements and errors (statements.c): the error that SQLite just reported, as the engine keeps it. */
so_code so_sqlite_error(so_sqlite *connection, int rc);
bool so_sqlite_interrupted(const so_sqlite *connection, so_code code);

/* The statement of the control or of the catalog, prepared at first use and kept; so_sqlite_done() ends each
 * use of one, and the first error wins. so_sqlite_step() runs one that gives nothing; under PRAGMA
 * count_changes it gives a row all the same. */
so_code so_sqlite_prepare(so_sqlite *connection, sqlite3_stmt **statement, const char *text);
so_code so_sqlite_control_statement(so_sqlite *connection, so_control control, sqlite3_stmt **statement);
so_code so_sqlite_statement(so_sqlite *connection, so_statement which, sqlite3_stmt **statement);
int so_sqlite_step(sqlite3_stmt *statement);
so_code so_sqlite_done(so_sqlite *connection, sqlite3_stmt *statement, so_code code);
so_code so_sqlite_control(so_sqlite *connection, so_control control);

/* Pieces of work (piece.c): the port's methods, and the gate for a statement that is a piece by itself. */
so_scope so_sqlite_scope(so_port *port);
so_code so_sqlite_begin(so_port *port, bool write);
so_code so_sqlite_end(so_port *port, bool keep);
so_code so_sqlite_writable(so_port *port);
so_code so_sqlite_mark(so_port *port);
so_code so_sqlite_mark_undo(so_port *port);
so_code so_sqlite_mark_release(so_port *port);
so_code so_sqlite_guard_begin(so_sqlite *connection);
void so_sqlite_gate_in(so_sqlite *connection);
void so_sqlite_gate_out(so_sqlite *connection);

/* Waking up (waking.c). Rings now, or with the commit of the transaction that is open, or forgets the rings.
 */
so_code so_sqlite_others(so_port *port, int64_t *number);
void so_sqlite_arm(so_port *port, const so_waiting *waiting);
so_code so_sqlite_wait(so_port *port, const so_waiting *waiting, int64_t milliseconds);
void so_sqlite_ring(so_port *port, so_bell bell, int64_t message, bool everybody);
bool so_sqlite_attended(so_port *port);
bool so_sqlite_rung(so_port *port, int64_t message);
void so_sqlite_awake(so_port *port, bool awake);
bool so_sqlite_keeps_notes(so_port *port);
void so_sqlite_note(so_port *port, const so_message *message);
int64_t so_sqlite_noted(so_port *port, int64_t *created_ms);
void so_sqlite_ring_now(so_sqlite *connection);
so_code so_sqlite_ring_at_commit(so_sqlite *connection);
bool so_sqlite_in_transaction(so_sqlite *connection); /* of the caller's, or under a statement that writes */
so_doorbell *so_sqlite_doorbell(so_sqlite *connection);
int64_t so_sqlite_ticks_ms(so_port *port);

/* Handlers (handler.c). */
so_code so_sqlite_handler_check(so_port *port, so_str text);
so_code so_sqlite_handler_pure(so_port *port, so_operation *operation, bool *pure);
so_code so_sqlite_handler_run(so_port *port, so_operation *operation, so_turn *turn, so_handler_end *end);
void so_sqlite_handler_forget(so_port *port);

/* Values (values.c). */
so_value so_sqlite_value(sqlite3_value *value);
int so_sqlite_bind(sqlite3_stmt *statement, int index, const so_value *value);
void so_sqlite_result(sqlite3_context *context, const so_value *value);

/* The same for the answer of a call. */
void so_sqlite_answer(so_sqlite *connection, sqlite3_context *context, const so_value *value);

/* Sees to memory for an answer (NULL: a short one), so that giving it needs none. False if there is none. */
bool so_sqlite_reserve_answer(so_sqlite *connection, const so_value *answer);

/* A text answer in memory of its own, which the caller frees with sqlite3_free(); NULL without memory. */
char *so_sqlite_take_answer(so_sqlite *connection, so_str text);

/* Calls a function for SQL and puts its answer or its error into `context` / into *message
 * (sqlite3_malloc'ed). */
int so_sqlite_call(so_binding *binding, sqlite3_value **values, int count, so_value *result, char **message);

/* Registration of functions and tables (functions.c, rows.c, table.c). */
int so_sqlite_register_functions(so_registration *registration);
int so_sqlite_register_rows(so_registration *registration);
int so_sqlite_register_tables(so_registration *registration);

so_registration *so_registration_hold(so_registration *registration);
void so_registration_drop(void *registration);
so_binding *so_binding_new(so_registration *registration, const so_function *function);
void so_binding_free(void *binding);

#endif
