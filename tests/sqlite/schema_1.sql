-- A file of version 1 of the tables, for upgrade.py: that version's tables and views as they were, and rows of every kind.
-- Frozen, as such files are.
-- The tables of solidobj in an SQLite file, version 1.
--
-- They are shadow tables of the virtual table "solidobj" (one underscore in each name), so that
-- SQLITE_DBCONFIG_DEFENSIVE keeps ordinary SQL from writing to them. Times are milliseconds since 1970 UTC.
-- so_install() runs this text in one transaction; nothing else creates a table.

-- What belongs to the installation: schema_version, test (1: so_test_clock may move the clock), clock_ms (by how much it moved).
CREATE TABLE main.solidobj_setting(
    name TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE main.solidobj_type(
    type INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL
);

-- handler NULL: an external operation.
CREATE TABLE main.solidobj_operation(
    type INTEGER NOT NULL,
    name TEXT NOT NULL,
    handler TEXT,
    options TEXT NOT NULL,
    PRIMARY KEY(type, name)
) WITHOUT ROWID;

-- One row per living actor. A row stays below a quarter of a page, so that it never overflows and finding a
-- neighbour never reads an overflow chain: `state` holds the small members, solidobj_member the others.
-- incarnation is the id of the message that began it, last the id of the newest finished message.
CREATE TABLE main.solidobj_actor(
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    last INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    members INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY(type, key)
) WITHOUT ROWID;

CREATE TABLE main.solidobj_member(
    member INTEGER PRIMARY KEY,
    incarnation INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE(incarnation, name)
);

-- A message is one row here from the moment it is sent until it is pruned; finishing it rewrites the row.
-- The newest row also carries what every call has to know, so that it costs no page of its own:
--   inbox  the first id that has not been sorted into the tables below; ids from there to the newest are the inbox
--   stamp  changes with every definition and with every setting; a connection's cache holds while it is equal
-- The newest row is never pruned, so that an id never comes back.
-- status: 0 the row that so_install() puts first, 1 unfinished, 2 completed, 3 rejected, 4 dead, 5 cancelled.
-- previous chains the finished messages of one incarnation, newest first from solidobj_actor.last.
CREATE TABLE main.solidobj_message(
    id INTEGER PRIMARY KEY,
    inbox INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    status INTEGER NOT NULL,
    type INTEGER,
    key TEXT,
    operation TEXT,
    created_ms INTEGER,
    due_ms INTEGER,
    max_attempts INTEGER,
    keep INTEGER,
    attempts INTEGER,
    finished_ms INTEGER,
    incarnation INTEGER,
    turn INTEGER,
    revision INTEGER,
    previous INTEGER,
    nonce INTEGER,
    args TEXT,
    result TEXT,
    error TEXT
);

-- Unfinished messages that wait behind another one of their actor, in order.
CREATE TABLE main.solidobj_mail(
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY(type, key, id)
) WITHOUT ROWID;

-- Messages that are not due; they are in nobody's way.
CREATE TABLE main.solidobj_later(
    due_ms INTEGER NOT NULL,
    id INTEGER NOT NULL,
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY(due_ms, id)
) WITHOUT ROWID;
CREATE INDEX main.solidobj_later_actor ON solidobj_later(type, key);

-- One row per actor whose oldest unfinished message (head) nobody holds.
-- lane: 1 a handler in the database can run it, 2 an external worker can claim it, 3 it waits until rank (milliseconds),
-- 4 its operation is missing. rank orders lanes 1, 2 and 4. class is what a worker looks for within a lane: 'TYPE:' in
-- lane 1, 'TYPE:OPERATION' in lanes 2 and 4, '' in lane 3.
-- nonce is the token of the last claim that was settled on this head.
CREATE TABLE main.solidobj_queue(
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    head INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    class TEXT NOT NULL,
    rank INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY(type, key)
) WITHOUT ROWID;
-- Not a partial index: comparing its condition with a bound value would make SQLite prepare the statement each time.
CREATE INDEX main.solidobj_queue_next ON solidobj_queue(lane, class, rank);

-- One row per actor whose head somebody holds: a worker inside the database (lane 1) or outside it (lane 2).
-- more: a JSON array of the further messages that the claim holds, in order, or NULL.
CREATE TABLE main.solidobj_claim(
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    head INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    worker TEXT NOT NULL,
    more TEXT,
    error TEXT,
    PRIMARY KEY(type, key)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE main.solidobj USING solidobj;
-- Views for plain SQL and for dashboards. Times are ISO 8601 in UTC, from the same clock as the tables.
CREATE VIEW main.solidobj_actors_view AS
SELECT t.name AS type,
       a.key,
       a.incarnation,
       a.revision,
       a.turns,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.updated_ms / 1000.0, 'unixepoch') AS updated_at,
       a.bytes AS state_bytes
FROM solidobj_actor a
JOIN solidobj_type t ON t.type = a.type;

CREATE VIEW main.solidobj_messages_view AS
SELECT m.id AS message,
       t.name AS type,
       m.key,
       m.operation,
       CASE m.status
           WHEN 2 THEN 'completed'
           WHEN 3 THEN 'rejected'
           WHEN 4 THEN 'dead'
           WHEN 5 THEN 'cancelled'
           ELSE CASE
               WHEN c.head IS NOT NULL
                    AND (c.head = m.id OR EXISTS (SELECT 1 FROM json_each(c.more) WHERE value = m.id)) THEN 'claimed'
               WHEN q.head = m.id AND q.lane = 3 THEN 'retrying'
               WHEN m.due_ms IS NOT NULL
                    AND (EXISTS (SELECT 1 FROM solidobj_later l WHERE l.due_ms = m.due_ms AND l.id = m.id)
                         OR m.id >= (SELECT n.inbox FROM solidobj_message n ORDER BY n.id DESC LIMIT 1)) THEN 'delayed'
               ELSE 'waiting'
           END
       END AS status,
       coalesce(CASE m.id WHEN c.head THEN c.attempts WHEN q.head THEN q.attempts END, m.attempts, 0) AS attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.finished_ms / 1000.0, 'unixepoch') AS finished_at,
       m.turn,
       m.revision,
       m.result,
       coalesce(CASE m.id WHEN c.head THEN c.error WHEN q.head THEN q.error END, m.error) AS error,
       m.incarnation
FROM solidobj_message m
JOIN solidobj_type t ON t.type = m.type
LEFT JOIN solidobj_queue q ON m.status = 1 AND q.type = m.type AND q.key = m.key
LEFT JOIN solidobj_claim c ON m.status = 1 AND c.type = m.type AND c.key = m.key
WHERE m.status > 0;

CREATE VIEW main.solidobj_mailbox_view AS
SELECT message, type, key, operation, status, attempts, created_at, error
FROM solidobj_messages_view
WHERE status IN ('waiting', 'delayed', 'retrying', 'claimed');

CREATE VIEW main.solidobj_dead_letters_view AS
SELECT m.id AS message,
       t.name AS type,
       m.key,
       m.operation,
       m.args,
       m.attempts,
       m.error,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.finished_ms / 1000.0, 'unixepoch') AS finished_at
FROM solidobj_message m
JOIN solidobj_type t ON t.type = m.type
WHERE m.status = 4;
INSERT INTO solidobj_setting VALUES('schema_version', 1);
INSERT INTO solidobj_setting VALUES('test', 1);
INSERT INTO solidobj_type VALUES(1, 'Counter', '{"initial":{"count":0},"max_attempts":3,"retry_base_ms":60000}');
INSERT INTO solidobj_operation VALUES(1, 'add', 'SELECT so_set(''count'', so_get(''count'') + 1) AS result', '{}');
INSERT INTO solidobj_operation VALUES(1, 'bad', 'SELECT 1 AS nonsense', '{}');
INSERT INTO solidobj_operation VALUES(1, 'fill', 'SELECT so_set(''large'', :args ->> ''text'')', '{}');
INSERT INTO solidobj_operation VALUES(1, 'no', 'SELECT so_raise(''NO'', ''not today'')', '{}');
INSERT INTO solidobj_operation VALUES(1, 'work', NULL, '{}');
INSERT INTO solidobj_actor VALUES(1, 'done', 1, 3, 3, 5, 1700000000000, 1700000000000, 1, 622, '{"count":2}');
INSERT INTO solidobj_actor VALUES(1, 'second', 14, 1, 1, 14, 1700000000000, 1700000000000, 0, 11, '{"count":1}');
INSERT INTO solidobj_member VALUES(1, 1, 'large', '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"');
INSERT INTO solidobj_message VALUES(0, 1, 2007447841701484829, 0, NULL, NULL, NULL, 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO solidobj_message VALUES(1, 2, 2007447841701484829, 2, 1, 'done', 'add', 1700000000000, NULL, NULL, NULL, 1, 1700000000000, 1, 1, 1, NULL, NULL, NULL, '1', NULL);
INSERT INTO solidobj_message VALUES(2, 2, 2007447841701484829, 3, 1, 'done', 'no', 1700000000000, NULL, NULL, NULL, 1, 1700000000000, 1, NULL, 1, 1, 4436610549688073845, NULL, NULL, '{"code":"NO","message":"not today","details":null}');
INSERT INTO solidobj_message VALUES(3, 2, 2007447841701484829, 4, 1, 'done', 'bad', 1700000000000, NULL, 1, NULL, 1, 1700000000000, 1, NULL, 1, 2, 111998107958205787, '{}', NULL, 'SO_INVALID_ARGUMENT: the handler answered the unknown column nonsense');
INSERT INTO solidobj_message VALUES(4, 5, 2007447841701484829, 2, 1, 'done', 'fill', 1700000000000, NULL, NULL, NULL, 1, 1700000000000, 1, 2, 2, 3, 4181016852667264485, NULL, 'null', NULL);
INSERT INTO solidobj_message VALUES(5, 6, 2007447841701484829, 2, 1, 'done', 'add', 1700000000000, NULL, NULL, NULL, 1, 1700000000000, 1, 3, 3, 4, NULL, NULL, '2', NULL);
INSERT INTO solidobj_message VALUES(6, 7, 2007447841701484829, 1, 1, 'retrying', 'bad', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(7, 7, 2007447841701484829, 1, 1, 'retrying', 'add', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(8, 7, 2007447841701484829, 1, 1, 'claimed', 'work', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(9, 7, 2007447841701484829, 1, 1, 'claimed', 'work', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(10, 7, 2007447841701484829, 1, 1, 'claimed', 'work', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(11, 7, 2007447841701484829, 1, 1, 'queued', 'work', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(12, 10, 2007447841701484829, 1, 1, 'queued', 'work', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(13, 10, 2007447841701484829, 1, 1, 'later', 'add', 1700000000000, 4000000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(14, 15, 2007447841701484829, 2, 1, 'second', 'add', 1700000000000, NULL, NULL, NULL, 1, 1700000000000, 14, 1, 1, NULL, 2638638509335783347, NULL, '1', NULL);
INSERT INTO solidobj_message VALUES(15, 15, 2007447841701484829, 1, 1, 'inbox', 'add', 1700000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_message VALUES(16, 15, 2007447841701484829, 1, 1, 'inbox', 'add', 1700000000000, 4000000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO solidobj_mail VALUES(1, 'claimed', 10);
INSERT INTO solidobj_mail VALUES(1, 'queued', 12);
INSERT INTO solidobj_mail VALUES(1, 'retrying', 7);
INSERT INTO solidobj_later VALUES(4000000000000, 13, 1, 'later');
INSERT INTO solidobj_queue VALUES(1, 'queued', 11, 2, '1:work', 14, 0, 0, NULL);
INSERT INTO solidobj_queue VALUES(1, 'retrying', 6, 3, '', 4000000000000, 1, 1081788162157103425, 'SO_INVALID_ARGUMENT: the handler answered the unknown column nonsense');
INSERT INTO solidobj_claim VALUES(1, 'claimed', 8, 2, 1, 2820062898841282955, 4000000000000, 'w', '[9]', NULL);
