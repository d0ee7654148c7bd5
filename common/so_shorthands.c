/*
 * The functions that a handler's SQL calls during its turn.
 */
#include "so_turn.h"

#include <string.h>

#include "so_json.h"

static so_code so_member_argument(so_session *s, const so_value *value, const char *what, so_str *name)
{
    if (value->type != SO_TEXT || !so_utf8_valid(value->s.p, value->s.n))
        return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                            "Pass the name of a top-level member of the state as text.",
                            "%s must be text, valid UTF-8 without NUL", what);
    *name = value->s;
    return SO_OK;
}

/* Only a turn that may change something goes on. */
static so_code so_changing(so_session *s, const char *what)
{
    if (!s->turn->query)
        return SO_OK;
    return so_error_set(
        &s->err, SO_QUERY_CHANGED_STATE, "Define the operation without \"query\" to change something.",
        "the query %.*s called %s", (int)s->turn->operation->name.n, s->turn->operation->name.p, what);
}

so_code so_fn_self(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)args;
    (void)count;
    const so_turn *turn = s->turn;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_text(&buffer, "{\"type\":");
    so_json_quote(&buffer, turn->type->name);
    so_buffer_add_text(&buffer, ",\"key\":");
    so_json_quote(&buffer, turn->message->key);
    so_buffer_add_text(&buffer, ",\"operation\":");
    so_json_quote(&buffer, turn->operation->name);
    so_buffer_add_text(&buffer, ",\"message\":");
    if (turn->message->id == 0)
        so_buffer_add_text(&buffer, "null");
    else
        so_buffer_add_int(&buffer, turn->message->id);
    so_buffer_add_text(&buffer, ",\"attempt\":");
    so_buffer_add_int(&buffer, turn->attempt);
    so_buffer_add_text(&buffer, ",\"revision\":");
    so_buffer_add_int(&buffer, turn->state->actor->revision);
    so_buffer_add_text(&buffer, ",\"incarnation\":");
    if (turn->state->actor->exists)
        so_buffer_add_int(&buffer, turn->state->actor->incarnation);
    else
        so_buffer_add_text(&buffer, "null");
    so_buffer_add_char(&buffer, '}');
    *result = SO_VALUE_JSON(so_buffer_str(&buffer));
    return result->s.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_fn_get(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name = {0};
    so_str json = {0};
    so_code code = so_member_argument(s, &args[0], "member", &name);
    if (code == SO_OK)
        code = so_state_get(s->turn->state, name, &json);
    if (code != SO_OK || json.p == NULL)
        return code;
    return so_json_to_value(s->arena, json, result, &s->err);
}

so_code so_fn_set(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name = {0};
    so_str json = {0};
    so_code code = so_changing(s, "so_set");
    if (code == SO_OK)
        code = so_member_argument(s, &args[0], "member", &name);
    if (code == SO_OK)
        code = so_json_from_value(s->arena, &args[1], true, "value", &json, &s->err);
    if (code == SO_OK)
        code = so_state_set(s->turn->state, name, json);
    if (code == SO_OK)
        *result = args[1];
    return code;
}

so_code so_fn_unset(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name = {0};
    so_str json = {0};
    so_code code = so_changing(s, "so_unset");
    if (code == SO_OK)
        code = so_member_argument(s, &args[0], "member", &name);
    if (code == SO_OK)
        code = so_state_get(s->turn->state, name, &json);
    if (code == SO_OK)
        *result = SO_VALUE_INT(json.p != NULL);
    if (code == SO_OK && json.p != NULL)
        code = so_state_set(s->turn->state, name, (so_str){0});
    return code;
}

so_code so_fn_members(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str prefix = {0};
    so_str names;
    so_code code = args[0].type == SO_NULL ? SO_OK : so_member_argument(s, &args[0], "prefix", &prefix);
    if (code == SO_OK)
        code = so_state_names(s->turn->state, prefix, &names);
    if (code == SO_OK)
        *result = SO_VALUE_JSON(names);
    return code;
}

so_code so_turn_reject_values(so_turn *turn, const so_value *args)
{
    so_session *s = turn->session;
    so_str texts[2] = {{0}};
    so_str details = {0};
    static const char *const names[] = {"code", "message"};
    for (int i = 0; i < 2; i++)
    {
        if (args[i].type == SO_NULL)
            continue;
        if (args[i].type != SO_TEXT || !so_utf8_valid(args[i].s.p, args[i].s.n))
            return so_error_set(&s->err, SO_INVALID_ARGUMENT, NULL,
                                "the %s of a rejection must be text, valid UTF-8 without NUL", names[i]);
        texts[i] = so_arena_copy_str(s->arena, args[i].s);
        if (texts[i].p == NULL)
            return so_error_nomem(&s->err);
    }
    if (args[2].type == SO_TEXT)
    {
        so_code code = so_json_check(s->arena, args[2].s, SO_JSON_ANY, "details", 0, &details, &s->err);
        if (code != SO_OK)
            return code;
    }
    else if (args[2].type != SO_NULL)
    {
        so_code code = so_json_from_value(s->arena, &args[2], false, "details", &details, &s->err);
        if (code != SO_OK)
            return code;
    }
    return so_turn_reject(turn, texts[0], texts[1], details);
}

so_code so_fn_raise(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    (void)result;
    so_code code = so_turn_reject_values(s->turn, args);
    if (code != SO_OK)
        return code;
    return so_error_set(&s->err, SO_REJECTED, NULL, "%.*s", (int)args[0].s.n, args[0].s.p);
}
