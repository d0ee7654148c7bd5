/*
 * The PostgreSQL port: the hot verbs and the table of its methods. See so_port.h for what each has to do.
 */
#include "so_pg.h"

#include <time.h>

#include "access/xact.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "common/hashfn.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "so_mailbox.h"

enum
{
    SO_PG_LOCK = 0x536f /* the class of our locks; pg_advisory_lock() uses 1 and 2 */
};

/* ---- where we are ----------------------------------------------------------------------------------- */

static so_scope so_pg_scope(so_port *port)
{
    (void)port;
    return SO_SCOPE_TRANSACTION;
}

/* Everything is part of the caller's statement, which an error undoes. */
static so_code so_pg_begin(so_port *port, bool write)
{
    (void)port;
    if (write)
        PreventCommandIfReadOnly("solidobj");
    return SO_OK;
}

static so_code so_pg_end(so_port *port, bool keep)
{
    (void)port;
    (void)keep;
    return SO_OK;
}

static so_code so_pg_writable(so_port *port) { return so_pg_begin(port, true); }

static so_code so_pg_mark(so_port *port)
{
    so_pg *pg = (so_pg *)port;
    pg->marked_context = CurrentMemoryContext;
    pg->marked_owner = CurrentResourceOwner;
    BeginInternalSubTransaction(NULL);
    MemoryContextSwitchTo(pg->marked_context);
    pg->marked = true;
    return SO_OK;
}

static void so_pg_unmark(so_pg *pg)
{
    MemoryContextSwitchTo(pg->marked_context);
    CurrentResourceOwner = pg->marked_owner;
    pg->marked = false;
}

/* As the engine has it, a mark that was undone can be released as well. */
static so_code so_pg_undo(so_port *port)
{
    so_pg *pg = (so_pg *)port;
    RollbackAndReleaseCurrentSubTransaction();
    so_pg_unmark(pg);
    return SO_OK;
}

static so_code so_pg_release(so_port *port)
{
    so_pg *pg = (so_pg *)port;
    if (!pg->marked)
        return SO_OK;
    ReleaseCurrentSubTransaction();
    so_pg_unmark(pg);
    return SO_OK;
}

static bool so_pg_must_mark(so_port *port)
{
    (void)port;
    return true;
}

static int64_t so_pg_changes(so_port *port)
{
    (void)port;
    return 0; /* every turn that could be undone is marked */
}

static so_code so_pg_others(so_port *port, int64_t *number)
{
    (void)port;
    *number = 0; /* there is no inbox to be counted */
    return SO_OK;
}

/* ---- clocks, numbers ---------------------------------------------------------------------------------- */

static int64_t so_pg_now_ms(so_port *port)
{
    (void)port;
    return GetCurrentTimestamp() / 1000 +
           (int64_t)(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1000;
}

static int64_t so_pg_ticks_ms(so_port *port)
{
    struct timespec now;
    (void)port;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t so_pg_random(so_port *port)
{
    int64_t number;
    (void)port;
    if (!pg_strong_random(&number, sizeof number))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bits")));
    return (number & INT64_C(0x3fffffffffffffff)) | 1;
}

static so_code so_pg_next_id(so_port *port, const so_newest *newest, int64_t *id)
{
    so_pg *pg = (so_pg *)port;
    (void)newest;
    so_code code = so_pg_find_tables(pg);
    if (code == SO_OK)
        *id = nextval_internal(pg->sequence, false);
    return code;
}

/* ---- waking up: not yet across backends, so everybody looks again -------------------------------------- */

static void so_pg_arm(so_port *port, const so_waiting *waiting)
{
    (void)port;
    (void)waiting;
}

static so_code so_pg_wait(so_port *port, const so_waiting *waiting, int64_t milliseconds)
{
    (void)waiting;
    (void)milliseconds;
    return so_error_set(&((so_pg *)port)->session.err, SO_INSIDE_TRANSACTION, NULL,
                        "waiting is not possible in a function");
}

static void so_pg_ring(so_port *port, so_bell bell, int64_t message, bool everybody)
{
    (void)port;
    (void)bell;
    (void)message;
    (void)everybody;
}

static bool so_pg_rung(so_port *port, int64_t message)
{
    (void)port;
    (void)message;
    return true;
}

static void so_pg_awake(so_port *port, bool awake)
{
    (void)port;
    (void)awake;
}

static bool so_pg_attended(so_port *port)
{
    (void)port;
    return false;
}

static bool so_pg_keeps_notes(so_port *port)
{
    (void)port;
    return false;
}

static void so_pg_note(so_port *port, const so_message *message)
{
    (void)port;
    (void)message;
}

static int64_t so_pg_noted(so_port *port, int64_t *created_ms)
{
    (void)port;
    (void)created_ms;
    return 0;
}

/* ---- actors ------------------------------------------------------------------------------------------- */

static void so_pg_lock_tag(int64_t type, so_str key, LOCKTAG *tag)
{
    uint64 hash = hash_any_extended((const unsigned char *)key.p, (int)key.n, (uint64)type);
    SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, (uint32)(hash >> 32), (uint32)hash, SO_PG_LOCK);
}

/* A lock of the heavy kind, which detects deadlocks, with a tag that SQL cannot name: no row is written for
 * it. Two actors may share one, which only makes one wait. */
static so_code so_pg_hold(so_port *port, int64_t type, so_str key, bool wait, bool *held)
{
    LOCKTAG tag;
    (void)port;
    so_pg_lock_tag(type, key, &tag);
    *held = LockAcquire(&tag, ExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
    return SO_OK;
}

static void so_pg_loose(so_port *port, int64_t type, so_str key)
{
    LOCKTAG tag;
    (void)port;
    so_pg_lock_tag(type, key, &tag);
    LockRelease(&tag, ExclusiveLock, false);
}

static int64_t so_pg_integer(const so_value *value) { return value->type == SO_INT ? value->i : 0; }

static so_str so_pg_str(const so_value *value) { return value->type == SO_TEXT ? value->s : (so_str){0}; }

/* The columns of SO_STMT_LOOK. */
enum
{
    SO_LOOK_ACTOR = 1,
    SO_LOOK_SLOT = 11,
    SO_LOOK_FIRST = 22,
    SO_LOOK_COLUMNS = 26
};

static void so_pg_look_actor(const so_value *c, so_actor *actor)
{
    actor->exists = c[0].type == SO_INT;
    if (!actor->exists)
        return;
    actor->incarnation = c[0].i;
    actor->revision = c[1].i;
    actor->turns = c[2].i;
    actor->last = c[3].i;
    actor->created_ms = c[4].i;
    actor->updated_ms = c[5].i;
    actor->members = c[6].i;
    actor->bytes = c[7].i;
    actor->state = so_pg_str(&c[8]);
    actor->version = c[9].i;
}

static so_lane so_pg_lane(so_session *s, int64_t type_id, so_str operation)
{
    const so_type *type = so_type_by_id(s, type_id);
    return so_lane_of(type == NULL ? NULL : so_operation_by_name(type, operation));
}

static void so_pg_look_slot(so_session *s, int64_t type, const so_value *c, const so_value *first,
                            so_slot *slot)
{
    bool stored = c[0].type == SO_INT;
    int64_t lane = so_pg_integer(&c[2]);
    *slot = (so_slot){.kind = SO_SLOT_NONE, .paused = stored && lane >= SO_LANE_PAUSED};
    if (stored && c[1].i != 0)
    {
        slot->kind = c[0].i != 0 ? SO_SLOT_CLAIMED : SO_SLOT_QUEUED;
        slot->head = c[1].i;
        slot->lane = (so_lane)(lane % SO_LANE_PAUSED);
        slot->attempts = c[3].i;
        slot->nonce = c[4].i;
        slot->error = so_pg_str(&c[8]);
        slot->operation = so_pg_str(&c[10]);
        if (slot->kind == SO_SLOT_CLAIMED)
        {
            slot->expires_ms = c[5].i;
            slot->worker = so_pg_str(&c[6]);
            slot->more = so_pg_str(&c[7]);
            slot->version = c[9].i;
        }
        else if (slot->lane == SO_LANE_TIMED)
            slot->rank = c[5].i;
        return;
    }
    if (first[0].type != SO_INT)
        return;
    slot->kind = SO_SLOT_QUEUED;
    slot->head = first[0].i;
    slot->operation = so_pg_str(&first[1]);
    slot->attempts = first[2].i;
    slot->error = so_pg_str(&first[3]);
    slot->lane = so_pg_lane(s, type, slot->operation);
}

static so_code so_pg_look(so_port *port, int64_t type, so_str key, so_actor *actor, so_newest *newest)
{
    so_pg *pg = (so_pg *)port;
    so_value params[] = {SO_VALUE_INT(type), SO_VALUE_STR(key)};
    so_value columns[SO_LOOK_COLUMNS];
    bool found;
    so_code code = so_pg_find_tables(pg);
    *newest = (so_newest){.id = 0, .inbox = 1, .later_due_ms = INT64_MAX};
    if (code == SO_OK && actor != NULL)
    {
        *actor = (so_actor){.type = type, .key = key};
        code = so_pg_row(port, SO_STMT_LOOK, params, columns, &found);
        if (code != SO_OK)
            return code;
        if (columns[0].type == SO_INT)
            newest->later_due_ms = columns[0].i;
        so_pg_look_actor(columns + SO_LOOK_ACTOR, actor);
        so_pg_look_slot(&pg->session, type, columns + SO_LOOK_SLOT, columns + SO_LOOK_FIRST, &actor->slot);
    }
    newest->stamp = pg->stamp;
    return code;
}

/* ---- messages ----------------------------------------------------------------------------------------- */

static so_value so_pg_optional(int64_t number) { return number == 0 ? SO_VALUE_NULL : SO_VALUE_INT(number); }

static so_value so_pg_optional_text(so_str text)
{
    return text.p == NULL ? SO_VALUE_NULL : SO_VALUE_STR(text);
}

static so_code so_pg_take_key(so_port *port, const so_message *message, int64_t id, bool *taken)
{
    so_value params[] = {SO_VALUE_INT(message->type), SO_VALUE_STR(message->key),
                         SO_VALUE_STR(message->idempotency_key), SO_VALUE_INT(id)};
    int64_t changed = 1;
    so_code code =
        message->idempotency_key.p == NULL ? SO_OK : so_pg_change(port, SO_STMT_KEY_TAKE, params, &changed);
    *taken = changed == 1;
    return code;
}

static so_code so_pg_append(so_port *port, const so_message *message, int64_t stamp, int64_t max_inbox,
                            int64_t max_mailbox, int64_t *id, bool *stored)
{
    so_pg *pg = (so_pg *)port;
    int64_t changed = 0;
    (void)max_inbox;
    *stored = false;
    so_code code = so_pg_next_id(port, NULL, id);
    if (code != SO_OK || stamp != pg->stamp)
        return code;
    bool taken;
    code = so_pg_take_key(port, message, *id, &taken);
    if (code != SO_OK || !taken)
        return code;
    so_value params[] = {SO_VALUE_INT(*id),
                         SO_VALUE_INT(message->type),
                         SO_VALUE_STR(message->key),
                         SO_VALUE_STR(message->operation),
                         SO_VALUE_INT(message->created_ms),
                         so_pg_optional(message->due_ms),
                         so_pg_optional(message->max_attempts),
                         so_pg_optional(message->keep),
                         SO_VALUE_STR(message->args),
                         so_pg_optional_text(message->idempotency_key),
                         SO_VALUE_INT(max_mailbox),
                         message->only_to == SO_TO_ANYBODY ? SO_VALUE_NULL : SO_VALUE_INT(message->only_to)};
    code = so_pg_change(port, SO_STMT_APPEND, params, &changed);
    *stored = code == SO_OK && changed == 1;
    if (code == SO_OK && !*stored && message->idempotency_key.p != NULL)
    {
        so_value key[] = {params[1], params[2], params[9]};
        code = so_pg_change(port, SO_STMT_KEY_FREE, key, &changed);
    }
    return code;
}

static so_code so_pg_outcome(so_port *port, const so_message *message)
{
    bool keeps = message->status == SO_MESSAGE_DEAD || message->idempotency_key.p != NULL;
    int64_t changed;
    so_value params[] = {SO_VALUE_INT(message->id),
                         SO_VALUE_INT(message->status),
                         SO_VALUE_INT(message->type),
                         SO_VALUE_STR(message->key),
                         SO_VALUE_STR(message->operation),
                         SO_VALUE_INT(message->created_ms),
                         so_pg_optional(message->max_attempts),
                         so_pg_optional(message->keep),
                         SO_VALUE_INT(message->attempts),
                         SO_VALUE_INT(message->finished_ms),
                         so_pg_optional(message->incarnation),
                         so_pg_optional(message->turn),
                         SO_VALUE_INT(message->revision),
                         so_pg_optional(message->previous),
                         so_pg_optional(message->nonce),
                         so_pg_optional_text(message->result),
                         so_pg_optional_text(message->error),
                         keeps ? SO_VALUE_STR(message->args) : SO_VALUE_NULL,
                         so_pg_optional_text(message->idempotency_key)};
    return so_pg_change(port, SO_STMT_RECORD, params, &changed);
}

static so_code so_pg_record(so_port *port, const so_message *message, so_newest *newest)
{
    bool taken;
    (void)newest;
    if (message->leaves_nothing)
        return SO_OK;
    so_code code = so_pg_take_key(port, message, message->id, &taken);
    if (code == SO_OK && !taken)
        code = so_error_set(&port->session->err, SO_BLOCKED, "Call again.",
                            "another message has just taken the idempotency key");
    return code == SO_OK ? so_pg_outcome(port, message) : code;
}

static so_code so_pg_forget(so_port *port, int64_t id, so_newest *newest)
{
    so_value params[] = {SO_VALUE_INT(id)};
    int64_t changed;
    (void)newest;
    return so_pg_change(port, SO_STMT_FORGET, params, &changed);
}

static so_code so_pg_settle(so_port *port, const so_message *message, so_newest *newest)
{
    so_value params[] = {SO_VALUE_INT(message->id)};
    int64_t changed;
    (void)newest;
    so_code code = so_pg_change(port, SO_STMT_FORGET, params, &changed);
    if (code == SO_OK && changed != 1)
        code = so_error_set(&port->session->err, SO_LOST_CLAIM, NULL,
                            "message %lld was finished by somebody else", (long long)message->id);
    return code == SO_OK && !message->leaves_nothing ? so_pg_outcome(port, message) : code;
}

static so_code so_pg_write_actor(so_port *port, const so_actor *actor, bool create)
{
    so_value params[] = {
        SO_VALUE_INT(actor->type),       SO_VALUE_STR(actor->key),        SO_VALUE_INT(actor->incarnation),
        SO_VALUE_INT(actor->revision),   SO_VALUE_INT(actor->turns),      SO_VALUE_INT(actor->last),
        SO_VALUE_INT(actor->created_ms), SO_VALUE_INT(actor->updated_ms), SO_VALUE_INT(actor->members),
        SO_VALUE_INT(actor->bytes),      SO_VALUE_STR(actor->state),      SO_VALUE_INT(actor->version)};
    int64_t changed;
    return so_pg_change(port, create ? SO_STMT_ACTOR_INSERT : SO_STMT_ACTOR_UPDATE, params, &changed);
}

static so_code so_pg_migrate_schema(so_port *port, int64_t *from)
{
    (void)from;
    return so_error_set(&port->session->err, SO_FORBIDDEN,
                        "Run CREATE EXTENSION or ALTER EXTENSION … UPDATE.",
                        "PostgreSQL installs extensions by itself");
}

const so_port_methods so_pg_methods = {
    .dialect = SO_DIALECT_POSTGRES,
    .inline_bytes = 2048,
    .seeks = true,
    .typed_json = true,
    .scope = so_pg_scope,
    .begin = so_pg_begin,
    .end = so_pg_end,
    .writable = so_pg_writable,
    .mark = so_pg_mark,
    .undo = so_pg_undo,
    .release = so_pg_release,
    .must_mark = so_pg_must_mark,
    .hold = so_pg_hold,
    .loose = so_pg_loose,
    .next_id = so_pg_next_id,
    .changes = so_pg_changes,
    .others = so_pg_others,
    .now_ms = so_pg_now_ms,
    .ticks_ms = so_pg_ticks_ms,
    .random = so_pg_random,
    .arm = so_pg_arm,
    .wait = so_pg_wait,
    .ring = so_pg_ring,
    .rung = so_pg_rung,
    .awake = so_pg_awake,
    .attended = so_pg_attended,
    .keeps_notes = so_pg_keeps_notes,
    .note = so_pg_note,
    .noted = so_pg_noted,
    .look = so_pg_look,
    .append = so_pg_append,
    .record = so_pg_record,
    .settle = so_pg_settle,
    .forget = so_pg_forget,
    .write_actor = so_pg_write_actor,
    .handler_check = so_pg_handler_check,
    .handler_pure = so_pg_handler_pure,
    .handler_run = so_pg_handler_run,
    .handler_forget = so_pg_handler_forget,
    .row = so_pg_row,
    .each = so_pg_each,
    .change = so_pg_change,
    .migrate_schema = so_pg_migrate_schema,
};
