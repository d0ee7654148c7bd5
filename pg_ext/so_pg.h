/*
 * The PostgreSQL port: what belongs to one backend.
 *
 * Errors of the server are not values here: they leave the engine by siglongjmp, as everywhere in a backend,
 * and end the transaction or the subtransaction; so_pg_call() puts the session in order on their way. Only a
 * handler's are caught (handler.c).
 */
#ifndef SO_PG_H
#define SO_PG_H

#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"

#include "so_engine.h"

typedef struct so_pg_handler so_pg_handler;

typedef struct so_pg
{
    so_port port;
    so_session session;
    MemoryContext memory; /* of the session; everything else hangs below it */
    SPIPlanPtr plans[SO_STATEMENT_COUNT];
    so_pg_handler *handlers;
    Oid setting;   /* solidobj.setting, whose changes tell of definitions; InvalidOid: not looked up */
    Oid sequence;  /* solidobj.message_id */
    int64_t stamp; /* goes up with every change of the definitions */
    bool marked;   /* a subtransaction of ours is open */
    MemoryContext marked_context;
    ResourceOwner marked_owner;
} so_pg;

/* This backend's, made at first use (extension.c). */
so_pg *so_pg_backend(void);

/* Finds the tables: SO_NOT_INSTALLED. */
so_code so_pg_find_tables(so_pg *pg);

/* The port's methods (port.c). */
extern const so_port_methods so_pg_methods;

/* The catalog (statements.c). A statement without a text does nothing. */
so_code so_pg_row(so_port *port, so_statement statement, const so_value *params, so_value *columns,
                  bool *found);
so_code so_pg_each(so_port *port, so_statement statement, const so_value *params, so_row_fn fn,
                   void *context);
so_code so_pg_change(so_port *port, so_statement statement, const so_value *params, int64_t *changed);

/* Handlers (handler.c). */
so_code so_pg_handler_check(so_port *port, so_str text);
so_code so_pg_handler_pure(so_port *port, so_operation *operation, bool *pure);
so_code so_pg_handler_run(so_port *port, so_operation *operation, so_turn *turn, so_handler_end *end);
void so_pg_handler_forget(so_port *port);

/* Values (values.c). What `so_pg_value` gives lives in the current memory context; `copy`: in the session's
 * arena. */
so_value so_pg_value(Oid type, Datum datum, bool null);
so_code so_pg_value_copy(so_session *s, Oid type, Datum datum, bool null, so_value *value);
Datum so_pg_datum(Oid type, const so_value *value, bool *null);

#endif
