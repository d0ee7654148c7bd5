#!/usr/bin/python3
"""
What a worker must not do: starve a type behind timed messages of others, grow while it waits, count a dead turn twice,
stop at a handler that meets an error of another database; and what late and repeated settling answers.
"""
import os
import resource
import sqlite3
import threading
import time

from fixture import Database, answer, call, check


def code_of(error):
    return str(error).split(":", 1)[0]


def starving(c):
    call(c, "SELECT so_define_actor('Many', '{}')")
    call(c, "SELECT so_define_actor('One', '{}')")
    for name in ("Many", "One"):
        call(c, "SELECT so_define_operation(?, 'go', 'SELECT 1 AS result')", name)
    c.execute("BEGIN")
    for i in range(1100):
        call(c, """SELECT so_send('Many', ?, 'go', '{}', '{"delay_ms": 1000}')""", str(i))
    call(c, """SELECT so_send('One', '1', 'go', '{}', '{"delay_ms": 2000}')""")
    c.execute("COMMIT")
    call(c, "SELECT so_test_clock(5000)")
    check(answer(c, """SELECT so_run('{"types": ["One"]}')""")["turns"] == 1, "a type starves behind another's messages")
    call(c, """SELECT so_run('{"types": ["Many"]}')""")


def counting(c):
    call(c, """SELECT so_define_actor('Dies', '{"max_attempts": 1}')""")
    call(c, "SELECT so_define_operation('Dies', 'go', 'SELECT json(''{'') AS result')")
    for i in range(10):
        call(c, "SELECT so_send('Dies', ?, 'go')", str(i))
    run = answer(c, """SELECT so_run('{"max_turns": 10, "batch": 1}')""")
    check(run["turns"] == 10 and run["dead"] == 10, f"10 turns that die: {run}")


def other_database(database, c):
    other = os.path.join(database.directory, "other.db")
    sqlite3.connect(other).execute("CREATE TABLE t(x)").connection.close()
    c.execute("ATTACH ? AS other", (f"file:{other}?mode=ro",))
    call(c, """SELECT so_define_actor('Poor', '{"max_attempts": 1}')""")
    call(c, "SELECT so_define_operation('Poor', 'bad', 'INSERT INTO other.t VALUES (1)')")
    call(c, "SELECT so_define_operation('Poor', 'good', 'SELECT 1 AS result')")
    bad = call(c, "SELECT so_send('Poor', '1', 'bad')")
    good = call(c, "SELECT so_send('Poor', '2', 'good')")
    call(c, "SELECT so_run()")
    states = [answer(c, "SELECT so_status(?)", message)["status"] for message in (bad, good)]
    check(states == ["dead", "completed"], f"a handler that cannot write elsewhere: {states}")


def settling(c):
    call(c, """SELECT so_define_actor('Ext', '{"lease_ms": 1000}')""")
    call(c, "SELECT so_define_operation('Ext', 'go', NULL)")
    for _ in range(3):
        call(c, "SELECT so_send('Ext', '1', 'go')")
    claims = [row["claim"] for row in answer(c, """SELECT so_claim('w', '{"batch": 3}')""")]
    check(call(c, "SELECT so_release(?)", claims[1]) == 1, "release")
    check(call(c, "SELECT so_release(?)", claims[1]) == 1, "a repeated release by another claim of the batch")
    late = answer(c, "SELECT so_claim('w')")[0]["claim"]
    call(c, "SELECT so_test_clock(2000)")
    call(c, "SELECT so_run()")
    call(c, "SELECT so_claim('v', '{\"types\": [\"One\"]}')")
    try:
        call(c, "SELECT so_fail(?, 'late')", late)
        check(False, "a late failure was accepted")
    except sqlite3.OperationalError as error:
        check(code_of(error) == "SO_LOST_CLAIM", str(error))
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    outcome = """{"reject": {"code": "no"}}"""
    first = call(c, "SELECT so_commit(?, ?)", claim, outcome)
    check(call(c, "SELECT so_commit(?, ?)", claim, outcome) == first, "a repeated rejection by so_commit")


def growing(database, c):
    """A worker that is woken thousands of times keeps its size."""
    call(c, "SELECT so_define_actor('Grow', '{}')")
    call(c, "SELECT so_define_operation('Grow', 'go', 'SELECT 1 AS result')")
    sender = database.connect()
    end = time.monotonic() + 2
    sent = []
    failures = []

    def send():
        try:
            while time.monotonic() < end:
                sent.append(call(sender, "SELECT so_send('Grow', '1', 'go')"))
        except Exception as error:  # whatever it is, the test has failed
            failures.append(error)

    thread = threading.Thread(target=send)
    call(c, "SELECT so_run()")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    thread.start()
    call(c, """SELECT so_run('{"wait_ms": 300, "max_ms": 2500}')""")
    thread.join()
    check(not failures, f"the sender died: {failures}")
    check(len(sent) > 100, f"only {len(sent)} messages woke the worker")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    check(grown < 8192, f"a worker grew by {grown} KiB in 2 s")
    sender.close()


def main():
    database = Database()
    c = sqlite3.connect(f"file:{database.path}", uri=True, isolation_level=None, timeout=20)
    c.enable_load_extension(True)
    c.load_extension(os.environ.get("SOLIDOBJ", "build/solidobj"))
    call(c, """SELECT so_install('{"test": true}')""")
    call(c, "SELECT load_extension(?)", os.environ.get("SOLIDOBJ", "build/solidobj"))
    call(c, "SELECT so_version()")
    starving(c)
    counting(c)
    other_database(database, c)
    settling(c)
    growing(database, c)
    c.close()
    database.close()


main()
