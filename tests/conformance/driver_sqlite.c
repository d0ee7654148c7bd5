/*
 * The SQLite driver. A database is a file; a session is a connection with the extension loaded.
 *
 * After "sqlite:" stands a path (empty: a temporary file), or ":memory:", a database in memory that the
 * sessions share; then perhaps "?journal=MODE" (default wal), "?doorbell=none" or
 * "?journal=MODE&doorbell=none". The file must not exist: the driver makes and removes it for every test.
 * Without a doorbell there is a directory in its place, so that the extension has to do without.
 */
#include "driver.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum
{
    BUSY_TIMEOUT_MS = 10000
};

struct cf_database
{
    char *path;
    sqlite3 *memory; /* keeps a database in memory alive between sessions, or NULL; `path` is its name then */
    char *doorbell;  /* the directory in the doorbell's place, or NULL */
    char *directory; /* the temporary directory around it, or NULL */
    char *journal;   /* set by the first connection; NULL afterwards, the file keeps it */
    char *extension;
};

struct cf_session
{
    sqlite3 *db;
};

static const struct
{
    int code;
    const char *name;
} error_names[] = {
    {SQLITE_BUSY, "SQLITE_BUSY"},
    {SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT"},
    {SQLITE_LOCKED, "SQLITE_LOCKED"},
    {SQLITE_READONLY, "SQLITE_READONLY"},
    {SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT"},
    {SQLITE_INTERRUPT, "SQLITE_INTERRUPT"},
    {SQLITE_FULL, "SQLITE_FULL"},
    {SQLITE_IOERR, "SQLITE_IOERR"},
    {SQLITE_CANTOPEN, "SQLITE_CANTOPEN"},
    {SQLITE_CORRUPT, "SQLITE_CORRUPT"},
    {SQLITE_NOTADB, "SQLITE_NOTADB"},
    {SQLITE_AUTH, "SQLITE_AUTH"},
    {SQLITE_TOOBIG, "SQLITE_TOOBIG"},
    {SQLITE_NOMEM, "SQLITE_NOMEM"},
    {SQLITE_SCHEMA, "SQLITE_SCHEMA"},
    {SQLITE_MISMATCH, "SQLITE_MISMATCH"},
    {SQLITE_MISUSE, "SQLITE_MISUSE"},
    {SQLITE_RANGE, "SQLITE_RANGE"},
    {SQLITE_ERROR, "SQLITE_ERROR"},
};

/* The name of the extended code if it has one here, else of the primary code. */
static const char *error_name(int code)
{
    const char *primary = "SQLITE_OTHER";

    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
    {
        if (error_names[i].code == code)
            return error_names[i].name;
        if (error_names[i].code == (code & 0xff))
            primary = error_names[i].name;
    }
    return primary;
}

static void take_error(sqlite3 *db, cf_result *result)
{
    const char *text = sqlite3_errmsg(db);
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    const char *hint = strstr(text, " Hint: ");

    result->failed = true;
    if (strncmp(text, "SO_", 3) == 0 && strncmp(text + length, ": ", 2) == 0 && length < sizeof(result->code))
    {
        memcpy(result->code, text, length);
        text += length + 2;
        result->message = hint ? cf_copy(text, (size_t)(hint - text)) : cf_copy(text, strlen(text));
        result->hint = cf_copy(hint ? hint + 7 : "", hint ? strlen(hint + 7) : 0);
        return;
    }
    snprintf(result->code, sizeof(result->code), "%s", error_name(sqlite3_extended_errcode(db)));
    result->message = cf_copy(text, strlen(text));
    result->hint = cf_copy("", 0);
}

/* The database and what SQLite and the extension keep beside it: every file whose name starts with the
 * database's name. */
static void remove_files(const cf_database *database)
{
    const char *slash = strrchr(database->path, '/');
    char *directory =
        slash ? cf_copy(database->path, (size_t)(slash - database->path) + 1) : cf_copy("./", 2);
    const char *base = slash ? slash + 1 : database->path;
    DIR *entries = opendir(directory);
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
    {
        if (strncmp(entry->d_name, base, strlen(base)) == 0)
        {
            char *name = cf_format("%s%s", directory, entry->d_name);

            unlink(name);
            free(name);
        }
    }
    if (entries)
        closedir(entries);
    free(directory);
}

static void database_free(cf_database *database)
{
    free(database->path);
    free(database->doorbell);
    free(database->directory);
    free(database->journal);
    free(database->extension);
    free(database);
}

/* Takes "journal=MODE&doorbell=none"; false when there is anything else. */
static bool take_options(cf_database *database, const char *options, bool *doorbell)
{
    while (*options)
    {
        size_t length = strcspn(options, "&");

        if (strncmp(options, "journal=", 8) == 0)
        {
            free(database->journal);
            database->journal = cf_copy(options + 8, length - 8);
        }
        else if (length == 13 && strncmp(options, "doorbell=none", length) == 0)
            *doorbell = false;
        else
            return false;
        options += length + (options[length] == '&');
    }
    return true;
}

static bool is_memory(const char *uri) { return strcspn(uri, "?") == 8 && strncmp(uri, ":memory:", 8) == 0; }

/* In memory a writer locks readers out. */
static bool driver_reads_beside(const char *uri) { return !is_memory(uri); }

static cf_database *driver_create(const char *uri, const char *extension, char **error)
{
    cf_database *database = cf_alloc(sizeof(*database));
    size_t length = strcspn(uri, "?");
    bool doorbell = true;

    database->journal = cf_format("wal");
    database->extension = extension ? cf_format("%s", extension) : NULL;
    if (!take_options(database, uri[length] ? uri + length + 1 : "", &doorbell))
    {
        *error = cf_format("%s: only journal=MODE and doorbell=none may follow the path", uri);
        database_free(database);
        return NULL;
    }
    if (is_memory(uri))
    {
        database->path = cf_format("/conformance");
        if (sqlite3_open_v2(database->path, &database->memory, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                            "memdb") == SQLITE_OK)
            return database;
        *error = cf_format("cannot open a database in memory: %s", sqlite3_errmsg(database->memory));
        sqlite3_close(database->memory);
        database_free(database);
        return NULL;
    }
    if (length == 0)
    {
        const char *base = getenv("TMPDIR");

        database->directory = cf_format("%s/conformance-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(database->directory))
        {
            *error = cf_format("cannot make a temporary directory like %s", database->directory);
            database_free(database);
            return NULL;
        }
        database->path = cf_format("%s/test.db", database->directory);
    }
    else
    {
        database->path = cf_copy(uri, length);
        if (access(database->path, F_OK) == 0)
        {
            *error = cf_format("%s exists; the runner makes and removes the file itself", database->path);
            database_free(database);
            return NULL;
        }
    }
    if (!doorbell)
    {
        database->doorbell = cf_format("%s-solidobj", database->path);
        if (mkdir(database->doorbell, 0700) != 0)
        {
            *error = cf_format("cannot make the directory %s", database->doorbell);
            database_free(database);
            return NULL;
        }
    }
    return database;
}

static void driver_drop(cf_database *database)
{
    if (database->memory)
        sqlite3_close(database->memory);
    else
        remove_files(database);
    if (database->doorbell)
        rmdir(database->doorbell);
    if (database->directory)
        rmdir(database->directory);
    database_free(database);
}

static bool load_extension(sqlite3 *db, const char *extension, char **error)
{
    char *text = NULL;

    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, extension, NULL, &text) != SQLITE_OK)
    {
        *error = cf_format("cannot load %s: %s", extension, text ? text : "no reason given");
        sqlite3_free(text);
        return false;
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    return true;
}

static cf_session *driver_open(cf_database *database, const char *options, char **error)
{
    cf_session *session = cf_alloc(sizeof(*session));
    char *uri = cf_format("file:%s?%s%s", database->path, database->memory ? "vfs=memdb&" : "", options);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    bool ok = sqlite3_open_v2(uri, &session->db, flags, NULL) == SQLITE_OK;

    free(uri);
    if (!ok)
        *error = cf_format("cannot open %s: %s", database->path, sqlite3_errmsg(session->db));
    if (ok)
    {
        sqlite3_busy_timeout(session->db, BUSY_TIMEOUT_MS);
        if (database->journal)
        {
            char *pragma = cf_format("PRAGMA journal_mode = %s", database->journal);

            ok = sqlite3_exec(session->db, pragma, NULL, NULL, NULL) == SQLITE_OK;
            free(pragma);
            if (!ok)
                *error = cf_format("cannot set the journal mode: %s", sqlite3_errmsg(session->db));
            free(database->journal);
            database->journal = NULL;
        }
    }
    if (ok && database->extension)
        ok = load_extension(session->db, database->extension, error);
    if (!ok)
    {
        sqlite3_close(session->db);
        free(session);
        return NULL;
    }
    return session;
}

/* sqlite3_close() refuses while a statement is open, which would be a leak of the extension's: say so,
 * loudly. */
static void driver_close(cf_session *session)
{
    if (sqlite3_close(session->db) != SQLITE_OK)
    {
        fprintf(stderr, "conformance: a connection could not be closed: %s\n", sqlite3_errmsg(session->db));
        exit(2);
    }
    free(session);
}

static void bind_values(sqlite3_stmt *statement, const cf_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        const cf_value *value = &values[i];
        int at = (int)i + 1;

        switch (value->type)
        {
        case CF_NULL:
            sqlite3_bind_null(statement, at);
            break;
        case CF_INT:
            sqlite3_bind_int64(statement, at, value->number);
            break;
        case CF_REAL:
            sqlite3_bind_double(statement, at, value->real);
            break;
        case CF_TEXT:
            sqlite3_bind_text64(statement, at, value->text, value->size, SQLITE_STATIC, SQLITE_UTF8);
            break;
        case CF_BLOB:
            sqlite3_bind_blob64(statement, at, value->text, value->size, SQLITE_STATIC);
            break;
        }
    }
}

static cf_value column_value(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column))
    {
    case SQLITE_INTEGER:
        return cf_value_int(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return (cf_value){.type = CF_REAL, .real = sqlite3_column_double(statement, column)};
    case SQLITE_TEXT:
    {
        const char *text = (const char *)sqlite3_column_text(statement, column);

        return cf_value_text(text, (size_t)sqlite3_column_bytes(statement, column));
    }
    case SQLITE_BLOB:
    {
        const void *bytes = sqlite3_column_blob(statement, column);
        cf_value value = cf_value_text(bytes ? bytes : "", (size_t)sqlite3_column_bytes(statement, column));

        value.type = CF_BLOB;
        return value;
    }
    default:
        return (cf_value){.type = CF_NULL};
    }
}

static void take_row(sqlite3_stmt *statement, cf_result *result)
{
    size_t first = result->rows * result->columns;

    result->rows++;
    result->cells = cf_grow(result->cells, result->rows * result->columns, sizeof(cf_value));
    for (size_t i = 0; i < result->columns; i++)
        result->cells[first + i] = column_value(statement, (int)i);
}

static bool run_one(sqlite3 *db, sqlite3_stmt *statement, cf_result *result)
{
    int rc;

    result->columns = (size_t)sqlite3_column_count(statement);
    result->names = cf_alloc(result->columns * sizeof(char *));
    for (size_t i = 0; i < result->columns; i++)
        result->names[i] = cf_format("%s", sqlite3_column_name(statement, (int)i));
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        take_row(statement, result);
    if (rc != SQLITE_DONE)
    {
        cf_result_free(result);
        take_error(db, result);
    }
    return rc == SQLITE_DONE;
}

static void driver_run(cf_session *session, const char *sql, const cf_value *values, size_t count,
                       cf_result *result)
{
    bool ok = true;

    while (ok && *sql)
    {
        sqlite3_stmt *statement;
        const char *tail;

        if (sqlite3_prepare_v2(session->db, sql, -1, &statement, &tail) != SQLITE_OK)
        {
            cf_result_free(result);
            take_error(session->db, result);
            return;
        }
        sql = tail;
        if (!statement)
            continue;
        cf_result_free(result);
        bind_values(statement, values, count);
        ok = run_one(session->db, statement, result);
        sqlite3_finalize(statement);
    }
}

static void driver_call(cf_session *session, const char *call, const cf_value *values, size_t count,
                        cf_result *result)
{
    char *sql = cf_format("SELECT %s", call);

    driver_run(session, sql, values, count, result);
    free(sql);
}

static void driver_install(cf_session *session, cf_result *result)
{
    driver_call(session, "so_install('{\"test\":true}')", NULL, 0, result);
}

static void driver_cancel(cf_session *session) { sqlite3_interrupt(session->db); }

static void driver_placeholder(size_t number, char to[16]) { snprintf(to, 16, "?%u", (unsigned)number); }

static void driver_view(const char *name, char *to, size_t capacity)
{
    snprintf(to, capacity, "solidobj_%s_view", name);
}

const cf_driver cf_driver_sqlite = {
    .scheme = "sqlite",
    .dialect = "sqlite",
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
