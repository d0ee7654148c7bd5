/*
 * Installing, and defining types and operations.
 */
#include "so_define.h"

#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"
#include "so_options.h"
#include "so_write.h"

#define SO_INT_OPTION(name, structure, field, min, max)                                                      \
    {                                                                                                        \
        name, SO_OPTION_INT, offsetof(structure, field), min, max, SO_OPTION_UNTOLD                          \
    }
#define SO_LATER_OPTION(name)                                                                                \
    {                                                                                                        \
        name, SO_OPTION_LATER, 0, 0, 0, SO_OPTION_UNTOLD                                                     \
    }

#define SO_DAY_MS INT64_C(86400000)
#define SO_MEBIBYTE INT64_C(1048576)

static const so_option so_type_table[] = {
    {"initial", SO_OPTION_OBJECT, offsetof(so_type_options, initial), 0, 0, SO_OPTION_UNTOLD},
    SO_INT_OPTION("max_attempts", so_type_options, max_attempts, 1, 1000000),
    SO_INT_OPTION("retry_base_ms", so_type_options, retry_base_ms, 0, 365 * SO_DAY_MS),
    SO_INT_OPTION("retry_cap_ms", so_type_options, retry_cap_ms, 0, 365 * SO_DAY_MS),
    SO_INT_OPTION("lease_ms", so_type_options, lease_ms, 1, 365 * SO_DAY_MS),
    SO_INT_OPTION("max_mailbox", so_type_options, max_mailbox, 1, INT64_C(1000000000)),
    SO_INT_OPTION("max_payload_bytes", so_type_options, max_payload_bytes, 2, 512 * SO_MEBIBYTE),
    SO_INT_OPTION("max_state_bytes", so_type_options, max_state_bytes, 2, 512 * SO_MEBIBYTE),
    SO_INT_OPTION("max_result_bytes", so_type_options, max_result_bytes, 4, 512 * SO_MEBIBYTE),
    SO_INT_OPTION("state_version", so_type_options, state_version, 1, INT64_C(1000000000)),
    {"history", SO_OPTION_TEXT, offsetof(so_type_options, history), 0, 0, SO_OPTION_UNTOLD},
    SO_LATER_OPTION("retention_ms"),
    SO_LATER_OPTION("expire_ms"),
    SO_LATER_OPTION("observables"),
    {.name = NULL}};

static const so_option so_operation_table[] = {
    {"query", SO_OPTION_BOOL, offsetof(so_operation, query), 0, 0, SO_OPTION_UNTOLD},
    {"members", SO_OPTION_NAMES, offsetof(so_operation, members), 0, 0, SO_OPTION_UNTOLD},
    SO_INT_OPTION("max_attempts", so_operation, max_attempts, 1, 1000000),
    {.name = NULL}};

typedef struct so_install_options
{
    bool test;
} so_install_options;

static const so_option so_install_table[] = {
    {"test", SO_OPTION_BOOL, offsetof(so_install_options, test), 0, 0, SO_OPTION_UNTOLD}, {.name = NULL}};

so_code so_type_options_read(so_session *s, const so_value *value, so_type_options *options)
{
    *options = (so_type_options){.initial = SO_STR("{}"),
                                 .max_attempts = 5,
                                 .retry_base_ms = 1000,
                                 .retry_cap_ms = 60000,
                                 .lease_ms = 30000,
                                 .max_mailbox = 10000,
                                 .max_payload_bytes = SO_MEBIBYTE,
                                 .max_state_bytes = 5 * SO_MEBIBYTE,
                                 .max_result_bytes = SO_MEBIBYTE,
                                 .state_version = 1,
                                 .history = SO_STR("results")};
    so_code code = so_options_read(s->arena, value, "so_define_actor", so_type_table, options, &s->err);
    if (code == SO_OK && !so_str_is(options->history, "results") && !so_str_is(options->history, "none"))
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "Say \"results\" or \"none\".",
                            "history must be results or none");
    return code;
}

so_code so_operation_options_read(so_session *s, const so_value *value, so_operation *operation)
{
    return so_options_read(s->arena, value, "so_define_operation", so_operation_table, operation, &s->err);
}

/* The options' compact text, "{}" for NULL. Call after they were read without an error. */
static so_code so_options_text(so_session *s, const so_value *value, so_str *text)
{
    *text = SO_STR("{}");
    return value->type == SO_NULL
               ? SO_OK
               : so_json_check(s->arena, value->s, SO_JSON_OBJECT, "options", 0, text, &s->err);
}

/* Makes every connection load the definitions again. */
static so_code so_stamp_change(so_session *s)
{
    so_value params[] = {SO_VALUE_INT(s->port->methods->random(s->port))};
    return so_db_change(s, SO_STMT_STAMP_SET, params);
}

so_code so_fn_install(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_install_options options = {0};
    so_code code = so_options_read(s->arena, &args[0], "so_install", so_install_table, &options, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    int64_t from = 0;
    code = s->port->methods->migrate_schema(s->port, &from);
    if (code == SO_OK && from == 0)
    {
        so_value origin[] = {SO_VALUE_INT(s->port->methods->random(s->port)), SO_VALUE_INT(so_now_ms(s))};
        code = so_db_change(s, SO_STMT_ORIGIN, origin);
    }
    if (code == SO_OK && from < SO_SCHEMA_VERSION)
    {
        so_value version[] = {SO_VALUE_STR(SO_STR("schema_version")), SO_VALUE_INT(SO_SCHEMA_VERSION)};
        code = so_db_change(s, SO_STMT_SETTING_SET, version);
        if (code == SO_OK)
            code = so_stamp_change(s);
    }
    if (code == SO_OK)
    {
        s->definitions.loaded = false;
        code = so_definitions_refresh(s);
    }
    if (code == SO_OK && options.test && !s->definitions.test)
    {
        so_value test[] = {SO_VALUE_STR(SO_STR("test")), SO_VALUE_INT(1)};
        code = so_db_change(s, SO_STMT_SETTING_SET, test);
        if (code == SO_OK)
            code = so_stamp_change(s);
    }
    if (code == SO_OK)
        *result = SO_VALUE_INT(s->definitions.schema_version);
    code = so_work_end(s, code);
    s->definitions.loaded = false;
    return code;
}

so_code so_fn_version(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)args;
    (void)count;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_code code = s->turn == NULL ? so_definitions_refresh(s) : SO_OK;
    if (code != SO_OK && code != SO_NOT_INSTALLED && code != SO_VERSION)
        return code;
    so_buffer_add_text(&buffer, "{\"library\":\"" SO_VERSION_TEXT "\",\"schema\":");
    if (code == SO_NOT_INSTALLED)
        so_buffer_add_text(&buffer, "null");
    else
        so_buffer_add_int(&buffer, s->definitions.schema_version);
    so_buffer_add_char(&buffer, '}');
    *result = SO_VALUE_JSON(so_buffer_str(&buffer));
    so_error_clear(&s->err);
    return result->s.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

so_code so_fn_test_clock(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    int64_t move;
    so_code code =
        so_integer_argument(s, &args[0], "ms", -100 * 365 * SO_DAY_MS, 100 * 365 * SO_DAY_MS, &move);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_definitions_refresh(s);
    if (code == SO_OK && !s->definitions.test)
        code = so_error_set(&s->err, SO_FORBIDDEN,
                            "Only so_install('{\"test\":true}') makes an installation whose clock moves.",
                            "this is not a test installation");
    int64_t clock = s->definitions.clock_ms;
    if (code == SO_OK && (clock + move > 200 * 365 * SO_DAY_MS || clock + move < -40 * 365 * SO_DAY_MS))
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "Move it by at most a hundred years.",
                            "the clock cannot move that far");
    if (code == SO_OK && move != 0)
    {
        so_value setting[] = {SO_VALUE_STR(SO_STR("clock_ms")), SO_VALUE_INT(clock + move)};
        code = so_db_change(s, SO_STMT_SETTING_SET, setting);
        if (code == SO_OK)
            code = so_stamp_change(s);
        if (code == SO_OK)
            code = so_definitions_refresh(s);
    }
    if (code == SO_OK)
        *result = SO_VALUE_INT(so_now_ms(s));
    return so_work_end(s, code);
}

static const so_type *so_type_named(so_session *s, so_str name)
{
    for (size_t i = 0; i < s->definitions.type_count; i++)
        if (so_str_equal(s->definitions.types[i].name, name))
            return &s->definitions.types[i];
    return NULL;
}

/* Every state that may be stored must find its way to the new version. */
static so_code so_version_check(so_session *s, const so_type *type, int64_t version)
{
    int64_t before = type->options.state_version;
    if (version < before)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT,
                            "Give the version that it has, or the next one after so_define_migration.",
                            "state_version of %.*s is %lld and cannot go back", (int)type->name.n,
                            type->name.p, (long long)before);
    for (int64_t from = before; from < version; from++)
        if (so_migration_from(type, from) == NULL)
            return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Define it with so_define_migration first.",
                                "%.*s has no migration from state_version %lld", (int)type->name.n,
                                type->name.p, (long long)from);
    return SO_OK;
}

so_code so_fn_define_actor(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name;
    so_str text;
    so_type_options options;
    so_code code = so_name_check(&args[0], "type", &name, &s->err);
    if (code == SO_OK)
        code = so_type_options_read(s, &args[1], &options);
    if (code == SO_OK)
        code = so_options_text(s, &args[1], &text);
    if (code == SO_OK && options.retry_cap_ms < options.retry_base_ms)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT,
                            "The cap is the longest pause between attempts, the base the first.",
                            "retry_cap_ms is below retry_base_ms");
    if (code == SO_OK && (int64_t)options.initial.n > options.max_state_bytes)
        code = so_error_set(&s->err, SO_TOO_LARGE, "Raise max_state_bytes.",
                            "initial has more than max_state_bytes bytes");
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_definitions_refresh(s);
    const so_type *type = code == SO_OK ? so_type_named(s, name) : NULL;
    so_value params[] = {SO_VALUE_STR(name), SO_VALUE_STR(text)};
    bool changes = type == NULL || !so_json_equal(type->options_text, text);
    if (code == SO_OK && type != NULL)
        code = so_version_check(s, type, options.state_version);
    if (code == SO_OK && changes)
        code = so_db_change(s, type == NULL ? SO_STMT_TYPE_INSERT : SO_STMT_TYPE_UPDATE, params);
    if (code == SO_OK && changes)
        code = so_stamp_change(s);
    code = so_work_end(s, code);
    if (code == SO_OK)
        *result = SO_VALUE_STR(name);
    return code;
}

static bool so_same_handler(const so_operation *operation, const so_value *handler)
{
    if (handler->type == SO_NULL || operation->handler.p == NULL)
        return handler->type == SO_NULL && operation->handler.p == NULL;
    return so_str_equal(operation->handler, handler->s);
}

static so_code so_operation_store(so_session *s, so_str type_name, so_str name, const so_value *handler,
                                  so_str text, const so_operation *wanted)
{
    const so_type *type;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code != SO_OK)
        return code;
    const so_operation *operation = so_operation_by_name(type, name);
    if (operation != NULL && so_same_handler(operation, handler) && operation->query == wanted->query &&
        operation->max_attempts == wanted->max_attempts &&
        (operation->members.p == NULL) == (wanted->members.p == NULL) &&
        (wanted->members.p == NULL || so_json_equal(operation->members, wanted->members)))
        return SO_OK;
    so_value params[] = {SO_VALUE_INT(type->id), SO_VALUE_STR(name), *handler, SO_VALUE_STR(text)};
    so_lane lane = wanted->query ? SO_LANE_STUCK : handler->type == SO_NULL ? SO_LANE_EXTERNAL : SO_LANE_RUN;
    code = so_db_change(s, SO_STMT_OPERATION_SET, params);
    if (code == SO_OK)
        code = so_lanes_change(s, type->id, name, lane);
    if (code == SO_OK)
        code = so_stamp_change(s);
    return code;
}

/* Whether a value can be a handler. */
static so_code so_handler_check(so_session *s, const so_value *value, const char *hint)
{
    if (value->type != SO_TEXT)
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, hint, "handler must be text");
    if (!so_utf8_valid(value->s.p, value->s.n))
        return so_error_set(&s->err, SO_INVALID_ARGUMENT, "Pass SQL text.",
                            "handler is not valid UTF-8 text without NUL");
    return s->port->methods->handler_check(s->port, value->s);
}

so_code so_fn_define_operation(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str type_name;
    so_str name;
    so_str text;
    so_operation operation = {0};
    so_code code = so_name_check(&args[0], "type", &type_name, &s->err);
    if (code == SO_OK)
        code = so_name_check(&args[1], "operation", &name, &s->err);
    if (code == SO_OK)
        code = so_operation_options_read(s, &args[3], &operation);
    if (code == SO_OK)
        code = so_options_text(s, &args[3], &text);
    if (code == SO_OK && args[2].type == SO_NULL && operation.query)
        code = so_error_set(&s->err, SO_INVALID_ARGUMENT, "Give the query a handler.",
                            "a query runs inside the database and cannot be external");
    if (code == SO_OK && args[2].type != SO_NULL)
        code = so_handler_check(s, &args[2], "Pass SQL text, or NULL for an external operation.");
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_work_end(s, so_operation_store(s, type_name, name, &args[2], text, &operation));
    if (code == SO_OK)
        *result = SO_VALUE_STR(name);
    return code;
}

static so_code so_migration_store(so_session *s, so_str type_name, int64_t from, so_str handler)
{
    const so_type *type;
    bool pure = true;
    so_code code = so_definitions_refresh(s);
    if (code == SO_OK)
        code = so_type_find(s, type_name, &type);
    if (code != SO_OK)
        return code;
    const so_migration *before = so_migration_from(type, from);
    if (before != NULL && so_str_equal(before->step.handler, handler))
        return SO_OK;
    so_operation step = {.type = type, .name = SO_STR("migration"), .handler = handler};
    code = s->port->methods->handler_pure(s->port, &step, &pure);
    if (code == SO_OK && !pure)
        code =
            so_error_set(&s->err, SO_INVALID_ARGUMENT, "It may read other tables, and answers the new state.",
                         "a migration's statements may only read");
    so_value params[] = {SO_VALUE_INT(type->id), SO_VALUE_INT(from), SO_VALUE_STR(handler)};
    if (code == SO_OK)
        code = so_db_change(s, SO_STMT_MIGRATION_SET, params);
    return code == SO_OK ? so_stamp_change(s) : code;
}

so_code so_fn_define_migration(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str type_name;
    int64_t from;
    so_code code = so_name_check(&args[0], "type", &type_name, &s->err);
    if (code == SO_OK)
        code = so_integer_argument(s, &args[1], "from_version", 1, INT64_C(999999999), &from);
    if (code == SO_OK)
        code = so_handler_check(s, &args[2], "Pass SQL text whose last statement answers state or patch.");
    if (code != SO_OK)
        return code;
    so_str handler = so_arena_copy_str(s->arena, args[2].s);
    if (handler.p == NULL)
        return so_error_nomem(&s->err);
    code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_work_end(s, so_migration_store(s, type_name, from, handler));
    if (code == SO_OK)
        *result = SO_VALUE_INT(from + 1);
    return code;
}

static so_code so_needed(so_session *s, const char *what, so_str by)
{
    return so_error_set(&s->err, SO_BLOCKED,
                        "Let them finish or cancel them; so_destroy removes an actor with all that is its.",
                        "%.*s still need this %s", (int)by.n, by.p, what);
}

static so_code so_drop_operation_work(so_session *s, so_str type_name, so_str name, bool *dropped)
{
    so_value needed;
    bool found;
    so_code code = so_definitions_refresh(s);
    const so_type *type = code == SO_OK ? so_type_named(s, type_name) : NULL;
    *dropped = type != NULL && so_operation_by_name(type, name) != NULL;
    if (!*dropped)
        return code;
    so_value params[] = {SO_VALUE_INT(type->id), SO_VALUE_STR(name)};
    code = so_mailbox_sort(s, so_now_ms(s), INT64_MAX);
    if (code == SO_OK)
        code = so_db_row(s, SO_STMT_OPERATION_NEEDED, params, &needed, &found);
    if (code == SO_OK && found)
        code = so_needed(s, "operation", SO_STR("messages"));
    if (code == SO_OK)
        code = so_db_change(s, SO_STMT_OPERATION_DELETE, params);
    return code == SO_OK ? so_stamp_change(s) : code;
}

static so_code so_drop_actor_work(so_session *s, so_str name, bool *dropped)
{
    static const so_statement removals[] = {SO_STMT_TYPE_FORGET,
                                            SO_STMT_TYPE_EMPTY,
                                            SO_STMT_TYPE_UNQUEUE,
                                            SO_STMT_TYPE_OPERATIONS_DELETE,
                                            SO_STMT_TYPE_MIGRATIONS_DELETE,
                                            SO_STMT_TYPE_DELETE};
    so_value by;
    bool found;
    so_code code = so_definitions_refresh(s);
    const so_type *type = code == SO_OK ? so_type_named(s, name) : NULL;
    *dropped = type != NULL;
    if (type == NULL)
        return code;
    so_value params[] = {SO_VALUE_INT(type->id)};
    code = so_mailbox_sort(s, so_now_ms(s), INT64_MAX);
    if (code == SO_OK)
        code = so_db_row(s, SO_STMT_TYPE_NEEDED, params, &by, &found);
    if (code == SO_OK && by.type == SO_TEXT)
        code = so_needed(s, "type", by.s);
    for (size_t i = 0; code == SO_OK && i < sizeof removals / sizeof removals[0]; i++)
        code = so_db_change(s, removals[i], params);
    return code == SO_OK ? so_stamp_change(s) : code;
}

so_code so_fn_drop_operation(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str type_name;
    so_str name;
    bool dropped = false;
    so_code code = so_name_check(&args[0], "type", &type_name, &s->err);
    if (code == SO_OK)
        code = so_name_check(&args[1], "operation", &name, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_work_end(s, so_drop_operation_work(s, type_name, name, &dropped));
    *result = SO_VALUE_INT(dropped);
    return code;
}

so_code so_fn_drop_actor(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name;
    bool dropped = false;
    so_code code = so_name_check(&args[0], "type", &name, &s->err);
    if (code == SO_OK)
        code = so_work_begin(s);
    if (code != SO_OK)
        return code;
    code = so_work_end(s, so_drop_actor_work(s, name, &dropped));
    *result = SO_VALUE_INT(dropped);
    return code;
}

static void so_types_operation(so_buffer *buffer, const so_operation *operation)
{
    so_write_text(buffer, "{\"operation\":", operation->name);
    so_buffer_add_text(buffer, operation->handler.p == NULL ? ",\"external\":true" : ",\"external\":false");
    so_buffer_add_text(buffer, operation->query ? ",\"query\":true" : ",\"query\":false");
    so_write_json(buffer, ",\"members\":", operation->members);
    so_write_number(buffer, ",\"max_attempts\":", operation->max_attempts, operation->max_attempts != 0);
    so_write_text(buffer, ",\"handler\":", operation->handler);
    so_buffer_add_char(buffer, '}');
}

so_code so_fn_types(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)args;
    (void)count;
    so_code code = s->turn == NULL ? so_definitions_refresh(s) : SO_OK;
    if (code != SO_OK)
        return code;
    so_buffer buffer;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_char(&buffer, '[');
    for (size_t i = 0; i < s->definitions.type_count; i++)
    {
        const so_type *type = &s->definitions.types[i];
        so_write_text(&buffer, i == 0 ? "{\"type\":" : ",{\"type\":", type->name);
        so_write_json(&buffer, ",\"options\":", type->options_text);
        so_buffer_add_text(&buffer, ",\"operations\":[");
        for (size_t j = 0; j < type->operation_count; j++)
        {
            if (j > 0)
                so_buffer_add_char(&buffer, ',');
            so_types_operation(&buffer, &type->operations[j]);
        }
        so_buffer_add_text(&buffer, "],\"migrations\":[");
        for (size_t j = 0; j < type->migration_count; j++)
        {
            so_write_number(&buffer, j == 0 ? "{\"from_version\":" : ",{\"from_version\":",
                            type->migrations[j].from_version, true);
            so_write_text(&buffer, ",\"handler\":", type->migrations[j].step.handler);
            so_buffer_add_char(&buffer, '}');
        }
        so_buffer_add_text(&buffer, "]}");
    }
    return so_write_result(s, &buffer, ']', result);
}
