/*
 * State by member. See so_state.h.
 *
 * A member stays where it is stored (in the actor's row or in a row of its own) unless it no longer fits, so
 * that a state of any size is rewritten only where it changed.
 */
#include "so_state.h"

#include <stdlib.h>
#include <string.h>

#include "so_json.h"

enum
{
    SO_INDEX_FROM = 16 /* members, from which on they are found by hash */
};

struct so_member_undo
{
    size_t member;
    so_str value;
    bool loaded;
    bool changed;
};

/* FNV-1a, 32 bits. */
static uint32_t so_name_hash(so_str name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * 16777619u;
    return hash;
}

static so_code so_state_nomem(so_state *state) { return so_error_nomem(&state->session->err); }

/* What a member adds to the state's size: its name, colon, value and a comma. */
static int64_t so_member_bytes(so_state *state, so_str name, so_str value)
{
    so_buffer buffer;
    int64_t quoted = (int64_t)name.n + 2;
    for (size_t i = 0; i < name.n; i++)
    {
        if ((unsigned char)name.p[i] < 0x20 || name.p[i] == '"' || name.p[i] == '\\')
        {
            so_buffer_init(&buffer, state->session->arena);
            so_json_quote(&buffer, name);
            quoted = (int64_t)buffer.n;
            break;
        }
    }
    return value.p == NULL ? 0 : quoted + 1 + (int64_t)value.n + 1;
}

static so_code so_index_build(so_state *state)
{
    size_t size = 64;
    while (size < state->capacity * 2)
        size *= 2;
    uint32_t *index = so_arena_zero(state->arena, size * sizeof *index);
    if (index == NULL)
        return so_state_nomem(state);
    for (size_t i = 0; i < state->count; i++)
    {
        size_t at = so_name_hash(state->members[i].name) & (size - 1);
        while (index[at] != 0)
            at = (at + 1) & (size - 1);
        index[at] = (uint32_t)i + 1;
    }
    state->index = index;
    state->index_size = size;
    return SO_OK;
}

static so_member *so_member_find(so_state *state, so_str name)
{
    if (state->index == NULL)
    {
        for (size_t i = 0; i < state->count; i++)
            if (so_str_equal(state->members[i].name, name))
                return &state->members[i];
        return NULL;
    }
    size_t at = so_name_hash(name) & (state->index_size - 1);
    while (state->index[at] != 0)
    {
        so_member *member = &state->members[state->index[at] - 1];
        if (so_str_equal(member->name, name))
            return member;
        at = (at + 1) & (state->index_size - 1);
    }
    return NULL;
}

/* Adds an entry; the name is copied, the value is not. */
static so_code so_member_add(so_state *state, so_str name, so_str value, so_member_place place, bool loaded,
                             bool changed)
{
    if (state->count == state->capacity)
    {
        size_t capacity = state->capacity == 0 ? 8 : state->capacity * 2;
        so_member *members = so_arena_alloc(state->arena, capacity * sizeof *members);
        if (members == NULL)
            return so_state_nomem(state);
        if (state->count > 0)
            memcpy(members, state->members, state->count * sizeof *members);
        state->members = members;
        state->capacity = capacity;
        state->index = NULL;
    }
    so_member *member = &state->members[state->count];
    *member = (so_member){.value = value, .place = place, .loaded = loaded, .changed = changed};
    member->name = so_arena_copy_str(state->arena, name);
    if (member->name.p == NULL)
        return so_state_nomem(state);
    state->count++;
    if (state->index != NULL)
    {
        size_t at = so_name_hash(name) & (state->index_size - 1);
        while (state->index[at] != 0)
            at = (at + 1) & (state->index_size - 1);
        state->index[at] = (uint32_t)state->count;
    }
    else if (state->count > SO_INDEX_FROM)
        return so_index_build(state);
    return SO_OK;
}

so_code so_state_open(so_state *state, so_session *s, so_arena *arena, so_actor *actor, so_str initial)
{
    *state = (so_state){.session = s, .arena = arena, .actor = actor, .bytes = 1};
    so_str object = actor->exists ? actor->state : initial;
    so_json_iter iter;
    so_str name;
    so_str value;
    so_json_iter_init(&iter, arena, object);
    while (so_json_iter_next(&iter, &name, &value))
    {
        so_code code = so_member_add(state, name, value, actor->exists ? SO_PLACE_INLINE : SO_PLACE_NONE,
                                     true, !actor->exists);
        if (code != SO_OK)
            return code;
        if (!actor->exists)
            state->bytes += so_member_bytes(state, name, value);
    }
    if (iter.failed)
        return so_state_nomem(state);
    if (actor->exists)
        state->bytes = actor->bytes <= 2 ? 1 : actor->bytes;
    else
    {
        actor->state = SO_STR("{}");
        actor->bytes = 2;
    }
    state->names_loaded = !actor->exists || actor->members == 0;
    return SO_OK;
}

/* Finds or reads the entry of a member. *found NULL: there is no such member. */
static so_code so_member_load(so_state *state, so_str name, so_member **found)
{
    so_session *s = state->session;
    so_member *member = so_member_find(state, name);
    *found = member;
    if (member != NULL ? member->loaded : state->names_loaded)
        return SO_OK;
    so_value params[] = {SO_VALUE_INT(state->actor->incarnation), SO_VALUE_STR(name)};
    so_value column;
    bool there;
    so_code code = so_db_row(s, SO_STMT_MEMBER_GET, params, &column, &there);
    if (code != SO_OK)
        return code;
    so_str value = {0};
    if (there)
    {
        value = s->arena == state->arena ? column.s : so_arena_copy_str(state->arena, column.s);
        if (value.p == NULL)
            return so_state_nomem(state);
    }
    if (member != NULL)
    {
        member->value = value;
        member->loaded = true;
        return SO_OK;
    }
    code = so_member_add(state, name, value, there ? SO_PLACE_ROW : SO_PLACE_NONE, true, false);
    if (code == SO_OK)
        *found = &state->members[state->count - 1];
    return code;
}

so_code so_state_get(so_state *state, so_str name, so_str *value)
{
    so_member *member;
    so_code code = so_member_load(state, name, &member);
    *value = code == SO_OK && member != NULL ? member->value : (so_str){0};
    return code;
}

static so_code so_undo_note(so_state *state, size_t at)
{
    if (state->undo_count == state->undo_capacity)
    {
        size_t capacity = state->undo_capacity == 0 ? 8 : state->undo_capacity * 2;
        so_member_undo *undo = so_arena_alloc(state->arena, capacity * sizeof *undo);
        if (undo == NULL)
            return so_state_nomem(state);
        if (state->undo_count > 0)
            memcpy(undo, state->undo, state->undo_count * sizeof *undo);
        state->undo = undo;
        state->undo_capacity = capacity;
    }
    const so_member *member = &state->members[at];
    state->undo[state->undo_count++] = (so_member_undo){
        .member = at, .value = member->value, .loaded = member->loaded, .changed = member->changed};
    return SO_OK;
}

so_code so_state_set(so_state *state, so_str name, so_str value)
{
    so_member *member;
    so_code code = so_member_load(state, name, &member);
    if (code != SO_OK)
        return code;
    if (member == NULL)
    {
        if (value.p == NULL)
            return SO_OK;
        code = so_member_add(state, name, (so_str){0}, SO_PLACE_NONE, true, false);
        if (code != SO_OK)
            return code;
        member = &state->members[state->count - 1];
    }
    if ((member->value.p == NULL) == (value.p == NULL) &&
        (value.p == NULL || so_str_equal(member->value, value)))
        return SO_OK;
    so_str copy = {0};
    if (value.p != NULL)
    {
        copy = so_arena_copy_str(state->arena, value);
        if (copy.p == NULL)
            return so_state_nomem(state);
    }
    code = so_undo_note(state, (size_t)(member - state->members));
    if (code != SO_OK)
        return code;
    state->bytes += so_member_bytes(state, name, copy) - so_member_bytes(state, name, member->value);
    member->value = copy;
    member->changed = true;
    return SO_OK;
}

typedef struct so_load_walk
{
    so_state *state;
    bool values;
} so_load_walk;

static so_code so_load_row(so_session *s, void *context, const so_value *columns)
{
    so_load_walk *walk = context;
    so_state *state = walk->state;
    (void)s;
    so_member *member = so_member_find(state, columns[0].s);
    if (member != NULL && (member->loaded || !walk->values))
        return SO_OK;
    so_str value = {0};
    if (walk->values)
    {
        value = so_arena_copy_str(state->arena, columns[1].s);
        if (value.p == NULL)
            return so_state_nomem(state);
    }
    if (member != NULL)
    {
        member->value = value;
        member->loaded = true;
        return SO_OK;
    }
    return so_member_add(state, columns[0].s, value, SO_PLACE_ROW, walk->values, false);
}

/* Makes every stored member known, with its value or only by name. */
static so_code so_state_load_all(so_state *state, bool values)
{
    bool complete = state->names_loaded;
    if (complete && values)
        for (size_t i = 0; i < state->count && complete; i++)
            complete = state->members[i].loaded;
    if (complete)
        return SO_OK;
    so_load_walk walk = {.state = state, .values = values};
    so_value params[] = {SO_VALUE_INT(state->actor->incarnation)};
    so_code code = so_db_each(state->session, values ? SO_STMT_MEMBER_EACH : SO_STMT_MEMBER_NAMES, params,
                              so_load_row, &walk);
    if (code == SO_OK)
        state->names_loaded = true;
    return code;
}

so_code so_state_replace(so_state *state, so_str object)
{
    so_code code = so_state_load_all(state, true);
    if (code != SO_OK)
        return code;
    size_t known = state->count;
    bool *kept = so_arena_zero(state->session->arena, known + 1);
    if (kept == NULL)
        return so_state_nomem(state);
    so_json_iter iter;
    so_str name;
    so_str value;
    so_json_iter_init(&iter, state->session->arena, object);
    while (so_json_iter_next(&iter, &name, &value))
    {
        const so_member *member = so_member_find(state, name);
        if (member != NULL && (size_t)(member - state->members) < known)
            kept[member - state->members] = true;
        code = so_state_set(state, name, value);
        if (code != SO_OK)
            return code;
    }
    if (iter.failed)
        return so_state_nomem(state);
    for (size_t i = 0; i < known; i++)
    {
        if (kept[i])
            continue;
        code = so_state_set(state, state->members[i].name, (so_str){0});
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

so_code so_state_patch(so_state *state, so_str patch)
{
    so_json_iter iter;
    so_str name;
    so_str value;
    so_json_iter_init(&iter, state->session->arena, patch);
    while (so_json_iter_next(&iter, &name, &value))
    {
        so_code code = SO_OK;
        if (so_json_first(value) == 'n')
            value = (so_str){0};
        else if (so_json_first(value) == '{')
        {
            so_str target;
            code = so_state_get(state, name, &target);
            if (code == SO_OK)
                code =
                    so_json_merge_patch(state->session->arena, target, value, &value, &state->session->err);
        }
        if (code == SO_OK)
            code = so_state_set(state, name, value);
        if (code != SO_OK)
            return code;
    }
    return iter.failed ? so_state_nomem(state) : SO_OK;
}

static void so_member_append(so_buffer *buffer, so_str name, so_str value)
{
    if (buffer->n > 1)
        so_buffer_add_char(buffer, ',');
    so_json_quote(buffer, name);
    so_buffer_add_char(buffer, ':');
    so_buffer_add_str(buffer, value);
}

so_code so_state_assemble(so_state *state, so_str only, so_str *object)
{
    so_buffer buffer;
    so_buffer_init(&buffer, state->session->arena);
    so_buffer_add_char(&buffer, '{');
    if (only.p != NULL)
    {
        so_json_iter iter;
        so_str quoted;
        so_json_iter_init(&iter, state->session->arena, only);
        while (so_json_iter_next(&iter, NULL, &quoted))
        {
            so_str name = so_json_unquote(state->session->arena, quoted);
            so_str value;
            if (name.p == NULL)
                return so_state_nomem(state);
            so_code code = so_state_get(state, name, &value);
            if (code != SO_OK)
                return code;
            if (value.p != NULL)
                so_member_append(&buffer, name, value);
        }
    }
    else
    {
        so_code code = so_state_load_all(state, true);
        if (code != SO_OK)
            return code;
        for (size_t i = 0; i < state->count; i++)
            if (state->members[i].value.p != NULL)
                so_member_append(&buffer, state->members[i].name, state->members[i].value);
    }
    so_buffer_add_char(&buffer, '}');
    *object = so_buffer_str(&buffer);
    return object->p == NULL ? so_state_nomem(state) : SO_OK;
}

static int so_name_order(const void *a, const void *b)
{
    const so_str *left = a;
    const so_str *right = b;
    size_t n = left->n < right->n ? left->n : right->n;
    int order = n == 0 ? 0 : memcmp(left->p, right->p, n);
    return order != 0 ? order : (left->n > right->n) - (left->n < right->n);
}

so_code so_state_names(so_state *state, so_str prefix, so_str *names)
{
    so_code code = so_state_load_all(state, false);
    if (code != SO_OK)
        return code;
    so_str *sorted = so_arena_alloc(state->session->arena, (state->count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return so_state_nomem(state);
    size_t count = 0;
    for (size_t i = 0; i < state->count; i++)
    {
        const so_member *member = &state->members[i];
        bool exists = member->loaded ? member->value.p != NULL : member->place != SO_PLACE_NONE;
        if (exists && member->name.n >= prefix.n &&
            (prefix.n == 0 || memcmp(member->name.p, prefix.p, prefix.n) == 0))
            sorted[count++] = member->name;
    }
    qsort(sorted, count, sizeof *sorted, so_name_order);
    so_buffer buffer;
    so_buffer_init(&buffer, state->session->arena);
    so_buffer_add_char(&buffer, '[');
    for (size_t i = 0; i < count; i++)
    {
        if (i > 0)
            so_buffer_add_char(&buffer, ',');
        so_json_quote(&buffer, sorted[i]);
    }
    so_buffer_add_char(&buffer, ']');
    *names = so_buffer_str(&buffer);
    return names->p == NULL ? so_state_nomem(state) : SO_OK;
}

void so_state_mark(so_state *state)
{
    state->undo_count = 0;
    state->undo_bytes = state->bytes;
}

void so_state_undo(so_state *state)
{
    while (state->undo_count > 0)
    {
        const so_member_undo *undo = &state->undo[--state->undo_count];
        so_member *member = &state->members[undo->member];
        member->value = undo->value;
        member->loaded = undo->loaded;
        member->changed = undo->changed;
    }
    state->bytes = state->undo_bytes;
}

bool so_state_changed(const so_state *state)
{
    /* Set and set back is no change; with many entries that is not worth finding out. */
    bool changed = state->undo_count > SO_INDEX_FROM;
    for (size_t i = 0; i < state->undo_count && !changed; i++)
    {
        const so_member_undo *undo = &state->undo[i];
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = state->undo[j].member != undo->member;
        const so_str now = state->members[undo->member].value;
        changed = first && ((now.p == NULL) != (undo->value.p == NULL) || !so_str_equal(now, undo->value));
    }
    return changed;
}

so_code so_state_store(so_state *state)
{
    so_session *s = state->session;
    so_actor *actor = state->actor;
    bool dirty = false;
    for (size_t i = 0; i < state->count && !dirty; i++)
        dirty = state->members[i].changed;
    if (!dirty)
        return SO_OK;
    so_buffer buffer;
    so_buffer_init(&buffer, state->arena);
    so_buffer_add_char(&buffer, '{');
    size_t room = (size_t)s->port->methods->inline_bytes;
    for (size_t i = 0; i < state->count; i++)
    {
        so_member *member = &state->members[i];
        if (member->place != SO_PLACE_ROW && member->value.p != NULL)
        {
            size_t before = buffer.n;
            if (member->name.n + member->value.n + 4 <= room)
            {
                so_member_append(&buffer, member->name, member->value);
                if (buffer.n + 1 <= room)
                {
                    member->place = SO_PLACE_INLINE;
                    member->changed = false;
                    continue;
                }
                buffer.n = before;
            }
        }
        if (member->place == SO_PLACE_ROW ? !member->changed : member->value.p == NULL)
        {
            if (member->value.p == NULL && member->place == SO_PLACE_INLINE)
                member->place = SO_PLACE_NONE;
            member->changed = false;
            continue;
        }
        so_value params[] = {SO_VALUE_INT(actor->incarnation), SO_VALUE_STR(member->name),
                             SO_VALUE_STR(member->value)};
        so_statement statement = member->value.p == NULL         ? SO_STMT_MEMBER_DELETE
                                 : member->place == SO_PLACE_ROW ? SO_STMT_MEMBER_UPDATE
                                                                 : SO_STMT_MEMBER_INSERT;
        so_code code = so_db_change(s, statement, params);
        if (code != SO_OK)
            return code;
        actor->members += statement == SO_STMT_MEMBER_INSERT   ? 1
                          : statement == SO_STMT_MEMBER_DELETE ? -1
                                                               : 0;
        member->place = member->value.p == NULL ? SO_PLACE_NONE : SO_PLACE_ROW;
        member->changed = false;
    }
    so_buffer_add_char(&buffer, '}');
    actor->state = so_buffer_str(&buffer);
    actor->bytes = state->bytes < 2 ? 2 : state->bytes; /* "{}" has no comma to count */
    return actor->state.p == NULL ? so_state_nomem(state) : SO_OK;
}
