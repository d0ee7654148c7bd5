/*
 * The connection's copy of the definitions. It holds while its stamp is that of the newest message row, which
 * every call reads anyway.
 */
#include "so_define.h"

#include <string.h>

typedef struct so_loading
{
    so_definitions *definitions;
    size_t type_capacity;
    size_t operation_capacity;
    size_t migration_capacity;
} so_loading;

static so_code so_load_setting(so_session *s, void *context, const so_value *columns)
{
    so_loading *loading = context;
    (void)s;
    if (so_str_is(columns[0].s, "schema_version"))
        loading->definitions->schema_version = columns[1].i;
    else if (so_str_is(columns[0].s, "test"))
        loading->definitions->test = columns[1].i != 0;
    else if (so_str_is(columns[0].s, "clock_ms"))
        loading->definitions->clock_ms = columns[1].i;
    return SO_OK;
}

/* Makes room for one more element of `size` bytes in an array of the definitions' arena. */
static void *so_grow(so_session *s, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    size_t larger = *capacity == 0 ? 8 : *capacity * 2;
    void *grown = so_arena_alloc(&s->definitions_arena, larger * size);
    if (grown == NULL)
        return NULL;
    if (count > 0)
        memcpy(grown, array, count * size);
    *capacity = larger;
    return grown;
}

static so_code so_load_type(so_session *s, void *context, const so_value *columns)
{
    so_loading *loading = context;
    so_definitions *definitions = loading->definitions;
    definitions->types = so_grow(s, definitions->types, definitions->type_count, &loading->type_capacity,
                                 sizeof *definitions->types);
    if (definitions->types == NULL)
        return so_error_nomem(&s->err);
    so_type *type = &definitions->types[definitions->type_count++];
    *type = (so_type){.id = columns[0].i};
    type->name = so_arena_copy_str(&s->definitions_arena, columns[1].s);
    type->options_text = so_arena_copy_str(&s->definitions_arena, columns[2].s);
    if (type->name.p == NULL || type->options_text.p == NULL)
        return so_error_nomem(&s->err);
    so_value options = SO_VALUE_JSON(type->options_text);
    return so_type_options_read(s, &options, &type->options);
}

static so_type *so_loaded_type(const so_loading *loading, int64_t id)
{
    so_definitions *definitions = loading->definitions;
    for (size_t i = 0; i < definitions->type_count; i++)
        if (definitions->types[i].id == id)
            return &definitions->types[i];
    return NULL;
}

static so_code so_load_migration(so_session *s, void *context, const so_value *columns)
{
    so_loading *loading = context;
    so_type *type = so_loaded_type(loading, columns[0].i);
    if (type == NULL)
        return SO_OK;
    if (type->migration_count == 0)
        loading->migration_capacity = 0;
    type->migrations = so_grow(s, type->migrations, type->migration_count, &loading->migration_capacity,
                               sizeof *type->migrations);
    if (type->migrations == NULL)
        return so_error_nomem(&s->err);
    so_migration *migration = &type->migrations[type->migration_count++];
    *migration = (so_migration){.from_version = columns[1].i};
    migration->step.name = SO_STR("migration");
    migration->step.handler = so_arena_copy_str(&s->definitions_arena, columns[2].s);
    return migration->step.handler.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

static so_code so_load_operation(so_session *s, void *context, const so_value *columns)
{
    so_loading *loading = context;
    so_type *type = so_loaded_type(loading, columns[0].i);
    if (type == NULL)
        return SO_OK;
    if (type->operation_count == 0)
        loading->operation_capacity = 0;
    type->operations = so_grow(s, type->operations, type->operation_count, &loading->operation_capacity,
                               sizeof *type->operations);
    if (type->operations == NULL)
        return so_error_nomem(&s->err);
    so_operation *operation = &type->operations[type->operation_count++];
    *operation = (so_operation){0};
    operation->name = so_arena_copy_str(&s->definitions_arena, columns[1].s);
    if (operation->name.p == NULL)
        return so_error_nomem(&s->err);
    if (columns[2].type != SO_NULL)
    {
        operation->handler = so_arena_copy_str(&s->definitions_arena, columns[2].s);
        if (operation->handler.p == NULL)
            return so_error_nomem(&s->err);
    }
    return so_operation_options_read(s, &columns[3], operation);
}

static so_code so_definitions_read(so_session *s)
{
    so_definitions fresh = {.stamp = s->newest.stamp};
    so_loading loading = {.definitions = &fresh};
    so_code code = so_db_each(s, SO_STMT_SETTINGS, NULL, so_load_setting, &loading);
    s->definitions.schema_version = fresh.schema_version; /* also where this library cannot read the rest */
    if (code == SO_OK && fresh.schema_version != SO_SCHEMA_VERSION)
        code = so_error_set(&s->err, SO_VERSION,
                            fresh.schema_version > SO_SCHEMA_VERSION
                                ? "Load a newer solidobj library."
                                : "Run SELECT so_install() once: it brings the tables up to date.",
                            "the installed schema is version %lld, this library needs version %d",
                            (long long)fresh.schema_version, SO_SCHEMA_VERSION);
    if (code == SO_OK)
        code = so_db_each(s, SO_STMT_TYPES, NULL, so_load_type, &loading);
    if (code == SO_OK)
        code = so_db_each(s, SO_STMT_OPERATIONS, NULL, so_load_operation, &loading);
    if (code == SO_OK)
        code = so_db_each(s, SO_STMT_MIGRATIONS, NULL, so_load_migration, &loading);
    if (code != SO_OK)
        return code;
    for (size_t i = 0; i < fresh.type_count; i++)
    {
        for (size_t j = 0; j < fresh.types[i].operation_count; j++)
            fresh.types[i].operations[j].type = &fresh.types[i];
        for (size_t j = 0; j < fresh.types[i].migration_count; j++)
            fresh.types[i].migrations[j].step.type = &fresh.types[i];
    }
    fresh.loaded = true;
    s->definitions = fresh;
    return SO_OK;
}

so_code so_definitions_refresh(so_session *s)
{
    so_code code = s->port->methods->look(s->port, 0, (so_str){0}, NULL, &s->newest);
    while (code == SO_OK && !(s->definitions.loaded && s->definitions.stamp == s->newest.stamp))
    {
        s->definitions = (so_definitions){0};
        s->port->methods->handler_forget(s->port);
        so_arena *arena = s->arena;
        so_arena_reset(&s->definitions_arena);
        s->arena = &s->definitions_arena;
        code = so_definitions_read(s);
        s->arena = arena;
        if (code == SO_OK)
            code = s->port->methods->look(s->port, 0, (so_str){0}, NULL, &s->newest);
    }
    if (code != SO_OK)
        s->definitions = (so_definitions){.schema_version = s->definitions.schema_version};
    return code;
}

so_code so_definitions_ensure(so_session *s)
{
    return s->definitions.loaded ? SO_OK : so_definitions_refresh(s);
}

int so_name_compare(so_str a, so_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 || a.p == NULL || b.p == NULL ? 0 : memcmp(a.p, b.p, n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static const so_type *so_type_by_name(so_session *s, so_str name)
{
    size_t low = 0;
    size_t high = s->definitions.type_count;
    while (low < high)
    {
        size_t middle = (low + high) / 2;
        int order = so_name_compare(name, s->definitions.types[middle].name);
        if (order == 0)
            return &s->definitions.types[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

so_operation *so_operation_by_name(const so_type *type, so_str name)
{
    size_t low = 0;
    size_t high = type->operation_count;
    while (low < high)
    {
        size_t middle = (low + high) / 2;
        int order = so_name_compare(name, type->operations[middle].name);
        if (order == 0)
            return &type->operations[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

so_migration *so_migration_from(const so_type *type, int64_t version)
{
    for (size_t i = 0; i < type->migration_count; i++)
        if (type->migrations[i].from_version == version)
            return &type->migrations[i];
    return NULL;
}

const so_type *so_type_by_id(so_session *s, int64_t id)
{
    for (size_t i = 0; i < s->definitions.type_count; i++)
        if (s->definitions.types[i].id == id)
            return &s->definitions.types[i];
    return NULL;
}

/* What is missing may have been defined since the last look; only then is it an error. */
so_code so_type_find(so_session *s, so_str name, const so_type **type)
{
    *type = so_type_by_name(s, name);
    if (*type == NULL && s->turn == NULL)
    {
        so_code code = so_definitions_refresh(s);
        if (code != SO_OK)
            return code;
        *type = so_type_by_name(s, name);
    }
    return *type != NULL ? SO_OK
                         : so_error_set(&s->err, SO_UNKNOWN_TYPE, "Define it with so_define_actor.",
                                        "there is no actor type %.*s", (int)name.n, name.p);
}

so_code so_operation_find(so_session *s, const so_type *type, so_str name, so_operation **operation)
{
    *operation = so_operation_by_name(type, name);
    if (*operation == NULL && s->turn == NULL)
    {
        so_str type_name = so_arena_copy_str(s->arena, type->name);
        so_code code = type_name.p == NULL ? so_error_nomem(&s->err) : so_definitions_refresh(s);
        if (code == SO_OK)
            code = so_type_find(s, type_name, &type);
        if (code != SO_OK)
            return code;
        *operation = so_operation_by_name(type, name);
    }
    if (*operation != NULL)
        return SO_OK;
    return so_error_set(&s->err, SO_UNKNOWN_OPERATION, "Define it with so_define_operation.",
                        "the actor type %.*s has no operation %.*s", (int)type->name.n, type->name.p,
                        (int)name.n, name.p);
}

int64_t so_attempts_allowed(const so_type *type, const so_operation *operation, const so_message *message)
{
    if (message->max_attempts != 0)
        return message->max_attempts;
    if (operation != NULL && operation->max_attempts != 0)
        return operation->max_attempts;
    return type == NULL ? 5 : type->options.max_attempts;
}
