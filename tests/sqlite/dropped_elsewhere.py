#!/usr/bin/python3
"""When another connection has dropped solidobj, a call says SO_NOT_INSTALLED and keeps no lock.

Newer SQLite leaves a writing statement's lock on the connection when the statement finds the schema changed and cannot be
prepared again."""
import sqlite3

from fixture import Database, call, check

CALLS = ("so_send('T', 'k', 'count')", "so_call('T', 'k', 'count')", "so_try('T', 'k', 'count')", "so_run()", "so_claim('w')",
         "so_define_actor('U')", "so_status(1)", "so_snapshot('T', 'k')")


def dropped(first, second):
    database = Database()
    here, there = database.connect(), database.connect()
    call(there, "SELECT so_install()")
    call(there, "SELECT so_define_actor('T')")
    call(there, "SELECT so_define_operation('T', 'count', 'SELECT 1 AS result')")
    for text in CALLS[:5]:
        call(here, f"SELECT {text}")  # its statements are prepared
    there.execute("DROP TABLE main.solidobj")
    other = sqlite3.connect(database.path, isolation_level=None, timeout=0)
    for text in (first, second):
        try:
            call(here, f"SELECT {text}")
            check(False, f"{text} worked after {first}")
        except sqlite3.OperationalError as error:
            check(str(error).startswith("SO_NOT_INSTALLED"), f"{text} after {first}: {error}")
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            check(False, f"a lock is left by {text} after {first}: {error}")
    for connection in (here, there, other):
        connection.close()
    database.close()


for one in CALLS:
    for two in CALLS:
        dropped(one, two)
