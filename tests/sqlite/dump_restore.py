#!/usr/bin/python3
"""Dumps, VACUUM, VACUUM INTO and backups during traffic: all rows once, ids and claims go on without a collision."""
# Cases: C27
import os
import signal
import sqlite3
import subprocess
import time

from fixture import LIBRARY, Database, answer, call, check, start
from places import define, equal, everything, holds, refused


KEYED = """'{"idempotency_key": "used"}'"""


def fill(c):
    """State, large state, a waiting, delayed, retrying, claimed, dead and finished message, a used key. Gives the claim."""
    call(c, "SELECT so_call('T', 'state', 'count')")
    call(c, "SELECT so_send('T', 'big', 'outside')")
    row = answer(c, "SELECT so_claim('w')")[0]
    call(c, "SELECT so_commit(?, ?)", row["claim"], '{"state": {"text": "%s", "quote": "it\'s \\"so\\""}}' % ("ü" * 5000))
    call(c, "SELECT so_send('T', 'dies', 'outside', NULL, '{\"max_attempts\": 1}')")
    call(c, "SELECT so_fail(?, 'because')", answer(c, "SELECT so_claim('w')")[0]["claim"])
    call(c, "SELECT so_try('T', 'state', 'refuse')")
    call(c, f"SELECT so_try('T', 'state', 'count', '{{}}', {KEYED})")
    call(c, "SELECT so_send('T', 'held', 'outside')")
    call(c, "SELECT so_send('T', 'held', 'outside')")
    claim = answer(c, """SELECT so_claim('w', '{"lease_ms": 60000}')""")[0]["claim"]
    for key in ("waits", "waits", "waits2"):
        call(c, "SELECT so_send('T', ?, 'count')", key)
    call(c, "SELECT so_send('T', 'later', 'count', NULL, '{\"delay_ms\": 3600000}')")
    call(c, "SELECT so_send('T', 'retries', 'outside')")
    other = [row for row in answer(c, "SELECT so_claim('w')") if row["key"] == "retries"]
    call(c, "SELECT so_fail(?, 'again', '{\"delay_ms\": 3600000}')", other[0]["claim"])
    return claim


def shell(path, text, *options):
    done = subprocess.run(["sqlite3", "-bail", *options, path], input=text, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), f"the shell's end ({text[:60]!r})")
    return done.stdout


def connect(path):
    c = sqlite3.connect(path, isolation_level=None, timeout=20)
    c.enable_load_extension(True)
    c.load_extension(LIBRARY)
    return c


def goes_on(path, rows, claim, where):
    """The copy holds the same rows, and works."""
    plain = sqlite3.connect(path, isolation_level=None)
    equal(everything(plain), rows, f"{where}: rows")
    newest = plain.execute("SELECT max(id) FROM solidobj_message").fetchone()[0]
    views = {view: plain.execute(f"SELECT count(*) FROM solidobj_{view}_view").fetchone()[0]
             for view in ("messages", "mailbox", "dead_letters", "actors")}
    equal(views, {"messages": 12, "mailbox": 7, "dead_letters": 1, "actors": 2}, f"{where}: views, without the extension")
    plain.close()
    c = connect(path)
    holds(c, where)
    version = answer(c, "SELECT so_version()")["schema"]
    equal(call(c, "SELECT so_install()"), version, f"{where}: so_install")
    keyed = call(c, "SELECT so_find('T', 'state', 'used')")
    equal(call(c, f"SELECT so_send('T', 'state', 'count', '{{}}', {KEYED})"), keyed, f"{where}: the used key again")
    equal(answer(c, "SELECT so_status(?)", keyed)["status"], "completed", f"{where}: the message of the used key")
    equal(call(c, "SELECT so_send('T', 'new', 'count')"), newest + 1, f"{where}: the next id")
    equal(answer(c, "SELECT so_claim('w2')"), [], f"{where}: what is claimed is not given out")
    call(c, "SELECT so_test_clock(61000)")
    rows = answer(c, "SELECT so_claim('w2')")
    equal([(row["key"], row["attempt"]) for row in rows], [("held", 2)], f"{where}: after the lease")
    check(rows[0]["claim"] != claim, f"{where}: the claim's token is new")
    refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
    call(c, "SELECT so_commit(?)", rows[0]["claim"])
    equal(answer(c, "SELECT so_run()")["completed"], 4, f"{where}: turns")
    call(c, "SELECT so_test_clock(3600000)")
    equal(answer(c, "SELECT so_run()")["completed"], 1, f"{where}: the delayed one")
    call(c, "SELECT so_commit(?)", answer(c, "SELECT so_claim('w')")[0]["claim"])
    call(c, "SELECT so_commit(?)", answer(c, "SELECT so_claim('w')")[0]["claim"])
    equal(call(c, "SELECT count(*) FROM solidobj_mailbox_view"), 0, f"{where}: what is left")
    equal(answer(c, "SELECT so_snapshot('T', 'big')")["state"]["quote"], "it's \"so\"", f"{where}: the large state")
    holds(c, where)
    c.close()


def copies():
    database = Database()
    c = database.connect()
    define(c)
    call(c, "SELECT so_install('{\"test\": true}')")
    claim = fill(c)
    c.execute("CREATE TRIGGER outbox AFTER INSERT ON note BEGIN SELECT so_send('T', 'n', 'count'); END")
    rows = everything(c)
    paths = {name: os.path.join(database.directory, name) for name in ("dumped", "into", "backup", "shell-backup")}
    # With and without the extension; what reads the dump has never heard of it.
    dump = shell(database.path, ".dump\n")
    equal(shell(database.path, ".dump\n", "-cmd", f".load {LIBRARY}"), dump, "the dump of a shell with the extension")
    shell(paths["dumped"], dump)
    c.execute("VACUUM INTO ?", (paths["into"],))
    copy = sqlite3.connect(paths["backup"])
    c.backup(copy, pages=3)
    copy.close()
    shell(database.path, f".backup {paths['shell-backup']}\n")
    for name, path in paths.items():
        goes_on(path, rows, claim, name)
    c.execute("VACUUM")
    equal(everything(c), rows, "VACUUM: rows")
    c.execute("PRAGMA page_size = 1024")
    c.execute("PRAGMA journal_mode = DELETE").fetchall()
    c.execute("VACUUM")
    c.close()
    goes_on(database.path, rows, claim, "VACUUM with another page size")
    database.close()


def in_the_middle():
    """VACUUM is refused by SQLite while calls have something open, and in a transaction; statements that are kept are not that."""
    database = Database()
    c = database.connect()
    define(c)
    for text in ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_run()", "so_claim('w')", "so_ask('T', '1', 'count')"):
        c.execute(f"SELECT {text}").fetchall()
        c.execute("VACUUM")
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        equal(os.path.getsize(database.path + "-wal"), 0, f"the WAL after {text} and a checkpoint: no statement holds it")
    holds(c, "VACUUM between calls")
    c.close()
    database.close()


def traffic(database, number):
    c = database.connect()
    end = time.monotonic() + 8
    n = 0
    while time.monotonic() < end:
        n += 1
        for text in ("so_send('T', ?, 'count')", "so_call('T', ?, 'write')", "so_send('T', ?, 'outside')"):
            call(c, f"SELECT {text}", f"t{number}.{n % 5}" if "outside" not in text else f"o{number}.{n % 5}")
        for row in answer(c, "SELECT so_claim(?)", f"w{number}"):
            call(c, "SELECT so_commit(?)", row["claim"])
        call(c, "SELECT so_run('{\"max_turns\": 3}')")


def during_traffic():
    """A copy that is taken while others write is one moment of the database."""
    database = Database()
    c = database.connect()
    define(c)
    processes = [start(traffic, database, number) for number in range(2)]
    try:
        time.sleep(0.2)
        for n in range(3):
            path = os.path.join(database.directory, f"copy{n}")
            if n == 0:
                c.execute("VACUUM INTO ?", (path,))
            elif n == 1:
                copy = sqlite3.connect(path)
                c.backup(copy, pages=-1)
                copy.close()
            else:
                shell(path, shell(database.path, ".timeout 5000\n.dump\n"))
            copy = connect(path)
            holds(copy, f"copy {n}")
            check(call(copy, "SELECT count(*) FROM solidobj_messages_view") > 10, f"copy {n}: hardly a message")
            newest = call(copy, "SELECT max(id) FROM solidobj_message")
            copy.execute("SELECT so_run()").fetchall()
            equal(call(copy, "SELECT so_call('T', 'copy', 'count')"), "1", f"copy {n}: a call")
            check(call(copy, "SELECT max(id) FROM solidobj_message") > newest, f"copy {n}: ids go on")
            holds(copy, f"copy {n}, used")
            copy.close()
    finally:
        for process in processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    holds(c, "the original")
    c.close()
    database.close()


def restored_under_us():
    """The backup API writes an older state into the database while a connection has it open: that connection follows."""
    database = Database()
    c = database.connect()
    define(c)
    call(c, "SELECT so_call('T', '1', 'count')")
    old = sqlite3.connect(":memory:")
    c.backup(old)
    call(c, "SELECT so_define_operation('T', 'count', 'SELECT ''new'' AS result')")
    call(c, "SELECT so_define_operation('T', 'more', 'SELECT 1 AS result')")
    equal(call(c, "SELECT so_call('T', '1', 'count')"), '"new"', "the new handler")
    call(c, "SELECT so_send('T', 'x', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    writer = sqlite3.connect(database.path)
    old.backup(writer)
    writer.close()
    equal(call(c, "SELECT so_call('T', '1', 'count')"), "2", "the old handler and state")
    refused(c, "SELECT so_call('T', '1', 'more')", "SO_UNKNOWN_OPERATION")
    refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
    # The id of the lost message is given out again, its claim is not.
    call(c, "SELECT so_send('T', 'x', 'outside')")
    refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
    again = answer(c, "SELECT so_claim('w')")[0]
    refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
    call(c, "SELECT so_commit(?)", again["claim"])
    holds(c, "restored")
    old.close()
    c.close()
    database.close()


def main():
    copies()
    in_the_middle()
    during_traffic()
    restored_under_us()


main()
