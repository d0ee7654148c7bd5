-- The tables of solidobj and its functions. Nothing here is executable or readable by PUBLIC.
\echo Use "CREATE EXTENSION solidobj" to load this file. \quit

CREATE SCHEMA solidobj;
REVOKE ALL ON SCHEMA solidobj FROM PUBLIC;

-- schema_version, and where this is a test installation `test` and `clock_ms`.
CREATE TABLE solidobj.setting (
    name text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO solidobj.setting VALUES ('schema_version', 2);

CREATE TABLE solidobj.type (
    type integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    options text NOT NULL
);

-- handler NULL: an external operation.
CREATE TABLE solidobj.operation (
    type integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    handler text,
    options text NOT NULL,
    PRIMARY KEY (type, name)
);

-- How the state of version from_version becomes one of the next version.
CREATE TABLE solidobj.migration (
    type integer NOT NULL,
    from_version bigint NOT NULL,
    handler text NOT NULL,
    PRIMARY KEY (type, from_version)
);

-- One row per living actor. incarnation is the id of the message that began it, last the id of its newest outcome,
-- version the state_version of its state. state holds the small members, solidobj.member the others. It is updated
-- in place (HOT): no index names what changes, and pages keep room.
CREATE TABLE solidobj.actor (
    type integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    incarnation bigint NOT NULL,
    revision bigint NOT NULL,
    turns bigint NOT NULL,
    last bigint NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    members bigint NOT NULL,
    bytes bigint NOT NULL,
    version bigint NOT NULL,
    state text NOT NULL,
    PRIMARY KEY (type, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

CREATE TABLE solidobj.member (
    incarnation bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (incarnation, name)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);

CREATE SEQUENCE solidobj.message_id;

-- The mailboxes: the messages that are not finished. A sender only inserts. `delayed` ones have not joined their
-- actor's mailbox; due_ms says when they may.
CREATE TABLE solidobj.message (
    id bigint NOT NULL,
    created_ms bigint NOT NULL,
    due_ms bigint,
    max_attempts bigint,
    attempts bigint NOT NULL DEFAULT 0,
    type integer NOT NULL,
    keep smallint,
    delayed boolean NOT NULL,
    key text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    args text NOT NULL,
    error text,
    idempotency_key text COLLATE "C",
    PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX message_actor ON solidobj.message (type, key, id);
CREATE INDEX message_due ON solidobj.message (due_ms) WHERE delayed;

-- What became of messages. status: 2 completed, 3 rejected, 4 dead, 5 cancelled. previous chains the outcomes of one
-- incarnation, newest first from solidobj.actor.last; incarnation is NULL where the actor did not exist. replacement is
-- the message that so_retry sent for a dead one.
CREATE TABLE solidobj.outcome (
    id bigint NOT NULL,
    created_ms bigint NOT NULL,
    finished_ms bigint NOT NULL,
    max_attempts bigint,
    attempts bigint NOT NULL,
    incarnation bigint,
    turn bigint,
    revision bigint,
    previous bigint,
    nonce bigint,
    replacement bigint,
    type integer NOT NULL,
    status smallint NOT NULL,
    keep smallint,
    key text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    result text,
    error text,
    args text,
    idempotency_key text COLLATE "C",
    PRIMARY KEY (id)
);
CREATE INDEX outcome_dead ON solidobj.outcome (type, id) WHERE status = 4;
CREATE INDEX outcome_loose ON solidobj.outcome (type, key) WHERE incarnation IS NULL;

-- Which message has an idempotency key; a table of its own, so that only those who use keys meet here.
CREATE TABLE solidobj.idempotency (
    type integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    message bigint NOT NULL,
    PRIMARY KEY (type, key, idempotency_key)
);

-- An actor's head, where its first message does not say it all: somebody holds it (claimed, until due_ms), it was
-- attempted (lane 3: it waits until due_ms), or the actor is paused (10 more in lane; head 0 if it has no message).
-- more: a JSON array of the further messages that the claim holds. version: the state_version of the state that it was
-- given. nonce: the claim's token, or that of the last claim that was settled on this head.
CREATE TABLE solidobj.slot (
    head bigint NOT NULL,
    attempts bigint NOT NULL,
    nonce bigint NOT NULL,
    due_ms bigint,
    version bigint,
    type integer NOT NULL,
    lane smallint NOT NULL,
    claimed boolean NOT NULL,
    key text COLLATE "C" NOT NULL,
    worker text,
    more text,
    error text,
    PRIMARY KEY (type, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX slot_claim ON solidobj.slot (due_ms) WHERE claimed;
CREATE INDEX slot_retry ON solidobj.slot (due_ms) WHERE NOT claimed AND lane = 3;

SELECT pg_catalog.pg_extension_config_dump('solidobj.type', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.type_type_seq', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.operation', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.migration', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.actor', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.member', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.message_id', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.message', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.outcome', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.idempotency', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.slot', '');
SELECT pg_catalog.pg_extension_config_dump('solidobj.setting', $$WHERE name <> 'schema_version'$$);

-- Views for plain SQL and for dashboards. Times are from the same clock as the tables.

-- What the other views build on, one row: the solidobj clock.
CREATE VIEW solidobj.now AS
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
           + coalesce((SELECT s.value FROM solidobj.setting s WHERE s.name = 'clock_ms'), 0) AS now_ms;

CREATE VIEW solidobj.actors AS
SELECT t.name AS type,
       a.key,
       a.incarnation,
       a.revision,
       a.turns,
       to_timestamp(a.created_ms / 1000.0) AS created_at,
       to_timestamp(a.updated_ms / 1000.0) AS updated_at,
       a.bytes AS state_bytes,
       a.version AS state_version,
       EXISTS (SELECT 1 FROM solidobj.slot s WHERE s.type = a.type AND s.key = a.key AND s.lane >= 10) AS paused
FROM solidobj.actor a
JOIN solidobj.type t ON t.type = a.type;

CREATE VIEW solidobj.mailbox AS
SELECT m.id AS message,
       t.name AS type,
       m.key,
       m.operation,
       CASE
           WHEN s.claimed AND (s.head = m.id OR s.more::jsonb @> to_jsonb(m.id)) THEN 'claimed'
           WHEN s.head = m.id AND (s.lane = 3 OR s.lane IN (1, 2) AND s.attempts > 0) THEN 'retrying'
           WHEN m.delayed AND m.due_ms > n.now_ms THEN 'delayed'
           ELSE 'waiting'
       END AS status,
       coalesce(CASE m.id WHEN s.head THEN s.attempts END, m.attempts) AS attempts,
       to_timestamp(m.created_ms / 1000.0) AS created_at,
       coalesce(CASE m.id WHEN s.head THEN s.error END, m.error) AS error
FROM solidobj.message m
CROSS JOIN solidobj.now n
JOIN solidobj.type t ON t.type = m.type
LEFT JOIN solidobj.slot s ON s.type = m.type AND s.key = m.key;

CREATE VIEW solidobj.messages AS
SELECT b.message,
       b.type,
       b.key,
       b.operation,
       b.status,
       b.attempts,
       b.created_at,
       NULL::timestamptz AS finished_at,
       NULL::bigint AS turn,
       NULL::bigint AS revision,
       NULL::text AS result,
       b.error,
       NULL::bigint AS incarnation,
       m.idempotency_key,
       NULL::bigint AS replacement
FROM solidobj.mailbox b
JOIN solidobj.message m ON m.id = b.message
UNION ALL
SELECT o.id,
       t.name,
       o.key,
       o.operation,
       CASE o.status WHEN 2 THEN 'completed' WHEN 3 THEN 'rejected' WHEN 4 THEN 'dead' ELSE 'cancelled' END,
       o.attempts,
       to_timestamp(o.created_ms / 1000.0),
       to_timestamp(o.finished_ms / 1000.0),
       o.turn,
       CASE o.status WHEN 2 THEN o.revision END,
       o.result,
       o.error,
       o.incarnation,
       o.idempotency_key,
       o.replacement
FROM solidobj.outcome o
JOIN solidobj.type t ON t.type = o.type;

CREATE VIEW solidobj.dead_letters AS
SELECT o.id AS message,
       t.name AS type,
       o.key,
       o.operation,
       o.args,
       o.attempts,
       o.error,
       to_timestamp(o.created_ms / 1000.0) AS created_at,
       to_timestamp(o.finished_ms / 1000.0) AS finished_at,
       o.replacement
FROM solidobj.outcome o
JOIN solidobj.type t ON t.type = o.type
WHERE o.status = 4;

-- Types and operations
CREATE FUNCTION so_version() RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_test_clock(ms bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_define_actor(type text, options jsonb DEFAULT '{}') RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_define_operation(type text, name text, handler text, options jsonb DEFAULT '{}') RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_define_migration(type text, from_version bigint, handler text) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_drop_operation(type text, name text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_drop_actor(type text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_types()
RETURNS TABLE (type text, options jsonb, operations jsonb, migrations jsonb)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

-- Sending, calling, reading
CREATE FUNCTION so_send(type text, key text, operation text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_send_batch(messages jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_find(type text, key text, idempotency_key text) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_call(type text, key text, operation text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_try(type text, key text, operation text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_query(type text, key text, operation text, args jsonb DEFAULT '{}') RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_result(message bigint) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_status(message bigint) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_snapshot(type text, key text) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_history(type text, key text, options jsonb DEFAULT '{}')
RETURNS TABLE (message bigint, turn bigint, revision bigint, operation text, status text, attempts bigint,
               result jsonb, rejection jsonb, error text, created_at timestamptz, finished_at timestamptz)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_dead_letters(options jsonb DEFAULT '{}')
RETURNS TABLE (message bigint, type text, key text, operation text, args jsonb, attempts bigint, error text,
               created_at timestamptz, finished_at timestamptz, replacement bigint)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

-- External workers
CREATE FUNCTION so_claim(worker text, options jsonb DEFAULT '{}')
RETURNS TABLE (claim text, message bigint, type text, key text, operation text, args jsonb, state jsonb,
               revision bigint, attempt bigint, expires_at timestamptz)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_renew(claim text, lease_ms bigint DEFAULT NULL) RETURNS timestamptz
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_commit(claim text, outcome jsonb DEFAULT '{}') RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_reject(claim text, code text, message text DEFAULT NULL, details jsonb DEFAULT NULL) RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_fail(claim text, error text DEFAULT NULL, options jsonb DEFAULT '{}') RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_release(claim text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

-- Administration
CREATE FUNCTION so_cancel(message bigint) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_retry(message bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_pause(type text, key text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_resume(type text, key text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_destroy(type text, key text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_tick(options jsonb DEFAULT '{}') RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

-- The shorthands of a handler
CREATE FUNCTION so_self() RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
CREATE FUNCTION so_get(member text) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
CREATE FUNCTION so_set(member text, value "any") RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_unset(member text) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_members(prefix text DEFAULT '') RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
CREATE FUNCTION so_tell(type text, key text, operation text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
CREATE FUNCTION so_raise(code text, message text DEFAULT NULL, details jsonb DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN
        SELECT d.objid::regprocedure
        FROM pg_catalog.pg_depend d
        JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'solidobj'
        WHERE d.refclassid = 'pg_catalog.pg_extension'::regclass
              AND d.classid = 'pg_catalog.pg_proc'::regclass
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END
$$;
