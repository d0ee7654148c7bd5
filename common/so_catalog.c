/*
 * The statements. See so_catalog.h.
 */
#include "so_catalog.h"
#include "so_catalog_postgres.h"

#include <stddef.h>

typedef struct so_catalog_entry
{
    const char *text[SO_DIALECT_COUNT];
} so_catalog_entry;

#define SO_SQLITE(sql)                                                                                       \
    {                                                                                                        \
        {                                                                                                    \
            [SO_DIALECT_SQLITE] = sql                                                                        \
        }                                                                                                    \
    }

/* A message row loses its message and keeps what it says of the whole. */
#define SO_SQLITE_EMPTIES                                                                                    \
    "UPDATE main.solidobj_message SET status = 0, type = NULL, key = NULL, operation = NULL, "               \
    "created_ms = NULL, due_ms = NULL, max_attempts = NULL, keep = NULL, attempts = NULL, "                  \
    "finished_ms = NULL, incarnation = NULL, turn = NULL, revision = NULL, previous = NULL, "                \
    "nonce = NULL, args = NULL, result = NULL, error = NULL, idempotency_key = NULL, replacement = NULL "

static const so_catalog_entry so_catalog[SO_STATEMENT_COUNT] = {
    /* -> id, inbox, stamp, when the first delayed message is due, status */
    [SO_STMT_NEWEST] = SO_SQLITE("SELECT id, inbox, stamp, "
                                 "(SELECT due_ms FROM main.solidobj_later ORDER BY due_ms LIMIT 1), status "
                                 "FROM main.solidobj_message ORDER BY id DESC LIMIT 1"),
    /* type, key -> as NEWEST; actor: incarnation … state; queue: head … error; claim: head … error */
    [SO_STMT_LOOK] = SO_SQLITE(
        "SELECT n.id, n.inbox, n.stamp, "
        "(SELECT due_ms FROM main.solidobj_later ORDER BY due_ms LIMIT 1), n.status, "
        "a.incarnation, a.revision, a.turns, a.last, a.created_ms, a.updated_ms, a.members, "
        "a.bytes, a.state, a.version, "
        "q.head, q.lane, q.rank, q.attempts, q.nonce, q.error, q.class, "
        "c.head, c.lane, c.attempts, c.nonce, c.expires_ms, c.worker, c.more, c.error, c.version "
        "FROM (SELECT id, inbox, stamp, status FROM main.solidobj_message ORDER BY id DESC LIMIT 1) n "
        "LEFT JOIN main.solidobj_actor a ON a.type = ?1 AND a.key = ?2 "
        "LEFT JOIN main.solidobj_queue q ON q.type = ?1 AND q.key = ?2 "
        "LEFT JOIN main.solidobj_claim c ON c.type = ?1 AND c.key = ?2"),
    /* stamp, max_mailbox, type, key, operation, created_ms, due_ms, max_attempts, keep, args, max_inbox,
       idempotency_key, only to (NULL: anybody, 0: a living actor, else this incarnation) */
    [SO_STMT_APPEND] = SO_SQLITE(
        "INSERT INTO main.solidobj_message"
        "(id, inbox, stamp, status, type, key, operation, created_ms, due_ms, max_attempts, keep, args, "
        "idempotency_key, previous) "
        "SELECT id + 1, inbox, stamp, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?12, CASE status WHEN 0 THEN id "
        "END "
        "FROM main.solidobj_message "
        "WHERE id = (SELECT max(id) FROM main.solidobj_message) AND stamp = ?1 "
        "AND id - inbox < ?11 AND ?2 >= id - inbox + 3 + coalesce("
        "(SELECT max(id) FROM main.solidobj_mail WHERE type = ?3 AND key = ?4) - "
        "(SELECT min(id) FROM main.solidobj_mail WHERE type = ?3 AND key = ?4) + 1, 0) + "
        "(SELECT count(*) FROM main.solidobj_later WHERE type = ?3 AND key = ?4) + "
        "coalesce((SELECT json_array_length(c.more) FROM main.solidobj_claim c "
        "WHERE c.type = ?3 AND c.key = ?4), 0) "
        "AND (?12 IS NULL OR NOT EXISTS (SELECT 1 FROM main.solidobj_message k "
        "WHERE k.type = ?3 AND k.key = ?4 AND k.idempotency_key = ?12)) "
        "AND (?13 IS NULL OR EXISTS (SELECT 1 FROM main.solidobj_actor a "
        "WHERE a.type = ?3 AND a.key = ?4 AND (?13 = 0 OR a.incarnation = ?13)))"),
    /* id, inbox, stamp, status, type, key, operation, created_ms, keep, attempts, finished_ms, incarnation,
       turn, revision, previous, result, error, args, idempotency_key */
    [SO_STMT_RECORD] =
        SO_SQLITE("INSERT INTO main.solidobj_message"
                  "(id, inbox, stamp, status, type, key, operation, created_ms, keep, attempts, "
                  "finished_ms, incarnation, turn, revision, previous, result, error, args, idempotency_key) "
                  "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
                  "?19)"),
    /* id, inbox: an empty newest row moves up by one / a new one is put */
    [SO_STMT_EMPTY_MOVE] =
        SO_SQLITE("UPDATE main.solidobj_message SET id = ?1, inbox = ?2 WHERE id = ?1 - 1 AND status = 0"),
    [SO_STMT_EMPTY_PUT] = SO_SQLITE("INSERT INTO main.solidobj_message(id, inbox, stamp, status) "
                                    "SELECT ?1, ?2, stamp, 0 FROM main.solidobj_message WHERE id = ?1 - 1"),
    /* id: the newest row loses its message */
    [SO_STMT_EMPTY] = SO_SQLITE(SO_SQLITE_EMPTIES "WHERE id = ?1"),
    /* id: a message that is not the newest, and an empty row before it */
    [SO_STMT_FORGET] = SO_SQLITE("DELETE FROM main.solidobj_message WHERE id IN (?1, ?1 - 1) "
                                 "AND CASE id WHEN ?1 THEN status > 0 ELSE status = 0 END"),
    /* id: if it is empty */
    [SO_STMT_FORGET_HOLLOW] = SO_SQLITE("DELETE FROM main.solidobj_message WHERE id = ?1 AND status = 0"),
    /* An empty row that was the newest until the one came that has just been emptied. */
    [SO_STMT_FORGET_EMPTY] = SO_SQLITE("DELETE FROM main.solidobj_message WHERE status = 0 AND id = "
                                       "(SELECT max(id) FROM main.solidobj_message WHERE id < "
                                       "(SELECT max(id) FROM main.solidobj_message))"),
    /* id, status, attempts, finished_ms, incarnation, turn, revision, previous, nonce, result, error; a dead
       letter keeps its arguments, and so does a message with a key, to be compared with the next one */
    [SO_STMT_SETTLE] =
        SO_SQLITE("UPDATE main.solidobj_message "
                  "SET status = ?2, attempts = ?3, finished_ms = ?4, incarnation = ?5, turn = ?6, "
                  "revision = ?7, previous = ?8, nonce = ?9, result = ?10, error = ?11, "
                  "args = CASE WHEN ?2 = 4 OR idempotency_key IS NOT NULL THEN args END "
                  "WHERE id = ?1 AND status = 1"),
    /* type, key, incarnation, revision, turns, last, created_ms, updated_ms, members, bytes, state, version
     */
    [SO_STMT_ACTOR_INSERT] =
        SO_SQLITE("INSERT INTO main.solidobj_actor"
                  "(type, key, incarnation, revision, turns, last, created_ms, updated_ms, "
                  "members, bytes, state, version) "
                  "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"),
    [SO_STMT_ACTOR_UPDATE] =
        SO_SQLITE("UPDATE main.solidobj_actor "
                  "SET revision = ?4, turns = ?5, last = ?6, updated_ms = ?8, members = ?9, "
                  "bytes = ?10, state = ?11, version = ?12 "
                  "WHERE type = ?1 AND key = ?2 AND incarnation = ?3"),

    /* -> name, value */
    [SO_STMT_SETTINGS] = SO_SQLITE("SELECT name, value FROM main.solidobj_setting"),
    [SO_STMT_SETTING_SET] = SO_SQLITE("INSERT INTO main.solidobj_setting(name, value) VALUES(?1, ?2) "
                                      "ON CONFLICT(name) DO UPDATE SET value = excluded.value"),
    /* stamp, now */
    [SO_STMT_ORIGIN] = SO_SQLITE("INSERT INTO main.solidobj_message(id, inbox, stamp, status, created_ms) "
                                 "VALUES(0, 1, ?1, 0, ?2)"),
    [SO_STMT_STAMP_SET] = SO_SQLITE("UPDATE main.solidobj_message SET stamp = ?1 "
                                    "WHERE id = (SELECT max(id) FROM main.solidobj_message)"),
    /* -> type, name, options; by name */
    [SO_STMT_TYPES] = SO_SQLITE("SELECT type, name, options FROM main.solidobj_type ORDER BY name"),
    [SO_STMT_TYPE_INSERT] = SO_SQLITE("INSERT INTO main.solidobj_type(name, options) VALUES(?1, ?2)"),
    [SO_STMT_TYPE_UPDATE] = SO_SQLITE("UPDATE main.solidobj_type SET options = ?2 WHERE name = ?1"),
    /* -> type, name, handler, options; by type and name */
    [SO_STMT_OPERATIONS] =
        SO_SQLITE("SELECT type, name, handler, options FROM main.solidobj_operation ORDER BY type, name"),
    /* type, name, handler, options */
    [SO_STMT_OPERATION_SET] = SO_SQLITE(
        "INSERT INTO main.solidobj_operation(type, name, handler, options) VALUES(?1, ?2, ?3, ?4) "
        "ON CONFLICT(type, name) DO UPDATE SET handler = excluded.handler, options = excluded.options"),
    /* type, operation -> 1 if a message that is sorted asks for it */
    [SO_STMT_OPERATION_NEEDED] = SO_SQLITE(
        "SELECT 1 FROM main.solidobj_message m WHERE m.operation = ?2 AND m.status = 1 AND m.id IN ("
        "SELECT id FROM main.solidobj_mail WHERE type = ?1 "
        "UNION ALL SELECT id FROM main.solidobj_later WHERE type = ?1 "
        "UNION ALL SELECT head FROM main.solidobj_queue WHERE type = ?1 "
        "UNION ALL SELECT head FROM main.solidobj_claim WHERE type = ?1 "
        "UNION ALL SELECT j.value FROM main.solidobj_claim c, main.json_each(c.more) j WHERE c.type = ?1) "
        "LIMIT 1"),
    /* type, name */
    [SO_STMT_OPERATION_DELETE] =
        SO_SQLITE("DELETE FROM main.solidobj_operation WHERE type = ?1 AND name = ?2"),
    /* -> type, from_version, handler; by type and version */
    [SO_STMT_MIGRATIONS] = SO_SQLITE("SELECT type, from_version, handler FROM main.solidobj_migration "
                                     "ORDER BY type, from_version"),
    /* type, from_version, handler */
    [SO_STMT_MIGRATION_SET] =
        SO_SQLITE("INSERT INTO main.solidobj_migration(type, from_version, handler) VALUES(?1, ?2, ?3) "
                  "ON CONFLICT(type, from_version) DO UPDATE SET handler = excluded.handler"),
    /* type -> what needs it, or NULL; every message is sorted */
    [SO_STMT_TYPE_NEEDED] =
        SO_SQLITE("SELECT CASE "
                  "WHEN EXISTS (SELECT 1 FROM main.solidobj_actor WHERE type = ?1) THEN 'actors' "
                  "WHEN EXISTS (SELECT 1 FROM main.solidobj_queue WHERE type = ?1 AND head > 0) "
                  "OR EXISTS (SELECT 1 FROM main.solidobj_claim WHERE type = ?1) "
                  "OR EXISTS (SELECT 1 FROM main.solidobj_later WHERE type = ?1) THEN 'messages' "
                  "WHEN EXISTS (SELECT 1 FROM main.solidobj_message WHERE type = ?1 AND status = 4) "
                  "THEN 'dead letters' END"),
    /* All that removes a type: its id. The newest row is only emptied. */
    [SO_STMT_TYPE_FORGET] =
        SO_SQLITE("DELETE FROM main.solidobj_message WHERE type = ?1 AND status > 1 "
                  "AND incarnation IS NULL AND id < (SELECT max(id) FROM main.solidobj_message)"),
    [SO_STMT_TYPE_EMPTY] =
        SO_SQLITE(SO_SQLITE_EMPTIES "WHERE id = (SELECT max(id) FROM main.solidobj_message) AND type = ?1"),
    [SO_STMT_TYPE_UNQUEUE] = SO_SQLITE("DELETE FROM main.solidobj_queue WHERE type = ?1"),
    [SO_STMT_TYPE_OPERATIONS_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_operation WHERE type = ?1"),
    [SO_STMT_TYPE_MIGRATIONS_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_migration WHERE type = ?1"),
    [SO_STMT_TYPE_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_type WHERE type = ?1"),
    /* type, operation, lane, class */
    [SO_STMT_LANES_CHANGE] =
        SO_SQLITE("UPDATE main.solidobj_queue SET lane = ?3 + lane / 10 * 10, class = ?4 "
                  "WHERE type = ?1 AND lane % 10 <> 3 "
                  "AND (SELECT m.operation FROM main.solidobj_message m WHERE m.id = head) = ?2"),

    /* incarnation, name -> value */
    [SO_STMT_MEMBER_GET] =
        SO_SQLITE("SELECT value FROM main.solidobj_member WHERE incarnation = ?1 AND name = ?2"),
    [SO_STMT_MEMBER_EACH] = SO_SQLITE("SELECT name, value FROM main.solidobj_member WHERE incarnation = ?1"),
    [SO_STMT_MEMBER_NAMES] = SO_SQLITE("SELECT name FROM main.solidobj_member WHERE incarnation = ?1"),
    /* incarnation, name, value */
    [SO_STMT_MEMBER_INSERT] =
        SO_SQLITE("INSERT INTO main.solidobj_member(incarnation, name, value) VALUES(?1, ?2, ?3)"),
    [SO_STMT_MEMBER_UPDATE] =
        SO_SQLITE("UPDATE main.solidobj_member SET value = ?3 WHERE incarnation = ?1 AND name = ?2"),
    [SO_STMT_MEMBER_DELETE] =
        SO_SQLITE("DELETE FROM main.solidobj_member WHERE incarnation = ?1 AND name = ?2"),

    /* id -> status … error, as so_message_read() takes them */
    [SO_STMT_MESSAGE] = SO_SQLITE(
        "SELECT status, type, key, operation, created_ms, due_ms, max_attempts, keep, attempts, finished_ms, "
        "incarnation, turn, revision, nonce, args, result, error, previous, idempotency_key, replacement "
        "FROM main.solidobj_message WHERE id = ?1 AND status > 0"),
    /* All that removes an actor: type, key, a message to leave, inbox, incarnation, last. The newest row is
       only emptied. */
    [SO_STMT_DESTROY_WAITING] =
        SO_SQLITE("WITH waiting(id) AS (SELECT id FROM main.solidobj_mail WHERE type = ?1 AND key = ?2 "
                  "UNION ALL SELECT id FROM main.solidobj_later WHERE type = ?1 AND key = ?2 "
                  "UNION ALL SELECT id FROM main.solidobj_message "
                  "WHERE id >= ?4 AND status = 1 AND type = ?1 AND key = ?2) "
                  "DELETE FROM main.solidobj_message "
                  "WHERE id IN (SELECT id FROM waiting UNION ALL SELECT id - 1 FROM waiting) "
                  "AND (status = 0 OR (status = 1 AND type = ?1 AND key = ?2 AND id <> ?3)) "
                  "AND id < (SELECT max(id) FROM main.solidobj_message)"),
    [SO_STMT_DESTROY_HISTORY] =
        SO_SQLITE("WITH RECURSIVE chain(id) AS (VALUES(?6) UNION ALL "
                  "SELECT m.previous FROM chain JOIN main.solidobj_message m ON m.id = chain.id "
                  "WHERE m.incarnation = ?5 AND m.previous IS NOT NULL) "
                  "DELETE FROM main.solidobj_message WHERE id IN (SELECT id FROM chain) "
                  "AND incarnation = ?5 AND status > 1 AND id < (SELECT max(id) FROM main.solidobj_message)"),
    [SO_STMT_DESTROY_LOOSE] =
        SO_SQLITE("DELETE FROM main.solidobj_message WHERE type = ?1 AND key = ?2 AND status > 1 "
                  "AND incarnation IS NULL AND id <> ?3 "
                  "AND id < (SELECT max(id) FROM main.solidobj_message)"),
    [SO_STMT_DESTROY_NEWEST] = SO_SQLITE(
        SO_SQLITE_EMPTIES
        "WHERE id = (SELECT max(id) FROM main.solidobj_message) AND type = ?1 AND key = ?2 AND id <> ?3"),
    [SO_STMT_DESTROY_MAIL] = SO_SQLITE("DELETE FROM main.solidobj_mail WHERE type = ?1 AND key = ?2"),
    [SO_STMT_DESTROY_LATER] = SO_SQLITE("DELETE FROM main.solidobj_later WHERE type = ?1 AND key = ?2"),
    [SO_STMT_DESTROY_MEMBERS] = SO_SQLITE("DELETE FROM main.solidobj_member WHERE incarnation = ?5"),
    [SO_STMT_DESTROY_ACTOR] = SO_SQLITE("DELETE FROM main.solidobj_actor WHERE type = ?1 AND key = ?2"),
    /* type, key, idempotency_key -> id */
    [SO_STMT_KEY_FIND] = SO_SQLITE("SELECT id FROM main.solidobj_message "
                                   "WHERE type = ?1 AND key = ?2 AND idempotency_key = ?3"),
    /* id: frees the message's key */
    [SO_STMT_KEY_DROP] =
        SO_SQLITE("UPDATE main.solidobj_message SET idempotency_key = NULL, args = NULL WHERE id = ?1"),
    /* id, replacement */
    [SO_STMT_REPLACE] = SO_SQLITE("UPDATE main.solidobj_message SET replacement = ?2 WHERE id = ?1"),
    /* type, key, limit -> how many messages wait in the mail (up to about the limit) and later; how many are
       at the head and claimed with it; newest id, inbox */
    [SO_STMT_MAILBOX_COUNT] =
        SO_SQLITE("SELECT (SELECT count(*) FROM (SELECT 1 FROM main.solidobj_mail "
                  "WHERE type = ?1 AND key = ?2 LIMIT ?3)) "
                  "+ (SELECT count(*) FROM main.solidobj_later WHERE type = ?1 AND key = ?2), "
                  "(SELECT count(*) FROM main.solidobj_queue WHERE type = ?1 AND key = ?2 AND head > 0) "
                  "+ coalesce((SELECT 1 + coalesce(json_array_length(more), 0) FROM main.solidobj_claim "
                  "WHERE type = ?1 AND key = ?2), 0), id, inbox "
                  "FROM main.solidobj_message ORDER BY id DESC LIMIT 1"),
    /* inbox, type, key -> messages of this actor in the inbox */
    [SO_STMT_INBOX_COUNT] = SO_SQLITE("SELECT count(*) FROM main.solidobj_message "
                                      "WHERE id >= ?1 AND status = 1 AND type = ?2 AND key = ?3"),
    /* from -> id, type, key; by id */
    [SO_STMT_INBOX_ACTORS] = SO_SQLITE("SELECT id, type, key FROM main.solidobj_message "
                                       "WHERE id >= ?1 AND status = 1 ORDER BY id"),
    /* id, error, created_ms: an attempt of a message that was nobody's head, or is one in the queue */
    [SO_STMT_MESSAGE_CHARGE] = SO_SQLITE("UPDATE main.solidobj_message "
                                         "SET attempts = coalesce(attempts, 0) + 1, error = ?2 "
                                         "WHERE id = ?1 AND status = 1 AND created_ms = ?3"),
    [SO_STMT_QUEUE_CHARGE] = SO_SQLITE("UPDATE main.solidobj_queue SET attempts = attempts + 1, error = ?2 "
                                       "WHERE head = ?1 AND (type, key) = (SELECT m.type, m.key "
                                       "FROM main.solidobj_message m "
                                       "WHERE m.id = ?1 AND m.status = 1 AND m.created_ms = ?3)"),
    /* from, limit -> id, type, key, operation, due_ms, max_attempts, attempts */
    [SO_STMT_INBOX] = SO_SQLITE("SELECT id, type, key, operation, due_ms, max_attempts, attempts "
                                "FROM main.solidobj_message "
                                "WHERE id >= ?1 AND status = 1 ORDER BY id LIMIT ?2"),
    /* from, type, key, now -> 1 if a message of this actor is there and due */
    [SO_STMT_INBOX_HAS] = SO_SQLITE("SELECT 1 FROM main.solidobj_message "
                                    "WHERE id >= ?1 AND status = 1 AND type = ?2 AND key = ?3 "
                                    "AND (due_ms IS NULL OR due_ms <= ?4) LIMIT 1"),
    /* newest id, inbox */
    [SO_STMT_INBOX_SET] = SO_SQLITE("UPDATE main.solidobj_message SET inbox = ?2 WHERE id = ?1"),
    /* type, key -> id, operation, max_attempts, attempts */
    [SO_STMT_MAIL_FIRST] = SO_SQLITE("SELECT l.id, m.operation, m.max_attempts, m.attempts "
                                     "FROM main.solidobj_mail l JOIN main.solidobj_message m ON m.id = l.id "
                                     "WHERE l.type = ?1 AND l.key = ?2 ORDER BY l.id LIMIT 1"),
    /* type, key, id */
    [SO_STMT_MAIL_INSERT] = SO_SQLITE("INSERT INTO main.solidobj_mail(type, key, id) VALUES(?1, ?2, ?3)"),
    [SO_STMT_MAIL_DELETE] =
        SO_SQLITE("DELETE FROM main.solidobj_mail WHERE type = ?1 AND key = ?2 AND id = ?3"),
    /* now, limit -> as INBOX */
    [SO_STMT_LATER_DUE] =
        SO_SQLITE("SELECT m.id, m.type, m.key, m.operation, m.due_ms, m.max_attempts, m.attempts "
                  "FROM main.solidobj_later l JOIN main.solidobj_message m ON m.id = l.id "
                  "WHERE l.due_ms <= ?1 ORDER BY l.due_ms, l.id LIMIT ?2"),
    /* due_ms, id -> 1 if it has not joined */
    [SO_STMT_LATER_HAS] = SO_SQLITE("SELECT 1 FROM main.solidobj_later WHERE due_ms = ?1 AND id = ?2"),
    /* due_ms, id, type, key */
    [SO_STMT_LATER_INSERT] =
        SO_SQLITE("INSERT INTO main.solidobj_later(due_ms, id, type, key) VALUES(?1, ?2, ?3, ?4)"),
    [SO_STMT_LATER_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_later WHERE due_ms = ?1 AND id = ?2"),
    /* limit -> type, due_ms; the first ones */
    [SO_STMT_LATER_TIMES] =
        SO_SQLITE("SELECT type, due_ms FROM main.solidobj_later ORDER BY due_ms LIMIT ?1"),
    /* lane, class -> type, key, head, rank, attempts, nonce, error, operation, max_attempts */
    [SO_STMT_QUEUE_FIRST] = SO_SQLITE(
        "SELECT q.type, q.key, q.head, q.rank, q.attempts, q.nonce, q.error, m.operation, m.max_attempts "
        "FROM main.solidobj_queue q JOIN main.solidobj_message m ON m.id = q.head "
        "WHERE q.lane = ?1 AND q.class = ?2 ORDER BY q.rank LIMIT 1"),
    /* lane, class -> rank */
    [SO_STMT_QUEUE_LAST_RANK] = SO_SQLITE("SELECT max(rank) FROM main.solidobj_queue "
                                          "WHERE lane = ?1 AND class = ?2"),
    /* type, key, head, lane, class, rank, attempts, nonce, error */
    [SO_STMT_QUEUE_SET] = SO_SQLITE(
        "INSERT INTO main.solidobj_queue(type, key, head, lane, class, rank, attempts, nonce, error) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
        "ON CONFLICT(type, key) DO UPDATE SET head = excluded.head, lane = excluded.lane, "
        "class = excluded.class, rank = excluded.rank, attempts = excluded.attempts, "
        "nonce = excluded.nonce, error = excluded.error"),
    [SO_STMT_QUEUE_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_queue WHERE type = ?1 AND key = ?2"),
    [SO_STMT_QUEUE_ANY_DUE] = SO_SQLITE("SELECT 1 FROM main.solidobj_queue "
                                        "WHERE lane = 3 AND class = '' AND rank <= ?1 LIMIT 1"),
    /* now, limit -> type, key */
    [SO_STMT_QUEUE_DUE] = SO_SQLITE("SELECT type, key FROM main.solidobj_queue "
                                    "WHERE lane = 3 AND class = '' AND rank <= ?1 ORDER BY rank LIMIT ?2"),
    /* lane (0: any) -> 1 if something is in it, else NULL; when a retry, a lease, a delayed message is due,
       or NULL */
    [SO_STMT_DUE] = SO_SQLITE("SELECT (SELECT 1 FROM main.solidobj_queue "
                              "WHERE lane IN (1, 2) AND (?1 = 0 OR lane = ?1) LIMIT 1), "
                              "(SELECT min(rank) FROM main.solidobj_queue WHERE lane = 3 AND class = ''), "
                              "(SELECT min(expires_ms) FROM main.solidobj_claim), "
                              "(SELECT due_ms FROM main.solidobj_later ORDER BY due_ms LIMIT 1)"),
    /* limit -> type, rank; the first ones */
    [SO_STMT_QUEUE_TIMES] = SO_SQLITE("SELECT type, rank FROM main.solidobj_queue "
                                      "WHERE lane = 3 AND class = '' ORDER BY rank LIMIT ?1"),
    /* type, key, head, lane, attempts, nonce, expires_ms, worker, more, error, version */
    [SO_STMT_CLAIM_SET] =
        SO_SQLITE("INSERT INTO main.solidobj_claim"
                  "(type, key, head, lane, attempts, nonce, expires_ms, worker, more, error, version) "
                  "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) "
                  "ON CONFLICT(type, key) DO UPDATE SET head = excluded.head, lane = excluded.lane, "
                  "attempts = excluded.attempts, nonce = excluded.nonce, "
                  "expires_ms = excluded.expires_ms, worker = excluded.worker, "
                  "more = excluded.more, error = excluded.error, "
                  "version = excluded.version"),
    [SO_STMT_CLAIM_DELETE] = SO_SQLITE("DELETE FROM main.solidobj_claim WHERE type = ?1 AND key = ?2"),
    /* now, limit -> type, key */
    [SO_STMT_CLAIMS_EXPIRED] =
        SO_SQLITE("SELECT type, key FROM main.solidobj_claim WHERE expires_ms <= ?1 LIMIT ?2"),
    /* -> type, expires_ms */
    [SO_STMT_CLAIM_TIMES] = SO_SQLITE("SELECT type, min(expires_ms) FROM main.solidobj_claim GROUP BY type"),

    /* id -> incarnation, previous, status, operation, attempts, created_ms, finished_ms, turn, revision,
       result, error */
    [SO_STMT_HISTORY] = SO_SQLITE("SELECT incarnation, previous, status, operation, attempts, created_ms, "
                                  "finished_ms, turn, revision, result, error "
                                  "FROM main.solidobj_message WHERE id = ?1 AND status > 0"),
    /* after, limit, key or NULL, operation or NULL -> id, type, key, operation, args, attempts, error,
       created_ms, finished_ms, replacement; by id. Only ids are sorted. */
    [SO_STMT_DEAD_LETTERS] = SO_SQLITE(
        "SELECT m.id, m.type, m.key, m.operation, m.args, m.attempts, m.error, m.created_ms, m.finished_ms, "
        "m.replacement "
        "FROM (SELECT d.id FROM main.solidobj_message d INDEXED BY solidobj_message_dead "
        "WHERE d.status = 4 AND d.id > ?1 AND (?3 IS NULL OR d.key = ?3) AND (?4 IS NULL OR d.operation = "
        "?4) "
        "ORDER BY d.id LIMIT ?2) p "
        "CROSS JOIN main.solidobj_message m ON m.id = p.id ORDER BY m.id"),
    /* the same of a type: after, limit, key, operation, type */
    [SO_STMT_DEAD_LETTERS_OF] = SO_SQLITE(
        "SELECT m.id, m.type, m.key, m.operation, m.args, m.attempts, m.error, m.created_ms, m.finished_ms, "
        "m.replacement "
        "FROM (SELECT d.id FROM main.solidobj_message d INDEXED BY solidobj_message_dead "
        "WHERE d.status = 4 AND d.type = ?5 AND d.id > ?1 AND (?3 IS NULL OR d.key = ?3) "
        "AND (?4 IS NULL OR d.operation = ?4) ORDER BY d.id LIMIT ?2) p "
        "CROSS JOIN main.solidobj_message m ON m.id = p.id ORDER BY m.id"),

    /* Types from … to, now, inbox -> type, operation (NULL: does not matter), figures as in so_stats.c. What
       is unsorted: delayed messages and the inbox. */
    [SO_STMT_STATS_ACTORS] = SO_SQLITE("SELECT type, NULL, count(*) FROM main.solidobj_actor "
                                       "WHERE type BETWEEN ?1 AND ?2 GROUP BY type"),
    [SO_STMT_STATS_MAIL] = SO_SQLITE("SELECT type, NULL, count(*) FROM main.solidobj_mail "
                                     "WHERE type BETWEEN ?1 AND ?2 GROUP BY type"),
    /* … waiting, retrying, paused, due */
    [SO_STMT_STATS_QUEUE] =
        SO_SQLITE("SELECT type, NULL, "
                  "sum(head > 0 AND NOT (lane = 3 OR (lane IN (1, 2) AND attempts > 0))), "
                  "sum(head > 0 AND (lane = 3 OR (lane IN (1, 2) AND attempts > 0))), "
                  "sum(lane >= 10), min(CASE lane WHEN 3 THEN rank END) "
                  "FROM main.solidobj_queue WHERE type BETWEEN ?1 AND ?2 GROUP BY type"),
    /* … claimed, paused, due */
    [SO_STMT_STATS_CLAIM] =
        SO_SQLITE("SELECT type, NULL, sum(1 + coalesce(json_array_length(more), 0)), sum(lane >= 10), "
                  "min(expires_ms) "
                  "FROM main.solidobj_claim WHERE type BETWEEN ?1 AND ?2 GROUP BY type"),
    /* … due */
    [SO_STMT_STATS_LATER] = SO_SQLITE("SELECT type, NULL, min(due_ms) FROM main.solidobj_later "
                                      "WHERE type BETWEEN ?1 AND ?2 GROUP BY type"),
    /* … delayed, waiting, attempted with nothing in front, due */
    [SO_STMT_STATS_UNSORTED] = SO_SQLITE(
        "SELECT type, operation, sum(due_ms > ?3), sum(due_ms <= ?3 AND NOT attempted), "
        "sum(due_ms <= ?3 AND attempted), min(CASE WHEN due_ms > ?3 THEN due_ms END) "
        "FROM (SELECT m.type, m.operation, coalesce(m.due_ms, 0) AS due_ms, coalesce(m.attempts, 0) > 0 "
        "AND NOT EXISTS (SELECT 1 FROM main.solidobj_queue q WHERE q.type = m.type AND q.key = m.key) "
        "AND NOT EXISTS (SELECT 1 FROM main.solidobj_claim c WHERE c.type = m.type AND c.key = m.key) "
        "AS attempted "
        "FROM (SELECT id FROM main.solidobj_later WHERE type BETWEEN ?1 AND ?2 "
        "UNION ALL SELECT id FROM main.solidobj_message "
        "WHERE id >= ?4 AND status = 1 AND type BETWEEN ?1 AND ?2) u "
        "CROSS JOIN main.solidobj_message m ON m.id = u.id) GROUP BY type, operation"),
    /* What is first for its actor and could start now: … how many, when the oldest was sent or due */
    [SO_STMT_STATS_STARTABLE] = SO_SQLITE(
        "SELECT m.type, m.operation, count(*), min(coalesce(m.due_ms, m.created_ms)) "
        "FROM (SELECT head AS id FROM main.solidobj_queue WHERE type BETWEEN ?1 AND ?2 AND head > 0 "
        "AND (lane IN (1, 2, 4, 14) OR (lane = 3 AND rank <= ?3)) "
        "UNION ALL SELECT head FROM main.solidobj_claim WHERE type BETWEEN ?1 AND ?2 "
        "AND lane < 10 AND expires_ms <= ?3 "
        "UNION ALL SELECT min(u.id) FROM ("
        "SELECT id, type, key FROM main.solidobj_later WHERE type BETWEEN ?1 AND ?2 AND due_ms <= ?3 "
        "UNION ALL SELECT id, type, key FROM main.solidobj_message WHERE id >= ?4 AND status = 1 "
        "AND type BETWEEN ?1 AND ?2 AND coalesce(due_ms, 0) <= ?3) u "
        "WHERE NOT EXISTS (SELECT 1 FROM main.solidobj_queue q WHERE q.type = u.type AND q.key = u.key) "
        "AND NOT EXISTS (SELECT 1 FROM main.solidobj_claim c WHERE c.type = u.type AND c.key = u.key) "
        "GROUP BY u.type, u.key) s "
        "CROSS JOIN main.solidobj_message m ON m.id = s.id GROUP BY m.type, m.operation"),
    /* … all, those without a replacement */
    [SO_STMT_STATS_DEAD] =
        SO_SQLITE("SELECT type, NULL, count(*), sum(replacement IS NULL) FROM main.solidobj_message "
                  "WHERE status = 4 AND type BETWEEN ?1 AND ?2 GROUP BY type"),
    /* type, key, now, inbox, limit -> id, operation, due_ms (0: not delayed), attempts, error; in the order
       in which they will run, what is delayed last */
    [SO_STMT_ACTOR_MAILBOX] = SO_SQLITE(
        "SELECT m.id, m.operation, max(p.place, 0), m.attempts, m.error "
        "FROM (SELECT head AS id, -2 AS place FROM main.solidobj_claim WHERE type = ?1 AND key = ?2 "
        "UNION ALL SELECT e.value, -1 FROM main.solidobj_claim c, main.json_each(c.more) e "
        "WHERE c.type = ?1 AND c.key = ?2 "
        "UNION ALL SELECT head, CASE attempts WHEN 0 THEN 0 ELSE -1 END FROM main.solidobj_queue "
        "WHERE type = ?1 AND key = ?2 AND head > 0 "
        "UNION ALL SELECT id, 0 FROM (SELECT id FROM main.solidobj_mail WHERE type = ?1 AND key = ?2 "
        "ORDER BY id LIMIT ?5) "
        "UNION ALL SELECT id, CASE WHEN due_ms > ?3 THEN due_ms ELSE 0 END FROM main.solidobj_later "
        "WHERE type = ?1 AND key = ?2 "
        "UNION ALL SELECT id, CASE WHEN due_ms > ?3 THEN due_ms ELSE 0 END FROM main.solidobj_message "
        "WHERE id >= ?4 AND status = 1 AND type = ?1 AND key = ?2) p "
        "CROSS JOIN main.solidobj_message m ON m.id = p.id ORDER BY p.place, p.id LIMIT ?5"),
    /* type, key, now, inbox -> operation, delayed, due and attempted */
    [SO_STMT_ACTOR_UNSORTED] =
        SO_SQLITE("SELECT m.operation, sum(coalesce(m.due_ms, 0) > ?3), "
                  "sum(coalesce(m.due_ms, 0) <= ?3 AND coalesce(m.attempts, 0) > 0) "
                  "FROM (SELECT id FROM main.solidobj_later WHERE type = ?1 AND key = ?2 "
                  "UNION ALL SELECT id FROM main.solidobj_message "
                  "WHERE id >= ?4 AND status = 1 AND type = ?1 AND key = ?2) u "
                  "CROSS JOIN main.solidobj_message m ON m.id = u.id GROUP BY m.operation"),
};

const char *so_statement_text(so_dialect dialect, so_statement statement)
{
    return dialect == SO_DIALECT_POSTGRES ? so_catalog_postgres[statement].text
                                          : so_catalog[statement].text[dialect];
}

const char *so_statement_params(so_statement statement) { return so_catalog_postgres[statement].params; }
