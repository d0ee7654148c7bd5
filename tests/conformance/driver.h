/*
 * What the runner needs of a database: one driver per database, chosen by the scheme of a URI
 * ("sqlite:PATH").
 *
 * A driver knows its database and nothing of tests. Values and results are plain data owned by whoever holds
 * the struct; out of memory ends the program, because a test tool has nothing better to do.
 */
#ifndef CF_DRIVER_H
#define CF_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cf_value_type
{
    CF_NULL,
    CF_INT,
    CF_REAL,
    CF_TEXT,
    CF_BLOB
} cf_value_type;

/* `text` holds `size` bytes and a NUL after them (CF_TEXT, CF_BLOB); owned by the value. */
typedef struct cf_value
{
    cf_value_type type;
    int64_t number;
    double real;
    char *text;
    size_t size;
} cf_value;

/*
 * What one statement gave. Failed: `code` is the product's code ("SO_LOST_CLAIM") or the engine's own name
 * for its error
 * ("SQLITE_BUSY_SNAPSHOT"), `message` and `hint` are never NULL. Else `rows` x `columns` cells, row by row,
 * `names` per column.
 */
typedef struct cf_result
{
    bool failed;
    bool missing; /* this database does not have a function of the product yet: the test is skipped */
    char code[64];
    char *message;
    char *hint;
    size_t columns;
    size_t rows;
    char **names;
    cf_value *cells;
} cf_result;

/* A fresh database, and one connection to it; each driver has its own. */
typedef struct cf_database cf_database;
typedef struct cf_session cf_session;

typedef struct cf_driver
{
    const char *scheme;  /* "sqlite" */
    const char *dialect; /* which lines of a block are this database's; also what `only` names */

    /*
     * Makes a new, empty database. `uri` is what stands after "scheme:" (empty: a temporary place of the
     * driver's choice), `extension` the library to load (NULL: none). NULL on error, with *error set
     * (malloc'ed).
     */
    cf_database *(*create)(const char *uri, const char *extension, char **error);

    /* Whether a session can read while another one's transaction has written. */
    bool (*reads_beside)(const char *uri);

    /* Removes the database and everything beside it. All sessions must be closed. */
    void (*drop)(cf_database *database);

    /* Opens a connection; `options` is the rest of an `open` line ("" for the default). NULL on error, as
     * above. */
    cf_session *(*open)(cf_database *database, const char *options, char **error);

    /* Closes it; an open transaction is rolled back. */
    void (*close)(cf_session *session);

    /* Makes a test installation; `result` tells of a failure only. */
    void (*install)(cf_session *session, cf_result *result);

    /*
     * Runs one or more statements. `sql` holds the driver's own placeholders for `values`. The result is the
     * last statement's. `result` must be zeroed; the caller frees it with cf_result_free(), also after a
     * failure.
     */
    void (*run)(cf_session *session, const char *sql, const cf_value *values, size_t count,
                cf_result *result);

    /* Evaluates one function call, written as in SQL, and gives its value as one cell; rows come as a JSON
     * array of objects. */
    void (*call)(cf_session *session, const char *call, const cf_value *values, size_t count,
                 cf_result *result);

    /* Asks a running statement of another thread to stop. */
    void (*cancel)(cf_session *session);

    /* Writes the placeholder of parameter `number` (from 1) into `to`. */
    void (*placeholder)(size_t number, char to[16]);

    /* Writes the name of a view ("messages") as this database spells it into `to`. */
    void (*view)(const char *name, char *to, size_t capacity);
} cf_driver;

extern const cf_driver cf_driver_sqlite;
extern const cf_driver cf_driver_postgres;

/* value.c */
void *cf_alloc(size_t bytes);
void *cf_grow(void *memory, size_t count, size_t item);
char *cf_copy(const char *text, size_t size);
char *cf_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

cf_value cf_value_text(const char *text, size_t size);
cf_value cf_value_int(int64_t number);
cf_value cf_value_copy(const cf_value *value);
void cf_value_free(cf_value *value);

/* For reports: the value as an SQL literal, cut after some hundred bytes. malloc'ed. */
char *cf_value_show(const cf_value *value);

/* Frees what the result holds and zeroes it. */
void cf_result_free(cf_result *result);

#endif
