/*
 * What has to find members by name in two objects at once: equality and merge patch. Both stay near
 * linear for large objects by sorting the members of one side.
 */
#include "so_json_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct member
{
    so_str name; /* raw, without its quotes */
    so_str value;
    size_t position; /* in the document */
    bool used;
} member;

enum
{
    FEW_MEMBERS = 16 /* so few are searched one by one, without memory */
};

static int order_members(const void *a, const void *b)
{
    const member *left = a;
    const member *right = b;
    return so_json_raw_compare(left->name, right->name);
}

static int order_positions(const void *a, const void *b)
{
    const member *left = a;
    const member *right = b;
    return (left->position > right->position) - (left->position < right->position);
}

/* Takes a copy of the iterator: the caller's stays where it is. */
static size_t count_members(so_json_iter iter)
{
    so_str name, value;
    size_t count = 0;

    while (so_json_next_raw(&iter, &name, &value))
        count++;
    return count;
}

static void list_members(so_json_iter iter, member *members)
{
    size_t count = 0;

    while (so_json_next_raw(&iter, &members[count].name, &members[count].value))
    {
        members[count].position = count;
        members[count].used = false;
        count++;
    }
}

static bool equal_values(so_str a, so_str b, int depth);

/* Every member of `a` has an equal one in `b`; slow for many. */
static bool equal_by_search(so_json_iter a, so_json_iter b, int depth)
{
    so_str name, value;

    while (so_json_next_raw(&a, &name, &value))
    {
        so_json_iter search = b;
        so_str other_name, other_value;
        bool found = false;

        while (!found && so_json_next_raw(&search, &other_name, &other_value))
            found = so_json_raw_compare(name, other_name) == 0;
        if (!found || !equal_values(value, other_value, depth))
            return false;
    }
    return true;
}

static bool equal_sorted(member *a, member *b, size_t count, int depth)
{
    qsort(a, count, sizeof *a, order_members);
    qsort(b, count, sizeof *b, order_members);
    for (size_t i = 0; i < count; i++)
        if (so_json_raw_compare(a[i].name, b[i].name) != 0 || !equal_values(a[i].value, b[i].value, depth))
            return false;
    return true;
}

/* The rests of two objects whose members come in different orders. */
static bool equal_unordered(so_json_iter a, so_json_iter b, int depth)
{
    size_t count = count_members(a);

    if (count != count_members(b))
        return false;
    if (count <= FEW_MEMBERS)
        return equal_by_search(a, b, depth);

    /* Without memory the answer is the same and only takes longer: this function has no way to fail. */
    member *members = so_json_memory_alloc(count * 2 * sizeof *members);
    if (members == NULL)
        return equal_by_search(a, b, depth);
    list_members(a, members);
    list_members(b, members + count);
    bool equal = equal_sorted(members, members + count, count, depth);
    so_json_memory_release(members);
    return equal;
}

static bool equal_containers(so_str a, so_str b, int depth)
{
    so_json_iter left, right;
    so_str left_name, left_value, right_name, right_value;

    so_json_iter_init(&left, NULL, a);
    so_json_iter_init(&right, NULL, b);
    for (;;)
    {
        so_json_iter left_before = left;
        so_json_iter right_before = right;
        bool more = so_json_next_raw(&left, &left_name, &left_value);

        /* Names are unique: a member more on one side cannot be made up for on the other. */
        if (more != so_json_next_raw(&right, &right_name, &right_value))
            return false;
        if (!more)
            return true;
        if (so_json_raw_compare(left_name, right_name) != 0)
            return equal_unordered(left_before, right_before, depth);
        if (!equal_values(left_value, right_value, depth))
            return false;
    }
}

static bool equal_values(so_str a, so_str b, int depth)
{
    char first = so_json_first(a);

    if (so_str_equal(a, b))
        return true;
    if (first != so_json_first(b) || a.n < 1 || depth > SO_JSON_MAX_DEPTH)
        return false;
    if (first == '{' || first == '[')
        return equal_containers(a, b, depth + 1);
    if (first == '"')
        return a.n >= 2 && b.n >= 2 &&
               so_json_raw_compare((so_str){a.p + 1, a.n - 2}, (so_str){b.p + 1, b.n - 2}) == 0;
    if (first != '0' || so_json_is_real(a) != so_json_is_real(b))
        return false;
    return so_json_is_real(a) ? so_json_real(a) == so_json_real(b) : so_json_int(a) == so_json_int(b);
}

bool so_json_equal(so_str a, so_str b) { return equal_values(a, b, 0); }

static bool is_object(so_str json) { return json.n >= 2 && json.p[0] == '{'; }

static bool is_null(so_str json) { return json.n && json.p[0] == 'n'; }

static so_code merge(so_buffer *buffer, so_str target, so_str patch, int depth, so_error *err);

static void add_member(so_buffer *buffer, so_str name, bool *first)
{
    if (!*first)
        so_buffer_add_char(buffer, ',');
    *first = false;
    so_buffer_add_char(buffer, '"');
    so_buffer_add_str(buffer, name);
    so_buffer_add(buffer, "\":", 2);
}

/* The target's members in their order, each kept, replaced or left out. Marks the patches that it used. */
static so_code merge_old(so_buffer *buffer, so_str target, member *patches, size_t count, bool *first,
                         int depth, so_error *err)
{
    so_json_iter iter;
    member old = {.used = false};

    so_json_iter_init(&iter, NULL, target);
    while (so_json_next_raw(&iter, &old.name, &old.value))
    {
        member *patch = count ? bsearch(&old, patches, count, sizeof *patches, order_members) : NULL;
        if (patch)
            patch->used = true;
        if (patch && is_null(patch->value))
            continue;
        add_member(buffer, old.name, first);
        if (patch == NULL)
        {
            so_buffer_add_str(buffer, old.value);
            continue;
        }
        so_code code = merge(buffer, old.value, patch->value, depth, err);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

/* What only the patch has, in its order. */
static so_code merge_new(so_buffer *buffer, member *patches, size_t count, bool *first, int depth,
                         so_error *err)
{
    if (count > 1)
        qsort(patches, count, sizeof *patches, order_positions);
    for (size_t i = 0; i < count; i++)
    {
        if (patches[i].used || is_null(patches[i].value))
            continue;
        add_member(buffer, patches[i].name, first);
        so_code code = merge(buffer, (so_str){NULL, 0}, patches[i].value, depth, err);
        if (code != SO_OK)
            return code;
    }
    return SO_OK;
}

/* Appends MergePatch(target, patch). */
static so_code merge(so_buffer *buffer, so_str target, so_str patch, int depth, so_error *err)
{
    so_json_iter iter;
    bool first = true;

    if (!is_object(patch))
    {
        so_buffer_add_str(buffer, patch);
        return SO_OK;
    }
    if (depth == SO_JSON_MAX_DEPTH)
        return so_error_set(err, SO_INVALID_JSON, NULL, "the patch is nested more than %d deep",
                            SO_JSON_MAX_DEPTH);

    so_json_iter_init(&iter, NULL, patch);
    size_t count = count_members(iter);
    member *patches = so_arena_alloc(buffer->arena, count * sizeof *patches);
    if (patches == NULL)
        return so_error_nomem(err);
    list_members(iter, patches);
    if (count > 1)
        qsort(patches, count, sizeof *patches, order_members);

    so_buffer_add_char(buffer, '{');
    if (is_object(target))
    {
        so_code code = merge_old(buffer, target, patches, count, &first, depth + 1, err);
        if (code != SO_OK)
            return code;
    }
    so_code code = merge_new(buffer, patches, count, &first, depth + 1, err);
    if (code != SO_OK)
        return code;
    so_buffer_add_char(buffer, '}');
    return SO_OK;
}

so_code so_json_merge_patch(so_arena *arena, so_str target, so_str patch, so_str *merged, so_error *err)
{
    so_buffer buffer;

    so_buffer_init(&buffer, arena);
    so_code code = merge(&buffer, target, patch, 0, err);
    if (code != SO_OK)
        return code;
    *merged = so_buffer_str(&buffer);
    return merged->p ? SO_OK : so_error_nomem(err);
}
