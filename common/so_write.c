/*
 * See so_write.h.
 */
#include "so_write.h"

#include "so_json.h"
#include "so_when.h"

void so_write_number(so_buffer *buffer, const char *name, int64_t number, bool there)
{
    so_buffer_add_text(buffer, name);
    if (there)
        so_buffer_add_int(buffer, number);
    else
        so_buffer_add_text(buffer, "null");
}

void so_write_moment(so_buffer *buffer, const char *name, int64_t moment_ms)
{
    char moment[32];
    so_buffer_add_text(buffer, name);
    if (moment_ms == 0)
    {
        so_buffer_add_text(buffer, "null");
        return;
    }
    so_when_format(moment_ms, moment);
    so_buffer_add_char(buffer, '"');
    so_buffer_add_text(buffer, moment);
    so_buffer_add_char(buffer, '"');
}

void so_write_text(so_buffer *buffer, const char *name, so_str text)
{
    so_buffer_add_text(buffer, name);
    if (text.p == NULL)
        so_buffer_add_text(buffer, "null");
    else
        so_json_quote(buffer, text);
}

void so_write_json(so_buffer *buffer, const char *name, so_str json)
{
    so_buffer_add_text(buffer, name);
    so_buffer_add_str(buffer, json.p == NULL ? SO_STR("null") : json);
}

void so_write_type(so_session *s, so_buffer *buffer, const char *name, int64_t type)
{
    const so_type *definition = so_type_by_id(s, type);
    so_write_text(buffer, name, definition == NULL ? (so_str){0} : definition->name);
}

void so_write_end(so_buffer *buffer, so_message_status status, so_str error)
{
    bool rejected = status == SO_MESSAGE_REJECTED;
    so_write_text(buffer, ",\"error\":", rejected ? (so_str){0} : error);
    so_write_json(buffer, ",\"rejection\":", rejected ? error : (so_str){0});
}

so_code so_write_result(so_session *s, so_buffer *buffer, char last, so_value *result)
{
    so_buffer_add_char(buffer, last);
    *result = SO_VALUE_JSON(so_buffer_str(buffer));
    return result->s.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

const char *so_status_word(so_message_status status)
{
    static const char *const words[] = {[SO_MESSAGE_ORIGIN] = "",
                                        [SO_MESSAGE_UNFINISHED] = "",
                                        [SO_MESSAGE_COMPLETED] = "completed",
                                        [SO_MESSAGE_REJECTED] = "rejected",
                                        [SO_MESSAGE_DEAD] = "dead",
                                        [SO_MESSAGE_CANCELLED] = "cancelled"};
    return words[status];
}
