-- The floor: the least that a correct hand-written program does for one operation on one counter in SQLite.
-- The load generator measures it beside every cell, with the same clients, layout and durability, every statement
-- prepared once per connection, busy_timeout 10 s. It is pinned: a change here makes earlier ratios incomparable.
-- Each block begins with its name; comments and blank lines are left out when a block is used.

-- name: schema
-- One row of JSON state per actor, and one history row per operation. The history is only appended to: an index that
-- finds an actor's rows would be useful, but it is more than the least.
CREATE TABLE floor_state (
    type  TEXT NOT NULL,
    key   TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (type, key)
);
CREATE TABLE floor_history (
    id        INTEGER PRIMARY KEY,
    type      TEXT NOT NULL,
    key       TEXT NOT NULL,
    operation TEXT NOT NULL,
    result    TEXT NOT NULL
);

-- name: start
-- A warm actor exists before the first operation; it has no history.
INSERT INTO floor_state (type, key, state)
VALUES ('Counter', ?1, '{"count":0}');

-- name: begin
-- The write lock first: reading first and writing later in one transaction fails when somebody else wrote in between.
BEGIN IMMEDIATE;

-- name: upsert
-- Creates or changes the one row, and gives back the new count, which is the operation's result.
INSERT INTO floor_state (type, key, state)
VALUES ('Counter', ?1, '{"count":1}')
ON CONFLICT (type, key) DO UPDATE
SET state = json_set(state, '$.count', json_extract(state, '$.count') + 1)
RETURNING json_extract(state, '$.count');

-- name: history
-- The record that the operation took place, with its result.
INSERT INTO floor_history (type, key, operation, result)
VALUES ('Counter', ?1, 'increment', ?2);

-- name: commit
COMMIT;

-- name: count
-- Verification, outside the measured time: one actor's counter.
SELECT json_extract(state, '$.count')
FROM floor_state
WHERE type = 'Counter'
  AND key = ?1;

-- name: tally
-- Verification: all history rows, all actors.
SELECT (SELECT count(*) FROM floor_history),
       (SELECT count(*) FROM floor_state);

-- name: results
-- Verification: the history of every actor that has one. An actor counted n times has the results 1 to n, each once.
SELECT key,
       count(*),
       count(DISTINCT result),
       min(CAST(result AS INTEGER)),
       max(CAST(result AS INTEGER))
FROM floor_history
WHERE type = 'Counter'
GROUP BY key;
