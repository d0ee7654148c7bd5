/*
 * Writing an answer: members of JSON objects. Each `name` is the text before the value, with its comma,
 * quotes and colon.
 */
#ifndef SO_WRITE_H
#define SO_WRITE_H

#include "so_session.h"

/* A number, or null if it is not `there`. */
void so_write_number(so_buffer *buffer, const char *name, int64_t number, bool there);

/* Milliseconds since 1970 as ISO 8601 in UTC; 0: null. */
void so_write_moment(so_buffer *buffer, const char *name, int64_t moment_ms);

/* A string, or a compact JSON document; p NULL: null. */
void so_write_text(so_buffer *buffer, const char *name, so_str text);
void so_write_json(so_buffer *buffer, const char *name, so_str json);

/* A type's name; null if the type is missing. */
void so_write_type(so_session *s, so_buffer *buffer, const char *name, int64_t type);

/* What ended: a finished message's status, and its error or its rejection. */
void so_write_end(so_buffer *buffer, so_message_status status, so_str error);

/* Ends the text with `last` and makes it the result. SO_NOMEM. */
so_code so_write_result(so_session *s, so_buffer *buffer, char last, so_value *result);

/* The word for a finished message's status. */
const char *so_status_word(so_message_status status);

#endif
