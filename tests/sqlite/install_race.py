#!/usr/bin/python3
"""Installing at the same moment, killed in the middle, in a transaction, over a newer schema: one installation or none."""
# Cases: C24
import os
import random
import signal
import sqlite3
import time

from fixture import LIBRARY, Database, answer, call, check, start
from places import OPERATIONS, equal, everything, holds, refused, schema_version

PROCESSES = 8
VERSION = schema_version()


def installer(database, gate, number):
    c = database.connect()
    os.read(gate, 1)  # all at once
    equal(call(c, "SELECT so_install()"), VERSION, "the schema's version")
    call(c, "SELECT so_define_actor('T')")
    call(c, "SELECT so_define_operation('T', 'count', ?)", OPERATIONS["count"])
    for _ in range(20):
        call(c, "SELECT so_send('T', ?, 'count')", f"k{number % 3}")


def at_once(journal):
    database = Database()
    c = database.connect()
    c.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    reading, writing = os.pipe()
    processes = [start(installer, database, reading, number) for number in range(PROCESSES)]
    time.sleep(0.1)
    started = time.monotonic()
    os.write(writing, b"g" * PROCESSES)
    for process in processes:
        equal(os.waitpid(process, 0)[1], 0, f"{journal}: an installer's end")
    check(time.monotonic() - started < 15, "installing took long")
    os.close(reading)
    os.close(writing)
    equal(c.execute("SELECT count(*), sum(value) FROM solidobj_setting WHERE name = 'schema_version'").fetchone(), (1, VERSION), "versions")
    equal(call(c, "SELECT count(*) FROM solidobj_type"), 1, "types")
    equal(call(c, "SELECT count(*) FROM solidobj_messages_view"), 20 * PROCESSES, "messages")
    equal(answer(c, "SELECT so_run()")["completed"], 20 * PROCESSES, "turns")
    holds(c, journal)
    c.close()
    database.close()


def install_once(database):
    c = database.connect()
    call(c, "SELECT so_install()")
    time.sleep(20)


def killed():
    """A process that is killed at any moment of installing leaves all or nothing, and the next one completes it."""
    random.seed(24)
    ends = set()
    for _ in range(25):
        database = Database()
        c = database.connect()
        process = start(install_once, database)
        time.sleep(random.uniform(0, 0.012))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        tables = call(c, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'solidobj%'")
        ends.add(tables)
        version = answer(c, "SELECT so_version()")["schema"]
        equal(version, VERSION if tables else None, f"the version with {tables} tables")
        equal(call(c, "SELECT so_install()"), VERSION, "installing again")
        full = call(c, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'solidobj%'")
        check(tables in (0, full), f"{tables} of {full} tables")
        call(c, "SELECT so_define_actor('T')")
        call(c, "SELECT so_define_operation('T', 'count', ?)", OPERATIONS["count"])
        equal(call(c, "SELECT so_call('T', '1', 'count')"), "1", "a call")
        holds(c, "killed")
        c.close()
        database.close()
    check(len(ends) <= 2, f"half an installation: {ends}")


def in_transactions():
    """Installing is a part of the transaction it stands in; nothing but so_install() makes a table."""
    database = Database()
    c = database.connect()
    c.execute("CREATE TABLE app(x)")
    for text in ("so_send('T', '1', 'x')", "so_call('T', '1', 'x')", "so_run()", "so_claim('w')", "so_snapshot('T', '1')", "so_types()",
                 "so_define_actor('T')", "so_status(1)", "so_next_due()", "so_test_clock(0)"):
        c.execute("BEGIN")
        c.execute("INSERT INTO app VALUES (1)")
        refused(c, f"SELECT {text}", "SO_INSIDE_TRANSACTION" if text == "so_run()" else "SO_NOT_INSTALLED")
        check(c.in_transaction, f"{text}: the transaction is gone")
        c.execute("ROLLBACK")
        refused(c, f"SELECT {text}", "SO_NOT_INSTALLED")
    refused(c, "SELECT so_run()", "SO_NOT_INSTALLED")
    equal(everything(c), {"app": []}, "what refused calls left")
    c.execute("SELECT * FROM app").fetchall()
    c.execute("BEGIN")
    equal(call(c, "SELECT so_install()"), VERSION, "in a transaction")
    call(c, "SELECT so_define_actor('T')")
    call(c, "SELECT so_define_operation('T', 'count', ?)", OPERATIONS["count"])
    equal(call(c, "SELECT so_call('T', '1', 'count')"), "1", "a call of what was just installed")
    c.execute("ROLLBACK")
    equal(everything(c), {"app": []}, "after the rollback")
    refused(c, "SELECT so_call('T', '1', 'count')", "SO_NOT_INSTALLED")
    equal(answer(c, "SELECT so_version()")["schema"], None, "the version after the rollback")
    c.execute("SAVEPOINT s")
    call(c, "SELECT so_install()")
    c.execute("ROLLBACK TO s")
    c.execute("RELEASE s")
    equal(everything(c), {"app": []}, "after ROLLBACK TO")
    call(c, "SELECT so_install()")
    before = everything(c)
    equal(call(c, "SELECT so_install()"), VERSION, "once more")
    equal(everything(c), before, "what the second installation changed")
    c.close()
    database.close()


def newer_schema():
    """A schema that is newer than the library: refused before anything is written, by every call, also at once elsewhere."""
    database = Database()
    c = database.connect()
    other = database.connect()
    call(c, "SELECT so_install()")
    call(c, "SELECT so_define_actor('T')")
    call(c, "SELECT so_define_operation('T', 'count', ?)", OPERATIONS["count"])
    call(c, "SELECT so_define_operation('T', 'outside', NULL)")
    for connection in (c, other):
        call(connection, "SELECT so_call('T', '1', 'count')")
    call(c, "SELECT so_send('T', '2', 'outside')")
    claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
    call(c, "SELECT so_send('T', '3', 'count')")
    call(c, "SELECT so_send('T', '4', 'outside')")
    # As a newer library would: the version, and the stamp that makes every connection look.
    plain = sqlite3.connect(database.path, isolation_level=None)
    plain.execute("UPDATE solidobj_setting SET value = 999 WHERE name = 'schema_version'")
    plain.execute("UPDATE solidobj_message SET stamp = stamp + 1 WHERE id = (SELECT max(id) FROM solidobj_message)")
    before = everything(plain)
    fresh = database.connect()
    for connection in (c, other, fresh):
        for text in ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_try('T', '1', 'count')", "so_run()",
                     "so_claim('w')", f"so_commit('{claim}')", f"so_fail('{claim}')", f"so_release('{claim}')", f"so_renew('{claim}')",
                     "so_ask('T', '1', 'count')", "so_define_actor('New')", "so_define_operation('T', 'n', NULL)", "so_install()",
                     "so_snapshot('T', '1')", "so_types()"):
            refused(connection, f"SELECT {text}", "SO_VERSION")
            check(not connection.in_transaction, f"{text}: a transaction is left open")
        equal(answer(connection, "SELECT so_version()")["schema"], 999, "so_version")
    equal(everything(plain), before, "what the old library wrote")
    plain.execute(f"UPDATE solidobj_setting SET value = {VERSION} WHERE name = 'schema_version'")
    plain.execute("UPDATE solidobj_message SET stamp = stamp + 1 WHERE id = (SELECT max(id) FROM solidobj_message)")
    for number, connection in enumerate((c, other, fresh)):
        equal(call(connection, "SELECT so_call('T', '1', 'count')"), str(3 + number), "with the right version again")
    equal(call(c, "SELECT so_commit(?)", claim), 0, "the claim holds on")
    holds(c, "newer schema")
    for connection in (c, other, fresh, plain):
        connection.close()
    database.close()


def in_memory():
    for path in (":memory:", ""):
        c = sqlite3.connect(path, isolation_level=None)
        c.enable_load_extension(True)
        c.load_extension(LIBRARY)
        call(c, "SELECT so_install()")
        call(c, "SELECT so_define_actor('T')")
        call(c, "SELECT so_define_operation('T', 'count', ?)", OPERATIONS["count"])
        call(c, "SELECT so_send('T', '1', 'count')")
        equal(call(c, "SELECT so_ask('T', '1', 'count')"), "2", f"'{path}': so_ask")
        holds(c, "in memory")
        c.close()


def main():
    for journal in ("WAL", "DELETE"):
        at_once(journal)
    killed()
    in_transactions()
    newer_schema()
    in_memory()


main()
