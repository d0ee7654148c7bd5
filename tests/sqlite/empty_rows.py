#!/usr/bin/python3
"""A message that leaves no history leaves no row: the newest row, which is only emptied, goes when another one comes."""
from itertools import product

from fixture import Database, answer, call, check
from places import broken_rules


def application():
    database = Database()
    c = database.connect()
    call(c, "SELECT so_install()")
    call(c, "SELECT so_define_actor('Brief', '{\"history\": \"none\"}')")
    call(c, "SELECT so_define_actor('Kept')")
    for name in ("Brief", "Kept"):
        call(c, "SELECT so_define_operation(?, 'one', 'SELECT 1 AS result')", name)
        call(c, "SELECT so_define_operation(?, 'end', 'SELECT 1 AS destroy')", name)
        call(c, "SELECT so_define_operation(?, 'tell', 'SELECT so_tell(''Kept'', ''told'', ''one'')')", name)
        call(c, "SELECT so_define_operation(?, 'outside', NULL)", name)
    return database, c


def sent(c, name, operation):
    call(c, "SELECT so_send(?, 'k', ?)", name, operation)
    call(c, "SELECT so_run()")


def claimed(c, name, _):
    call(c, "SELECT so_send(?, 'k', 'outside')", name)
    for claim in answer(c, "SELECT so_claim('w')"):
        call(c, "SELECT so_commit(?, '{}')", claim["claim"])


WAYS = {
    "called": lambda c, name, operation: call(c, "SELECT so_call(?, 'k', ?)", name, operation),
    "sent": sent,
    "claimed": claimed,
    "called behind one that waits": lambda c, name, operation: (
        call(c, "SELECT so_send(?, 'k', 'one')", name), call(c, "SELECT so_call(?, 'k', ?)", name, operation)),
    "destroyed while it waits": lambda c, name, operation: (
        call(c, "SELECT so_send(?, 'k', ?)", name, operation), call(c, "SELECT so_destroy(?, 'k')", name)),
    "destroyed while two wait": lambda c, name, operation: (
        call(c, "SELECT so_send(?, 'k', ?)", name, operation), call(c, "SELECT so_send('Kept', 'other', 'one')"),
        call(c, "SELECT so_destroy(?, 'k')", name)),
    "destroyed while one waits behind another and an empty row": lambda c, name, operation: (
        call(c, "SELECT so_send(?, 'k', ?)", name, operation), call(c, "SELECT so_call('Brief', 'other', 'one')"),
        call(c, "SELECT so_send(?, 'k', ?)", name, operation), call(c, "SELECT so_send('Kept', 'other', 'one')"),
        call(c, "SELECT so_destroy(?, 'k')", name)),
    "cancelled": lambda c, name, operation: call(
        c, "SELECT so_cancel(?)", call(c, "SELECT so_send(?, 'k', ?)", name, operation)),
}


def main():
    database, c = application()
    steps = list(product(WAYS, ("Brief", "Kept"), ("one", "end", "tell")))
    for first in steps:
        for second in steps:
            for way, name, operation in (first, second):
                WAYS[way](c, name, operation)
            # The record of a turn that ended its actor outlives it.
            broken = [b for b in broken_rules(c) if not b.startswith("a completed message belongs")]
            check(not broken, f"{first}, {second}: {broken}")
            call(c, "SELECT so_run()")
    empty = call(c, "SELECT count(*) FROM solidobj_message WHERE status = 0 AND id > 0")
    check(empty <= 1, f"{empty} empty rows are left")
    c.close()
    database.close()


main()
