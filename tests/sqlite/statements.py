#!/usr/bin/python3
"""Inside statements that write: so_send works as a part of them, whatever runs a turn is refused and changes nothing."""
# Cases: C22
from fixture import answer, call, check
from places import application, equal, everything, holds, refused

SEND = "so_send('T', '{0}', 'count')"
TURNS = ("so_call('T', '1', 'count')", "so_try('T', '1', 'count')", "so_run()", "so_ask('T', '1', 'count')",
         "so_claim('w')", "so_commit('{claim}')", "so_fail('{claim}', 'x')", "so_reject('{claim}', 'NO')",
         "so_release('{claim}')", "so_renew('{claim}')", "so_define_actor('U')",
         "so_define_operation('T', 'new', 'SELECT 1 AS result')", "so_install()", "so_wait({message}, 10)",
         "so_define_migration('T', 1, 'SELECT :state AS state')", "so_drop_operation('T', 'write')", "so_drop_actor('Unused')",
         "so_send_batch('[{\"type\":\"T\",\"key\":\"1\",\"operation\":\"count\"}]')", "so_cancel({waiting})", "so_retry({dead})",
         "so_pause('T', '1')", "so_resume('T', '1')", "so_destroy('T', 'there')", "so_tick()")
READS = ("so_snapshot('T', 'there') ->> '$.state.n'", "so_status({done}) ->> 'status'", "so_result({done})",
         "so_next_due()", "so_types() ->> '$[0].type'", "so_query('T', 'there', 'peek')",
         "so_version() ->> 'schema' > 0")
# How a function gets under a statement that writes.
WRITERS = {
    "INSERT SELECT": "INSERT INTO t SELECT {0}",
    "INSERT VALUES": "INSERT INTO t VALUES ({0})",
    "UPDATE": "UPDATE t SET x = {0}",
    "UPDATE FROM": "UPDATE t SET x = s.v FROM (SELECT {0} AS v) s",
    "DELETE WHERE": "DELETE FROM t WHERE x = {0}",
    "INSERT RETURNING": "INSERT INTO t VALUES (5) RETURNING {0}",
    "UPDATE RETURNING": "UPDATE t SET x = 6 RETURNING {0}",
    "DELETE RETURNING": "DELETE FROM t RETURNING {0}",
    "UPSERT": "INSERT INTO u VALUES (1, 1) ON CONFLICT(k) DO UPDATE SET v = {0}",
    "WITH INSERT": "WITH c(v) AS (SELECT {0}) INSERT INTO t SELECT v FROM c",
    "CREATE TABLE AS": "CREATE TABLE fresh AS SELECT {0} AS x",
    "TEMP table": "INSERT INTO temp.scratch SELECT {0}",
    "temporary trigger": "INSERT INTO triggered VALUES ('{0}')",
}


def fill(text, names):
    for name, value in names.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def trigger(c, expression):
    c.execute("DROP TRIGGER IF EXISTS temp.fires")
    c.execute(f"CREATE TEMP TRIGGER fires AFTER INSERT ON main.triggered BEGIN SELECT {expression}; END")


def statement(c, name, expression):
    if name == "temporary trigger":
        trigger(c, expression)
        return "INSERT INTO triggered VALUES (1)"
    return WRITERS[name].format(expression)


def turns_are_refused(c, names, begin):
    for writer in WRITERS:
        for expression in TURNS:
            before = everything(c)
            if begin:
                c.execute(begin)
            sql = statement(c, writer, fill(expression, names))
            waits = expression.startswith(("so_ask", "so_wait", "so_run"))
            refused(c, sql, ("SO_INSIDE_TRANSACTION" if begin and waits else "SO_INSIDE_STATEMENT"))
            equal(c.in_transaction, bool(begin), f"{begin} {sql}: a transaction is open")
            if begin:
                c.execute("ROLLBACK")
            equal(everything(c), before, f"what {begin} {sql} left")


def reads_work(c, names):
    expected = ["1", "completed", "1", "0", "T", "1", "1", "None", "1", "1", "1", "1"]
    for writer in WRITERS:
        for expression, value in zip(READS, expected):
            c.execute("BEGIN")
            sql = statement(c, writer, fill(expression, names))
            try:
                c.execute(sql).fetchall()
            except Exception as error:
                check(False, f"{sql}: {error}")
            if writer == "INSERT SELECT":
                equal(str(call(c, "SELECT max(rowid), x FROM t") and call(c, "SELECT x FROM t ORDER BY rowid DESC")), value, sql)
            c.execute("ROLLBACK")


def sends_work(c):
    """In each place so_send is a part of the statement: there after it, gone with it."""
    for number, writer in enumerate(WRITERS):
        for begin in (None, "BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "SAVEPOINT s"):
            before = call(c, "SELECT count(*) FROM solidobj_messages_view")
            c.execute("DELETE FROM t")
            c.execute("INSERT INTO t VALUES (0)")
            c.execute("DROP TABLE IF EXISTS fresh")
            if begin:
                c.execute(begin)
            sql = statement(c, writer, SEND.format(f"s{number}"))
            rows = c.execute(sql).fetchall()
            sent = call(c, "SELECT max(message) FROM solidobj_messages_view")
            if writer.endswith("RETURNING"):
                equal(rows, [(sent,)], f"{sql}: its answer")
            if writer in ("INSERT SELECT", "INSERT VALUES", "UPDATE", "UPDATE FROM", "WITH INSERT"):
                equal(call(c, "SELECT x FROM t ORDER BY rowid DESC LIMIT 1"), sent, sql)
            equal(call(c, "SELECT count(*) FROM solidobj_messages_view"), before + 1, f"{begin} {sql}: messages")
            if begin == "SAVEPOINT s":
                c.execute("ROLLBACK TO s")
                c.execute("RELEASE s")
                equal(call(c, "SELECT count(*) FROM solidobj_messages_view"), before, f"{sql}: after ROLLBACK TO")
            elif begin:
                c.execute("COMMIT")
                equal(call(c, "SELECT count(*) FROM solidobj_messages_view"), before + 1, f"{begin} {sql}: committed")
            holds(c, f"{begin} {sql}")


def many_rows(c, begin):
    """A statement that sends more than the inbox may hold before somebody sorts it."""
    before = call(c, "SELECT count(*) FROM solidobj_messages_view")
    if begin:
        c.execute(begin)
    c.execute("CREATE TABLE many(id INTEGER PRIMARY KEY, message)")
    c.execute("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000) "
              "INSERT INTO many SELECT n, so_send('T', 'm' || (n % 7), 'count') FROM r")
    c.execute("UPDATE many SET message = so_send('T', 'm8', 'count') WHERE id <= 400")
    if begin:
        c.execute("COMMIT")
    equal(call(c, "SELECT count(*) FROM solidobj_messages_view"), before + 1400, f"{begin}: messages of large statements")
    equal(call(c, "SELECT count(DISTINCT message) FROM many"), 1000, f"{begin}: their ids")
    holds(c, f"{begin}: large statements")
    c.execute("DROP TABLE many")


def triggers(c):
    """Triggers of the file: an outbox. Every kind, nested, and one that takes its sending back."""
    c.executescript("""
        CREATE TABLE account(id INTEGER PRIMARY KEY, amount);
        CREATE VIEW debtor AS SELECT * FROM account WHERE amount < 0;
        CREATE TRIGGER b_insert BEFORE INSERT ON account BEGIN
            SELECT so_send('T', 'before', 'note', json_object('text', new.amount)); END;
        CREATE TRIGGER a_insert AFTER INSERT ON account BEGIN
            SELECT so_send('T', 'after', 'note', json_object('text', new.amount)); END;
        CREATE TRIGGER a_update AFTER UPDATE ON account WHEN new.amount = 13 BEGIN
            SELECT so_send('T', 'undone', 'note'); SELECT RAISE(ABORT, 'unlucky'); END;
        CREATE TRIGGER a_delete AFTER DELETE ON account BEGIN
            INSERT INTO account VALUES (old.id + 100, old.amount); END;
        CREATE TRIGGER instead INSTEAD OF INSERT ON debtor BEGIN
            INSERT INTO account VALUES (new.id, new.amount);
            SELECT so_send('T', 'instead', 'note', json_object('text', new.amount)); END;
    """)
    c.execute("INSERT INTO account VALUES (1, 10), (2, 20)")
    c.execute("INSERT INTO debtor VALUES (3, -30)")
    c.execute("DELETE FROM account WHERE id = 1")
    refused(c, "UPDATE account SET amount = 13 WHERE id = 2", "unlucky")
    c.execute("BEGIN")
    c.execute("INSERT INTO account VALUES (4, 40)")
    refused(c, "UPDATE account SET amount = 13 WHERE id = 4", "unlucky")
    c.execute("ROLLBACK")
    sent = c.execute("SELECT key, count(*) FROM solidobj_mailbox_view "
                     "WHERE key IN ('before', 'after', 'undone', 'instead') GROUP BY key").fetchall()
    equal(sent, [("after", 4), ("before", 4), ("instead", 1)], "what triggers sent")
    c.execute("CREATE TRIGGER turn AFTER INSERT ON t BEGIN SELECT so_call('T', '1', 'count'); END")
    before = everything(c)
    refused(c, "INSERT INTO t VALUES (9)", "unsafe use of so_call()")
    equal(everything(c), before, "after a refused trigger")
    c.execute("DROP TRIGGER turn")
    holds(c, "triggers")


def cursors(c, database):
    """While a cursor is half read: a reading one leaves everything but waiting, a writing one only sending."""
    c.execute("DELETE FROM t")
    c.execute("INSERT INTO t VALUES (1), (2), (3)")
    reading = c.execute("SELECT x FROM t")
    reading.fetchone()
    n = int(call(c, "SELECT so_call('T', 'cursor', 'count')"))
    equal(int(call(c, "SELECT so_call('T', 'cursor', 'count')")), n + 1, "a second call beside an open cursor")
    message = call(c, "SELECT so_send('T', 'cursor', 'outside')")
    claims = answer(c, """SELECT so_claim('w', '{"operations": ["outside"], "max": 50}')""")
    (claim,) = [row["claim"] for row in claims if row["message"] == message]
    call(c, "SELECT so_commit(?, '{\"result\": 7}')", claim)
    equal(call(c, "SELECT so_result(?)", message), "7", "a commit beside an open cursor")
    for row in claims:
        if row["message"] != message:
            call(c, "SELECT so_release(?)", row["claim"])
    for waiting in ("so_ask('T', 'cursor', 'count')", f"so_wait({message})", "so_run()",
                    """so_claim('w', '{"wait_ms": 10}')"""):
        refused(c, f"SELECT {waiting}", "SO_INSIDE_TRANSACTION")
    equal(reading.fetchall(), [(2,), (3,)], "the rest of the cursor")

    before = everything(c)
    writing = c.execute("UPDATE t SET x = x + 10 RETURNING x")
    writing.fetchone()
    refused(c, "SELECT so_call('T', 'cursor', 'count')", "SO_INSIDE_STATEMENT")
    refused(c, "SELECT so_claim('w')", "SO_INSIDE_STATEMENT")
    message = call(c, "SELECT so_send('T', 'returning', 'count')")
    equal(writing.fetchall(), [(12,), (13,)], "the rest of RETURNING")
    writing.close()
    other = database.connect()
    equal(answer(other, "SELECT so_status(?)", message)["status"], "waiting", "a message sent beside RETURNING")
    other.close()
    equal(len(everything(c)["solidobj_message"]), len(before["solidobj_message"]) + 1, "messages")
    holds(c, "cursors")


def rowid(c):
    """The order's id is still the last one, after each function."""
    c.execute("INSERT INTO note VALUES (77, 'order', 'x')")
    c.execute("DELETE FROM note WHERE id = 77")
    call(c, "SELECT so_send('T', 'rowid', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    calls = ["so_send('T', 'r', 'count')", "so_call('T', 'r', 'count')", "so_call('T', 'r', 'note')",
             "so_try('T', 'r', 'refuse')", "so_run()", "so_ask('T', 'r', 'note')", "so_query('T', 'r', 'peek')",
             "so_send('T', 'r', 'outside')", "so_claim('w')", f"so_renew('{claim}')", f"so_commit('{claim}')",
             "so_snapshot('T', 'r')", "so_types()", "so_next_due()", "so_define_actor('V')",
             "so_define_operation('V', 'x', NULL)", "so_install()", "so_version()", "so_tick()",
             "so_send_batch('[{\"type\":\"T\",\"key\":\"r2\",\"operation\":\"count\"}]')", "so_pause('T', 'r2')", "so_resume('T', 'r2')",
             "so_destroy('T', 'r2')", "so_drop_operation('V', 'x')", "so_drop_actor('V')", "so_history('T', 'there')", "so_stats()"]
    for text in calls:
        c.execute(f"SELECT {text}").fetchall()
        equal(call(c, "SELECT last_insert_rowid()"), 77, f"last_insert_rowid() after {text}")
    refused(c, "SELECT so_call('T', 'broken', 'break')", "SO_FAILED")
    equal(call(c, "SELECT last_insert_rowid()"), 77, "last_insert_rowid() after a call that failed")
    c.execute("INSERT INTO t SELECT so_send('T', 'r', 'count')")
    equal(call(c, "SELECT last_insert_rowid()"), call(c, "SELECT max(rowid) FROM t"), "last_insert_rowid() of a statement that sends")


def main():
    database, c = application()
    call(c, """SELECT so_define_operation('T', 'peek', 'SELECT so_get(''n'') AS result', '{"query": true}')""")
    c.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (0); CREATE TABLE u(k PRIMARY KEY, v);"
                    "INSERT INTO u VALUES (1, 0); CREATE TABLE triggered(x); CREATE TEMP TABLE scratch(x);")
    call(c, "SELECT so_call('T', 'there', 'count')")
    done = call(c, "SELECT max(message) FROM solidobj_messages_view")
    message = call(c, "SELECT so_send('T', 'claimed', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    waiting = call(c, "SELECT so_send('T', '1', 'count')")
    call(c, "SELECT so_define_actor('Unused')")
    dead = call(c, "SELECT so_send('T', 'dead', 'outside', NULL, '{\"max_attempts\": 1}')")
    call(c, "SELECT so_fail(?, 'x')", answer(c, "SELECT so_claim('w')")[0]["claim"])
    names = {"waiting": waiting, "dead": dead, "claim": claim, "message": message, "done": done}
    for begin in (None, "BEGIN", "BEGIN IMMEDIATE"):
        turns_are_refused(c, names, begin)
    reads_work(c, names)
    sends_work(c)
    for begin in (None, "BEGIN"):
        many_rows(c, begin)
    triggers(c)
    cursors(c, database)
    rowid(c)
    call(c, "SELECT so_run()")
    left = c.execute("SELECT DISTINCT key FROM solidobj_mailbox_view").fetchall()
    equal(left, [("claimed",), ("r",)], "what so_run() leaves: the external ones")
    holds(c, "in the end")
    c.close()
    database.close()


main()
