#!/usr/bin/python3
"""What another connection defines holds here at once, also for calls that only read or wait."""
import sqlite3

from fixture import Database, call, check

ANSWER = "SELECT 7 AS result"


def error(connection, sql, *values):
    """The code of the error that the call ends with, or its answer."""
    try:
        return call(connection, sql, *values)
    except sqlite3.OperationalError as refused:
        return str(refused).split(":")[0]


def find(here, there):
    call(there, "SELECT so_define_actor('A')")
    check(call(here, "SELECT so_find('A', 'k', 'key')") is None, "there is no such message yet")
    # SQLite gives the id of the dropped type to the next one.
    call(there, "SELECT so_drop_actor('A')")
    call(there, "SELECT so_define_actor('B')")
    call(there, "SELECT so_define_operation('B', 'op', ?)", ANSWER)
    call(there, "SELECT so_send('B', 'k', 'op', '{}', '{\"idempotency_key\":\"key\"}')")
    found = error(here, "SELECT so_find('A', 'k', 'key')")
    check(found == "SO_UNKNOWN_TYPE", f"so_find answered {found} for a type that was dropped elsewhere")


def wait(here, there):
    call(there, "SELECT so_define_actor('W')")
    call(there, "SELECT so_define_operation('W', 'op', NULL)")
    check(call(here, "SELECT so_find('W', 'k', 'key')") is None, "this connection knows the definitions")
    call(there, "SELECT so_define_operation('W', 'op', ?)", ANSWER)
    message = call(there, "SELECT so_send('W', 'k', 'op')")
    got = error(here, "SELECT so_wait(?, 1000)", message)
    check(got == "7", f"so_wait gave {got} for an operation that has got a handler elsewhere")


def main():
    database = Database()
    here = database.connect()
    there = database.connect()
    call(there, "SELECT so_install()")
    find(here, there)
    wait(here, there)
    here.close()
    there.close()
    database.close()


main()
