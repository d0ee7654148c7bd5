-- How many messages one external worker claims and commits per second. From the top of the tree, after `make`:
--
--     sqlite3 -cmd '.load build/solidobj' bench.db < sql/bench/claim_commit.sql
--
-- -cmd '.parameter set :n 1000' takes another number than 10000; with -cmd 'PRAGMA synchronous = NORMAL' no commit waits
-- for the disk. It begins by destroying the actors of an earlier run. It makes and removes bench_statements.sql and
-- bench_hundreds.sql in the current directory.
--
-- What to expect (a machine of 2020 or later): a worker that does nothing with a message is limited by SQLite alone:
--   one transaction   around 10000: a claim for each message, but one commit for all
--   100 per claim     100 actors per so_claim, then a commit for each message: around 10000 with synchronous = NORMAL (1). With
--                     FULL (2), the default, as often as the disk syncs: hundreds to thousands
--   1 per claim       two commits for each message, the claim's and the outcome's: some 6000 with NORMAL, with FULL half of what the
--                     disk syncs
.bail on
.mode list
.headers off
.output /dev/null
PRAGMA journal_mode = WAL;
SELECT so_install();
SELECT so_define_actor('ClaimBench', '{"max_mailbox": 1000000000}');
SELECT so_define_operation('ClaimBench', 'work', NULL);
WITH RECURSIVE i(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM i WHERE i < 99)
SELECT so_destroy('ClaimBench', 'k' || i) FROM i;
.once bench_statements.sql
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT 'SELECT so_commit(so_claim(''bench'', ''{"types": ["ClaimBench"]}'') -> 0 ->> ''claim'');' FROM i;
.once bench_hundreds.sql
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 100 FROM i WHERE i + 100 <= coalesce(:n, 10000))
SELECT 'SELECT count(so_commit(value ->> ''claim'')) '
       || 'FROM json_each(so_claim(''bench'', ''{"types": ["ClaimBench"], "max": 100}''));' FROM i;
.output /dev/null
CREATE TEMP TABLE mark(way TEXT, at REAL);

INSERT INTO mark VALUES ('start', julianday('now'));
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'ClaimBench', 'key', 'k' || (i % 100), 'operation', 'work'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
BEGIN IMMEDIATE;
.read bench_statements.sql
COMMIT;
INSERT INTO mark VALUES ('one transaction', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'ClaimBench', 'key', 'k' || (i % 100), 'operation', 'work'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
.read bench_hundreds.sql
INSERT INTO mark VALUES ('100 per claim', julianday('now'));

WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < coalesce(:n, 10000))
SELECT so_send_batch(json_group_array(json_object('type', 'ClaimBench', 'key', 'k' || (i % 100), 'operation', 'work'))) FROM i;
INSERT INTO mark VALUES ('', julianday('now'));
.read bench_statements.sql
INSERT INTO mark VALUES ('1 per claim', julianday('now'));
.system rm bench_statements.sql bench_hundreds.sql
.output
.mode column
.headers on
SELECT way, coalesce(:n, 10000) AS messages, synchronous,
       CAST(coalesce(:n, 10000) / max((at - before) * 86400, 0.001) AS INTEGER) AS per_second
FROM (SELECT way, at, lag(at) OVER (ORDER BY rowid) AS before FROM mark), pragma_synchronous
WHERE before IS NOT NULL AND way <> '';
