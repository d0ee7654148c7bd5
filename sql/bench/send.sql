-- How many messages one connection sends per second. From the top of the tree, after `make`:
--
--     sqlite3 -cmd '.load build/solidobj' bench.db < sql/bench/send.sql
--
-- -cmd '.parameter set :n 1000' takes another number than 10000; with -cmd 'PRAGMA synchronous = NORMAL' no commit waits
-- for the disk. It begins by destroying the actors of an earlier run. It makes and removes bench_statements.sql in the
-- current directory.
--
-- What to expect (a machine of 2020 or later):
--   one transaction   50000 and more: the work itself, with one commit for all
--   one batch         the same with so_send_batch: one JSON array is made and read
--   one statement     a commit for each message. 10000 to 20000 with synchronous = NORMAL (1): pages are written to the log. With
--                     FULL (2), the default, as often as the disk syncs: hundreds to thousands. Only while nobody else writes: one
--                     statement holds one snapshot, and as soon as somebody else has committed it ends with SQLITE_BUSY
--   many statements   what an application does, a statement and a commit for each message: as the row above, less some parsing
.bail on
.mode list
.headers off
.output /dev/null
PRAGMA journal_mode = WAL;
SELECT so_install();
SELECT so_define_actor('SendBench', '{"max_mailbox": 1000000000}');
SELECT so_define_operation('SendBench', 'add', 'SELECT so_set(''count'', coalesce(so_get(''count''), 0) + 1)');
WITH RECURSIVE i(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM i WHERE i < 99)
SELECT so_destroy('SendBench', 'k' || i) FROM i;
.once bench_statements.sql
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT 'SELECT so_send(''SendBench'', ''k' || (i % 100) || ''', ''add'');' FROM i;
.output /dev/null
CREATE TEMP TABLE mark(way TEXT, at REAL);

INSERT INTO mark VALUES ('start', julianday('now'));
BEGIN IMMEDIATE;
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT count(so_send('SendBench', 'k' || (i % 100), 'add')) FROM i;
COMMIT;
INSERT INTO mark VALUES ('one transaction', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'SendBench', 'key', 'k' || (i % 100), 'operation', 'add'))) FROM i;
INSERT INTO mark VALUES ('one batch', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT count(so_send('SendBench', 'k' || (i % 100), 'add')) FROM i;
INSERT INTO mark VALUES ('one statement', julianday('now'));

.read bench_statements.sql
INSERT INTO mark VALUES ('many statements', julianday('now'));
.system rm bench_statements.sql
.output
.mode column
.headers on
SELECT way, coalesce(:n, 10000) AS messages, synchronous,
       CAST(coalesce(:n, 10000) / max((at - before) * 86400, 0.001) AS INTEGER) AS per_second
FROM (SELECT way, at, lag(at) OVER (ORDER BY rowid) AS before FROM mark), pragma_synchronous
WHERE before IS NOT NULL;
