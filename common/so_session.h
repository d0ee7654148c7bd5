/*
 * A session: the engine's state for one connection. Not shared between threads at the same moment.
 */
#ifndef SO_SESSION_H
#define SO_SESSION_H

#include "so_port.h"

/* The options of so_define_actor(), with their defaults in so_define.c. */
typedef struct so_type_options
{
    so_str initial; /* compact JSON object */
    int64_t max_attempts;
    int64_t retry_base_ms;
    int64_t retry_cap_ms;
    int64_t lease_ms;
    int64_t max_mailbox;
    int64_t max_payload_bytes;
    int64_t max_state_bytes;
    int64_t max_result_bytes;
    int64_t state_version;
    so_str history; /* "results" or "none" */
} so_type_options;

typedef struct so_type so_type;

/* Also a migration's handler. */
struct so_operation
{
    const so_type *type;
    so_str name;
    so_str handler; /* p NULL: an external operation */
    bool query;
    so_str members;       /* compact JSON array of the members that :state and claims hold; p NULL: all */
    int64_t max_attempts; /* 0: the type's */
    void *prepared;       /* the port's */
};

/* One step of a state from a version to the next one. */
typedef struct so_migration
{
    int64_t from_version;
    so_operation step;
} so_migration;

struct so_type
{
    int64_t id;
    so_str name;
    so_str options_text; /* as stored */
    so_type_options options;
    so_operation *operations; /* by name */
    size_t operation_count;
    so_migration *migrations; /* by version */
    size_t migration_count;
};

/* The definitions and settings, as they were at `stamp`. */
typedef struct so_definitions
{
    bool loaded;
    int64_t stamp;
    int64_t schema_version;
    bool test;
    int64_t clock_ms;
    so_type *types; /* by name */
    size_t type_count;
} so_definitions;

typedef struct so_taken so_taken;
typedef struct so_crowd so_crowd;

struct so_session
{
    so_port *port;
    so_error err;
    so_allocator allocator;
    so_arena *arena; /* where to allocate now: one of the following */
    so_arena call_arena;
    so_arena turn_arena;
    so_arena batch_arenas[2];
    so_arena definitions_arena;
    so_definitions definitions;
    so_newest newest;       /* as of the last look in this piece of work */
    so_turn *turn;          /* the turn that is running, or NULL */
    const so_value *answer; /* what the call that is running has answered so far; its memory is reserved
                               before a commit */
    int depth;
    bool cautious;        /* a mark before each turn, whatever its handler looks like */
    int64_t sent;         /* the message that was sent last here, outside a turn */
    const so_taken *held; /* what this piece of work took and has not begun */
    size_t held_count;
    so_crowd *crowd;   /* so_room.c's, or NULL */
    int64_t seek_type; /* the actor that was sought last, where the port seeks */
    char seek_key[256];
    size_t seek_key_bytes;
    int64_t expiry_looked_ms; /* when this connection last looked for leases that ran out */
};

/* The product's version, and that of the schema it needs. */
#define SO_VERSION_TEXT "0.1.0"
#define SO_SCHEMA_VERSION 2

/* `port` and `allocator` must outlive the session. */
void so_session_init(so_session *session, so_port *port, so_allocator allocator);
void so_session_free(so_session *session);

/* The solidobj clock: the database's, moved by so_test_clock(). */
int64_t so_now_ms(so_session *session);

/* An integer in any form that a driver binds it, within a range. SO_INVALID_ARGUMENT, naming `what`. */
so_code so_integer_argument(so_session *s, const so_value *value, const char *what, int64_t min, int64_t max,
                            int64_t *number);

/* The same for a message's id. */
so_code so_id_argument(so_session *s, const so_value *value, int64_t *id);

/* Shorthands for the catalog; `params` may be NULL for a statement without any. */
so_code so_db_row(so_session *s, so_statement statement, const so_value *params, so_value *columns,
                  bool *found);
so_code so_db_each(so_session *s, so_statement statement, const so_value *params, so_row_fn fn,
                   void *context);
so_code so_db_change(so_session *s, so_statement statement, const so_value *params);

/* Begins a piece of work, and ends it: keeps it if `code` is SO_OK, else undoes it and returns `code`. What
 * reads during a turn reads in the turn's piece of work. */
so_code so_work_begin(so_session *s);
so_code so_work_begin_reading(so_session *s);
so_code so_work_end(so_session *s, so_code code);

/* Begins to read with fresh definitions (a turn keeps those that it began with), and finds a type:
 * SO_NOT_INSTALLED, SO_VERSION, SO_UNKNOWN_TYPE, and then nothing has begun. *type is NULL if `name` is
 * {NULL, 0}. */
so_code so_reading_begin(so_session *s, so_str name, const so_type **type);

/* Reads the newest row, and loads the definitions again if their stamp changed. SO_NOT_INSTALLED, SO_VERSION.
 */
so_code so_definitions_refresh(so_session *s);

/* Loads them if that was never done; they may be older than the database's until a look tells. */
so_code so_definitions_ensure(so_session *s);

/* SO_UNKNOWN_TYPE, SO_UNKNOWN_OPERATION: not among the loaded definitions. */
so_code so_type_find(so_session *s, so_str name, const so_type **type);
so_code so_operation_find(so_session *s, const so_type *type, so_str name, so_operation **operation);

/* In the order of their bytes: < 0, 0, > 0. */
int so_name_compare(so_str a, so_str b);

/* NULL if there is none. */
const so_type *so_type_by_id(so_session *s, int64_t id);
so_operation *so_operation_by_name(const so_type *type, so_str name);

/* NULL if there is none from this version. */
so_migration *so_migration_from(const so_type *type, int64_t version);

int64_t so_attempts_allowed(const so_type *type, const so_operation *operation, const so_message *message);

#endif
