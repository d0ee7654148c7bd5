-- What is done while memory or files fail: every function of the product, each in a few of its uses. See scenario.h
-- for the lines with a point and for the columns "$x". Answers that differ between two runs (times, tokens) are kept
-- or reduced; each statement is repeated when a fault made it fail, and must then answer as it does without one.

.part setup
.open A
CREATE TABLE app(id INTEGER PRIMARY KEY, note TEXT);
CREATE TABLE payment(id INTEGER PRIMARY KEY, account TEXT, amount INTEGER);
SELECT so_install('{"test": true}') > 0;
SELECT so_version() ->> 'schema' > 0;
SELECT so_define_actor('Counter', '{"initial": {"n": 0}, "max_attempts": 2, "retry_base_ms": 1000}');
SELECT so_define_operation('Counter', 'add', '
    SELECT so_set(''n'', so_get(''n'') + coalesce(:args ->> ''by'', 1)) AS result');
SELECT so_define_operation('Counter', 'app', '
    INSERT INTO app(note) VALUES (:key || '' '' || :message);
    SELECT so_set(''n'', so_get(''n'') + 1);
    SELECT json_object(''count'', count(*)) AS result_json FROM app');
SELECT so_define_operation('Counter', 'fail', '
    INSERT INTO app(note) VALUES (''never'');
    SELECT so_set(''n'', json_extract(''{'', ''$''))');
SELECT so_define_operation('Counter', 'refuse', '
    INSERT INTO app(note) VALUES (''never'');
    SELECT so_raise(''NO'', ''not today'', json_object(''key'', :key))');
SELECT so_define_operation('Counter', 'columns', '
    SELECT json_object(''n'', (:state ->> ''n'') + 1, ''seen'', :attempt) AS patch, :key AS result,
        json_array(json_object(''type'', ''Counter'', ''key'', ''told'', ''operation'', ''add'')) AS tell');
SELECT so_define_operation('Counter', 'shorthands', '
    SELECT so_set(''item:'' || value, json_object(''value'', value)) FROM json_each(json(''[1, 2, 3]''));
    SELECT so_unset(''item:2'');
    SELECT so_tell(''Counter'', ''told'', ''add'', ''{"by": 2}'', ''{"max_attempts": 1}'');
    SELECT json_array(so_self() ->> ''operation'', json(so_members(''item:'')), so_get(''item:3'')) AS result_json');
SELECT so_define_operation('Counter', 'n', 'SELECT so_get(''n'') AS result', '{"query": true}');
SELECT so_define_operation('Counter', 'outside', NULL, '{"members": ["n"], "max_attempts": 3}');
SELECT so_define_actor('Store', '{"max_attempts": 3}');
SELECT so_define_operation('Store', 'put', '
    SELECT so_set(''large:'' || value, replace(hex(zeroblob(1500)), ''0'', ''x'')) FROM json_each(json(''[1, 2]''));
    SELECT so_set(''small'', coalesce(so_get(''small''), 0) + 1) AS result');
SELECT so_define_operation('Store', 'whole', '
    SELECT json_object(''small'', 0, ''large:1'', ''gone'') AS state, length(:state) AS result');
SELECT so_define_operation('Store', 'read', 'SELECT length(so_get(''large:1'')) AS result', '{"query": true}');
CREATE TRIGGER payment_arrives AFTER INSERT ON payment BEGIN
    SELECT so_send('Counter', new.account, 'add', json_object('by', new.amount));
END;
.close A

.part definitions
.open A
SELECT so_install() > 0;
SELECT so_version() ->> 'library';
SELECT so_define_actor('Counter', '{"initial": {"n": 1}, "lease_ms": 5000, "max_attempts": 2}');
SELECT so_define_operation('Counter', 'new', 'SELECT so_set(''n'', 5) AS result');
SELECT so_define_operation('Counter', 'wrong', 'SELECT nothing FROM nowhere');
SELECT so_define_operation('Counter', 'wrong', 'DROP TABLE app');
SELECT so_types();
SELECT type, json_array_length(operations) FROM so_types();
SELECT so_call('Counter', 'new', 'new');
SELECT count(*) > 0 FROM solidobj;

.part sending
.open A
SELECT so_send('Counter', 'a', 'add', '{"by": 3}');
SELECT so_send('Counter', 'a', 'app', NULL, '{"max_attempts": 1, "keep_result": true}') AS "$m";
SELECT so_send('Counter', 'b', 'add', '{}', '{"delay_ms": 60000}');
SELECT so_send('Counter', 'b', 'add', '{}', '{"at": "2020-01-01T00:00:00Z"}');
SELECT so_send('Counter', 'b', 'nothing');
SELECT so_status($m) ->> 'status', so_status($m) ->> 'reason';
INSERT INTO payment(account, amount) VALUES ('a', 5), ('c', 6);
INSERT INTO app(note) SELECT so_send('Counter', 'd', 'add') FROM (VALUES (1), (2)) RETURNING note;
BEGIN IMMEDIATE;
SELECT so_send('Counter', 'e', 'add');
INSERT INTO payment(account, amount) VALUES ('e', 1);
SAVEPOINT s;
SELECT so_send('Counter', 'e', 'add');
ROLLBACK TO s;
RELEASE s;
SELECT so_send('Counter', 'e', 'outside');
COMMIT;
BEGIN;
SELECT so_send('Counter', 'f', 'add');
INSERT INTO app(note) VALUES ('never');
ROLLBACK;
SELECT so_next_due('["Counter"]');
SELECT message, type, key, operation, status, attempts, error FROM solidobj_mailbox_view ORDER BY message;

.part calling
.open A
SELECT so_call('Counter', 'a', 'add', '{"by": 3}');
SELECT so_send('Counter', 'a', 'app');
SELECT so_send('Counter', 'a', 'refuse');
SELECT so_call('Counter', 'a', 'app', NULL, '{"timeout_ms": 0}');
SELECT so_call('Counter', 'a', 'columns');
SELECT so_call('Counter', 'a', 'shorthands');
SELECT so_call('Counter', 'a', 'fail');
SELECT so_call('Counter', 'a', 'refuse');
SELECT so_call('Counter', 'a', 'outside');
SELECT so_try('Counter', 'a', 'add');
SELECT so_try('Counter', 'a', 'refuse');
SELECT so_query('Counter', 'a', 'n');
SELECT so_snapshot('Counter', 'a') -> 'state';
BEGIN IMMEDIATE;
SELECT so_call('Counter', 'a', 'add');
SELECT so_call('Counter', 'b', 'app');
SELECT so_try('Counter', 'b', 'refuse');
SELECT so_call('Counter', 'b', 'fail');
SELECT so_send('Counter', 'b', 'add');
COMMIT;
SAVEPOINT outer;
SELECT so_call('Counter', 'c', 'app');
SELECT so_snapshot('Counter', 'c') ->> 'revision';
ROLLBACK TO outer;
SELECT so_call('Counter', 'c', 'add');
RELEASE outer;
SELECT type, key, revision, turns FROM solidobj_actors_view ORDER BY type, key;

.part large
.open A
SELECT so_call('Store', 's', 'put');
SELECT so_send('Store', 's', 'put');
SELECT so_call('Store', 's', 'put');
SELECT so_query('Store', 's', 'read');
SELECT length(so_snapshot('Store', 's') -> 'state');
SELECT so_call('Store', 's', 'whole');
SELECT so_snapshot('Store', 's') -> 'state';
SELECT so_call('Store', 's', 'put');

-- B is the worker; A sends.
.part running
.open A
.open B
.use A
SELECT so_send('Counter', 'a', 'add') AS "$first";
SELECT so_send('Counter', 'a', 'refuse') AS "$refused";
SELECT so_send('Counter', 'a', 'fail') AS "$failed";
SELECT so_send('Counter', 'a', 'add') AS "$behind";
SELECT so_send('Counter', 'b', 'app');
SELECT so_send('Counter', 'c', 'shorthands');
SELECT so_send('Store', 's', 'put');
SELECT so_send('Counter', 'd', 'columns', '{}', '{"delay_ms": 60000}');
.use B
SELECT so_run('{"types": ["Store"]}');
SELECT so_run('{"max_turns": 2, "batch": 1}');
SELECT so_run('{"wait_ms": 1, "until_idle": true}');
.use A
SELECT so_result($first);
SELECT so_result($refused);
SELECT so_result($behind);
SELECT so_status($failed) ->> 'status', so_status($failed) ->> 'attempts';
SELECT so_test_clock(61000) > 0;
.use B
SELECT so_run('{"wait_ms": 1}');
.use A
SELECT so_result($failed);
SELECT so_status($failed) ->> 'error';
SELECT json_array_length(so_history('Counter', 'a')), so_history('Counter', 'a', '{"limit": 1}') ->> '$[0].status';
SELECT json_array_length(so_dead_letters()), so_dead_letters('{"type": "Counter"}') ->> '$[0].error';
SELECT operation, status FROM so_history('Counter', 'a');
SELECT so_wait($behind, 0);
SELECT so_wait($failed, 0);
SELECT so_next_due();
.close B
.use A
SELECT key, operation, error FROM solidobj_dead_letters_view;
SELECT key, operation, status, attempts, turn, revision, result, error FROM solidobj_messages_view ORDER BY message;

.part claiming
.open A
.open B
.use A
SELECT so_send('Counter', 'a', 'outside', '{"number": 1}');
SELECT so_send('Counter', 'a', 'outside', '{"number": 2}');
SELECT so_send('Counter', 'a', 'outside', '{"number": 3}') AS "$third";
SELECT so_send('Counter', 'b', 'outside');
SELECT so_send('Counter', 'c', 'outside');
SELECT so_send('Counter', 'd', 'outside');
.use B
SELECT so_claim('w', '{"max": 1, "batch": 3, "operations": ["outside"], "lease_ms": 20000}') AS "$rows";
SELECT $rows ->> '$[0].claim' AS "$one", $rows ->> '$[1].claim' AS "$two", $rows ->> '$[2].claim' AS "$three";
SELECT $rows ->> '$[0].state', $rows ->> '$[1].args', json_array_length($rows);
SELECT so_renew($one) > '2020';
SELECT so_renew($one, 30000) > '2020';
SELECT so_commit($one, '{"patch": {"n": 7, "s": "x"}, "result": [1],
    "tell": [{"type": "Counter", "key": "told", "operation": "add"}]}');
SELECT so_commit($one);
SELECT so_reject($two, 'NO', 'not this one', '{"why": 1}');
SELECT so_release($three);
SELECT so_fail($three);
SELECT so_claim('w', '{"types": ["Counter"], "max": 2, "wait_ms": 1}') AS "$rows";
SELECT $rows ->> '$[0].claim' AS "$one", $rows ->> '$[1].claim' AS "$two";
BEGIN IMMEDIATE;
SELECT so_fail($one, 'broken', '{"delay_ms": 0}');
SELECT so_fail($two, 'broken for good', '{"retry": false}');
COMMIT;
SELECT so_claim('v', '{"max": 9}') AS "$rows";
SELECT $rows ->> '$[0].claim' AS "$one", $rows ->> '$[1].claim' AS "$two";
SELECT so_commit($one, '{"state": {"n": 1}}');
.use A
-- The lease runs out: the claim is lost, the attempt counts.
SELECT so_test_clock(60000) > 0;
SELECT so_claim('u', '{"max": 1}') AS "$rows";
SELECT $rows ->> '$[0].claim' AS "$late", $rows ->> '$[0].key', $rows ->> '$[0].attempt';
.use B
SELECT so_commit($two) AS "$lost";
.use A
SELECT so_commit($late);
SELECT so_status($third) ->> 'attempts';
SELECT key, operation, status, attempts, turn, revision, result, error FROM solidobj_messages_view ORDER BY message;

-- A call that failed may have sent its message, and the table form may have claimed.
.part asking twice
.open A
SELECT so_ask('Counter', 'a', 'columns');
SELECT so_ask('Counter', 'a', 'refuse');
SELECT so_ask('Counter', 'a', 'outside', '{}', '{"timeout_ms": 0}') LIKE 'never';
SELECT so_send('Counter', 'b', 'columns') AS "$m";
SELECT so_wait($m, 100);
SELECT operation, attempt FROM so_claim('u');

-- Closed in the middle of a transaction: nothing of it is left.
.part closing
.open A
SELECT so_call('Counter', 'a', 'add');
.open B
SELECT so_send('Counter', 'a', 'add');
BEGIN IMMEDIATE;
SELECT so_call('Counter', 'a', 'add');
SELECT so_send('Counter', 'a', 'app');
.close B
.use A
SELECT so_run();
SELECT so_snapshot('Counter', 'a') -> 'state';

-- Keys make a repeated call the first one; batches are sent whole.
.part keys
.open A
SELECT so_send('Counter', 'a', 'add', '{"by": 2}', '{"idempotency_key": "k"}') AS "$m";
SELECT so_send('Counter', 'a', 'add', '{"by": 2}', '{"idempotency_key": "k"}') = $m;
SELECT so_send('Counter', 'a', 'add', '{"by": 3}', '{"idempotency_key": "k"}');
SELECT so_find('Counter', 'a', 'k') = $m;
SELECT so_call('Counter', 'a', 'add', '{"by": 4}', '{"idempotency_key": "c"}');
SELECT so_call('Counter', 'a', 'add', '{"by": 4}', '{"idempotency_key": "c"}');
SELECT so_try('Counter', 'a', 'refuse', '{}', '{"idempotency_key": "r"}');
SELECT so_try('Counter', 'a', 'refuse', '{}', '{"idempotency_key": "r"}');
SELECT so_ask('Counter', 'a', 'add', '{"by": 5}', '{"idempotency_key": "asked"}');
SELECT so_send_batch('[{"type": "Counter", "key": "a", "operation": "add"},
    {"type": "Counter", "key": "b", "operation": "app", "args": {"x": 1}, "options": {"idempotency_key": "b"}},
    {"type": "Counter", "key": "b", "operation": "add", "options": {"delay_ms": 1000}}]') AS "$batch";
SELECT so_send_batch('[{"type": "Counter", "key": "a", "operation": "add"},
    {"type": "Counter", "key": "b", "operation": "nothing"}]');
SELECT json_array_length($batch), $batch ->> '$[1]' = so_find('Counter', 'b', 'b');
SELECT so_send('Counter', 'a', 'add', '{}', '{"if_exists": true}') > 0;
SELECT so_send('Counter', 'nobody', 'add', '{}', '{"if_exists": true}');
SELECT so_snapshot('Counter', 'a') ->> 'incarnation' AS "$life";
SELECT so_send('Counter', 'a', 'add', '{}', json_object('incarnation', $life)) > 0;
SELECT so_send('Counter', 'a', 'add', '{}', json_object('incarnation', $life + 1));
SELECT so_run();
SELECT key, operation, status, attempts, turn, revision, result, error FROM solidobj_messages_view ORDER BY message;

-- Whoever looks after the mailboxes.
.part managing
.open A
SELECT so_define_operation('Counter', 'leave', 'SELECT 1 AS destroy, so_get(''n'') AS result');
SELECT so_send('Counter', 'a', 'add') AS "$one";
SELECT so_send('Counter', 'a', 'outside') AS "$two";
SELECT so_send('Counter', 'a', 'add', '{}', '{"delay_ms": 5000}') AS "$three";
SELECT so_cancel($two);
SELECT so_cancel($two);
SELECT so_pause('Counter', 'a');
SELECT so_run();
SELECT so_resume('Counter', 'a');
SELECT so_run();
SELECT so_status($one) ->> 'status', so_status($two) ->> 'status', so_status($three) ->> 'status';
SELECT so_send('Counter', 'b', 'fail', '{}', '{"max_attempts": 1}') AS "$dead";
SELECT so_run();
SELECT so_retry($dead) AS "$again";
SELECT so_retry($dead) = $again, so_status($again) ->> 'status';
SELECT so_call('Store', 's', 'put');
SELECT so_send('Store', 's', 'put');
SELECT so_destroy('Store', 's');
SELECT so_destroy('Store', 's');
SELECT so_snapshot('Store', 's');
SELECT so_send('Counter', 'c', 'outside');
SELECT so_claim('w', '{"lease_ms": 1000}') AS "$rows";
SELECT so_test_clock(6000) > 0;
SELECT so_tick() <> '';
SELECT so_pause('Counter', 'nobody');
SELECT so_actor('Counter', 'nobody') ->> 'exists', so_actor('Counter', 'a') ->> 'turns';
SELECT so_stats('Counter') ->> '$[0].type', json_array_length(so_stats());
SELECT so_call('Counter', 'd', 'add');
SELECT so_call('Counter', 'd', 'leave');
SELECT so_send('Counter', 'c', 'add');
BEGIN IMMEDIATE;
SELECT so_destroy('Counter', 'c');
SELECT so_cancel($again);
COMMIT;
SELECT type, key, operation, status, attempts, turn, result, error FROM solidobj_messages_view ORDER BY message;
SELECT type, key, revision, turns FROM solidobj_actors_view ORDER BY type, key;

-- The state's shape changes; types and operations go. Finished messages of Brief leave no row.
.part changing
.open A
SELECT so_define_actor('Brief', '{"history": "none", "max_attempts": 1}');
SELECT so_define_operation('Brief', 'add', 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result');
SELECT so_call('Brief', 'a', 'add');
SELECT so_send('Brief', 'a', 'add');
SELECT so_send('Brief', 'b', 'add', '{}', '{"keep_result": true}') AS "$kept";
SELECT so_run();
SELECT so_result($kept);
SELECT so_define_migration('Brief', 1, 'SELECT json_object(''total'', :state ->> ''n'') AS state');
SELECT so_define_actor('Brief', '{"history": "none", "state_version": 2}');
SELECT so_define_operation('Brief', 'add', 'SELECT so_set(''total'', coalesce(so_get(''total''), 0) + 10) AS result');
SELECT so_define_operation('Brief', 'total', 'SELECT so_get(''total'') AS result', '{"query": true}');
SELECT so_query('Brief', 'a', 'total');
SELECT so_call('Brief', 'a', 'add');
SELECT so_send('Brief', 'b', 'add');
SELECT so_drop_operation('Brief', 'add');
SELECT so_run();
SELECT so_snapshot('Brief', 'b') -> 'state';
SELECT so_drop_operation('Brief', 'total');
SELECT so_drop_actor('Brief');
SELECT so_destroy('Brief', 'a');
SELECT so_destroy('Brief', 'b');
SELECT so_drop_actor('Brief');
SELECT so_drop_actor('Brief');
SELECT count(*) FROM so_types();
