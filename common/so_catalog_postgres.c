/*
 * The statements in PostgreSQL's dialect. See so_catalog.h for what each takes and gives.
 *
 * Everything is qualified. No statement touches rows of two actors in one go but those that skip what is
 * locked, so that senders and workers never wait for each other here.
 */
#include "so_catalog_postgres.h"

#include <stddef.h>

const so_postgres_entry so_catalog_postgres[SO_STATEMENT_COUNT] = {
    /* -> when the first delayed message is due */
    [SO_STMT_NEWEST] = {"", "SELECT min(due_ms) FROM solidobj.message WHERE delayed"},
    /* type, key -> the same; actor: incarnation, revision, turns, last, created_ms, updated_ms, members,
       bytes, state, version; slot: claimed, head, lane, attempts, nonce, due_ms, worker, more, error,
       version, the head's operation; the first message that is there: id, operation, attempts, error */
    [SO_STMT_LOOK] = {"it",
                      "SELECT (SELECT min(l.due_ms) FROM solidobj.message l WHERE l.delayed), "
                      "a.incarnation, a.revision, a.turns, a.last, a.created_ms, a.updated_ms, a.members, "
                      "a.bytes, a.state, a.version, "
                      "s.claimed, s.head, s.lane, s.attempts, s.nonce, s.due_ms, s.worker, s.more, s.error, "
                      "s.version, "
                      "(SELECT h.operation FROM solidobj.message h WHERE h.id = s.head), "
                      "m.id, m.operation, m.attempts, m.error "
                      "FROM (SELECT 1) one "
                      "LEFT JOIN solidobj.actor a ON a.type = $1 AND a.key = $2 "
                      "LEFT JOIN solidobj.slot s ON s.type = $1 AND s.key = $2 "
                      "LEFT JOIN LATERAL (SELECT f.id, f.operation, f.attempts, f.error "
                      "FROM solidobj.message f WHERE f.type = $1 AND f.key = $2 AND NOT f.delayed "
                      "ORDER BY f.id LIMIT 1) m ON true"},
    /* id, type, key, operation, created_ms, due_ms, max_attempts, keep, args, idempotency_key, max_mailbox,
       only to */
    [SO_STMT_APPEND] = {"iittiiiittii",
                        "INSERT INTO solidobj.message(id, type, key, operation, created_ms, due_ms, delayed, "
                        "max_attempts, keep, args, idempotency_key) "
                        "SELECT $1, $2, $3, $4, $5, $6, $6 IS NOT NULL, $7, $8, $9, $10 "
                        "WHERE $11 > (SELECT count(*) FROM (SELECT 1 FROM solidobj.message m "
                        "WHERE m.type = $2 AND m.key = $3 LIMIT $11) c) "
                        "AND ($12 IS NULL OR EXISTS (SELECT 1 FROM solidobj.actor a "
                        "WHERE a.type = $2 AND a.key = $3 AND ($12 = 0 OR a.incarnation = $12)))"},
    /* id, status, type, key, operation, created_ms, max_attempts, keep, attempts, finished_ms, incarnation,
       turn, revision, previous, nonce, result, error, args, idempotency_key */
    [SO_STMT_RECORD] = {"iiittiiiiiiiiiitttt",
                        "INSERT INTO solidobj.outcome(id, status, type, key, operation, created_ms, "
                        "max_attempts, keep, attempts, finished_ms, incarnation, turn, revision, previous, "
                        "nonce, result, error, args, idempotency_key) "
                        "VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
                        "$18, $19)"},
    /* id */
    [SO_STMT_FORGET] = {"i", "DELETE FROM solidobj.message WHERE id = $1"},
    /* type, key, incarnation, revision, turns, last, created_ms, updated_ms, members, bytes, state, version
     */
    [SO_STMT_ACTOR_INSERT] = {"itiiiiiiiiti",
                              "INSERT INTO solidobj.actor(type, key, incarnation, revision, turns, last, "
                              "created_ms, updated_ms, members, bytes, state, version) "
                              "VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"},
    [SO_STMT_ACTOR_UPDATE] = {"itiiiiiiiiti",
                              "UPDATE solidobj.actor SET revision = $4, turns = $5, last = $6, "
                              "updated_ms = $8, members = $9, bytes = $10, state = $11, version = $12 "
                              "WHERE type = $1 AND key = $2 AND incarnation = $3"},

    [SO_STMT_SETTINGS] = {"", "SELECT name, value FROM solidobj.setting"},
    [SO_STMT_SETTING_SET] = {"ti", "INSERT INTO solidobj.setting(name, value) VALUES($1, $2) "
                                   "ON CONFLICT(name) DO UPDATE SET value = excluded.value"},
    [SO_STMT_TYPES] = {"", "SELECT type, name, options FROM solidobj.type ORDER BY name"},
    [SO_STMT_TYPE_INSERT] = {"tt", "INSERT INTO solidobj.type(name, options) VALUES($1, $2)"},
    [SO_STMT_TYPE_UPDATE] = {"tt", "UPDATE solidobj.type SET options = $2 WHERE name = $1"},
    [SO_STMT_OPERATIONS] = {"", "SELECT type, name, handler, options FROM solidobj.operation "
                                "ORDER BY type, name"},
    [SO_STMT_OPERATION_SET] = {"ittt",
                               "INSERT INTO solidobj.operation(type, name, handler, options) "
                               "VALUES($1, $2, $3, $4) ON CONFLICT(type, name) "
                               "DO UPDATE SET handler = excluded.handler, options = excluded.options"},
    [SO_STMT_OPERATION_NEEDED] = {"it", "SELECT 1 FROM solidobj.message "
                                        "WHERE type = $1 AND operation = $2 LIMIT 1"},
    [SO_STMT_OPERATION_DELETE] = {"it", "DELETE FROM solidobj.operation WHERE type = $1 AND name = $2"},
    [SO_STMT_MIGRATIONS] = {"", "SELECT type, from_version, handler FROM solidobj.migration "
                                "ORDER BY type, from_version"},
    [SO_STMT_MIGRATION_SET] = {"iit", "INSERT INTO solidobj.migration(type, from_version, handler) "
                                      "VALUES($1, $2, $3) ON CONFLICT(type, from_version) "
                                      "DO UPDATE SET handler = excluded.handler"},
    [SO_STMT_TYPE_NEEDED] = {"i",
                             "SELECT CASE "
                             "WHEN EXISTS (SELECT 1 FROM solidobj.actor WHERE type = $1) THEN 'actors' "
                             "WHEN EXISTS (SELECT 1 FROM solidobj.message WHERE type = $1) THEN 'messages' "
                             "WHEN EXISTS (SELECT 1 FROM solidobj.outcome WHERE type = $1 AND status = 4) "
                             "THEN 'dead letters' END"},
    [SO_STMT_TYPE_FORGET] = {"i", "DELETE FROM solidobj.outcome WHERE type = $1"},
    [SO_STMT_TYPE_EMPTY] = {"i", "DELETE FROM solidobj.idempotency WHERE type = $1"},
    [SO_STMT_TYPE_UNQUEUE] = {"i", "DELETE FROM solidobj.slot WHERE type = $1"},
    [SO_STMT_TYPE_OPERATIONS_DELETE] = {"i", "DELETE FROM solidobj.operation WHERE type = $1"},
    [SO_STMT_TYPE_MIGRATIONS_DELETE] = {"i", "DELETE FROM solidobj.migration WHERE type = $1"},
    [SO_STMT_TYPE_DELETE] = {"i", "DELETE FROM solidobj.type WHERE type = $1"},
    /* type, operation, lane: heads that are stored; the lane of others is derived */
    [SO_STMT_LANES_CHANGE] = {"iti",
                              "UPDATE solidobj.slot SET lane = $3 + lane / 10 * 10 "
                              "WHERE type = $1 AND NOT claimed AND lane % 10 <> 3 AND head > 0 "
                              "AND (SELECT m.operation FROM solidobj.message m WHERE m.id = head) = $2"},

    [SO_STMT_MEMBER_GET] = {"it", "SELECT value FROM solidobj.member WHERE incarnation = $1 AND name = $2"},
    [SO_STMT_MEMBER_EACH] = {"i", "SELECT name, value FROM solidobj.member WHERE incarnation = $1"},
    [SO_STMT_MEMBER_NAMES] = {"i", "SELECT name FROM solidobj.member WHERE incarnation = $1"},
    [SO_STMT_MEMBER_INSERT] = {"itt", "INSERT INTO solidobj.member(incarnation, name, value) "
                                      "VALUES($1, $2, $3)"},
    [SO_STMT_MEMBER_UPDATE] = {"itt", "UPDATE solidobj.member SET value = $3 "
                                      "WHERE incarnation = $1 AND name = $2"},
    [SO_STMT_MEMBER_DELETE] = {"it", "DELETE FROM solidobj.member WHERE incarnation = $1 AND name = $2"},

    [SO_STMT_MESSAGE] = {"i",
                         "SELECT 1, type, key, operation, created_ms, due_ms, max_attempts, keep, attempts, "
                         "NULL, NULL, NULL, NULL, NULL, args, NULL, error, NULL, idempotency_key, NULL "
                         "FROM solidobj.message WHERE id = $1 "
                         "UNION ALL SELECT status, type, key, operation, created_ms, NULL, max_attempts, "
                         "keep, attempts, finished_ms, incarnation, turn, revision, nonce, args, result, "
                         "error, previous, idempotency_key, replacement FROM solidobj.outcome WHERE id = $1"},
    [SO_STMT_DESTROY_WAITING] = {"iti", "DELETE FROM solidobj.message "
                                        "WHERE type = $1 AND key = $2 AND id <> $3"},
    [SO_STMT_DESTROY_HISTORY] = {"itiiii",
                                 "WITH RECURSIVE chain(id) AS (SELECT $6 UNION ALL "
                                 "SELECT m.previous FROM chain JOIN solidobj.outcome m ON m.id = chain.id "
                                 "WHERE m.incarnation = $5 AND m.previous IS NOT NULL) "
                                 "DELETE FROM solidobj.outcome WHERE id IN (SELECT id FROM chain) "
                                 "AND incarnation = $5 AND type = $1 AND key = $2 AND id <> $3 AND $4 <> 0"},
    [SO_STMT_DESTROY_LOOSE] = {"iti", "DELETE FROM solidobj.outcome WHERE type = $1 AND key = $2 "
                                      "AND incarnation IS NULL AND id <> $3"},
    [SO_STMT_DESTROY_NEWEST] = {"it", "DELETE FROM solidobj.idempotency WHERE type = $1 AND key = $2"},
    [SO_STMT_DESTROY_MEMBERS] = {"itiii", "DELETE FROM solidobj.member WHERE incarnation = $5 "
                                          "AND ($1, $2, $3, $4) IS NOT NULL"},
    [SO_STMT_DESTROY_ACTOR] = {"it", "DELETE FROM solidobj.actor WHERE type = $1 AND key = $2"},
    [SO_STMT_KEY_FIND] = {"itt", "SELECT message FROM solidobj.idempotency "
                                 "WHERE type = $1 AND key = $2 AND idempotency_key = $3"},
    [SO_STMT_KEY_DROP] = {"i",
                          "WITH freed AS (DELETE FROM solidobj.idempotency i USING solidobj.outcome o "
                          "WHERE o.id = $1 AND i.type = o.type AND i.key = o.key "
                          "AND i.idempotency_key = o.idempotency_key) "
                          "UPDATE solidobj.outcome SET idempotency_key = NULL, args = NULL WHERE id = $1"},
    /* type, key, idempotency_key, message: nothing if somebody has it */
    [SO_STMT_KEY_TAKE] = {"itti", "INSERT INTO solidobj.idempotency(type, key, idempotency_key, message) "
                                  "VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING"},
    [SO_STMT_KEY_FREE] = {"itt", "DELETE FROM solidobj.idempotency "
                                 "WHERE type = $1 AND key = $2 AND idempotency_key = $3"},
    [SO_STMT_REPLACE] = {"ii", "UPDATE solidobj.outcome SET replacement = $2 WHERE id = $1"},
    [SO_STMT_MESSAGE_CHARGE] = {"iti", "UPDATE solidobj.message SET attempts = attempts + 1, error = $2 "
                                       "WHERE id = $1 AND created_ms = $3"},
    [SO_STMT_MAILBOX_COUNT] = {"iti", "SELECT count(*), 0::bigint, 0::bigint, 1::bigint FROM "
                                      "(SELECT 1 FROM solidobj.message WHERE type = $1 AND key = $2 "
                                      "LIMIT $3 + 1) c"},
    /* type, key -> type, key of the next actor that has mail */
    [SO_STMT_SEEK] = {"it", "SELECT type, key FROM solidobj.message WHERE NOT delayed "
                            "AND (type, key) > ($1, $2) ORDER BY type, key LIMIT 1"},
    [SO_STMT_MAIL_FIRST] = {"iti", "SELECT id, operation, max_attempts, attempts FROM solidobj.message "
                                   "WHERE type = $1 AND key = $2 AND NOT delayed AND id > $3 "
                                   "ORDER BY id LIMIT 1"},
    [SO_STMT_LATER_DUE] = {"iiit", "SELECT id, type, key, operation, due_ms, max_attempts, attempts "
                                   "FROM solidobj.message WHERE delayed AND due_ms <= $1 "
                                   "AND ($3 = 0 OR (type = $3 AND key = $4)) "
                                   "ORDER BY due_ms, id LIMIT $2 FOR UPDATE SKIP LOCKED"},
    [SO_STMT_LATER_HAS] = {"ii", "SELECT 1 FROM solidobj.message WHERE id = $2 AND due_ms = $1 AND delayed"},
    [SO_STMT_LATER_DELETE] = {"ii", "UPDATE solidobj.message SET delayed = false "
                                    "WHERE id = $2 AND due_ms = $1 AND delayed"},
    [SO_STMT_LATER_TIMES] = {"i", "SELECT type, due_ms FROM solidobj.message WHERE delayed "
                                  "ORDER BY due_ms LIMIT $1"},
    /* type, key, head, lane, class, rank, attempts, nonce, error */
    [SO_STMT_QUEUE_SET] = {"itiitiiit",
                           "INSERT INTO solidobj.slot(type, key, claimed, head, lane, due_ms, attempts, "
                           "nonce, error) SELECT $1, $2, false, $3, $4, "
                           "CASE WHEN $4 % 10 = 3 THEN $6 END, $7, $8, $9 WHERE $5 IS NOT NULL "
                           "ON CONFLICT(type, key) DO UPDATE SET claimed = false, head = excluded.head, "
                           "lane = excluded.lane, due_ms = excluded.due_ms, attempts = excluded.attempts, "
                           "nonce = excluded.nonce, error = excluded.error, worker = NULL, more = NULL, "
                           "version = NULL"},
    [SO_STMT_QUEUE_DELETE] = {"it", "DELETE FROM solidobj.slot WHERE type = $1 AND key = $2"},
    [SO_STMT_QUEUE_ANY_DUE] = {"i", "SELECT 1 FROM solidobj.slot WHERE NOT claimed AND lane = 3 "
                                    "AND due_ms <= $1 LIMIT 1"},
    [SO_STMT_QUEUE_DUE] = {"ii", "SELECT type, key FROM solidobj.slot WHERE NOT claimed AND lane = 3 "
                                 "AND due_ms <= $1 ORDER BY due_ms LIMIT $2"},
    [SO_STMT_DUE] = {"i", "SELECT (SELECT 1 FROM solidobj.message WHERE NOT delayed AND $1 >= 0 LIMIT 1), "
                          "(SELECT min(due_ms) FROM solidobj.slot WHERE NOT claimed AND lane = 3), "
                          "(SELECT min(due_ms) FROM solidobj.slot WHERE claimed), "
                          "(SELECT min(due_ms) FROM solidobj.message WHERE delayed)"},
    [SO_STMT_QUEUE_TIMES] = {"i", "SELECT type, due_ms FROM solidobj.slot WHERE NOT claimed AND lane = 3 "
                                  "ORDER BY due_ms LIMIT $1"},
    /* type, key, head, lane, attempts, nonce, expires_ms, worker, more, error, version */
    [SO_STMT_CLAIM_SET] = {"itiiiiittti",
                           "INSERT INTO solidobj.slot(type, key, claimed, head, lane, attempts, nonce, "
                           "due_ms, worker, more, error, version) "
                           "VALUES($1, $2, true, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
                           "ON CONFLICT(type, key) DO UPDATE SET claimed = true, head = excluded.head, "
                           "lane = excluded.lane, attempts = excluded.attempts, nonce = excluded.nonce, "
                           "due_ms = excluded.due_ms, worker = excluded.worker, more = excluded.more, "
                           "error = excluded.error, version = excluded.version"},
    [SO_STMT_CLAIM_DELETE] = {"it", "DELETE FROM solidobj.slot WHERE type = $1 AND key = $2"},
    [SO_STMT_CLAIMS_EXPIRED] = {"ii", "SELECT type, key FROM solidobj.slot WHERE claimed "
                                      "AND due_ms <= $1 ORDER BY due_ms LIMIT $2"},
    [SO_STMT_CLAIM_TIMES] = {"", "SELECT type, min(due_ms) FROM solidobj.slot WHERE claimed GROUP BY type"},

    [SO_STMT_HISTORY] = {"i", "SELECT incarnation, previous, status, operation, attempts, created_ms, "
                              "finished_ms, turn, revision, result, error "
                              "FROM solidobj.outcome WHERE id = $1"},
    [SO_STMT_DEAD_LETTERS] = {"iitt", "SELECT id, type, key, operation, args, attempts, error, created_ms, "
                                      "finished_ms, replacement FROM solidobj.outcome "
                                      "WHERE status = 4 AND id > $1 AND ($3 IS NULL OR key = $3) "
                                      "AND ($4 IS NULL OR operation = $4) ORDER BY id LIMIT $2"},
    [SO_STMT_DEAD_LETTERS_OF] = {"iitti",
                                 "SELECT id, type, key, operation, args, attempts, error, created_ms, "
                                 "finished_ms, replacement FROM solidobj.outcome "
                                 "WHERE status = 4 AND type = $5 AND id > $1 AND ($3 IS NULL OR key = $3) "
                                 "AND ($4 IS NULL OR operation = $4) ORDER BY id LIMIT $2"},
};
