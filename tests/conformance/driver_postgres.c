/*
 * The PostgreSQL driver. A database is a copy of one that has the extension; a session is a connection.
 *
 * After "postgres:" stands a connection string without a database; its role must be a superuser. The first
 * test makes the copied database, "solidobj_template", and leaves it to the end of the server.
 */
#include "driver.h"

#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_NUMERIC = 1700
};

struct cf_database
{
    char *server;
    char *name;
};

struct cf_session
{
    PGconn *connection;
};

static void quiet(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static PGconn *connect_to(const char *server, const char *name, char **error)
{
    char *options = cf_format("%s dbname=%s", server, name);
    PGconn *connection = PQconnectdb(options);

    free(options);
    if (PQstatus(connection) == CONNECTION_OK)
    {
        PQsetNoticeProcessor(connection, quiet, NULL);
        return connection;
    }
    *error = cf_format("cannot connect to %s: %s", name, PQerrorMessage(connection));
    PQfinish(connection);
    return NULL;
}

/* Runs statements whose answer does not matter. */
static bool execute(PGconn *connection, const char *sql, char **error)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!ok && error)
        *error = cf_format("%s: %s", sql, PQerrorMessage(connection));
    PQclear(result);
    return ok;
}

static bool make_template(const char *server, PGconn *maintenance, char **error)
{
    PGresult *there = PQexec(maintenance, "SELECT 1 FROM pg_database WHERE datname = 'solidobj_template'");
    bool known = PQntuples(there) == 1;

    PQclear(there);
    if (known)
        return true;
    if (!execute(maintenance, "CREATE DATABASE solidobj_template TEMPLATE template0 ENCODING 'UTF8'", error))
        return false;
    PGconn *connection = connect_to(server, "solidobj_template", error);
    if (!connection)
        return false;
    bool ok = execute(connection, "CREATE EXTENSION solidobj", error);
    PQfinish(connection);
    return ok;
}

static cf_database *driver_create(const char *uri, const char *extension, char **error)
{
    static unsigned count;
    cf_database *database = cf_alloc(sizeof(*database));
    PGconn *maintenance = connect_to(uri, "postgres", error);
    bool ok = maintenance != NULL;

    (void)extension;
    database->server = cf_format("%s", uri);
    database->name = cf_format("solidobj_test_%u", ++count);
    if (ok)
        ok = make_template(uri, maintenance, error);
    if (ok)
    {
        char *create = cf_format("CREATE DATABASE %s TEMPLATE solidobj_template", database->name);

        ok = execute(maintenance, create, error);
        free(create);
    }
    PQfinish(maintenance);
    if (ok)
        return database;
    free(database->server);
    free(database->name);
    free(database);
    return NULL;
}

static bool driver_reads_beside(const char *uri)
{
    (void)uri;
    return true;
}

static void driver_drop(cf_database *database)
{
    char *error = NULL;
    char *drop = cf_format("DROP DATABASE %s WITH (FORCE)", database->name);
    PGconn *maintenance = connect_to(database->server, "postgres", &error);

    if (!maintenance || !execute(maintenance, drop, &error))
        fprintf(stderr, "conformance: %s\n", error);
    PQfinish(maintenance);
    free(error);
    free(drop);
    free(database->server);
    free(database->name);
    free(database);
}

static cf_session *driver_open(cf_database *database, const char *options, char **error)
{
    cf_session *session = cf_alloc(sizeof(*session));

    (void)options;
    session->connection = connect_to(database->server, database->name, error);
    if (session->connection)
        return session;
    free(session);
    return NULL;
}

static void driver_close(cf_session *session)
{
    PQfinish(session->connection);
    free(session);
}

/* There is nothing to install but what CREATE EXTENSION made; a superuser marks a test installation. */
static void driver_install(cf_session *session, cf_result *result)
{
    char *error = NULL;

    result->failed = !execute(session->connection, "INSERT INTO solidobj.setting VALUES ('test', 1)", &error);
    if (result->failed)
    {
        result->message = error;
        result->hint = cf_copy("", 0);
    }
}

static const char *field(const PGresult *from, int code)
{
    const char *text = PQresultErrorField(from, code);

    return text ? text : "";
}

static void take_error(const PGresult *from, PGconn *connection, cf_result *result)
{
    const char *state = field(from, PG_DIAG_SQLSTATE);
    bool missing =
        strcmp(state, "42883") == 0 && strncmp(field(from, PG_DIAG_MESSAGE_PRIMARY), "function so_", 12) == 0;
    const char *detail = field(from, PG_DIAG_MESSAGE_DETAIL);
    const char *message = field(from, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = field(from, PG_DIAG_MESSAGE_HINT);

    result->failed = true;
    result->missing = missing;
    snprintf(result->code, sizeof(result->code), "%s", strncmp(state, "SO", 2) == 0 ? detail : state);
    if (!*message)
        message = PQerrorMessage(connection);
    result->message = cf_copy(message, strlen(message));
    result->hint = cf_copy(hint, strlen(hint));
}

static cf_value cell(const PGresult *from, int row, int column)
{
    const char *text = PQgetvalue(from, row, column);

    if (PQgetisnull(from, row, column))
        return (cf_value){.type = CF_NULL};
    switch (PQftype(from, column))
    {
    case OID_BOOL:
        return cf_value_int(*text == 't');
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
        return cf_value_int(strtoll(text, NULL, 10));
    case OID_FLOAT4:
    case OID_FLOAT8:
    case OID_NUMERIC:
        return (cf_value){.type = CF_REAL, .real = strtod(text, NULL)};
    case OID_BYTEA:
    {
        size_t length;
        unsigned char *bytes = PQunescapeBytea((const unsigned char *)text, &length);
        cf_value value = cf_value_text((const char *)bytes, length);

        PQfreemem(bytes);
        value.type = CF_BLOB;
        return value;
    }
    default:
        return cf_value_text(text, strlen(text));
    }
}

static void take_rows(const PGresult *from, cf_result *result)
{
    result->columns = (size_t)PQnfields(from);
    result->rows = (size_t)PQntuples(from);
    result->names = cf_alloc(result->columns * sizeof(char *) + 1);
    result->cells = cf_alloc(result->rows * result->columns * sizeof(cf_value) + 1);
    for (size_t i = 0; i < result->columns; i++)
        result->names[i] = cf_format("%s", PQfname(from, (int)i));
    for (size_t i = 0; i < result->rows * result->columns; i++)
        result->cells[i] = cell(from, (int)(i / result->columns), (int)(i % result->columns));
}

/* With values there is one statement; without, there may be several. */
static PGresult *send(PGconn *connection, const char *sql, const cf_value *values, size_t count)
{
    enum
    {
        VALUES = 64
    };
    Oid types[VALUES];
    char numbers[VALUES][32];
    const char *texts[VALUES];
    int lengths[VALUES];
    int formats[VALUES];

    if (count == 0)
        return PQexec(connection, sql);
    for (size_t i = 0; i < count && i < VALUES; i++)
    {
        types[i] = 0;
        formats[i] = 0;
        lengths[i] = 0;
        texts[i] = numbers[i];
        switch (values[i].type)
        {
        case CF_NULL:
            texts[i] = NULL;
            break;
        case CF_INT:
            types[i] = OID_INT8;
            snprintf(numbers[i], sizeof(numbers[i]), "%lld", (long long)values[i].number);
            break;
        case CF_REAL:
            types[i] = OID_FLOAT8;
            snprintf(numbers[i], sizeof(numbers[i]), "%.17g", values[i].real);
            break;
        case CF_TEXT:
            texts[i] = values[i].text;
            break;
        case CF_BLOB:
            types[i] = OID_BYTEA;
            texts[i] = values[i].text;
            lengths[i] = (int)values[i].size;
            formats[i] = 1;
            break;
        }
    }
    return PQexecParams(connection, sql, (int)count, types, texts, lengths, formats, 0);
}

static void driver_run(cf_session *session, const char *sql, const cf_value *values, size_t count,
                       cf_result *result)
{
    PGresult *answer = send(session->connection, sql, values, count);
    ExecStatusType status = PQresultStatus(answer);

    cf_result_free(result);
    if (status == PGRES_TUPLES_OK)
        take_rows(answer, result);
    else if (status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
        take_error(answer, session->connection, result);
    PQclear(answer);
}

/* The functions that give rows. */
static bool gives_rows(const char *call)
{
    static const char *const names[] = {"so_types(", "so_history(", "so_dead_letters(", "so_claim("};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(call, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void driver_call(cf_session *session, const char *call, const cf_value *values, size_t count,
                        cf_result *result)
{
    char *sql = gives_rows(call) ? cf_format("SELECT coalesce(json_agg(to_json(r)), '[]') FROM %s r", call)
                                 : cf_format("SELECT %s", call);

    driver_run(session, sql, values, count, result);
    free(sql);
}

static void driver_cancel(cf_session *session)
{
    char error[256];
    PGcancel *cancel = PQgetCancel(session->connection);

    if (!cancel || !PQcancel(cancel, error, sizeof(error)))
        fprintf(stderr, "conformance: cannot cancel\n");
    PQfreeCancel(cancel);
}

static void driver_placeholder(size_t number, char to[16]) { snprintf(to, 16, "$%u", (unsigned)number); }

static void driver_view(const char *name, char *to, size_t capacity)
{
    snprintf(to, capacity, "solidobj.%s", name);
}

const cf_driver cf_driver_postgres = {
    .scheme = "postgres",
    .dialect = "postgres",
    .create = driver_create,
    .reads_beside = driver_reads_beside,
    .drop = driver_drop,
    .open = driver_open,
    .close = driver_close,
    .install = driver_install,
    .run = driver_run,
    .call = driver_call,
    .cancel = driver_cancel,
    .placeholder = driver_placeholder,
    .view = driver_view,
};
