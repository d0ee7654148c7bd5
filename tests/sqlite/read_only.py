#!/usr/bin/python3
"""Files that cannot be written: loading and reading work and write nothing, writing is the engine's read-only error."""
# Cases: C28
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import fixture
from fixture import Database, answer, call, check, start
from places import define, equal, everything, holds, refused

NOBODY = 65534
READONLY, CANTOPEN = 8, 14
READS = ("so_snapshot('T', '1') -> 'state'", "so_snapshot('T', 'none')", "so_result(1)", "so_status(1) ->> 'status'",
         "so_status(2) ->> 'status'", "so_next_due()", "so_types() ->> '$[0].type'", "so_version() ->> 'schema' > 0",
         "so_query('T', '1', 'peek')", "json_array_length(so_dead_letters())", "so_find('T', '1', 'none')",
         "so_history('T', '1') IS NOT NULL", "so_stats() IS NOT NULL", "so_actor('T', '1') IS NOT NULL", "so_wait(1, 100)", "(SELECT count(*) FROM solidobj_messages_view)",
         "(SELECT count(*) FROM solidobj_mailbox_view)", "(SELECT count(*) FROM solidobj_dead_letters_view)")
FOUND = ['{"n":1}', None, "1", "completed", "waiting", 0, "T", 1, "1", 1, None, 1, 1, 1, "1", 4, 2, 1]
WRITES = ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_call('T', '9', 'write')", "so_try('T', '1', 'count')",
          "so_try('T', '1', 'refuse')", "so_ask('T', '1', 'count')", "so_run()", "so_run('{\"wait_ms\": 50}')", "so_claim('w')",
          "so_claim('w', '{\"wait_ms\": 50}')", "so_commit('{claim}')", "so_fail('{claim}')", "so_reject('{claim}', 'NO')",
          "so_release('{claim}')", "so_renew('{claim}')", "so_define_actor('New')", "so_define_operation('T', 'new', NULL)",
          "so_define_migration('T', 1, 'SELECT :state AS state')", "so_drop_operation('T', 'write')",
          "so_send_batch('[{\"type\":\"T\",\"key\":\"1\",\"operation\":\"count\"}]')", "so_cancel(2)", "so_retry(3)", "so_pause('T', '1')",
          "so_resume('T', '1')", "so_destroy('T', '1')", "so_tick()", "so_drop_actor('T')", "so_test_clock(1)")


def prepare(journal):
    """Messages: 1 completed, 2 waiting, 3 dead, 4 claimed."""
    database = Database()
    c = database.connect()
    c.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    define(c)
    call(c, "SELECT so_define_operation('T', 'peek', 'SELECT so_get(''n'') AS result', '{\"query\": true}')")
    call(c, "SELECT so_call('T', '1', 'count')")
    call(c, "SELECT so_send('T', 'waits', 'count')")
    call(c, "SELECT so_send('T', 'dies', 'outside', NULL, '{\"max_attempts\": 1}')")
    call(c, "SELECT so_fail(?, 'x')", answer(c, "SELECT so_claim('w')")[0]["claim"])
    call(c, "SELECT so_send('T', 'held', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    return database, c, claim


def open_file(path, query, library):
    c = sqlite3.connect(f"file:{path}{query}", uri=True, isolation_level=None, timeout=5)
    c.enable_load_extension(True)
    c.load_extension(library)
    return c


def reads(c, where):
    for text, expected in zip(READS, FOUND):
        try:
            equal(call(c, f"SELECT {text}"), expected, f"{where}: {text}")
        except sqlite3.Error as error:
            check(False, f"{where}: {text}: {error}")
    check(not c.in_transaction, f"{where}: reading left a transaction open")


def writes(c, where, claim, codes=(READONLY,)):
    for begin in (None, "BEGIN"):
        for text in WRITES:
            if begin and ("wait_ms" in text or text.startswith(("so_ask", "so_run"))):
                continue
            if begin:
                c.execute(begin)
                c.execute("SELECT count(*) FROM note").fetchall()
            started = time.monotonic()
            try:
                found = c.execute(f"SELECT {text.replace('{claim}', claim)}").fetchall()
                check(False, f"{where}: {begin} {text} went through: {found}")
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", READONLY) & 0xff
                check(code in codes, f"{where}: {begin} {text}: {error} ({code})")
            check(time.monotonic() - started < 3, f"{where}: {text} waited")
            equal(c.in_transaction, begin is not None, f"{where}: {begin} {text}: a transaction is open")
            if begin:
                c.execute("ROLLBACK")
    reads(c, f"{where}, after the writes")


def listing(directory):
    return sorted((name, os.path.getsize(os.path.join(directory, name))) for name in os.listdir(directory))


def unchanged(database, before, where):
    c = database.connect()
    equal(everything(c), before, f"{where}: rows")
    c.close()


def by_uri():
    for journal in ("WAL", "DELETE"):
        database, c, claim = prepare(journal)
        before = everything(c)
        # While somebody else has it open, and when nobody has.
        for closed in (False, True):
            if closed:
                c.close()
            if os.path.exists(database.path + "-solidobj"):
                os.remove(database.path + "-solidobj")
            for query in ("?mode=ro", "?immutable=1"):
                if query == "?immutable=1" and not closed:
                    continue
                where = f"{journal} {query} {closed}"
                files = listing(database.directory)
                one = open_file(database.path, query, fixture.LIBRARY)
                reads(one, where)
                writes(one, where, claim)
                one.close()
                if query == "?immutable=1" or journal == "DELETE":
                    equal(listing(database.directory), files, f"{where}: files")
                check(not os.path.exists(database.path + "-solidobj"), f"{where}: a doorbell was made")
        unchanged(database, before, journal)
        database.close()


def query_only():
    """The pragma at once, and switched inside a transaction."""
    database, c, claim = prepare("WAL")
    before = everything(c)
    c.execute("PRAGMA query_only = ON")
    reads(c, "query_only")
    writes(c, "query_only", claim)
    c.execute("PRAGMA query_only = OFF")
    equal(everything(c), before, "query_only: rows")
    c.execute("BEGIN")
    call(c, "SELECT so_call('T', '1', 'count')")
    c.execute("PRAGMA query_only = ON")
    for text in ("so_call('T', '1', 'count')", "so_send('T', '1', 'count')", "so_commit('%s')" % claim):
        refused(c, f"SELECT {text}", "attempt to write a readonly database")
    equal(call(c, "SELECT so_snapshot('T', '1') ->> '$.state.n'"), 2, "what the transaction wrote before")
    c.execute("PRAGMA query_only = OFF")
    call(c, "SELECT so_call('T', '1', 'count')")
    c.execute("COMMIT")
    equal(call(c, "SELECT so_snapshot('T', '1') ->> '$.state.n'"), 3, "what was committed")
    holds(c, "query_only")
    c.close()
    database.close()


def as_nobody(path, library, claim, where, opens):
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    try:
        c = open_file(path, "", library)
        c.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except sqlite3.OperationalError as error:
        check(not opens, f"{where}: {error}")
        os._exit(0)
    check(opens, f"{where}: SQLite opened it after all")
    reads(c, where)
    writes(c, where, claim)
    c.close()


def by_permission():
    """File and directory without the right to write, with and without a -wal; SQLite itself says which can be opened."""
    if os.getuid() != 0:
        print("permissions: skipped, only root can give up its rights")
        return
    for journal in ("WAL", "DELETE"):
        for open_elsewhere in (True, False):
            for directory_mode in (0o777, 0o755):
                database, c, claim = prepare(journal)
                before = everything(c)
                library = os.path.join(database.directory, "solidobj.so")  # the entry point is found by the name
                shutil.copy(fixture.LIBRARY if fixture.LIBRARY.endswith(".so") else fixture.LIBRARY + ".so", library)
                if not open_elsewhere:
                    c.close()
                os.chmod(database.directory, directory_mode)
                for name in os.listdir(database.directory):
                    os.chmod(os.path.join(database.directory, name), 0o644)
                where = f"{journal}, open elsewhere: {open_elsewhere}, directory {directory_mode:o}"
                opens = journal == "DELETE" or open_elsewhere or directory_mode == 0o777
                process = start(as_nobody, database.path, library, claim, where, opens)
                equal(os.waitpid(process, 0)[1], 0, f"{where}: as nobody")
                if open_elsewhere:
                    equal(call(c, "SELECT so_call('T', 'goes on', 'count')"), "1", f"{where}: the writer goes on")
                    c.close()
                else:
                    unchanged(database, before, where)
                database.close()


def writable_again():
    """A worker whose database is read-only for a while fails with that code, keeps nothing, and goes on afterwards."""
    database, c, claim = prepare("WAL")
    worker = database.connect()
    worker.execute("PRAGMA query_only = ON")
    for _ in range(3):
        refused(worker, "SELECT so_run()", "attempt to write a readonly database")
        refused(worker, "SELECT so_claim('w')", "attempt to write a readonly database")
        refused(worker, "SELECT so_commit(?)", "attempt to write a readonly database", claim)
    worker.execute("PRAGMA query_only = OFF")
    equal(answer(worker, "SELECT so_run()")["completed"], 1, "turns after it is writable again")
    equal(answer(c, "SELECT so_status(2)")["attempts"], 1, "attempts of the message that waited")
    equal(call(worker, "SELECT so_commit(?)", claim), 0, "the revision of the commit")
    holds(c, "writable again")
    worker.close()
    c.close()
    database.close()


def killed_in_commit():
    """SIGKILL around so_commit: the message is committed, or claimable after its lease; never stuck."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import fixture, sqlite3\n"
            "c = sqlite3.connect(sys.argv[2], isolation_level=None, timeout=10); c.enable_load_extension(True)\n"
            "c.load_extension(fixture.LIBRARY); print('ready', flush=True)\n"
            "for claim in sys.argv[3:]: c.execute('SELECT so_commit(?, ?)', (claim, '{\"result\": 1}')).fetchall()\n")
    database, c, _ = prepare("WAL")
    for round_ in range(4):
        for n in range(60):
            call(c, "SELECT so_send('T', ?, 'outside')", f"k{round_}.{n}")
        rows = answer(c, """SELECT so_claim('w', '{"max": 100, "lease_ms": 400}')""")
        claims = {row["claim"]: row["message"] for row in rows}
        equal(len(claims), 60, "claims")
        worker = subprocess.Popen([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), database.path, *claims],
                                  stdout=subprocess.PIPE)
        worker.stdout.readline()
        time.sleep(0.001 * (1 + round_))
        worker.kill()
        worker.wait()
        worker.stdout.close()
        time.sleep(0.45)
        done = sum(answer(c, "SELECT so_status(?)", message)["status"] == "completed" for message in claims.values())
        again = answer(c, """SELECT so_claim('w2', '{"max": 100}')""")
        equal(done + len(again), 60, f"{done} committed, and what can be claimed again")
        for row in again:
            equal(row["attempt"], 2, "attempts of a message whose worker was killed")
            call(c, "SELECT so_commit(?)", row["claim"])
        holds(c, "killed in so_commit")
    c.close()
    database.close()


def main():
    by_uri()
    query_only()
    by_permission()
    writable_again()
    killed_in_commit()


main()
