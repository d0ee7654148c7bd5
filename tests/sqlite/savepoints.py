#!/usr/bin/python3
"""Transactions and savepoints take everything with them: rows, definitions, wake-ups; what is kept in memory follows."""
# Cases: C11
import os
import time

from fixture import answer, call, check, start
from places import application, equal, holds, refused

WAIT_MS = 400


def mailbox(c):
    return c.execute("SELECT key FROM solidobj_mailbox_view ORDER BY message").fetchall()


def nothing(_):
    pass


def nested(c):
    """Every mixture of released and rolled back, three deep, around each kind of call."""
    number = 0
    for outer in ("COMMIT", "ROLLBACK"):
        for first in ("RELEASE a", "ROLLBACK TO a"):
            for second in ("RELEASE b", "ROLLBACK TO b"):
                number += 1
                key = f"n{number}"
                before = call(c, "SELECT count(*) FROM solidobj_messages_view")
                c.execute("BEGIN")
                call(c, "SELECT so_call('T', ?, 'count')", key)
                c.execute("SAVEPOINT a")
                call(c, "SELECT so_call('T', ?, 'count')", key)
                call(c, "SELECT so_send('T', ?, 'outside')", key)
                c.execute("SAVEPOINT b")
                claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
                call(c, "SELECT so_commit(?, '{\"patch\": {\"b\": 1}}')", claim)
                call(c, "SELECT so_call('T', ?, 'note', '{\"text\": \"b\"}')", key)
                c.execute(second)
                c.execute(first)
                # Whatever was undone, the next calls count on from what is there.
                call(c, "SELECT so_send('T', ?, 'count')", key + "x")
                c.execute(outer)
                state = call(c, "SELECT so_snapshot('T', ?) -> 'state'", key)
                kept_a = first == "RELEASE a"
                kept_b = kept_a and second == "RELEASE b"
                expected = None if outer == "ROLLBACK" else \
                    '{"n":2,"b":1}' if kept_b else '{"n":2}' if kept_a else '{"n":1}'
                equal(state, expected, f"{second}, {first}, {outer}: the state")
                messages = 0 if outer == "ROLLBACK" else 2 + 2 * kept_a + kept_b
                equal(call(c, "SELECT count(*) FROM solidobj_messages_view") - before, messages,
                      f"{second}, {first}, {outer}: messages")
                equal(call(c, "SELECT count(*) FROM note WHERE key = ?", key), int(outer == "COMMIT" and kept_b),
                      f"{second}, {first}, {outer}: rows of the application")
                # One that was only claimed inside stays.
                for row in answer(c, "SELECT so_claim('w', '{\"max\": 9}')"):
                    call(c, "SELECT so_commit(?)", row["claim"])
                holds(c, f"{second}, {first}, {outer}")
    call(c, "SELECT so_run()")


def definitions(c, other):
    """A definition that is rolled back is unknown again, here and elsewhere; one that is kept is known."""
    for how in ("ROLLBACK", "SAVEPOINT"):
        c.execute("BEGIN")
        c.execute("SAVEPOINT d")
        call(c, "SELECT so_define_actor('New', '{\"initial\": {\"n\": 41}}')")
        call(c, "SELECT so_define_operation('New', 'count', 'SELECT so_set(''n'', so_get(''n'') + 1) AS result')")
        call(c, "SELECT so_define_operation('T', 'count', 'SELECT ''changed'' AS result')")
        equal(call(c, "SELECT so_call('New', '1', 'count')"), "42", "a call of what was just defined")
        equal(call(c, "SELECT so_call('T', 'd', 'count')"), '"changed"', "a call of what was just changed")
        if how == "ROLLBACK":
            c.execute("ROLLBACK")
        else:
            c.execute("ROLLBACK TO d")
            refused(c, "SELECT so_send('New', '1', 'count')", "SO_UNKNOWN_TYPE")
            call(c, "SELECT so_send('T', 'kept', 'count')")
            c.execute("COMMIT")
        for connection in (c, other):
            refused(connection, "SELECT so_call('New', '1', 'count')", "SO_UNKNOWN_TYPE")
            check(int(call(connection, "SELECT so_call('T', 'd', 'count')")) > 0, "the old handler is back")
    call(c, "SELECT so_run()")
    # The id of a type that was rolled back may come back for another one.
    c.execute("BEGIN")
    call(c, "SELECT so_define_actor('Gone')")
    call(c, "SELECT so_define_operation('Gone', 'x', 'SELECT ''gone'' AS result')")
    call(c, "SELECT so_call('Gone', '1', 'x')")
    c.execute("ROLLBACK")
    call(other, "SELECT so_define_actor('Came')")
    call(other, "SELECT so_define_operation('Came', 'x', 'SELECT ''came'' AS result')")
    equal(call(c, "SELECT so_call('Came', '1', 'x')"), '"came"', "another type with the id")
    equal(answer(c, "SELECT so_snapshot('Came', '1')")["revision"], 0, "an actor of the type that was rolled back")


def failed_arguments(c):
    """A refused call leaves the application's row and transaction, and no savepoint of ours."""
    bad = ("so_send('T', '1', 'none')", "so_send('T', NULL, 'count')", "so_send('T', '1', 'count', '{')",
           "so_call('T', '1', 'break')", "so_call('T', '1', 'refuse')", "so_call('None', '1', 'x')", "so_commit('1.1')",
           "so_define_operation('T', 'bad', 'SELEC')", "so_claim('')")
    for number, text in enumerate(bad):
        c.execute("BEGIN")
        c.execute("INSERT INTO note(id, text) VALUES (?, 'row')", (1000 + number,))
        refused(c, f"SELECT {text}", "SO_")
        check(c.in_transaction, f"{text}: the transaction is gone")
        for ours in ("solidobj_work", "solidobj_turn"):
            refused(c, f"RELEASE {ours}", "no such savepoint")
        c.execute("COMMIT")
        equal(call(c, "SELECT text FROM note WHERE id = ?", 1000 + number), "row", f"{text}: the application's row")


def waiter(database, pipe):
    """Says that it is about to wait, then how many turns it ran."""
    c = database.connect()
    call(c, "SELECT so_version()")
    os.write(pipe, b"r")
    ran = answer(c, "SELECT so_run(?)", '{"wait_ms": %d, "max_turns": 1}' % WAIT_MS)
    os.write(pipe, b"%d" % ran["completed"])


def wakes(c, database):
    """A sleeper wakes for what is committed, and finds nothing of what was taken back."""
    steps = {
        "savepoint rolled back, the rest committed":
            ("BEGIN", "SELECT so_send('T', 'A', 'count')", "SAVEPOINT s", "SELECT so_send('T', 'B', 'count')",
             "ROLLBACK TO s", "COMMIT"),
        "savepoint released, all rolled back":
            ("BEGIN", "SAVEPOINT s", "SELECT so_send('T', 'B', 'count')", "RELEASE s", "ROLLBACK"),
        "outermost savepoint": ("SAVEPOINT s", "SELECT so_send('T', 'A', 'count')", "RELEASE s"),
        "first sending rolled back, the second one committed":
            ("BEGIN", "SELECT so_send('T', 'B', 'count')", "ROLLBACK", "BEGIN", "SELECT so_send('T', 'A', 'count')", "COMMIT"),
    }
    for name, sqls in steps.items():
        reading, writing = os.pipe()
        process = start(waiter, database, writing)
        os.close(writing)
        equal(os.read(reading, 1), b"r", f"{name}: the waiter")
        time.sleep(0.05)
        for sql in sqls:
            c.execute(sql).fetchall()
            if sql not in ("COMMIT", "RELEASE s", "ROLLBACK"):
                check(os.waitpid(process, os.WNOHANG)[0] == 0, f"{name}: it ran something before the commit")
        committed = any("'A'" in sql for sql in sqls)
        equal(os.read(reading, 9), b"1" if committed else b"0", f"{name}: turns")
        equal(os.waitpid(process, 0)[1], 0, f"{name}: the waiter's end")
        os.close(reading)
        equal(mailbox(c), [], f"{name}: what is left")
        holds(c, name)


def main():
    database, c = application()
    other = database.connect()
    nested(c)
    definitions(c, other)
    failed_arguments(c)
    wakes(c, database)
    keys = c.execute("SELECT DISTINCT key FROM solidobj_messages_view WHERE key = 'B'").fetchall()
    equal(keys, [], "messages of savepoints that were rolled back")
    before = call(c, "SELECT max(message) FROM solidobj_messages_view")
    ids = [call(c, "SELECT so_send('T', 'B', 'count')") for _ in range(3)]
    check(before < ids[0] < ids[1] < ids[2], f"ids go on: {before} {ids}")
    c.execute("SELECT so_run()").fetchall()
    holds(c, "in the end")
    other.close()
    c.close()
    database.close()


main()
