/*
 * See so_stats.h. Both read the mailbox as it is, unsorted messages included, and by the rules of
 * so_status().
 */
#include "so_stats.h"

#include <string.h>

#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"
#include "so_read.h"
#include "so_room.h"
#include "so_write.h"

enum
{
    SO_STATS_FIGURES = 4,   /* of one statement, at most */
    SO_ACTOR_MESSAGES = 100 /* that so_actor() lists */
};

/* The figures of a type, in the order of the answer. */
typedef enum so_figure
{
    SO_FIGURE_NONE, /* ends a list */
    SO_FIGURE_ACTORS,
    SO_FIGURE_WAITING,
    SO_FIGURE_DELAYED,
    SO_FIGURE_RETRYING,
    SO_FIGURE_CLAIMED,
    SO_FIGURE_STUCK,
    SO_FIGURE_PAUSED,
    SO_FIGURE_DEAD,
    SO_FIGURE_UNRETRIED,
    SO_FIGURE_READY, /* a moment: the earliest */
    SO_FIGURE_DUE,   /* likewise */
    SO_FIGURE_COUNT,
    /* What they are depends on the operation. */
    SO_FIGURE_ATTEMPTED,
    SO_FIGURE_STARTABLE
} so_figure;

static const char *const so_figure_names[SO_FIGURE_COUNT] = {
    [SO_FIGURE_ACTORS] = ",\"actors\":",       [SO_FIGURE_WAITING] = ",\"waiting\":",
    [SO_FIGURE_DELAYED] = ",\"delayed\":",     [SO_FIGURE_RETRYING] = ",\"retrying\":",
    [SO_FIGURE_CLAIMED] = ",\"claimed\":",     [SO_FIGURE_STUCK] = ",\"stuck\":",
    [SO_FIGURE_PAUSED] = ",\"paused\":",       [SO_FIGURE_DEAD] = ",\"dead_letters\":",
    [SO_FIGURE_UNRETRIED] = ",\"unretried\":",
};

typedef struct so_figures
{
    int64_t values[SO_FIGURE_COUNT];
} so_figures;

/* A statement and what its columns after the type and the operation are. */
typedef struct so_stats_source
{
    so_statement statement;
    so_figure figures[SO_STATS_FIGURES + 1];
} so_stats_source;

static const so_stats_source so_stats_sources[] = {
    {SO_STMT_STATS_ACTORS, {SO_FIGURE_ACTORS}},
    {SO_STMT_STATS_MAIL, {SO_FIGURE_WAITING}},
    {SO_STMT_STATS_QUEUE, {SO_FIGURE_WAITING, SO_FIGURE_RETRYING, SO_FIGURE_PAUSED, SO_FIGURE_DUE}},
    {SO_STMT_STATS_CLAIM, {SO_FIGURE_CLAIMED, SO_FIGURE_PAUSED, SO_FIGURE_DUE}},
    {SO_STMT_STATS_LATER, {SO_FIGURE_DUE}},
    {SO_STMT_STATS_UNSORTED, {SO_FIGURE_DELAYED, SO_FIGURE_WAITING, SO_FIGURE_ATTEMPTED, SO_FIGURE_DUE}},
    {SO_STMT_STATS_STARTABLE, {SO_FIGURE_STARTABLE, SO_FIGURE_READY}},
    {SO_STMT_STATS_DEAD, {SO_FIGURE_DEAD, SO_FIGURE_UNRETRIED}},
};

typedef struct so_stats_walk
{
    const so_figure *figures;
    so_figures *types; /* as in the definitions */
} so_stats_walk;

static bool so_stats_runs(const so_type *type, so_str operation)
{
    return so_lane_of(so_operation_by_name(type, operation)) != SO_LANE_STUCK;
}

static so_code so_stats_row(so_session *s, void *context, const so_value *columns)
{
    so_stats_walk *walk = context;
    const so_type *type = so_type_by_id(s, columns[0].i);
    if (type == NULL)
        return SO_OK;
    bool runs = columns[1].type == SO_TEXT && so_stats_runs(type, columns[1].s);
    int64_t *values = walk->types[type - s->definitions.types].values;
    for (int i = 0; walk->figures[i] != SO_FIGURE_NONE; i++)
    {
        const so_value *column = &columns[i + 2];
        so_figure figure = walk->figures[i];
        if (figure == SO_FIGURE_ATTEMPTED)
            figure = runs ? SO_FIGURE_RETRYING : SO_FIGURE_WAITING;
        else if (figure == SO_FIGURE_STARTABLE)
            figure = runs ? SO_FIGURE_NONE : SO_FIGURE_STUCK;
        else if (figure == SO_FIGURE_READY && !runs)
            figure = SO_FIGURE_NONE;
        if (figure == SO_FIGURE_NONE || column->type != SO_INT)
            continue;
        if (figure < SO_FIGURE_READY)
            values[figure] += column->i;
        else if (column->i < values[figure])
            values[figure] = column->i;
    }
    return SO_OK;
}

static int64_t so_stats_span(int64_t from_ms, int64_t to_ms) { return to_ms > from_ms ? to_ms - from_ms : 0; }

static void so_stats_write(so_buffer *buffer, so_str type, const int64_t *values, int64_t now_ms)
{
    bool ready = values[SO_FIGURE_READY] != INT64_MAX;
    bool due = values[SO_FIGURE_DUE] != INT64_MAX;
    so_write_text(buffer, buffer->n > 1 ? ",{\"type\":" : "{\"type\":", type);
    for (int i = SO_FIGURE_ACTORS; i < SO_FIGURE_READY; i++)
        so_write_number(buffer, so_figure_names[i], values[i], true);
    so_write_number(buffer, ",\"oldest_ready_age_ms\":", so_stats_span(values[SO_FIGURE_READY], now_ms),
                    ready);
    so_write_number(buffer, ",\"next_due_ms\":", ready ? 0 : so_stats_span(now_ms, values[SO_FIGURE_DUE]),
                    ready || due);
    so_buffer_add_char(buffer, '}');
}

static so_code so_stats_work(so_session *s, const so_type *type, so_value *result)
{
    so_newest newest;
    so_buffer buffer;
    int64_t now_ms = so_now_ms(s);
    so_code code = s->port->methods->look(s->port, 0, (so_str){0}, NULL, &newest);
    if (code != SO_OK)
        return code;
    size_t count = s->definitions.type_count;
    so_stats_walk walk = {.types = so_arena_zero(s->arena, (count + 1) * sizeof *walk.types)};
    if (walk.types == NULL)
        return so_error_nomem(&s->err);
    for (size_t i = 0; i < count; i++)
        walk.types[i].values[SO_FIGURE_READY] = walk.types[i].values[SO_FIGURE_DUE] = INT64_MAX;
    so_value params[] = {SO_VALUE_INT(type == NULL ? INT64_MIN : type->id),
                         SO_VALUE_INT(type == NULL ? INT64_MAX : type->id), SO_VALUE_INT(now_ms),
                         SO_VALUE_INT(newest.inbox)};
    for (size_t i = 0; code == SO_OK && i < sizeof so_stats_sources / sizeof so_stats_sources[0]; i++)
    {
        walk.figures = so_stats_sources[i].figures;
        code = so_db_each(s, so_stats_sources[i].statement, params, so_stats_row, &walk);
    }
    if (code != SO_OK)
        return code;
    so_buffer_init(&buffer, s->arena);
    so_buffer_add_char(&buffer, '[');
    for (size_t i = 0; i < count; i++)
        if (type == NULL || type == &s->definitions.types[i])
            so_stats_write(&buffer, s->definitions.types[i].name, walk.types[i].values, now_ms);
    return so_write_result(s, &buffer, ']', result);
}

so_code so_fn_stats(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name = {0};
    const so_type *type;
    so_code code = args[0].type == SO_NULL ? SO_OK : so_name_check(&args[0], "type", &name, &s->err);
    if (code == SO_OK)
        code = so_reading_begin(s, name, &type);
    return code == SO_OK ? so_work_end(s, so_stats_work(s, type, result)) : code;
}

/* An actor's mailbox on its way into the answer. */
typedef struct so_actor_walk
{
    const so_type *type;
    const so_actor *actor;
    int64_t now_ms;
    int64_t delayed;
    int64_t retrying;
    so_buffer head; /* the message that is first, if one is ready */
    so_buffer messages;
} so_actor_walk;

static so_code so_actor_unsorted(so_session *s, void *context, const so_value *columns)
{
    so_actor_walk *walk = context;
    const so_slot *slot = &walk->actor->slot;
    (void)s;
    walk->delayed += columns[1].i;
    if (slot->kind == SO_SLOT_NONE && !slot->paused && so_stats_runs(walk->type, columns[0].s))
        walk->retrying += columns[2].i;
    return SO_OK;
}

static void so_actor_head(so_actor_walk *walk, const so_message *message, const so_standing *standing)
{
    so_buffer *head = &walk->head;
    const so_slot *slot = &walk->actor->slot;
    bool claimed = slot->kind == SO_SLOT_CLAIMED;
    so_write_number(head, "{\"message\":", message->id, true);
    so_write_text(head, ",\"operation\":", message->operation);
    so_write_text(head, ",\"status\":", (so_str){standing->status, strlen(standing->status)});
    so_write_text(head, ",\"reason\":", (so_str){standing->reason, strlen(standing->reason)});
    so_write_number(head, ",\"attempts\":", standing->attempts, true);
    so_write_moment(head, ",\"due_at\":", standing->due_ms);
    so_write_text(head, ",\"worker\":", claimed && slot->worker.n > 0 ? slot->worker : (so_str){0});
    so_write_moment(head, ",\"expires_at\":", claimed ? slot->expires_ms : 0);
    so_write_text(head, ",\"error\":", standing->error);
    so_buffer_add_char(head, '}');
}

static so_code so_actor_message(so_session *s, void *context, const so_value *columns)
{
    so_actor_walk *walk = context;
    const so_slot *slot = &walk->actor->slot;
    so_standing standing;
    so_message message = {.id = columns[0].i,
                          .type = walk->type->id,
                          .key = walk->actor->key,
                          .operation = columns[1].s,
                          .due_ms = columns[2].i,
                          .attempts = columns[3].i,
                          .error = columns[4].s};
    so_standing_of(s, walk->actor, &message, walk->now_ms, &standing);
    if (walk->messages.n == 0 && strcmp(standing.status, "delayed") != 0)
        so_actor_head(walk, &message, &standing);
    if (slot->kind == SO_SLOT_QUEUED && slot->head == message.id && strcmp(standing.status, "retrying") == 0)
        walk->retrying++;
    so_write_number(&walk->messages, walk->messages.n == 0 ? "{\"message\":" : ",{\"message\":", message.id,
                    true);
    so_write_text(&walk->messages, ",\"operation\":", message.operation);
    so_write_text(&walk->messages, ",\"status\":", (so_str){standing.status, strlen(standing.status)});
    so_buffer_add_char(&walk->messages, '}');
    return walk->messages.failed || walk->head.failed ? so_error_nomem(&s->err) : SO_OK;
}

static int64_t so_actor_claimed(so_session *s, const so_slot *slot)
{
    int64_t count = slot->kind == SO_SLOT_CLAIMED;
    so_json_iter iter;
    so_str element;
    if (slot->more.p == NULL)
        return count;
    so_json_iter_init(&iter, s->arena, slot->more);
    while (so_json_iter_next(&iter, NULL, &element))
        count++;
    return count;
}

static void so_actor_write(so_session *s, so_buffer *buffer, const so_actor_walk *walk, int64_t unfinished)
{
    const so_actor *actor = walk->actor;
    bool exists = actor->exists;
    int64_t claimed = so_actor_claimed(s, &actor->slot);
    so_write_text(buffer, "{\"type\":", walk->type->name);
    so_write_text(buffer, ",\"key\":", actor->key);
    so_buffer_add_text(buffer, exists ? ",\"exists\":true" : ",\"exists\":false");
    so_write_number(buffer, ",\"incarnation\":", actor->incarnation, exists);
    so_write_number(buffer, ",\"revision\":", actor->revision, exists);
    so_write_number(buffer, ",\"turns\":", actor->turns, exists);
    so_write_number(buffer, ",\"state_bytes\":", actor->bytes, exists);
    so_write_number(buffer, ",\"state_version\":", actor->version, exists);
    so_write_moment(buffer, ",\"created_at\":", actor->created_ms);
    so_write_moment(buffer, ",\"updated_at\":", actor->updated_ms);
    so_buffer_add_text(buffer, actor->slot.paused ? ",\"paused\":true" : ",\"paused\":false");
    so_write_number(
        buffer, ",\"mailbox\":{\"waiting\":", unfinished - walk->delayed - walk->retrying - claimed, true);
    so_write_number(buffer, ",\"delayed\":", walk->delayed, true);
    so_write_number(buffer, ",\"retrying\":", walk->retrying, true);
    so_write_number(buffer, ",\"claimed\":", claimed, true);
    so_write_json(buffer, ",\"head\":", (so_str){walk->head.p, walk->head.n});
    so_buffer_add_text(buffer, ",\"messages\":[");
    if (walk->messages.n > 0)
        so_buffer_add(buffer, walk->messages.p, walk->messages.n);
    so_buffer_add_char(buffer, ']');
    so_buffer_add_char(buffer, '}');
}

static so_code so_actor_work(so_session *s, const so_type *type, so_str key, so_value *result)
{
    so_actor actor;
    so_newest newest;
    so_buffer buffer;
    int64_t unfinished = 0;
    so_actor_walk walk = {.type = type, .actor = &actor, .now_ms = so_now_ms(s)};
    so_code code = s->port->methods->look(s->port, type->id, key, &actor, &newest);
    if (code != SO_OK)
        return code;
    so_value params[] = {SO_VALUE_INT(type->id), SO_VALUE_STR(key), SO_VALUE_INT(walk.now_ms),
                         SO_VALUE_INT(newest.inbox), SO_VALUE_INT(SO_ACTOR_MESSAGES)};
    so_buffer_init(&walk.head, s->arena);
    so_buffer_init(&walk.messages, s->arena);
    code = so_mailbox_count(s, type->id, key, INT64_MAX, &unfinished);
    if (code == SO_OK)
        code = so_db_each(s, SO_STMT_ACTOR_UNSORTED, params, so_actor_unsorted, &walk);
    if (code == SO_OK)
        code = so_db_each(s, SO_STMT_ACTOR_MAILBOX, params, so_actor_message, &walk);
    if (code != SO_OK)
        return code;
    so_buffer_init(&buffer, s->arena);
    so_actor_write(s, &buffer, &walk, unfinished);
    return so_write_result(s, &buffer, '}', result);
}

so_code so_fn_actor(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_str name;
    so_str key;
    const so_type *type;
    so_code code = so_actor_check(args, &name, &key, &s->err);
    if (code == SO_OK)
        code = so_reading_begin(s, name, &type);
    return code == SO_OK ? so_work_end(s, so_actor_work(s, type, key, result)) : code;
}
