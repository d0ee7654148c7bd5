/*
 * SQL values between SQLite and the engine, and the call of a function.
 */
#include "so_sqlite.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

enum
{
    SO_SUBTYPE_JSON = 'J',
    SO_SHORT_ANSWER_BYTES = 256
};

so_value so_sqlite_value(sqlite3_value *value)
{
    switch (sqlite3_value_type(value))
    {
    case SQLITE_INTEGER:
        return SO_VALUE_INT(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return (so_value){.type = SO_REAL, .r = sqlite3_value_double(value)};
    case SQLITE_TEXT:
    {
        const char *text = (const char *)sqlite3_value_text(value);
        so_str s = {text, (size_t)sqlite3_value_bytes(value)};
        return (so_value){.type = SO_TEXT, .json = sqlite3_value_subtype(value) == SO_SUBTYPE_JSON, .s = s};
    }
    case SQLITE_BLOB:
    {
        const char *bytes = sqlite3_value_blob(value);
        return (so_value){.type = SO_BLOB, .s = {bytes, (size_t)sqlite3_value_bytes(value)}};
    }
    default:
        return SO_VALUE_NULL;
    }
}

int so_sqlite_bind(sqlite3_stmt *statement, int index, const so_value *value)
{
    switch (value->type)
    {
    case SO_INT:
        return sqlite3_bind_int64(statement, index, value->i);
    case SO_REAL:
        return sqlite3_bind_double(statement, index, value->r);
    case SO_TEXT:
        return sqlite3_bind_text64(statement, index, value->s.p == NULL ? "" : value->s.p, value->s.n,
                                   SQLITE_STATIC, SQLITE_UTF8);
    case SO_BLOB:
        return sqlite3_bind_blob64(statement, index, value->s.p, value->s.n, SQLITE_STATIC);
    default:
        return sqlite3_bind_null(statement, index);
    }
}

void so_sqlite_result(sqlite3_context *context, const so_value *value)
{
    switch (value->type)
    {
    case SO_INT:
        sqlite3_result_int64(context, value->i);
        break;
    case SO_REAL:
        sqlite3_result_double(context, value->r);
        break;
    case SO_TEXT:
        sqlite3_result_text64(context, value->s.p, value->s.n, SQLITE_TRANSIENT, SQLITE_UTF8);
        if (value->json)
            sqlite3_result_subtype(context, SO_SUBTYPE_JSON);
        break;
    case SO_BLOB:
        sqlite3_result_blob64(context, value->s.p, value->s.n, SQLITE_TRANSIENT);
        break;
    case SO_NULL:
        sqlite3_result_null(context);
        break;
    }
}

bool so_sqlite_reserve_answer(so_sqlite *connection, const so_value *answer)
{
    bool text = answer != NULL && (answer->type == SO_TEXT || answer->type == SO_BLOB);
    size_t bytes = text && answer->s.n >= SO_SHORT_ANSWER_BYTES ? answer->s.n + 1 : SO_SHORT_ANSWER_BYTES;
    if (connection->answer_bytes >= bytes)
        return true;
    sqlite3_free(connection->answer);
    connection->answer = sqlite3_malloc64(bytes);
    connection->answer_bytes = connection->answer == NULL ? 0 : bytes;
    return connection->answer != NULL;
}

char *so_sqlite_take_answer(so_sqlite *connection, so_str text)
{
    const so_value answer = SO_VALUE_STR(text);
    if (!so_sqlite_reserve_answer(connection, &answer))
        return NULL;
    char *taken = connection->answer;
    connection->answer = NULL;
    connection->answer_bytes = 0;
    memcpy(taken, text.p, text.n);
    taken[text.n] = 0;
    return taken;
}

void so_sqlite_answer(so_sqlite *connection, sqlite3_context *context, const so_value *value)
{
    if (value->type != SO_TEXT || value->s.p == NULL)
    {
        so_sqlite_result(context, value);
        return;
    }
    char *text = so_sqlite_take_answer(connection, value->s);
    if (text == NULL)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text64(context, text, value->s.n, sqlite3_free, SQLITE_UTF8);
    if (text != NULL && value->json)
        sqlite3_result_subtype(context, SO_SUBTYPE_JSON);
}

int so_sqlite_call(so_binding *binding, sqlite3_value **values, int count, so_value *result, char **message)
{
    so_value args[SO_FUNCTION_MAX_ARGS];
    so_sqlite *connection;
    int rc = so_sqlite_connection(binding->registration, &connection, message);
    if (rc != SQLITE_OK)
        return rc;
    if (!so_sqlite_reserve_answer(connection, NULL))
        return SQLITE_NOMEM;
    for (int i = 0; i < count; i++)
    {
        args[i] = so_sqlite_value(values[i]);
        if (args[i].type == SO_TEXT && args[i].s.p == NULL)
            return SQLITE_NOMEM;
    }
    so_session *session = &connection->session;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(connection->db);
    so_code code = so_function_call(session, binding->function, args, count, result);
    sqlite3_set_last_insert_rowid(connection->db, rowid);
    if (code == SO_OK)
        return SQLITE_OK;
    const so_error *err = &session->err;
    if (code == SO_NOMEM)
        return SQLITE_NOMEM;
    if (code == SO_ENGINE)
    {
        *message = sqlite3_mprintf("%s", err->message);
        return *message == NULL ? SQLITE_NOMEM : err->engine_code;
    }
    *message = sqlite3_mprintf("%s: %s%s%s", so_code_name(code), err->message,
                               err->hint[0] == 0 ? "" : ". Hint: ", err->hint);
    return *message == NULL ? SQLITE_NOMEM : SQLITE_ERROR;
}
