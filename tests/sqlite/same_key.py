#!/usr/bin/python3
"""One idempotency key, many senders at once: one message, and everybody who is told of it is told of one that exists."""
# Cases: C12
import os
import random

from fixture import answer, call, check, start
from places import application, equal, holds

SENDERS = 50
ROUNDS = 4
SEND = """SELECT so_send('T', ?, 'count', '{"x": 1}', '{"idempotency_key": "k"}')"""


def sender(database, key, gate, results, number):
    """Half of them in transactions, a third of those rolled back. Reports the ids that it was told and kept."""
    c = database.connect()
    chance = random.Random(number)
    os.read(gate, 1)
    if number % 2:
        c.execute("BEGIN IMMEDIATE")
        told = call(c, SEND, key)
        # The transaction is usable after the answer.
        call(c, "SELECT so_send('T', 'other', 'count')")
        equal(call(c, SEND, key), told, "the same key again in the transaction")
        if chance.random() < 0.33:
            c.execute("ROLLBACK")
            return
        c.execute("COMMIT")
    else:
        told = call(c, SEND, key)
    os.write(results, b"%d\n" % told)


def main():
    database, c = application()
    for round_ in range(ROUNDS):
        key = f"new{round_}"
        gate, opener = os.pipe()
        reading, writing = os.pipe()
        processes = [start(sender, database, key, gate, writing, round_ * SENDERS + n) for n in range(SENDERS)]
        os.close(writing)
        os.write(opener, b"x" * SENDERS)
        for process in processes:
            equal(os.waitpid(process, 0)[1], 0, f"round {round_}: a sender's end")
        with os.fdopen(reading) as file:
            told = [int(line) for line in file]
        os.close(gate)
        os.close(opener)
        check(len(told) >= SENDERS // 2, f"round {round_}: only {len(told)} were told")
        equal(len(set(told)), 1, f"round {round_}: different ids for one key")
        rows = c.execute("SELECT message FROM solidobj_messages_view WHERE key = ?", (key,)).fetchall()
        equal(rows, [(told[0],)], f"round {round_}: messages")
        equal(call(c, "SELECT so_find('T', ?, 'k')", key), told[0], f"round {round_}: so_find")
    call(c, "SELECT so_run()")
    for round_ in range(ROUNDS):
        equal(answer(c, "SELECT so_snapshot('T', ?)", f"new{round_}")["state"], {"n": 1}, f"round {round_}: it ran once")
    holds(c, "in the end")
    c.close()
    database.close()


main()
