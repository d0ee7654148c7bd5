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
    # Behind others of its actor it pauses between its attempts like any failed turn, and says what went wrong.
    call(c, "SELECT so_define_actor('P', '{}')")
    call(c, "SELECT so_define_operation('P', 'twice', 'INSERT INTO once VALUES (1)')")
    call(c, "SELECT so_define_operation('P', 'fine', 'SELECT 1 AS result')")
    first = [call(c, "SELECT so_send('P', '1', 'fine')") for _ in range(3)]
    failing = call(c, "SELECT so_send('P', '1', 'twice')")
    call(c, "SELECT so_run()")
    status = answer(c, "SELECT so_status(?)", failing)
    check(status["status"] == "retrying" and status["attempts"] <= 2, f"attempts without a pause: {status}")
    check("UNIQUE" in status["error"], f"the error: {status}")
    for message in first:
        check(answer(c, "SELECT so_status(?)", message)["status"] == "completed", "those before it")
    c.close()
    database.close()


main()
