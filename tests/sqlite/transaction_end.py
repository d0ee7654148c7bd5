#!/usr/bin/python3
"""A handler whose statement rolls the whole transaction back (ON CONFLICT ROLLBACK) is charged, and blocks nobody else."""
import sqlite3

from fixture import Database, answer, call, check


def main():
    database = Database()
    c = database.connect()
    call(c, "SELECT so_install()")
    c.execute("CREATE TABLE once(x UNIQUE ON CONFLICT ROLLBACK)")
    c.execute("INSERT INTO once VALUES (1)")
    call(c, """SELECT so_define_actor('T', '{"max_attempts": 2}')""")
    call(c, "SELECT so_define_operation('T', 'twice', 'INSERT INTO once VALUES (1)')")
    call(c, "SELECT so_define_operation('T', 'fine', 'SELECT 1 AS result')")
    try:
        call(c, "SELECT so_call('T', '1', 'twice')")
        check(False, "so_call went through")
    except sqlite3.OperationalError as error:
        check(str(error).startswith("SO_FAILED"), f"so_call: {error}")
    check(not c.in_transaction, "a transaction is left open")
    messages = [call(c, "SELECT so_send('T', ?, ?)", key, operation)
                for key, operation in (("1", "fine"), ("1", "twice"), ("2", "fine"), ("1", "fine"))]
    call(c, "SELECT so_run()")
    states = [answer(c, "SELECT so_status(?)", message)["status"] for message in messages]
    check(states == ["completed", "dead", "completed", "completed"], f"{states}")
    c.close()
    database.close()


main()
