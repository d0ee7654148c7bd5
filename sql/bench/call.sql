-- How many turns one connection runs per second with so_call. From the top of the tree, after `make`:
--
--     sqlite3 -cmd '.load build/solidobj' bench.db < sql/bench/call.sql
--
-- -cmd '.parameter set :n 1000' takes another number than 10000; with -cmd 'PRAGMA synchronous = NORMAL' no commit waits
-- for the disk. It begins by destroying the actors of an earlier run. It makes and removes bench_statements.sql in the
-- current directory.
--
-- What to expect (a machine of 2020 or later), with a handler of one statement and a hundred actors in turn:
--   one transaction   20000 and more: the turns themselves, with one commit for all
--   one statement     a commit for each call. Around 10000 with synchronous = NORMAL (1): pages are written to the log. With
--                     FULL (2), the default, as often as the disk syncs: hundreds to thousands. Only while nobody else writes: one
--                     statement holds one snapshot, and as soon as somebody else has committed it ends with SQLITE_BUSY
--   many statements   what an application does, a statement and a commit for each call: as the row above, less some parsing
.bail on
.mode list
.headers off
.output /dev/null
PRAGMA journal_mode = WAL;
SELECT so_install();
SELECT so_define_actor('CallBench');
SELECT so_define_operation('CallBench', 'add', 'SELECT so_set(''count'', coalesce(so_get(''count''), 0) + 1)');
WITH RECURSIVE i(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM i WHERE i < 99)
SELECT so_destroy('CallBench', 'k' || i) FROM i;
.once bench_statements.sql
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT 'SELECT so_call(''CallBench'', ''k' || (i % 100) || ''', ''add'');' FROM i;
.output /dev/null
CREATE TEMP TABLE mark(way TEXT, at REAL);

INSERT INTO mark VALUES ('start', julianday('now'));
BEGIN IMMEDIATE;
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT count(so_call('CallBench', 'k' || (i % 100), 'add')) FROM i;
COMMIT;
INSERT INTO mark VALUES ('one transaction', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT count(so_call('CallBench', 'k' || (i % 100), 'add')) FROM i;
INSERT INTO mark VALUES ('one statement', julianday('now'));

.read bench_statements.sql
INSERT INTO mark VALUES ('many statements', julianday('now'));
.system rm bench_statements.sql
.output
.mode column
.headers on
SELECT way, coalesce(:n, 10000) AS calls, synchronous,
       CAST(coalesce(:n, 10000) / max((at - before) * 86400, 0.001) AS INTEGER) AS per_second
FROM (SELECT way, at, lag(at) OVER (ORDER BY rowid) AS before FROM mark), pragma_synchronous
WHERE before IS NOT NULL;
