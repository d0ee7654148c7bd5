#!/usr/bin/python3
"""Several connections, threads and processes; fork; shared cache; the library loaded twice; closing in any order."""
# Cases: C20
import ctypes
import os
import signal
import sqlite3
import threading
import time

import capi
from capi import Connection, Error
from fixture import Database, answer, call, check, start
from places import application, define, equal, holds

CALLS = 60


def connections_and_threads():
    """Threads with a connection each; then threads that share one, which SQLite's own mutex puts in a line."""
    database, c = application()
    faults = []

    def work(connection, key):
        try:
            for _ in range(CALLS):
                # A text of its own: Python keeps one statement per text, and threads must not share one.
                call(connection, f"SELECT so_call('T', '{key}', 'count')")
                call(connection, f"SELECT so_send('T', '{key}', 'count')")
        except sqlite3.Error as error:
            faults.append(f"{key}: {error}")

    for shared in (False, True):
        several = [c if shared else database.connect() for _ in range(6)]
        threads = [threading.Thread(target=work, args=(connection, f"{shared}{n}")) for n, connection in enumerate(several)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(faults, [], f"one connection: {shared}")
        call(c, "SELECT so_run()")
        for n in range(6):
            equal(call(c, "SELECT so_snapshot('T', ?) ->> '$.state.n'", f"{shared}{n}"), 2 * CALLS, f"turns, one connection: {shared}")
        if not shared:
            # Not in the order in which they were opened.
            for connection in several[1::2] + several[::2]:
                connection.close()
        holds(c, f"threads, one connection: {shared}")
    # Two connections of one process hear each other.
    one, two = database.connect(), database.connect()
    waiter = threading.Thread(target=lambda: faults.append(answer(one, """SELECT so_run('{"wait_ms": 5000, "max_turns": 1}')""")))
    waiter.start()
    time.sleep(0.1)
    started = time.monotonic()
    call(two, "SELECT so_send('T', 'hear', 'count')")
    waiter.join()
    check(time.monotonic() - started < 1, "a connection of the same process was not woken")
    equal(faults[0]["completed"], 1, "its turns")
    one.close()
    two.close()
    c.close()
    database.close()


def child_that(how, c, database):
    """What a child does with what it inherits: nothing, or exit handlers; its own connection works."""
    own = database.connect()
    for _ in range(20):
        call(own, "SELECT so_call('T', 'child', 'count')")
        call(own, "SELECT so_send('T', 'child', 'count')")
    if how == "closes its own":
        own.close()
    if how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)


def forks():
    """A child that inherits an open connection, also in the middle of a transaction, harms neither database nor parent."""
    database, c = application()
    other = database.connect()
    for how in ("goes", "closes its own", "is killed"):
        for open_ in (None, "BEGIN", "cursor"):
            call(c, "SELECT so_call('T', 'parent', 'count')")
            cursor = None
            if open_ == "BEGIN":
                c.execute("BEGIN")
                c.execute("SELECT count(*) FROM note").fetchall()
            elif open_ == "cursor":
                cursor = c.execute("SELECT so_snapshot('T', 'parent') FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3)")
                cursor.fetchone()
            process = start(child_that, how, c, database)
            status = os.waitpid(process, 0)[1]
            equal(status, signal.SIGKILL if how == "is killed" else 0, f"{how}: the child's end")
            if cursor is not None:
                equal(len(cursor.fetchall()), 2, f"{how}: the rest of the cursor")
            if open_ == "BEGIN":
                c.execute("ROLLBACK")
            # The gate is open and the parent's connection goes on.
            started = time.monotonic()
            call(c, "SELECT so_call('T', 'parent', 'count')")
            call(other, "SELECT so_call('T', 'other', 'count')")
            check(time.monotonic() - started < 1, f"{how}, {open_}: the parent waited for its child")
            call(c, "SELECT so_run()")
            holds(c, f"{how}, {open_}")
    equal(call(c, "SELECT so_snapshot('T', 'child') ->> '$.state.n'"), 9 * 40, "turns of the children")
    equal(call(c, "SELECT so_snapshot('T', 'parent') ->> '$.state.n'"), 9 * 2, "turns of the parent")
    # Many that die with an inherited connection leave the doorbell as it is.
    for _ in range(30):
        process = os.fork()
        if process == 0:
            os._exit(0)
        os.waitpid(process, 0)
    reading, writing = os.pipe()

    def waiter():
        mine = database.connect()
        os.write(writing, b"r")
        os._exit(answer(mine, """SELECT so_run('{"wait_ms": 5000, "max_turns": 1}')""")["completed"])

    process = start(waiter)
    os.read(reading, 1)
    time.sleep(0.05)
    started = time.monotonic()
    call(c, "SELECT so_send('T', 'woken', 'count')")
    equal(os.waitpid(process, 0)[1], 256, "the waiter's turns")
    check(time.monotonic() - started < 1, "a waiter was not woken after forks")
    other.close()
    c.close()
    database.close()


def shared_cache():
    """Connections that share a cache: SQLite's table locks apply; a call works, or is SQLITE_LOCKED and changes nothing."""
    database, c = application()
    c.execute("PRAGMA journal_mode = DELETE").fetchall()
    c.close()
    flags = capi.OPEN_READWRITE | capi.OPEN_SHAREDCACHE | capi.OPEN_URI
    one, two = Connection(database.path, flags), Connection(database.path, flags)
    for n in range(20):
        equal(one.one("SELECT so_call('T', 's', 'count')"), str(2 * n + 1), "a call of one")
        equal(two.one("SELECT so_call('T', 's', 'count')"), str(2 * n + 2), "a call of the other")
    one.rows("BEGIN IMMEDIATE")
    one.rows("SELECT so_send('T', 's', 'count')")
    for text in ("so_send('T', 's', 'count')", "so_call('T', 's', 'count')", "so_run()", "so_snapshot('T', 's')", "so_claim('w')"):
        started = time.monotonic()
        code = two.refused(f"SELECT {text}", "database ")
        check(code & 0xff == 6, f"{text}: code {code}, not SQLITE_LOCKED")
        check(two.autocommit and time.monotonic() - started < 6, f"{text}: it is left open or waited")
    one.rows("COMMIT")
    two.rows("PRAGMA read_uncommitted = ON")
    two.rows("SELECT so_run()")
    equal(two.one("SELECT so_snapshot('T', 's') ->> '$.state.n'"), "41", "the state")
    # A half-read statement of one is a table lock for the other.
    statement = one.prepare("SELECT * FROM solidobj_message")
    capi.S.sqlite3_step(statement)
    code = two.refused("SELECT so_send('T', 's', 'count')", "database table is locked")
    check(code & 0xff == 6, f"code {code}")
    capi.S.sqlite3_finalize(statement)
    faults = []

    def work(connection):
        done = 0
        end = time.monotonic() + 10
        while done < 50 and time.monotonic() < end:
            try:
                connection.rows("SELECT so_call('T', 'threads', 'count')")
                done += 1
            except Error as error:
                if error.code & 0xff not in (5, 6):
                    faults.append(str(error))
                    return
                time.sleep(0.001)
        if done < 50:
            faults.append(f"only {done} calls")

    threads = [threading.Thread(target=work, args=(connection,)) for connection in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(faults, [], "threads with a shared cache")
    equal(one.one("SELECT so_snapshot('T', 'threads') ->> '$.state.n'"), "100", "their turns")
    one.close()
    two.close()
    memory = "file:shared-memory?mode=memory&cache=shared"
    one, two = Connection(memory, flags | capi.OPEN_CREATE), Connection(memory, flags | capi.OPEN_CREATE)
    one.rows("SELECT so_install()")
    one.rows("SELECT so_define_actor('T')")
    one.rows("SELECT so_define_operation('T', 'count', 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result')")
    equal(one.one("SELECT so_call('T', '1', 'count')") + two.one("SELECT so_call('T', '1', 'count')"), "12", "a shared database in memory")
    two.rows("SELECT so_send('T', '1', 'count')")
    equal(one.one("SELECT so_run() ->> 'completed'"), "1", "its worker")
    one.close()
    two.close()
    c = database.connect()
    holds(c, "shared cache")
    c.close()
    database.close()


def loaded_twice():
    """Loading again, under a second name, on one of two connections, in any order of closing."""
    database, c = application()
    library = capi.LIBRARY if capi.LIBRARY.endswith(".so") else capi.LIBRARY + ".so"
    copy = os.path.join(database.directory, "solidobj.so")
    with open(library, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    one = Connection(database.path)
    equal(one.one("SELECT so_call('T', '1', 'count')"), "1", "loaded once")
    one.load()
    equal(one.one("SELECT so_call('T', '1', 'count')"), "2", "loaded twice")
    one.load(copy)
    equal(one.one("SELECT so_call('T', '1', 'count')"), "3", "loaded from another file")
    # While a call's statement is half read.
    statement = one.prepare("SELECT so_call('T', '1', 'count') UNION ALL SELECT 5")
    equal(capi.S.sqlite3_step(statement), capi.ROW, "a step")
    one.load()
    equal(capi.S.sqlite3_step(statement), capi.ROW, "a step after loading again")
    capi.S.sqlite3_finalize(statement)
    two = Connection(database.path, load=False)
    two.load(copy)
    for connection in (two, one, two):
        connection.rows("SELECT so_send('T', '1', 'count')")
    one.close()
    equal(two.one("SELECT so_run() ->> 'completed'"), "3", "the other connection, another copy of the library")
    three = Connection(database.path)
    two.close()
    equal(three.one("SELECT so_snapshot('T', '1') ->> '$.state.n'"), "7", "a third one")
    three.close()
    # Loading inside a transaction, and from SQL; the load can even be a part of the statement before the call.
    four = Connection(database.path, load=False)
    four.config(1005, 1)
    four.expect(capi.S.sqlite3_enable_load_extension(four.handle, 1))
    four.rows("BEGIN")
    four.rows(f"SELECT load_extension('{os.path.abspath(library)}')")
    equal(four.one("SELECT so_call('T', '1', 'count')"), "8", "loaded inside a transaction")
    four.rows("COMMIT")
    four.close()
    holds(c, "loaded twice")
    c.close()
    database.close()


def zombies():
    """sqlite3_close_v2 with a statement open: the statement goes on to its end, and the file is free afterwards."""
    database, c = application()
    for begin in (None, "BEGIN", "BEGIN IMMEDIATE"):
        one = Connection(database.path)
        one.rows("SELECT so_call('T', 'z', 'count')")
        if begin:
            one.rows(begin)
            one.rows("SELECT so_send('T', 'zombie', 'count')")
        statement = one.prepare("SELECT so_call('T', 'z', 'count') UNION ALL SELECT so_call('T', 'z', 'count')")
        equal(capi.S.sqlite3_step(statement), capi.ROW, "a step before closing")
        equal(capi.S.sqlite3_close(one.handle) & 0xff, 5, "sqlite3_close with a statement open")
        equal(capi.S.sqlite3_step(statement), capi.ROW, "a step after the refused closing")
        equal(capi.S.sqlite3_close_v2(one.handle), 0, "sqlite3_close_v2")
        check(capi.S.sqlite3_step(statement) in (capi.ROW, capi.DONE), "a step of a zombie")
        capi.S.sqlite3_finalize(statement)
        call(c, "SELECT so_call('T', 'other', 'count')")
        equal(call(c, "SELECT count(*) FROM solidobj_messages_view WHERE key = 'zombie'"), 0, f"{begin}: what was never committed")
        holds(c, f"zombie, {begin}")
    # Nothing keeps the WAL: the last connection removes it.
    c.close()
    check(not os.path.exists(database.path + "-wal"), "the WAL is left")
    database.close()


def main():
    connections_and_threads()
    forks()
    shared_cache()
    loaded_twice()
    zombies()
    fresh = Database()
    c = fresh.connect()
    define(c)
    holds(c, "in the end")
    c.close()
    fresh.close()


main()
