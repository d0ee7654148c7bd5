-- The tables of solidobj in an SQLite file, version 2 (upgrade_1.sql leads here from version 1).
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

-- How the state of version from_version becomes one of the next version.
CREATE TABLE main.solidobj_migration(
    type INTEGER NOT NULL,
    from_version INTEGER NOT NULL,
    handler TEXT NOT NULL,
    PRIMARY KEY(type, from_version)
) WITHOUT ROWID;

-- One row per living actor. A row stays below a quarter of a page, so that it never overflows and finding a
-- neighbour never reads an overflow chain: `state` holds the small members, solidobj_member the others.
-- incarnation is the id of the message that began it, last the id of the newest finished message, version the
-- state_version of its state.
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
    version INTEGER NOT NULL DEFAULT 1,
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
-- The newest row is never removed, only emptied, so that an id never comes back.
-- status: 0 an empty row (so_install() puts the first one), 1 unfinished, 2 completed, 3 rejected, 4 dead, 5 cancelled.
-- previous chains the finished messages of one incarnation, newest first from solidobj_actor.last; incarnation is NULL
-- where the actor did not exist; an unfinished message has there the empty row before it. replacement is the message that so_retry() sent for a dead one.
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
    error TEXT,
    idempotency_key TEXT,
    replacement INTEGER
);
CREATE UNIQUE INDEX main.solidobj_message_key ON solidobj_message(type, key, idempotency_key)
WHERE idempotency_key IS NOT NULL;
CREATE INDEX main.solidobj_message_dead ON solidobj_message(type) WHERE status = 4;
CREATE INDEX main.solidobj_message_loose ON solidobj_message(type, key) WHERE status > 1 AND incarnation IS NULL;

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
-- 4 its operation is missing; 10 more while the actor is paused, and 10 with head 0 if it has no message. rank orders lanes 1, 2 and 4. class is what a worker looks for within a lane: 'TYPE:' in
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

-- One row per actor whose head somebody holds: a worker inside the database (lane 1) or outside it (lane 2; 10 more if
-- the actor was paused meanwhile).
-- more: a JSON array of the further messages that the claim holds, in order, or NULL. version: the state_version of the
-- state that it was given.
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
    version INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY(type, key)
) WITHOUT ROWID;
