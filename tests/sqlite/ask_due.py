#!/usr/bin/python3
"""Without any worker so_ask and so_wait run a message when it is due, not when they happen to look again."""
import sqlite3
import time

from fixture import Database, call, check


def main():
    database = Database()
    c = database.connect()
    call(c, "SELECT so_install()")
    call(c, """SELECT so_define_actor('A', '{"max_attempts": 2, "retry_base_ms": 200}')""")
    call(c, "SELECT so_define_operation('A', 'fine', 'SELECT 1 AS result')")
    call(c, "SELECT so_define_operation('A', 'fails', 'SELECT json(''{'') AS result')")
    start = time.monotonic()
    check(call(c, """SELECT so_ask('A', '1', 'fine', '{}', '{"delay_ms": 200}')""") == "1", "the result")
    took = time.monotonic() - start
    check(0.19 < took < 0.6, f"due after 0.2 s, run after {took:.2f} s")
    start = time.monotonic()
    try:
        call(c, "SELECT so_ask('A', '1', 'fails')")
        check(False, "a failing message has a result")
    except sqlite3.OperationalError as error:
        check(str(error).startswith("SO_FAILED"), str(error))
    took = time.monotonic() - start
    check(0.19 < took < 0.6, f"the retry is due after 0.2 s and came after {took:.2f} s")
    c.close()
    database.close()


main()
