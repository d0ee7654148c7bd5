#!/usr/bin/python3
"""An error in the middle of a call leaves nothing of it, and the caller's transaction open with what it held before."""
# Cases: C22
import sqlite3

from fixture import answer, call, check
from places import application, equal, everything, holds

TABLES = ("actor", "member", "message", "mail", "later", "queue", "claim")
# Each writes to several tables; {claim} is a claim of an external message.
CALLS = ("SELECT so_call('T', '1', 'count')", "SELECT so_call('T', '1', 'note')", "SELECT so_try('T', '1', 'refuse')",
         "SELECT so_run()", "SELECT so_claim('w')", "SELECT so_commit('{claim}', '{{\"state\":{{\"a\":1}}}}')",
         "SELECT so_fail('{claim}', 'x')", "SELECT so_reject('{claim}', 'NO')", "SELECT so_release('{claim}')",
         "SELECT so_send('T', '1', 'count')", "SELECT so_call('T', 'tells', 'tell')", "SELECT so_tick()",
         "SELECT so_destroy('T', 'tells')", "SELECT so_pause('T', '2')", "SELECT so_destroy('T', '1')",
         "SELECT so_send_batch('[{{\"type\":\"T\",\"key\":\"1\",\"operation\":\"count\"}},{{\"type\":\"T\",\"key\":\"2\",\"operation\":\"count\"}}]')",
         "INSERT INTO sent SELECT so_send('T', 'x' || id, 'count') FROM three",
         "UPDATE three SET id = id RETURNING so_send('T', 'x', 'count')")


def attempt(c, sql):
    try:
        c.execute(sql).fetchall()
        return None
    except sqlite3.Error as error:
        return str(error)


def main():
    database, c = application()
    c.executescript("CREATE TABLE sent(id); CREATE TABLE three(id INTEGER PRIMARY KEY); INSERT INTO three VALUES (1), (2), (3)")
    call(c, "SELECT so_define_operation('T', 'tell', ?)",
         "SELECT so_tell('T', 'a', 'count'), so_tell('T', 'b', 'outside'), so_set('big', hex(zeroblob(2000))) AS result")
    call(c, "SELECT so_call('T', 'tells', 'tell')")
    for key in ("1", "1", "2", "3"):
        call(c, "SELECT so_send('T', ?, 'count')", key)
    call(c, "SELECT so_send('T', 'slow', 'count', NULL, '{\"delay_ms\": 3600000}')")
    call(c, "SELECT so_send('T', 'ext', 'outside')")
    call(c, "SELECT so_send('T', 'ext2', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    calls = [text.format(claim=claim) for text in CALLS]
    failures = 0
    template = sqlite3.connect(":memory:")
    c.backup(template)
    for table in TABLES:
        for event in ("INSERT", "UPDATE", "DELETE"):
            # The first row may pass, the second one not: the error comes between statements.
            for spare in (0, 1):
                for sql in calls:
                    for begin in (None, "BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT mine"):
                        c.execute("CREATE TEMP TABLE fuse(left INTEGER)")
                        c.execute("INSERT INTO fuse VALUES (?)", (spare,))
                        c.execute(f"CREATE TEMP TRIGGER stop BEFORE {event} ON main.solidobj_{table} BEGIN "
                                  "SELECT RAISE(ABORT, 'stopped') FROM fuse WHERE left <= 0; UPDATE fuse SET left = left - 1; END")
                        if begin:
                            c.execute(begin)
                            c.execute("INSERT INTO note(text) VALUES ('mine')")
                        before = everything(c)
                        where = f"{begin}, {event} {table} {spare}: {sql}"
                        said = attempt(c, sql)
                        if said is not None and said.startswith("SO_INSIDE_TRANSACTION") and begin:
                            equal(everything(c), before, f"{where}: what a refused call left")
                        elif said is not None:
                            failures += 1
                            check("stopped" in said, f"{where}: {said}")
                            # A statement of the caller's that sends several is undone by SQLite, outside a transaction.
                            if not begin or sql.startswith("SELECT"):
                                equal(everything(c), before, f"{where}: what is left")
                        equal(c.in_transaction, begin is not None, f"{where}: in a transaction")
                        if begin:
                            equal(c.execute("SELECT text FROM note WHERE key IS NULL").fetchall(), [("mine",)], f"{where}: the caller's row")
                            c.execute("ROLLBACK")
                        c.execute("DROP TRIGGER stop")
                        c.execute("DROP TABLE fuse")
                        if said is None and not begin:
                            template.backup(c)
        holds(c, table)
    check(failures > 100, f"only {failures} calls met the trigger")
    call(c, "SELECT so_run()")
    holds(c, "in the end")
    template.close()
    c.close()
    database.close()


main()
