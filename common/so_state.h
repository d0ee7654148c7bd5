/*
 * An actor's state during a piece of work, member by member. Members are read when they are asked for, and
 * only changed ones are written, once, however many turns changed them.
 */
#ifndef SO_STATE_H
#define SO_STATE_H

#include "so_session.h"

typedef enum so_member_place
{
    SO_PLACE_NONE,   /* not stored */
    SO_PLACE_INLINE, /* in the actor's own row */
    SO_PLACE_ROW     /* in a row of its own */
} so_member_place;

typedef struct so_member
{
    so_str name;
    so_str value; /* compact JSON; p NULL: the member does not exist (when loaded) */
    so_member_place place;
    bool loaded;  /* value is known */
    bool changed; /* value differs from what is stored */
} so_member;

typedef struct so_member_undo so_member_undo;

typedef struct so_state
{
    so_session *session;
    so_arena *arena; /* lives as long as the piece of work with this actor */
    so_actor *actor;
    so_member *members;
    size_t count, capacity;
    uint32_t *index; /* open addressing over members, NULL while there are few */
    size_t index_size;
    bool names_loaded; /* every member that is stored has an entry */
    int64_t bytes;     /* of the whole state as compact JSON */
    so_member_undo *undo;
    size_t undo_count, undo_capacity;
    int64_t undo_bytes;
} so_state;

/* Starts from the actor as it was looked up; one that does not exist has the type's initial state. */
so_code so_state_open(so_state *state, so_session *s, so_arena *arena, so_actor *actor, so_str initial);

/* A member's compact JSON; value->p NULL if it does not exist. */
so_code so_state_get(so_state *state, so_str name, so_str *value);

/* Sets a member; `value` with p NULL removes it. The texts are copied. An equal value changes nothing. */
so_code so_state_set(so_state *state, so_str name, so_str value);

/* Replaces the whole state / applies an RFC 7396 patch; both compact JSON objects. Members that stay equal
 * are not rewritten. */
so_code so_state_replace(so_state *state, so_str object);
so_code so_state_patch(so_state *state, so_str patch);

/* The whole state, or (only with p not NULL, a compact JSON array of names) some members, as a compact JSON
 * object. */
so_code so_state_assemble(so_state *state, so_str only, so_str *object);

/* The names of the members that begin with `prefix`, as a compact JSON array in the order of their bytes. */
so_code so_state_names(so_state *state, so_str prefix, so_str *names);

/* From here so_state_undo() takes changes back; so_state_changed(): something differs since then. */
void so_state_mark(so_state *state);
void so_state_undo(so_state *state);
bool so_state_changed(const so_state *state);

/* Writes what differs to the database: member rows, and actor->state, members and bytes (whose row the caller
 * writes). */
so_code so_state_store(so_state *state);

#endif
