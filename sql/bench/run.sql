-- How many sent messages one connection works off per second with so_run. From the top of the tree, after `make`:
--
--     sqlite3 -cmd '.load build/solidobj' bench.db < sql/bench/run.sql
--
-- -cmd '.parameter set :n 1000' takes another number than 10000; with -cmd 'PRAGMA synchronous = NORMAL' no commit waits
-- for the disk. It begins by destroying the actors of an earlier run.
--
-- What to expect (a machine of 2020 or later), with a handler of one statement and a hundred actors in turn:
--   batch 1000        20000 and more: the turns themselves, and a commit for a thousand of them
--   batch 32          what so_run does unless told otherwise: a little less with synchronous = NORMAL (1); with FULL (2), SQLite's
--                     default, at most 32 times as many as the disk syncs
--   batch 1           a commit for each turn: thousands with NORMAL, with FULL as often as the disk syncs, hundreds to thousands
.bail on
.mode list
.headers off
.output /dev/null
PRAGMA journal_mode = WAL;
SELECT so_install();
SELECT so_define_actor('RunBench', '{"max_mailbox": 1000000000}');
SELECT so_define_operation('RunBench', 'add', 'SELECT so_set(''count'', coalesce(so_get(''count''), 0) + 1)');
WITH RECURSIVE i(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM i WHERE i < 99)
SELECT so_destroy('RunBench', 'k' || i) FROM i;
CREATE TEMP TABLE mark(way TEXT, at REAL);

INSERT INTO mark VALUES ('start', julianday('now'));
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'RunBench', 'key', 'k' || (i % 100), 'operation', 'add'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
SELECT so_run('{"types": ["RunBench"], "batch": 1000}');
INSERT INTO mark VALUES ('batch 1000', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'RunBench', 'key', 'k' || (i % 100), 'operation', 'add'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
SELECT so_run('{"types": ["RunBench"], "batch": 32}');
INSERT INTO mark VALUES ('batch 32', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'RunBench', 'key', 'k' || (i % 100), 'operation', 'add'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
SELECT so_run('{"types": ["RunBench"], "batch": 1}');
INSERT INTO mark VALUES ('batch 1', julianday('now'));
.output
.mode column
.headers on
SELECT way, coalesce(:n, 10000) AS messages, synchronous,
       CAST(coalesce(:n, 10000) / max((at - before) * 86400, 0.001) AS INTEGER) AS per_second
FROM (SELECT way, at, lag(at) OVER (ORDER BY rowid) AS before FROM mark), pragma_synchronous
WHERE before IS NOT NULL AND way <> '';
