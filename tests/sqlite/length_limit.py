#!/usr/bin/python3
"""A text that grows past SQLITE_LIMIT_LENGTH as JSON is refused or fails the turn; it never becomes NULL or is lost."""
import sqlite3
import sys

from fixture import Database, answer, call, check


def main():
    database = Database()
    c = database.connect()
    call(c, "SELECT so_install()")
    call(c, "SELECT so_define_actor('T', '{\"max_attempts\": 1}')")
    # 1,500 control characters are 9,000 bytes of JSON.
    call(c, "SELECT so_define_operation('T', 'grow', 'SELECT replace(hex(zeroblob(750)), ''0'', char(1)) AS result')")
    call(c, "SELECT so_define_operation('T', 'keep', 'SELECT so_set(''t'', replace(hex(zeroblob(750)), ''0'', char(1)))')")
    other = database.connect()
    c.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
    for operation in ("grow", "keep"):
        try:
            found = call(c, f"SELECT so_call('T', '1', '{operation}')")
            check(False, f"{operation}: answered {found!r:.40}")
        except sqlite3.Error as error:
            check("too big" in str(error).lower(), f"{operation}: {error}")
        check(not c.in_transaction, f"{operation}: a transaction is open")
    message = call(c, "SELECT so_send('T', '2', 'grow')")
    try:
        call(c, "SELECT so_run()")
    except sqlite3.Error as error:
        check("too big" in str(error).lower(), f"so_run: {error}")
    check(not c.in_transaction, "so_run: a transaction is open")
    check(answer(other, "SELECT so_status(?)", message)["status"] in ("waiting", "dead"), "the message is not lost")
    call(other, "SELECT so_run()")
    check(answer(other, "SELECT so_status(?)", message)["status"] in ("completed", "dead"), "the message has an end")
    check(call(other, "SELECT count(*) FROM solidobj_messages_view WHERE status = 'completed' AND result IS NULL") == 0,
          "a result was lost")
    database.close()


if __name__ == "__main__":
    sys.exit(main())
