/*
 * Sending. See so_send.h.
 */
#include "so_send.h"

#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"
#include "so_options.h"
#include "so_room.h"
#include "so_visit.h"
#include "so_when.h"

enum
{
    SO_STORE_TRIES = 100
};

#define SO_SEND_OPTIONS                                                                                      \
    {"delay_ms", SO_OPTION_INT, offsetof(so_send_options, delay_ms), 0, SO_WHEN_MAX_MS, SO_OPTION_UNTOLD},   \
        {"at", SO_OPTION_WHEN, offsetof(so_send_options, at), 0, 0, offsetof(so_send_options, at_given)},    \
        {"max_attempts", SO_OPTION_INT,   offsetof(so_send_options, max_attempts), 1,                        \
         1000000,        SO_OPTION_UNTOLD},                                                                  \
        {"keep_result", SO_OPTION_BOOL, offsetof(so_send_options, keep_result), 0, 0, SO_OPTION_UNTOLD},     \
        {"idempotency_key", SO_OPTION_TEXT, offsetof(so_send_options, idempotency_key), 0, 0,                \
         SO_OPTION_UNTOLD},                                                                                  \
        {"if_exists", SO_OPTION_BOOL, offsetof(so_send_options, if_exists), 0, 0, SO_OPTION_UNTOLD},         \
    {                                                                                                        \
        "incarnation", SO_OPTION_INT, offsetof(so_send_options, incarnation), 1, INT64_MAX, SO_OPTION_UNTOLD \
    }

static const so_option so_send_table[] = {SO_SEND_OPTIONS, {.name = NULL}};

static const so_option so_ask_table[] = {
    SO_SEND_OPTIONS,
    {"timeout_ms", SO_OPTION_INT, offsetof(so_send_options, timeout_ms), 0, 86400000, SO_OPTION_UNTOLD},
    {.name = NULL}};

so_code so_request_prepare(so_session *s, const so_value *args, so_message *message, so_operation **operation)
{
    so_str type_name;
    const so_type *type = NULL;
    *message = (so_message){.status = SO_MESSAGE_UNFINISHED, .only_to = SO_TO_ANYBODY};
    so_code code = so_definitions_ensure(s);
    if (code == SO_OK)
        code = so_actor_check(args, &type_name, &message->key, &s->err);
    if (code == SO_OK)
        code = so_name_check(&args[2], "operation", &message->operation, &s->err);
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code == SO_OK)
        code = so_operation_find(s, type, message->operation, operation);
    if (code != SO_OK)
        return code;
    type = (*operation)->type; /* looking for the operation may have loaded the definitions again */
    message->type = type->id;
    message->args = SO_STR("{}");
    if (args[3].type == SO_NULL)
        return SO_OK;
    if (args[3].type != SO_TEXT)
        return so_error_set(&s->err, SO_INVALID_JSON, "Pass a JSON object as text, for example '{}'.",
                            "args must be a JSON object");
    return so_json_check(s->arena, args[3].s, SO_JSON_OBJECT, "args", (size_t)type->options.max_payload_bytes,
                         &message->args, &s->err);
}

so_code so_message_allowed(so_session *s, const so_operation *operation)
{
    if (!operation->query)
        return SO_OK;
    return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Call it with so_query.",
                        "the operation %.*s is a query and takes no messages", (int)operation->name.n,
                        operation->name.p);
}

so_code so_idempotency_key_set(so_session *s, so_message *message, so_str key)
{
    so_value value = SO_VALUE_STR(key);
    return key.p == NULL ? SO_OK
                         : so_key_check(&value, "idempotency_key", &message->idempotency_key, &s->err);
}

so_code so_message_prepare(so_session *s, const char *call, const so_value *args, bool with_timeout,
                           so_message *message, so_operation **operation, so_send_options *options)
{
    so_send_options local;
    so_operation *found;
    if (options == NULL)
        options = &local;
    if (operation == NULL)
        operation = &found;
    *options = (so_send_options){.timeout_ms = 5000};
    so_code code = so_request_prepare(s, args, message, operation);
    if (code == SO_OK)
        code = so_options_read(s->arena, &args[4], call, with_timeout ? so_ask_table : so_send_table, options,
                               &s->err);
    if (code != SO_OK)
        return code;
    /* What this connection knows may be old. */
    if ((*operation)->query && s->turn == NULL)
    {
        code = so_definitions_refresh(s);
        if (code == SO_OK)
            code = so_request_prepare(s, args, message, operation);
    }
    if (code == SO_OK)
        code = so_message_allowed(s, *operation);
    if (code != SO_OK)
        return code;
    if (options->at_given && options->delay_ms != 0)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Say when either by delay_ms or by at.",
                            "%s: both delay_ms and at were given", call);
    message->created_ms = so_now_ms(s);
    message->max_attempts = options->max_attempts;
    message->keep = options->keep_result;
    if (options->incarnation != 0)
        message->only_to = options->incarnation;
    else if (options->if_exists)
        message->only_to = SO_TO_LIVING;
    code = so_idempotency_key_set(s, message, options->idempotency_key);
    if (code != SO_OK)
        return code;
    if (options->at_given)
        code = so_when_parse(&options->at, message->created_ms, "at", &message->due_ms, &s->err);
    else if (options->delay_ms > SO_WHEN_MAX_MS - message->created_ms)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "Moments end with the year 9999.",
                            "delay_ms reaches too far");
    else if (options->delay_ms > 0)
        message->due_ms = message->created_ms + options->delay_ms;
    if (message->due_ms != 0 && message->due_ms <= message->created_ms)
        message->due_ms = 0;
    return code;
}

void so_message_ring(so_session *s, const so_message *message)
{
    const so_type *type = so_type_by_id(s, message->type);
    const so_operation *operation = type == NULL ? NULL : so_operation_by_name(type, message->operation);
    so_lane_ring(s, message->due_ms > 0 ? SO_LANE_TIMED : so_lane_of(operation));
}

so_code so_twin_check(so_session *s, const so_message *message, so_str operation, so_str args)
{
    if (so_str_equal(operation, message->operation) && so_json_equal(args, message->args))
        return SO_OK;
    return so_error_set(&s->err, SO_IDEMPOTENCY_CONFLICT,
                        "Use a new key for a new message; the same key repeats the same operation and args.",
                        "the idempotency key '%.*s' belongs to another message of this actor (%.*s)",
                        (int)message->idempotency_key.n, message->idempotency_key.p, (int)operation.n,
                        operation.p);
}

so_code so_twin_find(so_session *s, const so_message *message, so_message *twin, bool *found)
{
    so_value params[] = {SO_VALUE_INT(message->type), SO_VALUE_STR(message->key),
                         SO_VALUE_STR(message->idempotency_key)};
    so_value id;
    *found = false;
    if (message->idempotency_key.p == NULL)
        return SO_OK;
    so_code code = so_db_row(s, SO_STMT_KEY_FIND, params, &id, found);
    if (code == SO_OK && *found)
        code = so_message_read(s, id.i, twin, found);
    return code == SO_OK && *found ? so_twin_check(s, message, twin->operation, twin->args) : code;
}

so_code so_addressee_check(so_session *s, const so_message *message, bool *there)
{
    so_actor actor;
    so_newest newest;
    *there = true;
    if (message->only_to == SO_TO_ANYBODY)
        return SO_OK;
    so_code code = s->port->methods->look(s->port, message->type, message->key, &actor, &newest);
    *there = code == SO_OK && actor.exists &&
             (message->only_to == SO_TO_LIVING || message->only_to == actor.incarnation);
    return code;
}

/* Why a message was not stored; SO_OK: try again with the limits that are left in place, unless *done:
 * nothing is to be stored, and message->id says so (0) or is that of the message that has its key. */
static so_code so_message_refused(so_session *s, so_message *message, so_str type_name, int64_t *max_inbox,
                                  int64_t *max_mailbox, bool *done)
{
    int64_t stamp = s->definitions.stamp;
    const so_type *type;
    so_operation *operation;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code != SO_OK)
        return code;
    if (stamp != s->definitions.stamp)
    {
        message->type = type->id;
        *max_mailbox = type->options.max_mailbox;
        code = so_operation_find(s, type, message->operation, &operation);
        return code == SO_OK ? so_message_allowed(s, operation) : code;
    }
    so_message twin;
    code = so_twin_find(s, message, &twin, done);
    if (code == SO_OK && *done)
        message->id = twin.id;
    bool there = true;
    if (code == SO_OK && !*done)
        code = so_addressee_check(s, message, &there);
    if (code == SO_OK && !there)
    {
        *done = true;
        message->id = 0;
        if (message->only_to != SO_TO_LIVING)
            code = so_error_set(&s->err, SO_DESTROYED,
                                "Leave the option incarnation out to reach whoever lives now.",
                                "incarnation %lld of this actor is gone", (long long)message->only_to);
    }
    if (code != SO_OK || *done)
        return code;
    if (s->newest.id - s->newest.inbox < *max_inbox)
    {
        *max_mailbox = INT64_MAX;
        return so_mailbox_room(s, NULL, type, message->key, 1);
    }
    code = so_work_begin(s);
    if (code == SO_INSIDE_STATEMENT)
    {
        /* In a transaction the scope does not tell. The inbox grows until somebody can sort it. */
        so_error_clear(&s->err);
        *max_inbox = INT64_MAX;
        return SO_OK;
    }
    if (code != SO_OK)
        return code;
    code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_mailbox_sort(s, so_now_ms(s), INT64_MAX);
    return so_work_end(s, code);
}

so_code so_message_store(so_session *s, so_message *message, bool within)
{
    const so_type *type = so_type_by_id(s, message->type);
    so_str type_name = so_arena_copy_str(s->arena, type->name);
    int64_t max_mailbox = type->options.max_mailbox;
    int64_t max_inbox =
        within || s->port->methods->scope(s->port) == SO_SCOPE_STATEMENT ? INT64_MAX : SO_INBOX_MESSAGES;
    if (type_name.p == NULL)
        return so_error_nomem(&s->err);
    for (int tries = 0; tries < SO_STORE_TRIES; tries++)
    {
        bool stored;
        so_code code =
            so_append(s, message, s->definitions.stamp, max_inbox, max_mailbox, &message->id, &stored);
        if (code == SO_OK && stored)
        {
            s->sent = message->id;
            so_message_ring(s, message);
        }
        if (code != SO_OK || stored)
            return code;
        bool done = false;
        code = so_message_refused(s, message, type_name, &max_inbox, &max_mailbox, &done);
        if (code != SO_OK || done)
            return code;
    }
    return so_error_set(&s->err, SO_BLOCKED, "Try again.", "the definitions keep changing");
}

so_code so_fn_send(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    if (s->turn != NULL)
        return so_fn_tell(s, args, count, result);
    so_message message;
    so_code code = so_message_prepare(s, "so_send", args, false, &message, NULL, NULL);
    if (code == SO_OK)
        code = so_message_store(s, &message, false);
    if (code == SO_OK && message.id != 0)
        *result = SO_VALUE_INT(message.id);
    return code;
}

/* Makes the five values of an element of `tell` or of a batch. */
static so_code so_element_values(so_session *s, const char *what, so_str element, so_value values[5])
{
    static const char *const names[] = {"type", "key", "operation", "args", "options"};
    so_json_iter iter;
    so_str name;
    so_str value;
    for (int i = 0; i < 5; i++)
        values[i] = SO_VALUE_NULL;
    if (so_json_first(element) != '{')
        return so_error_set(&s->err, SO_INVALID_JSON, "An element is {type, key, operation, args, options}.",
                            "an element of %s is not an object", what);
    so_json_iter_init(&iter, s->arena, element);
    while (so_json_iter_next(&iter, &name, &value))
    {
        size_t i = 0;
        while (i < 5 && !so_str_is(name, names[i]))
            i++;
        if (i == 5)
            return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                                "An element is {type, key, operation, args, options}.",
                                "an element of %s has the unknown member %.*s", what, (int)name.n, name.p);
        if (i < 3)
        {
            so_code code = so_json_to_value(s->arena, value, &values[i], &s->err);
            if (code != SO_OK)
                return code;
        }
        else if (so_json_first(value) != 'n')
            values[i] = SO_VALUE_JSON(value);
    }
    return iter.failed ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_tell_values(so_turn *turn, const char *call, const so_value *args)
{
    so_session *s = turn->session;
    so_message message;
    if (turn->query)
        return so_error_set(&s->err, SO_QUERY_CHANGED_STATE, "A query answers with result only.",
                            "the query %.*s tried to send a message", (int)turn->operation->name.n,
                            turn->operation->name.p);
    so_code code = so_message_prepare(s, call, args, false, &message, NULL, NULL);
    if (code != SO_OK)
        return code;
    if (turn->tell_count == turn->tell_capacity)
    {
        size_t capacity = turn->tell_capacity == 0 ? 4 : turn->tell_capacity * 2;
        so_message *tells = so_arena_alloc(s->arena, capacity * sizeof *tells);
        if (tells == NULL)
            return so_error_nomem(&s->err);
        for (size_t i = 0; i < turn->tell_count; i++)
            tells[i] = turn->tells[i];
        turn->tells = tells;
        turn->tell_capacity = capacity;
    }
    so_str *texts[] = {&message.key, &message.operation, &message.args, &message.idempotency_key};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    {
        if (texts[i]->p == NULL)
            continue;
        *texts[i] = so_arena_copy_str(s->arena, *texts[i]);
        if (texts[i]->p == NULL)
            return so_error_nomem(&s->err);
    }
    turn->tells[turn->tell_count++] = message;
    return SO_OK;
}

so_code so_tell_element(so_turn *turn, so_str element)
{
    so_value values[5];
    so_code code = so_element_values(turn->session, "tell", element, values);
    return code == SO_OK ? so_tell_values(turn, "tell", values) : code;
}

so_code so_fn_tell(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    *result = SO_VALUE_NULL;
    return so_tell_values(s->turn, "so_tell", args);
}

static so_code so_batch_send(so_session *s, so_str messages, so_buffer *ids)
{
    so_json_iter iter;
    so_str element;
    int count = 0;
    so_json_iter_init(&iter, s->arena, messages);
    while (so_json_iter_next(&iter, NULL, &element))
    {
        so_value values[5];
        so_message message;
        so_code code = so_element_values(s, "messages", element, values);
        if (code == SO_OK)
            code = so_message_prepare(s, "so_send_batch", values, false, &message, NULL, NULL);
        if (code == SO_OK && ++count % SO_INBOX_MESSAGES == 0)
            code = so_inbox_shorten(s);
        if (code == SO_OK)
            code = so_message_store(s, &message, true);
        if (code != SO_OK)
            return code;
        if (ids->n > 1)
            so_buffer_add_char(ids, ',');
        if (message.id == 0)
            so_buffer_add_text(ids, "null");
        else
            so_buffer_add_int(ids, message.id);
    }
    return iter.failed ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_fn_send_batch(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str messages;
    so_buffer ids;
    so_buffer_init(&ids, s->arena);
    so_buffer_add_char(&ids, '[');
    if (args[0].type != SO_TEXT)
        return so_error_set(&s->err, SO_INVALID_JSON,
                            "Pass an array of {type, key, operation, args, options} as text.",
                            "messages must be a JSON array");
    so_code code = so_json_check(s->arena, args[0].s, SO_JSON_ARRAY, "messages", 0, &messages, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_batch_send(s, messages, &ids);
    code = so_work_end(s, code);
    so_buffer_add_char(&ids, ']');
    *result = SO_VALUE_JSON(so_buffer_str(&ids));
    return code == SO_OK && result->s.p == NULL ? so_error_nomem(&s->err) : code;
}

static so_code so_find_work(so_session *s, so_str type_name, so_str key, so_str idempotency_key,
                            so_value *result)
{
    const so_type *type = NULL;
    bool found = false;
    so_value id;
    so_code code = s->turn == NULL ? so_definitions_refresh(s) : SO_OK;
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code != SO_OK)
        return code;
    so_value params[] = {SO_VALUE_INT(type->id), SO_VALUE_STR(key), SO_VALUE_STR(idempotency_key)};
    code = so_db_row(s, SO_STMT_KEY_FIND, params, &id, &found);
    if (code == SO_OK && found)
        *result = SO_VALUE_INT(id.i);
    return code;
}

so_code so_fn_find(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str type;
    so_str key;
    so_str idempotency_key;
    so_code code = so_actor_check(args, &type, &key, &s->err);
    if (code == SO_OK)
        code = so_key_check(&args[2], "idempotency_key", &idempotency_key, &s->err);
    if (code == SO_OK)
        code = so_work_begin_reading(s);
    return code == SO_OK ? so_work_end(s, so_find_work(s, type, key, idempotency_key, result)) : code;
}
