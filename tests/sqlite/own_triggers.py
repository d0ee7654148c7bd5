#!/usr/bin/python3
"""A trigger on a table of ours that calls a function of ours: the statement that fired it fails and leaves nothing, and
what is running is not touched (a reset of it would free what SQLite still uses)."""
import sqlite3

from fixture import Database, call, check

CALLS = {
    "so_send": "SELECT so_send('T', 'a', 'count')",
    "so_send_batch": """SELECT so_send_batch('[{"type":"T","key":"a","operation":"count"}]')""",
    "so_call": "SELECT so_call('T', 'a', 'count')",
    "so_run": "SELECT so_run()",
    "so_claim": "SELECT so_claim('w')",
    "so_cancel": "SELECT so_cancel((SELECT min(id) FROM solidobj_message WHERE status = 1))",
    "so_destroy": "SELECT so_destroy('T', 'a')",
    "so_define_actor": """SELECT so_define_actor('U', '{"max_attempts":2}')""",
}
TABLES = ("setting", "type", "operation", "actor", "member", "message", "mail", "later", "queue", "claim")


def rows(c):
    return {t: c.execute(f"SELECT * FROM solidobj_{t}").fetchall() for t in TABLES}


def application():
    database = Database()
    c = database.connect()
    call(c, "SELECT so_install()")
    call(c, "SELECT so_define_actor('T', '{\"initial\": {\"long\": \"%s\"}}')" % ("x" * 3000))
    call(c, "SELECT so_define_operation('T', 'count', 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result')")
    call(c, "SELECT so_define_operation('T', 'outside', NULL)")
    call(c, "SELECT so_call('T', 'b', 'count')")
    for operation in ("count", "outside", "count"):
        call(c, "SELECT so_send('T', 'c', ?)", operation)
    call(c, "SELECT so_send('T', 'd', 'outside')")
    call(c, "SELECT so_send('T', 'e', 'outside', NULL, '{\"delay_ms\": 1}')")
    return database, c


def attempt(c, sql):
    try:
        return c.execute(sql).fetchall(), None
    except sqlite3.Error as error:
        return None, str(error)


def main():
    fired = 0
    for table in TABLES:
        for when in ("BEFORE INSERT", "AFTER INSERT", "BEFORE UPDATE", "AFTER DELETE"):
            for inner in ("so_send('T', 'z', 'count')", "so_send('T', 'z', 'outside', NULL, '{\"delay_ms\": 9}')"):
                database, c = application()
                c.execute("CREATE TABLE firings(x)")
                c.execute(f"CREATE TRIGGER theirs {when} ON solidobj_{table} BEGIN INSERT INTO firings VALUES (1); SELECT {inner}; END")
                for name, sql in CALLS.items():
                    before = rows(c)
                    answered, error = attempt(c, sql)
                    what = f"{name} under {when} ON solidobj_{table}: {error}"
                    if error is not None and name != "so_run":  # which commits as it goes
                        check(rows(c) == before, f"{what}: it has left something")
                        check("misuse" not in error, what)
                    fired += error is not None and "SO_INSIDE_STATEMENT" in error
                check(c.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "integrity")
                c.close()
                database.close()
    check(fired >= 8, f"only {fired} calls were refused")


main()
