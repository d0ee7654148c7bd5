#!/usr/bin/python3
"""Eight processes send 500 messages each, eight workers claim and commit all of it: each once, no error, nobody waits long."""
# Cases: C20
import json
import os
import signal
import sqlite3
import sys
import time

from fixture import Database, answer, call, check, start
from places import define, equal, holds, refused

PROCESSES, MESSAGES = 8, 500
LONGEST = 5.0


def timed(connection, sql, *values):
    started = time.monotonic()
    value = call(connection, sql, *values)
    check(time.monotonic() - started < LONGEST, f"{sql} took {time.monotonic() - started} s")
    return value


def sender(database, number):
    c = database.connect()
    c.execute("PRAGMA busy_timeout = 5000")
    c.execute("PRAGMA synchronous = OFF")  # no power is cut here
    for n in range(MESSAGES):
        timed(c, "SELECT so_send('T', ?, 'outside', ?)", f"a{n % 20}", json.dumps({"sender": number, "n": n}))
    equal(call(c, "PRAGMA busy_timeout"), 5000, "the time-out")


def worker(database, number):
    c = database.connect()
    c.execute("PRAGMA busy_timeout = 5000")
    c.execute("PRAGMA synchronous = OFF")  # no power is cut here
    empty = 0
    while empty < 3:
        rows = json.loads(timed(c, """SELECT so_claim(?, '{"max": 4, "batch": 25}')""", f"w{number}"))
        empty = empty + 1 if not rows else 0
        for row in rows:
            timed(c, "SELECT so_commit(?, ?)", row["claim"], json.dumps({"result": [number, row["attempt"]]}))
        if not rows:
            time.sleep(0.02)
    equal(call(c, "PRAGMA busy_timeout"), 5000, "the time-out")


def all_of(function, database):
    processes = [start(function, database, number) for number in range(PROCESSES)]
    for process in processes:
        equal(os.waitpid(process, 0)[1], 0, f"{function.__name__}: exit code")


def deferred(database, c):
    """A deferred transaction that has read: its first call may say "restart", leaves nothing, and a new start works."""
    p1, p2 = database.connect(), database.connect()
    journal = call(c, "PRAGMA journal_mode")
    for connection in (p1, p2):
        connection.execute("PRAGMA busy_timeout = 300")
    for text in ("so_send('T', 'p1', 'count')", "so_call('T', 'p1', 'count')"):
        before = call(c, "SELECT count(*) FROM solidobj_messages_view")
        p1.execute("BEGIN")
        p1.execute("SELECT count(*) FROM note").fetchall()
        if journal == "wal":
            call(p2, "SELECT so_send('T', 'p2', 'count')")
            started = time.monotonic()
            refused(p1, f"SELECT {text}", "database is locked")
            check(time.monotonic() - started < 0.25, "BUSY_SNAPSHOT does not wait for the time-out")
            check(p1.in_transaction, "the transaction is gone")
        else:
            # The reader keeps the writer from committing: nothing of that is left either.
            refused(p2, "SELECT so_send('T', 'p2', 'count')", "database is locked")
            check(not p2.in_transaction, "a transaction is left open")
            call(p1, f"SELECT {text}")
        p1.execute("ROLLBACK")
        equal(call(c, "SELECT count(*) FROM solidobj_messages_view") - before, int(journal == "wal"), f"{text}: messages")
        call(p1, f"SELECT {text}")
        equal(call(p1, "PRAGMA busy_timeout"), 300, "the time-out")
    call(p1, "SELECT so_run()")
    p1.close()
    p2.close()


def many_rows(database, c):
    """SELECT so_send(…) over 100 rows while another connection writes: every row once, or an error and some of them."""
    p1, p2 = database.connect(), database.connect()
    for connection in (p1, p2):
        connection.execute("PRAGMA busy_timeout = 200")
    c.execute("CREATE TABLE app(id INTEGER PRIMARY KEY)")
    c.execute("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) INSERT INTO app SELECT n FROM r")
    ends = set()
    for late in (100, 50, 1):
        key = f"rows{late}"
        cursor = p1.execute("SELECT so_send('T', ?, 'count') FROM app", (key,))
        ids = []
        try:
            for (message,) in cursor:
                ids.append(message)
                if len(ids) == late:
                    try:
                        p2.execute("SELECT so_send('T', 'beside', 'count')").fetchall()
                    except Exception as error:
                        check("locked" in str(error), f"the writer beside it: {error}")
            ends.add("all")
            equal(len(ids), 100, "rows")
        except Exception as error:
            check("locked" in str(error), f"{error}")
            ends.add("some")
        cursor.close()
        check(not p1.in_transaction, "a transaction is left open")
        stored = [message for (message,) in c.execute("SELECT message FROM solidobj_messages_view WHERE key = ? ORDER BY 1", (key,))]
        # Python's cursor is one row ahead of what it gives out.
        check(len(ids) <= len(stored) <= len(ids) + 1, f"{key}: {len(stored)} messages, {len(ids)} ids were given out")
        equal(stored[:len(ids)], ids, f"{key}: messages that are there, and ids that were given out")
        call(p1, "SELECT so_send('T', 'after', 'count')")
        equal(call(p1, "PRAGMA busy_timeout"), 200, "the time-out")
    check("all" in ends, f"{ends}")
    c.execute("DROP TABLE app")
    call(c, "SELECT so_run()")
    p1.close()
    p2.close()


def plain(database, ready):
    """An application that writes its own rows, and knows nothing of us; until it is ended. It pauses: SQLite's busy
    handler lets whoever writes without a pause starve everybody else, with us or without."""
    c = sqlite3.connect(database.path, isolation_level=None, timeout=20)
    c.execute("PRAGMA synchronous = OFF")
    os.write(ready, b"r")
    while True:
        c.execute("INSERT INTO note(text) VALUES ('plain')")
        time.sleep(0.001)


def plain_writers(database, c):
    """Calls in autocommit read first and write then; another's commit between the two is no error of theirs."""
    reading, writing = os.pipe()
    processes = [start(plain, database, writing) for _ in range(2)]
    try:
        for _ in processes:
            os.read(reading, 1)
        before = call(c, "SELECT count(*) FROM note")
        c.execute("PRAGMA busy_timeout = 5000")
        rounds = 0
        while rounds < 100 or (rounds < 5000 and call(c, "SELECT count(*) FROM note") < before + 200):
            key = f"amid{rounds % 5}"
            timed(c, "SELECT so_call('T', ?, 'count')", key)
            timed(c, "SELECT so_send('T', ?, 'count')", key)
            timed(c, "SELECT so_send('T', 'amid', 'outside')")
            for row in json.loads(timed(c, "SELECT so_claim('w')")):
                timed(c, "SELECT so_commit(?, '{\"patch\": {\"n\": 1}}')", row["claim"])
            timed(c, "SELECT so_run()")
            rounds += 1
            time.sleep(0.002)  # for the others
        check(call(c, "SELECT count(*) FROM note") >= before + 200, "the others hardly wrote")
    finally:
        for process in processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        os.close(reading)
        os.close(writing)
    equal(call(c, "SELECT sum(turns) FROM solidobj_actors_view WHERE key LIKE 'amid%'"), 3 * rounds, "turns beside other writers")


def main():
    for journal in ("WAL", "DELETE"):
        database = Database()
        c = database.connect()
        c.execute(f"PRAGMA journal_mode = {journal}").fetchall()
        define(c)
        call(c, "SELECT so_define_actor('T', '{\"max_mailbox\": 100000}')")
        all_of(sender, database)
        total = PROCESSES * MESSAGES
        equal(call(c, "SELECT count(*) FROM solidobj_mailbox_view"), total, "messages")
        holds(c, f"{journal}: sent")
        all_of(worker, database)
        rows = c.execute("SELECT status, attempts, count(*), count(DISTINCT key) FROM solidobj_messages_view GROUP BY 1, 2").fetchall()
        equal(rows, [("completed", 1, total, 20)], f"{journal}: ends of the messages")
        equal(c.execute("SELECT sum(turns), count(*) FROM solidobj_actors_view").fetchone(), (total, 20), f"{journal}: turns")
        # Per actor the order of turns is the order of the messages.
        late = c.execute("SELECT count(*) FROM (SELECT turn, row_number() OVER (PARTITION BY key ORDER BY message) AS place "
                         "FROM solidobj_messages_view) WHERE turn <> place").fetchone()
        equal(late, (0,), f"{journal}: turns out of order")
        equal(answer(c, "SELECT so_claim('w')"), [], f"{journal}: what is left")
        holds(c, f"{journal}: claimed and committed")
        deferred(database, c)
        many_rows(database, c)
        plain_writers(database, c)
        holds(c, journal)
        c.close()
        database.close()
    sys.stdout.flush()


main()
