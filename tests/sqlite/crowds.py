#!/usr/bin/python3
"""Many messages at once: the work for each does not grow with their number, and limits stay exact."""
import json
import os
import sqlite3

from fixture import Database, answer, call, check
from places import broken_rules

FEW, MANY = 3000, 12000
SERIES = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < ?) "


def application(doorbell=True, **options):
    """max_mailbox is smaller than the crowds, so that what counts messages has to count."""
    database = Database()
    if not doorbell:
        os.mkdir(database.path + "-solidobj")
    c = database.connect()
    call(c, "SELECT so_install('{\"test\": true}')")
    for name in ("T", "U"):
        call(c, "SELECT so_define_actor(?, ?)", name, json.dumps({"max_mailbox": 2000, **options}))
        call(c, "SELECT so_define_operation(?, 'one', 'SELECT 1 AS result')", name)
        call(c, "SELECT so_define_operation(?, 'fail', 'SELECT json(''{'')')", name)
        call(c, "SELECT so_define_operation(?, 'outside', NULL)", name)
    call(c, "SELECT so_define_operation('T', 'fan', 'SELECT so_tell(''U'', :key || value, ''one'')"
            " FROM json_each(''[1,2,3,4,5,6,7,8,9,10]''); SELECT 1 AS result')")
    return database, c


def send(c, count, operation, actors, options="{}"):
    c.execute("BEGIN IMMEDIATE")
    c.execute(SERIES + "SELECT so_send('T', 'k' || (i % ?), ?, NULL, ?) FROM r",
              (count, actors, operation, options)).fetchall()
    c.execute("COMMIT")


def steps(c, work):
    """How many steps SQLite's machine takes, in thousands."""
    count = [0]

    def step():
        count[0] += 1

    c.set_progress_handler(step, 1000)
    work()
    c.set_progress_handler(None, 0)
    return count[0]


def grows(name, work, factor=MANY / FEW, **options):
    """work(c, n) gives a function; from FEW to MANY its work grows by not much more than the factor."""
    taken = []
    for count in (FEW, MANY):
        database, c = application(**options)
        taken.append(steps(c, work(c, count)))
        check(not broken_rules(c), f"{name}: {broken_rules(c)}")
        c.close()
        database.close()
    print(f"{name}: {taken[0]} and {taken[1]} thousand steps")
    check(taken[1] < 1.5 * factor * taken[0], f"{name}: it grows by {taken[1] / taken[0]:.1f}, not about {factor:.1f}")


def batch(c, count):
    messages = json.dumps([{"type": "T", "key": f"k{i}", "operation": "one"} for i in range(count)])
    return lambda: call(c, "SELECT so_send_batch(?)", messages)


def fan(c, count):
    send(c, count // 10, "fan", count)

    def run():
        turns = answer(c, "SELECT so_run(?)", json.dumps({"max_turns": count // 10}))
        check(turns["completed"] == count // 10, f"all fan out: {turns}")

    return run


def retry(c, count):
    send(c, count, "fail", count // 10)
    check(answer(c, "SELECT so_run()")["dead"] == count, "all are dead letters")

    def again():
        c.execute("BEGIN IMMEDIATE")
        sent = call(c, "WITH d AS MATERIALIZED (SELECT message FROM solidobj_dead_letters_view) SELECT count(so_retry(message)) FROM d")
        c.execute("COMMIT")
        check(sent == count, f"{sent} are sent again")

    return again


def fail(c, count):
    """The longer the batch, the more would be put back after each."""
    send(c, 900, "fail", 1)
    return lambda: check(answer(c, "SELECT so_run(?)", json.dumps({"batch": count // 12}))["dead"] == 900, "all are dead")


def statement(c, count):
    """Under a statement that writes nothing can be sorted: the inbox is as long as the statement."""
    c.execute("CREATE TABLE sent(message)")
    rows = SERIES + "INSERT INTO sent SELECT so_send('T', 'k' || i, 'one') FROM r"
    return lambda: c.execute(rows, (count,))


def hot_statement(c, count):
    """The same with one actor at its limit from the start."""
    send(c, 2000, "one", 1)
    return statement(c, count)


def claim(c, count):
    """The more operations, the more to look for, but not for each actor that is taken."""
    for i in range(count // 40):
        call(c, "SELECT so_define_operation('T', ?, NULL)", f"outside{i}")
    for i in range(100):
        call(c, "SELECT so_send('T', ?, ?)", f"k{i}", f"outside{i % 50}")
    call(c, "SELECT so_tick()")
    return lambda: check(len(answer(c, "SELECT so_claim('w', '{\"max\": 100}')")) == 100, "all are claimed")


def held():
    """What so_run has taken into memory counts as well, and the message that ends does not; with claims in the tables
    as well as without (no doorbell)."""
    for batch, doorbell in ((1, True), (32, True), (1, False), (32, False)):
        database, c = application(doorbell=doorbell)
        call(c, "SELECT so_define_actor('B', '{\"max_mailbox\": 5}')")
        call(c, "SELECT so_define_operation('B', 'one', 'SELECT 1 AS result')")
        call(c, "SELECT so_define_operation('T', 'more', 'SELECT so_tell(''B'', ''k'', ''one'')', '{\"max_attempts\": 1}')")
        call(c, "SELECT so_define_operation('B', 'again', 'SELECT so_tell(''B'', ''k'', ''one'')', '{\"max_attempts\": 1}')")
        call(c, "SELECT so_send('T', 'k', 'more')")
        for _ in range(5):
            call(c, "SELECT so_send('B', 'k', 'one')")
        ended = answer(c, "SELECT so_run(?)", json.dumps({"batch": batch}))
        check((ended["completed"], ended["dead"]) == (5, 1), f"batch {batch}: B is full: {ended}")
        for _ in range(5):
            call(c, "SELECT so_send('B', 'k', 'again')")
        ended = answer(c, "SELECT so_run(?)", json.dumps({"batch": batch, "max_turns": 5}))
        check(ended["completed"] == 5, f"batch {batch}: the message that ends makes room for one: {ended}")
        c.close()
        database.close()


def rolled_back():
    """What was counted and rolled back, and whose ids went to other messages, is not believed."""
    for own in (True, False):
        database, c = application(max_mailbox=100)
        call(c, "SELECT so_define_actor('U', '{\"max_mailbox\": 1000000}')")
        other = database.connect()
        c.execute("CREATE TABLE sent(message)")
        rows = SERIES + "INSERT INTO sent SELECT so_send(?, ?, 'one') FROM r"
        c.execute("BEGIN IMMEDIATE")
        c.execute("SAVEPOINT s")
        c.execute(SERIES + "INSERT INTO sent SELECT so_send('T', 'k' || i, 'one') FROM r", (250,))
        c.execute("ROLLBACK TO s" if own else "ROLLBACK")
        if not own:
            other.execute("BEGIN IMMEDIATE")
        c_or_other = c if own else other
        c_or_other.execute(rows, (60, "T", "a"))
        c_or_other.execute(rows, (300, "U", "a"))
        if not own:
            other.execute("COMMIT")
            c.execute("BEGIN IMMEDIATE")
        c.execute(rows, (40, "T", "a"))
        try:
            c.execute(rows, (1, "T", "a"))
            check(False, f"own {own}: more than max_mailbox were sent")
        except sqlite3.OperationalError as error:
            check(str(error).startswith("SO_MAILBOX_FULL"), f"own {own}: {error}")
        c.execute(rows, (100, "T", "b"))
        c.execute("COMMIT")
        check(answer(c, "SELECT so_actor('T', 'a')")["mailbox"]["waiting"] == 100, "100 of a are there")
        other.close()
        c.close()
        database.close()


def limit():
    """What a worker holds counts: max_mailbox is not passed by a single sender."""
    database, c = application(max_mailbox=100)
    send(c, 100, "outside", 1)
    check(len(answer(c, "SELECT so_claim('w', '{\"batch\": 1000}')")) == 100, "all are claimed")
    try:
        call(c, "SELECT so_send('T', 'k0', 'one')")
        check(False, "the mailbox is full, and one more was sent")
    except sqlite3.OperationalError as error:
        check(str(error).startswith("SO_MAILBOX_FULL"), f"a full mailbox: {error}")
    c.close()
    database.close()


def clock():
    """A clock that was moved and rolled back is not believed."""
    database, c = application()
    message = call(c, "SELECT so_send('T', 'k', 'one', NULL, '{\"delay_ms\": 60000}')")
    c.execute("BEGIN IMMEDIATE")
    call(c, "SELECT so_test_clock(100000)")
    c.execute("ROLLBACK")
    check(answer(c, "SELECT so_tick()")["delayed"] == 0, "it is not due")
    check(answer(c, "SELECT so_status(?)", message)["status"] == "delayed", "it is delayed")
    c.close()
    database.close()


def retried():
    """so_retry gives the ids of messages that were rolled back to others, and the limit counts them."""
    database, c = application(max_mailbox=3, max_attempts=1)
    call(c, "SELECT so_define_operation('T', 'fail', 'SELECT json(''{'')')")
    dead = []
    for _ in range(9):
        dead.append(call(c, "SELECT so_send('T', 'b', 'fail')"))
        call(c, "SELECT so_run()")
    call(c, "SELECT so_define_operation('T', 'fail', NULL)")
    c.execute("BEGIN")
    for key in "wxyz":
        call(c, "SELECT so_send('T', ?, 'outside')", key)
    c.execute("ROLLBACK")
    for message in dead[:3]:
        call(c, "SELECT so_retry(?)", message)
    try:
        call(c, "SELECT so_send('T', 'b', 'outside')")
        check(False, "a fourth message in a mailbox of three")
    except sqlite3.OperationalError as error:
        check("SO_MAILBOX_FULL" in str(error), str(error))
    c.close()
    database.close()


def main():
    grows("so_send_batch", batch)
    grows("turns that tell", fan)
    grows("so_retry of all in one transaction", retry, max_attempts=1)
    grows("messages of one actor that fail, by the batch", fail, factor=1, max_attempts=1)
    grows("one statement that sends all", statement)
    grows("the same beside a full mailbox", hot_statement)
    grows("so_claim of 100 by the operations", claim, factor=2.5)
    limit()
    held()
    rolled_back()
    retried()
    clock()


main()
