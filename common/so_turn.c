/*
 * Running one turn. See so_turn.h.
 */
#include "so_turn.h"

#include <stdio.h>
#include <string.h>

#include "so_json.h"
#include "so_names.h"
#include "so_send.h"

const char so_turn_parameter_names[] = ":state, :args, :key, :type, :message, :attempt, :now_ms";

static const char *const so_parameters[] = {"state", "args", "key", "type", "message", "attempt", "now_ms"};

enum
{
    SO_PARAMETER_STATE,
    SO_PARAMETER_ARGS,
    SO_PARAMETER_KEY,
    SO_PARAMETER_TYPE,
    SO_PARAMETER_MESSAGE,
    SO_PARAMETER_ATTEMPT,
    SO_PARAMETER_NOW
};

typedef so_code (*so_column_fn)(so_turn *turn, so_str json);

static so_code so_column_state(so_turn *turn, so_str json);
static so_code so_column_patch(so_turn *turn, so_str json);
static so_code so_column_result(so_turn *turn, so_str json);
static so_code so_column_tell(so_turn *turn, so_str json);
static so_code so_column_reject(so_turn *turn, so_str json);
static so_code so_column_destroy(so_turn *turn, so_str json);

/* `document`: the SQL value is a JSON document; else it is a plain value. `take` NULL: not in this version.
 */
static const struct so_column
{
    const char *name;
    bool document;
    so_json_kind kind;
    so_column_fn take;
} so_columns[] = {
    {"state", true, SO_JSON_OBJECT, so_column_state},
    {"patch", true, SO_JSON_OBJECT, so_column_patch},
    {"result", false, SO_JSON_ANY, so_column_result},
    {"result_json", true, SO_JSON_ANY, so_column_result},
    {"tell", true, SO_JSON_ARRAY, so_column_tell},
    {"reject", true, SO_JSON_OBJECT, so_column_reject},
    {"emit", true, SO_JSON_ARRAY, NULL},
    {"schedule", true, SO_JSON_ARRAY, NULL},
    {"unschedule", true, SO_JSON_ARRAY, NULL},
    {"destroy", false, SO_JSON_ANY, so_column_destroy},
};

enum
{
    SO_COLUMN_COUNT = sizeof so_columns / sizeof so_columns[0],
    SO_COLUMN_RESULT = 2,
    SO_COLUMN_RESULT_JSON = 3
};

static const char *const so_shorthands[] = {"so_self(",     "so_get(",        "so_set(",  "so_unset(",
                                            "so_members(",  "so_tell(",       "so_emit(", "so_send(",
                                            "so_schedule(", "so_unschedule(", "so_raise("};

int so_turn_parameter_index(const char *name)
{
    for (size_t i = 0; i < sizeof so_parameters / sizeof so_parameters[0]; i++)
        if (strcmp(so_parameters[i], name) == 0)
            return (int)i;
    return -1;
}

int so_turn_column_index(const char *name)
{
    for (int i = 0; i < SO_COLUMN_COUNT; i++)
        if (strcmp(so_columns[i].name, name) == 0)
            return i;
    for (size_t i = 0; i < sizeof so_shorthands / sizeof so_shorthands[0]; i++)
        if (strncmp(name, so_shorthands[i], strlen(so_shorthands[i])) == 0)
            return -2;
    return -1;
}

so_code so_turn_parameter(so_turn *turn, int index, so_value *value)
{
    *value = SO_VALUE_NULL;
    switch (index)
    {
    case SO_PARAMETER_STATE:
        *value = SO_VALUE_JSON(((so_str){0}));
        return so_state_assemble(turn->state, turn->operation->members, &value->s);
    case SO_PARAMETER_ARGS:
        *value = SO_VALUE_JSON(turn->message->args);
        break;
    case SO_PARAMETER_KEY:
        *value = SO_VALUE_STR(turn->message->key);
        break;
    case SO_PARAMETER_TYPE:
        *value = SO_VALUE_STR(turn->type->name);
        break;
    case SO_PARAMETER_MESSAGE:
        if (turn->message->id != 0)
            *value = SO_VALUE_INT(turn->message->id);
        break;
    case SO_PARAMETER_ATTEMPT:
        *value = SO_VALUE_INT(turn->attempt);
        break;
    case SO_PARAMETER_NOW:
        *value = SO_VALUE_INT(turn->now_ms);
        break;
    default:
        break;
    }
    return SO_OK;
}

static so_code so_column_state(so_turn *turn, so_str json)
{
    turn->new_state = json;
    return SO_OK;
}

static so_code so_column_patch(so_turn *turn, so_str json)
{
    turn->patch = json;
    return SO_OK;
}

static so_code so_column_result(so_turn *turn, so_str json)
{
    if (turn->result.p != NULL)
        return so_error_set(&turn->session->err, SO_INVALID_ARGUMENT, "Answer either result or result_json.",
                            "both result and result_json were given");
    if ((int64_t)json.n > turn->type->options.max_result_bytes)
        return so_error_set(&turn->session->err, SO_TOO_LARGE,
                            "Raise max_result_bytes of the type, or keep less in the result.",
                            "the result has %zu bytes, more than max_result_bytes (%lld)", json.n,
                            (long long)turn->type->options.max_result_bytes);
    turn->result = json;
    return SO_OK;
}

static so_code so_column_tell(so_turn *turn, so_str json)
{
    so_json_iter iter;
    so_str element;
    so_json_iter_init(&iter, turn->session->arena, json);
    while (so_json_iter_next(&iter, NULL, &element))
    {
        so_code code = so_tell_element(turn, element);
        if (code != SO_OK)
            return code;
    }
    return iter.failed ? so_error_nomem(&turn->session->err) : SO_OK;
}

static so_code so_column_reject(so_turn *turn, so_str json)
{
    so_session *s = turn->session;
    so_str members[3] = {{0}};
    static const char *const names[] = {"code", "message", "details"};
    so_json_iter iter;
    so_str name;
    so_str value;
    so_json_iter_init(&iter, s->arena, json);
    while (so_json_iter_next(&iter, &name, &value))
    {
        size_t i = 0;
        while (i < 3 && !so_str_is(name, names[i]))
            i++;
        if (i == 3 || (i < 2 && so_json_first(value) != '"' && so_json_first(value) != 'n'))
            return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                                "A rejection is {\"code\": text, \"message\": text, \"details\": any}.",
                                "the member %.*s of a rejection is not known or not a text", (int)name.n,
                                name.p);
        if (i == 2)
            members[i] = value;
        else if (so_json_first(value) == '"')
        {
            members[i] = so_json_unquote(s->arena, value);
            if (members[i].p == NULL)
                return so_error_nomem(&s->err);
        }
    }
    if (iter.failed)
        return so_error_nomem(&s->err);
    return so_turn_reject(turn, members[0], members[1], members[2]);
}

/* true and false; 1 and 0, because SQL has no other truth; null is false. */
static so_code so_column_destroy(so_turn *turn, so_str json)
{
    turn->destroys = so_str_is(json, "true") || so_str_is(json, "1");
    if (turn->destroys || so_str_is(json, "false") || so_str_is(json, "0") || so_str_is(json, "null"))
        return SO_OK;
    return so_error_set(&turn->session->err, SO_INVALID_ARGUMENT, "Say true or false, in SQL 1 or 0.",
                        "destroy must be true or false");
}

so_code so_turn_reject(so_turn *turn, so_str code, so_str message, so_str details)
{
    so_session *s = turn->session;
    if (code.p == NULL || code.n == 0)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                            "Give a code that callers can tell apart, as 'sold_out'.",
                            "a rejection needs a code");
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_text(&buffer, "{\"code\":");
    so_json_quote(&buffer, code);
    so_buffer_add_text(&buffer, ",\"message\":");
    if (message.p == NULL)
        so_buffer_add_text(&buffer, "null");
    else
        so_json_quote(&buffer, message);
    so_buffer_add_text(&buffer, ",\"details\":");
    if (details.p == NULL)
        so_buffer_add_text(&buffer, "null");
    else
        so_buffer_add_str(&buffer, details);
    so_buffer_add_char(&buffer, '}');
    so_str rejection = so_buffer_str(&buffer);
    if (rejection.p == NULL)
        return so_error_nomem(&s->err);
    if ((int64_t)rejection.n > turn->type->options.max_result_bytes)
        return so_error_set(&s->err, SO_TOO_LARGE,
                            "Shorten message and details, or raise max_result_bytes of the type.",
                            "the rejection has %zu bytes, more than max_result_bytes (%lld)", rejection.n,
                            (long long)turn->type->options.max_result_bytes);
    turn->rejection = rejection;
    turn->end = SO_TURN_REJECTED;
    return SO_OK;
}

static so_code so_column_take(so_turn *turn, int index, so_str json)
{
    const struct so_column *column = &so_columns[index];
    so_session *s = turn->session;
    if (column->take == NULL)
        return so_error_set(
            &s->err, SO_INVALID_ARGUMENT,
            "Leave it out: this version has state, patch, result, result_json, tell, reject and destroy.",
            "the outcome's member %s is not supported by this version", column->name);
    if (turn->columns_seen & 1u << index)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Give each column once.",
                            "the column %s was given twice", column->name);
    turn->columns_seen |= 1u << index;
    return column->take(turn, json);
}

so_code so_turn_column(so_turn *turn, int index, const so_value *value)
{
    so_session *s = turn->session;
    const struct so_column *column = &so_columns[index];
    so_str json;
    if (!column->document)
    {
        so_code code =
            so_json_from_value(s->arena, value, s->port->methods->typed_json, column->name, &json, &s->err);
        return code == SO_OK ? so_column_take(turn, index, json) : code;
    }
    if (value->type == SO_NULL)
        return SO_OK;
    if (value->type != SO_TEXT)
        return so_error_set(&s->err, SO_INVALID_JSON, "Build it with the database's JSON functions.",
                            "the column %s must be a JSON text", column->name);
    so_code code = so_json_check(s->arena, value->s, column->kind, column->name, 0, &json, &s->err);
    return code == SO_OK ? so_column_take(turn, index, json) : code;
}

so_code so_turn_outcome(so_turn *turn, so_str outcome)
{
    so_session *s = turn->session;
    so_json_iter iter;
    so_str name;
    so_str value;
    so_json_iter_init(&iter, s->arena, outcome);
    while (so_json_iter_next(&iter, &name, &value))
    {
        int index = 0;
        while (index < SO_COLUMN_COUNT && !so_str_is(name, so_columns[index].name))
            index++;
        if (index == SO_COLUMN_COUNT || index == SO_COLUMN_RESULT_JSON)
            return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                                "An outcome has state, patch, result, tell, reject and destroy.",
                                "the outcome has the unknown member %.*s", (int)name.n, name.p);
        if (so_json_first(value) == 'n' && index != SO_COLUMN_RESULT)
            continue;
        static const char first[] = {0, '{', '['};
        if (so_columns[index].kind != SO_JSON_ANY && so_json_first(value) != first[so_columns[index].kind])
            return so_error_set(&s->err, SO_INVALID_JSON, NULL, "the outcome's member %.*s must be a JSON %s",
                                (int)name.n, name.p,
                                so_columns[index].kind == SO_JSON_OBJECT ? "object" : "array");
        so_code code = so_column_take(turn, index, value);
        if (code != SO_OK)
            return code;
    }
    return iter.failed ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_turn_conclude(so_turn *turn)
{
    so_session *s = turn->session;
    so_code code = SO_OK;
    if (turn->end == SO_TURN_REJECTED)
    {
        turn->destroys = false;
        return SO_OK;
    }
    if (turn->new_state.p != NULL && turn->patch.p != NULL)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Give the whole state or a patch of it.",
                            "both state and patch were given");
    if (turn->query &&
        (turn->new_state.p != NULL || turn->patch.p != NULL || turn->tell_count > 0 || turn->destroys))
        return so_error_set(
            &s->err, SO_QUERY_CHANGED_STATE,
            "A query answers with result only; define the operation without \"query\" to change something.",
            "the query %.*s tried to change something", (int)turn->operation->name.n,
            turn->operation->name.p);
    if (turn->new_state.p != NULL)
        code = so_state_replace(turn->state, turn->new_state);
    else if (turn->patch.p != NULL)
        code = so_state_patch(turn->state, turn->patch);
    if (code == SO_OK && so_state_changed(turn->state) &&
        turn->state->bytes > turn->type->options.max_state_bytes)
        code = so_error_set(&s->err, SO_TOO_LARGE,
                            "Raise max_state_bytes of the type, or keep less in the state.",
                            "the state would have %lld bytes, more than max_state_bytes (%lld)",
                            (long long)turn->state->bytes, (long long)turn->type->options.max_state_bytes);
    return code;
}

/* An error that is the turn's own, as against one of the engine that says nothing about the handler. */
static bool so_code_is_turns(so_code code) { return code != SO_ENGINE && code != SO_NOMEM; }

so_code so_turn_run(so_turn *turn)
{
    so_session *s = turn->session;
    so_handler_end end = SO_HANDLER_DONE;
    turn->end = SO_TURN_COMPLETED;
    so_state_mark(turn->state);
    s->turn = turn;
    so_code code = s->port->methods->handler_run(s->port, turn->operation, turn, &end);
    if (code == SO_OK && end == SO_HANDLER_DONE)
        code = so_turn_conclude(turn);
    else if (code == SO_OK && turn->end != SO_TURN_REJECTED)
        code = s->err.code;
    s->turn = NULL;
    if (code == SO_OK && turn->end == SO_TURN_COMPLETED)
        return SO_OK;
    turn->destroys = false;
    so_state_undo(turn->state);
    if (code == SO_UNDONE)
        return code;
    if (turn->end == SO_TURN_REJECTED && (code == SO_OK || so_code_is_turns(code)))
        return SO_OK;
    if (code == SO_ENGINE ? end != SO_HANDLER_FAILED : code == SO_NOMEM)
        return code;
    turn->end = SO_TURN_FAILED;
    char text[SO_ERROR_MESSAGE_BYTES + 64];
    int n = code == SO_ENGINE || code == SO_FAILED
                ? snprintf(text, sizeof text, "%s", s->err.message)
                : snprintf(text, sizeof text, "%s: %s", so_code_name(code), s->err.message);
    turn->error = so_arena_copy(s->arena, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    return turn->error.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}
