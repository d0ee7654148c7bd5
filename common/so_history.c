/*
 * See so_history.h.
 */
#include "so_history.h"

#include "so_names.h"
#include "so_options.h"
#include "so_write.h"

#define SO_PAGE_OPTION(structure)                                                                            \
    {                                                                                                        \
        "limit", SO_OPTION_INT, offsetof(structure, limit), 1, 1000, SO_OPTION_UNTOLD                        \
    }

enum
{
    SO_PAGE_ROWS = 100 /* unless `limit` says otherwise */
};

typedef struct so_history_options
{
    int64_t limit;
    int64_t before;
    bool continues; /* `before` was given */
} so_history_options;

static const so_option so_history_table[] = {SO_PAGE_OPTION(so_history_options),
                                             {"before", SO_OPTION_INT, offsetof(so_history_options, before),
                                              INT64_MIN, INT64_MAX, offsetof(so_history_options, continues)},
                                             {.name = NULL}};

typedef struct so_dead_letter_options
{
    int64_t limit;
    int64_t after;
    so_str type;
    so_str key;
    so_str operation;
} so_dead_letter_options;

static const so_option so_dead_letter_table[] = {
    SO_PAGE_OPTION(so_dead_letter_options),
    {"after", SO_OPTION_INT, offsetof(so_dead_letter_options, after), INT64_MIN, INT64_MAX, SO_OPTION_UNTOLD},
    {"type", SO_OPTION_TEXT, offsetof(so_dead_letter_options, type), 0, 0, SO_OPTION_UNTOLD},
    {"key", SO_OPTION_TEXT, offsetof(so_dead_letter_options, key), 0, 0, SO_OPTION_UNTOLD},
    {"operation", SO_OPTION_TEXT, offsetof(so_dead_letter_options, operation), 0, 0, SO_OPTION_UNTOLD},
    {.name = NULL}};

/* The columns of SO_STMT_HISTORY. */
enum
{
    SO_ENDED_INCARNATION,
    SO_ENDED_PREVIOUS,
    SO_ENDED_STATUS,
    SO_ENDED_OPERATION,
    SO_ENDED_ATTEMPTS,
    SO_ENDED_CREATED,
    SO_ENDED_FINISHED,
    SO_ENDED_TURN,
    SO_ENDED_REVISION,
    SO_ENDED_RESULT,
    SO_ENDED_ERROR,
    SO_ENDED_COLUMNS
};

/* A message of an actor's history; *found false: it is none. */
static so_code so_history_read(so_session *s, int64_t id, so_value *ended, bool *found)
{
    so_value params[] = {SO_VALUE_INT(id)};
    return so_db_row(s, SO_STMT_HISTORY, params, ended, found);
}

/* Where a page begins. A message that is gone was pruned with everything before it, or destroyed. */
static so_code so_history_start(so_session *s, const so_actor *actor, const so_history_options *options,
                                int64_t *id)
{
    so_value ended[SO_ENDED_COLUMNS];
    bool found;
    *id = actor->exists ? actor->last : 0;
    if (!options->continues || !actor->exists)
        return SO_OK;
    *id = 0;
    so_code code = so_history_read(s, options->before, ended, &found);
    if (code != SO_OK || !found)
        return code;
    if (ended[SO_ENDED_INCARNATION].i != actor->incarnation)
        return so_error_set(
            &s->err, SO_INVALID_ARGUMENT, "Pass the message of the last row of the page before.",
            "before: message %lld is not in this actor's history", (long long)options->before);
    *id = ended[SO_ENDED_PREVIOUS].i;
    return SO_OK;
}

static void so_history_write(so_buffer *buffer, int64_t id, const so_value *ended)
{
    so_message_status status = (so_message_status)ended[SO_ENDED_STATUS].i;
    bool completed = status == SO_MESSAGE_COMPLETED;
    so_write_number(buffer, buffer->n > 1 ? ",{\"message\":" : "{\"message\":", id, true);
    so_write_number(buffer, ",\"turn\":", ended[SO_ENDED_TURN].i, completed);
    so_write_number(buffer, ",\"revision\":", ended[SO_ENDED_REVISION].i, completed);
    so_write_text(buffer, ",\"operation\":", ended[SO_ENDED_OPERATION].s);
    so_buffer_add_text(buffer, ",\"status\":\"");
    so_buffer_add_text(buffer, so_status_word(status));
    so_write_number(buffer, "\",\"attempts\":", ended[SO_ENDED_ATTEMPTS].i, true);
    so_write_json(buffer, ",\"result\":", ended[SO_ENDED_RESULT].s);
    so_write_end(buffer, status, ended[SO_ENDED_ERROR].s);
    so_write_moment(buffer, ",\"created_at\":", ended[SO_ENDED_CREATED].i);
    so_write_moment(buffer, ",\"finished_at\":", ended[SO_ENDED_FINISHED].i);
    so_buffer_add_char(buffer, '}');
}

static so_code so_history_work(so_session *s, const so_type *type, so_str key,
                               const so_history_options *options, so_value *result)
{
    so_actor actor;
    so_newest newest;
    int64_t id = 0;
    so_buffer buffer;
    so_code code = s->port->methods->look(s->port, type->id, key, &actor, &newest);
    if (code == SO_OK)
        code = so_history_start(s, &actor, options, &id);
    if (code != SO_OK)
        return code;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_char(&buffer, '[');
    for (int64_t i = 0; i < options->limit && id != 0; i++)
    {
        so_value ended[SO_ENDED_COLUMNS];
        bool found;
        code = so_history_read(s, id, ended, &found);
        if (code != SO_OK)
            return code;
        if (!found || ended[SO_ENDED_INCARNATION].i != actor.incarnation)
            break;
        so_history_write(&buffer, id, ended);
        id = ended[SO_ENDED_PREVIOUS].i;
    }
    return so_write_result(s, &buffer, ']', result);
}

so_code so_fn_history(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name;
    so_str key;
    const so_type *type;
    so_history_options options = {.limit = SO_PAGE_ROWS};
    so_code code = so_actor_check(args, &name, &key, &s->err);
    if (code == SO_OK)
        code = so_options_read(s->arena, &args[2], "so_history", so_history_table, &options, &s->err);
    if (code == SO_OK)
        code = so_reading_begin(s, name, &type);
    return code == SO_OK ? so_work_end(s, so_history_work(s, type, key, &options, result)) : code;
}

static so_code so_dead_letter_row(so_session *s, void *context, const so_value *columns)
{
    so_buffer *buffer = context;
    so_write_number(buffer, buffer->n > 1 ? ",{\"message\":" : "{\"message\":", columns[0].i, true);
    so_write_type(s, buffer, ",\"type\":", columns[1].i);
    so_write_text(buffer, ",\"key\":", columns[2].s);
    so_write_text(buffer, ",\"operation\":", columns[3].s);
    so_write_json(buffer, ",\"args\":", columns[4].s);
    so_write_number(buffer, ",\"attempts\":", columns[5].i, true);
    so_write_text(buffer, ",\"error\":", columns[6].s);
    so_write_moment(buffer, ",\"created_at\":", columns[7].i);
    so_write_moment(buffer, ",\"finished_at\":", columns[8].i);
    so_write_number(buffer, ",\"replacement\":", columns[9].i, columns[9].type == SO_INT);
    so_buffer_add_char(buffer, '}');
    return buffer->failed ? so_error_nomem(&s->err) : SO_OK;
}

static so_value so_text_or_null(so_str text) { return text.p == NULL ? SO_VALUE_NULL : SO_VALUE_STR(text); }

static so_code so_dead_letters_work(so_session *s, const so_type *type, const so_dead_letter_options *options,
                                    so_value *result)
{
    so_buffer buffer;
    so_value params[] = {SO_VALUE_INT(options->after), SO_VALUE_INT(options->limit),
                         so_text_or_null(options->key), so_text_or_null(options->operation),
                         SO_VALUE_INT(type == NULL ? 0 : type->id)};
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_char(&buffer, '[');
    so_code code = so_db_each(s, type == NULL ? SO_STMT_DEAD_LETTERS : SO_STMT_DEAD_LETTERS_OF, params,
                              so_dead_letter_row, &buffer);
    return code == SO_OK ? so_write_result(s, &buffer, ']', result) : code;
}

so_code so_fn_dead_letters(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_dead_letter_options options = {.limit = SO_PAGE_ROWS};
    so_code code =
        so_options_read(s->arena, &args[0], "so_dead_letters", so_dead_letter_table, &options, &s->err);
    const so_type *type;
    so_value name = SO_VALUE_STR(options.type);
    so_value key = SO_VALUE_STR(options.key);
    so_value operation = SO_VALUE_STR(options.operation);
    if (code == SO_OK && options.type.p != NULL)
        code = so_name_check(&name, "type", &options.type, &s->err);
    if (code == SO_OK && options.key.p != NULL)
        code = so_key_check(&key, "key", &options.key, &s->err);
    if (code == SO_OK && options.operation.p != NULL)
        code = so_name_check(&operation, "operation", &options.operation, &s->err);
    if (code == SO_OK)
        code = so_reading_begin(s, options.type, &type);
    return code == SO_OK ? so_work_end(s, so_dead_letters_work(s, type, &options, result)) : code;
}
