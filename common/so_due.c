/*
 * What is due, and when. See so_due.h.
 */
#include "so_due.h"

#include "so_json.h"
#include "so_mailbox.h"
#include "so_names.h"

enum
{
    SO_DUE_FIRST = 4,   /* messages of the inbox that are read first: mostly one of them is due */
    SO_DUE_TIMES = 1000 /* moments, in their order, that a worker looks through for its types */
};

typedef struct so_due_walk
{
    const so_wanted *wanted;
    int64_t due_ms; /* the earliest so far */
    int64_t left;   /* rows that may still come */
} so_due_walk;

/* (type, due) rows. Whatever is behind the last one that is looked at is not due before that one. */
static so_code so_due_row(so_session *s, void *context, const so_value *columns)
{
    so_due_walk *walk = context;
    const so_type *type = so_type_by_id(s, columns[0].i);
    bool last = --walk->left == 0;
    if (type != NULL && columns[1].type == SO_INT && columns[1].i < walk->due_ms &&
        (last || so_name_in(s, walk->wanted->types, type->name)))
        walk->due_ms = columns[1].i;
    return SO_OK;
}

static so_code so_due_inbox(so_session *s, so_due_walk *walk, int64_t now_ms)
{
    so_arrivals *arrivals = so_arena_alloc(s->arena, sizeof *arrivals);
    if (arrivals == NULL)
        return so_error_nomem(&s->err);
    int64_t next = s->newest.inbox;
    int64_t limit = SO_DUE_FIRST;
    while (next <= s->newest.id && walk->due_ms > now_ms)
    {
        so_code code = so_inbox_read(s, next, limit, arrivals);
        for (size_t i = 0; code == SO_OK && i < arrivals->count && walk->due_ms > now_ms; i++)
        {
            const so_arrival *row = &arrivals->rows[i];
            const so_type *type = so_type_by_id(s, row->type);
            so_actor actor;
            so_newest newest;
            so_lane lane =
                type == NULL ? SO_LANE_STUCK : so_lane_of(so_operation_by_name(type, row->operation));
            const so_wanted *wanted = walk->wanted;
            if (lane == SO_LANE_STUCK || (wanted->lane != 0 && wanted->lane != (int)lane) ||
                !so_name_in(s, wanted->types, type->name) ||
                !so_name_in(s, wanted->operations, row->operation))
                continue;
            if (row->due_ms <= now_ms)
                code = s->port->methods->look(s->port, row->type, row->key, &actor, &newest);
            if (code == SO_OK &&
                (row->due_ms > now_ms || (actor.slot.kind == SO_SLOT_NONE && !actor.slot.paused)) &&
                row->due_ms < walk->due_ms)
                walk->due_ms = row->due_ms;
        }
        if (code != SO_OK)
            return code;
        limit = SO_ARRIVALS;
        if (arrivals->last)
            return SO_OK;
        next = arrivals->rows[arrivals->count - 1].id + 1;
    }
    return SO_OK;
}

/* Everything but the inbox, for all types at once. */
static so_code so_due_all(so_session *s, so_due_walk *walk)
{
    so_value params[] = {SO_VALUE_INT(walk->wanted->lane)};
    so_value columns[4];
    bool found = false;
    so_code code = so_db_row(s, SO_STMT_DUE, params, columns, &found);
    if (code == SO_OK && columns[0].type == SO_INT)
        walk->due_ms = 0;
    for (int i = 1; code == SO_OK && i < 4; i++)
        if (columns[i].type == SO_INT && columns[i].i < walk->due_ms)
            walk->due_ms = columns[i].i;
    return code;
}

/* The same for a worker that does not take everything. */
static so_code so_due_picky(so_session *s, so_due_walk *walk, int64_t now_ms)
{
    static const so_statement times[] = {SO_STMT_QUEUE_TIMES, SO_STMT_CLAIM_TIMES, SO_STMT_LATER_TIMES};
    int64_t first_ms = INT64_MAX;
    so_value columns[4];
    bool found = false;
    so_value lanes[] = {SO_VALUE_INT(0)};
    so_code code = so_db_row(s, SO_STMT_DUE, lanes, columns, &found);
    /* Whatever is due, of any type, has to be sorted before one can tell what is behind it. */
    for (int i = 1; code == SO_OK && i < 4; i++)
        if (columns[i].type == SO_INT && columns[i].i < first_ms)
            first_ms = columns[i].i;
    if (code == SO_OK && first_ms <= now_ms)
        walk->due_ms = first_ms;
    for (int each = SO_LANE_RUN; code == SO_OK && each <= SO_LANE_EXTERNAL && walk->due_ms > 0; each++)
    {
        const so_take take = {
            .lane = (so_lane)each, .types = walk->wanted->types, .operations = walk->wanted->operations};
        bool any = s->port->methods->seeks && columns[0].type == SO_INT; /* it may be: taking will tell */
        if (any)
            ;
        else if (walk->wanted->lane == 0 || walk->wanted->lane == each)
            code = so_mailbox_ready(s, &take, &any);
        if (any)
            walk->due_ms = 0;
    }
    for (size_t i = 0; code == SO_OK && i < sizeof times / sizeof times[0]; i++)
    {
        so_value limit[] = {SO_VALUE_INT(SO_DUE_TIMES)};
        walk->left = SO_DUE_TIMES;
        code = so_db_each(s, times[i], limit, so_due_row, walk);
    }
    return code;
}

/* Within a piece of work, with fresh definitions. */
static so_code so_due_in(so_session *s, const so_wanted *wanted, int64_t *due_in_ms)
{
    int64_t now_ms = so_now_ms(s);
    so_due_walk walk = {.wanted = wanted, .due_ms = INT64_MAX};
    bool picky = wanted->types.p != NULL || wanted->operations.p != NULL;
    so_code code = picky ? so_due_picky(s, &walk, now_ms) : so_due_all(s, &walk);
    if (code == SO_OK && walk.due_ms > now_ms)
        code = so_due_inbox(s, &walk, now_ms);
    *due_in_ms = walk.due_ms == INT64_MAX ? -1 : walk.due_ms <= now_ms ? 0 : walk.due_ms - now_ms;
    return code;
}

so_code so_due_look(so_session *s, const so_wanted *wanted, int64_t *due_in_ms)
{
    const so_type *any;
    so_code code = so_reading_begin(s, (so_str){0}, &any);
    return code == SO_OK ? so_work_end(s, so_due_in(s, wanted, due_in_ms)) : code;
}

/* An argument that is a JSON array of type names, or NULL. */
static so_code so_types_argument(so_session *s, const so_value *value, so_str *types)
{
    so_json_iter iter;
    so_str element;
    *types = (so_str){0};
    if (value->type == SO_NULL)
        return SO_OK;
    if (value->type != SO_TEXT)
        return so_error_set(&s->err, SO_INVALID_JSON, "Pass a JSON array of type names, or nothing.",
                            "types must be a JSON array");
    so_code code = so_json_check(s->arena, value->s, SO_JSON_ARRAY, "types", 0, types, &s->err);
    if (code != SO_OK)
        return code;
    so_json_iter_init(&iter, s->arena, *types);
    while (code == SO_OK && so_json_iter_next(&iter, NULL, &element))
    {
        so_value name;
        code = so_json_to_value(s->arena, element, &name, &s->err);
        if (code == SO_OK)
            code = so_name_check(&name, "type", &name.s, &s->err);
    }
    return code;
}

so_code so_fn_next_due(so_session *s, const so_value *args, int count, so_value *result)
{
    (void)count;
    so_wanted wanted = {0};
    int64_t due_in_ms = -1;
    so_code code = so_types_argument(s, &args[0], &wanted.types);
    if (code == SO_OK)
        code = so_due_look(s, &wanted, &due_in_ms);
    if (code == SO_OK && due_in_ms >= 0)
        *result = SO_VALUE_INT(due_in_ms);
    return code;
}
