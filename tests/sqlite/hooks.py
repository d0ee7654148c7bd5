#!/usr/bin/python3
"""The application's hooks, handlers and limits stay as they were, are called for our rows too, and what they refuse is a clean error."""
# Cases: C11, C20
import ctypes
import sqlite3
import time

import capi
from capi import Connection, Error
from fixture import Database, call, check
from places import define, equal, everything, holds, schema_version

CALLS = ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_call('T', '1', 'write')", "so_try('T', '1', 'refuse')",
         "so_run()", "so_ask('T', '1', 'count')", "so_snapshot('T', '1')", "so_query('T', '1', 'peek')",
         "so_send('T', 'held', 'outside')", "so_claim('w')", "so_define_actor('U')", "so_define_operation('U', 'x', NULL)",
         "so_install()", "so_next_due()", "so_types()", "so_wait(1)", "so_send('T', 'x', 'break')", "so_run()")
VERSION = str(schema_version())
INT, TEXT, I64 = ctypes.c_int, ctypes.c_char_p, ctypes.c_int64


def hooks_stay(path):
    """Each hook is still the application's own after every call, and hears of commits."""
    heard = {name: 0 for name in ("commit", "rollback", "update", "wal", "preupdate", "trace", "progress", "authorizer", "busy")}

    def hear(name, result=0):
        def function(*_):
            heard[name] += 1
            return result
        return function

    c = Connection(path)
    hooks = {
        "commit": ("commit_hook", INT, ()), "rollback": ("rollback_hook", None, ()),
        "update": ("update_hook", None, (INT, TEXT, TEXT, I64)), "wal": ("wal_hook", INT, (capi.P, TEXT, INT)),
        "preupdate": ("preupdate_hook", None, (capi.P, INT, TEXT, TEXT, I64, I64)),
    }
    for name, (function, result, arguments) in hooks.items():
        c.hook(function, result, arguments, hear(name))
    progress = ctypes.CFUNCTYPE(INT, capi.P)(hear("progress"))
    capi.S.sqlite3_progress_handler(c.handle, 50, progress, None)
    authorizer = ctypes.CFUNCTYPE(INT, capi.P, INT, TEXT, TEXT, TEXT, TEXT)(hear("authorizer"))
    capi.S.sqlite3_set_authorizer(c.handle, authorizer, None)
    trace = ctypes.CFUNCTYPE(INT, INT, capi.P, capi.P, capi.P)(hear("trace"))
    capi.S.sqlite3_trace_v2(c.handle, 1, trace, None)
    busy = ctypes.CFUNCTYPE(INT, capi.P, INT)(hear("busy"))
    capi.S.sqlite3_busy_handler(c.handle, busy, None)
    for text in CALLS:
        c.rows(f"SELECT {text}")
    for name in ("commit", "update", "wal", "preupdate", "trace", "progress", "authorizer"):
        check(heard[name] > 10, f"the {name} hook was called {heard[name]} times")
    before = dict(heard)
    c.rows("INSERT INTO note(text) VALUES ('x')")
    for name in ("commit", "update", "wal", "preupdate", "trace"):
        equal(heard[name] - before[name], 1, f"how often the {name} hook heard of a row of the application's")
    c.rows("BEGIN")
    c.rows("SELECT so_call('T', 'hooks', 'count')")
    c.rows("ROLLBACK")
    check(heard["rollback"] > 0, "the rollback hook was not called")
    # The busy handler decides how long is waited.
    c.rows("SELECT so_send('T', 'waits', 'count'), so_send('T', 'waits too', 'outside')")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for text in ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_run()", "so_claim('w')"):
        before = heard["busy"]
        equal(c.refused(f"SELECT {text}", "database is locked") & 0xff, 5, f"{text}: the code")
        check(heard["busy"] > before, f"{text}: the busy handler was not called")
        check(c.autocommit, f"{text}: a transaction is left open")
    other.execute("ROLLBACK")
    other.close()
    capi.S.sqlite3_set_authorizer(c.handle, None, None)
    capi.S.sqlite3_progress_handler(c.handle, 0, None, None)
    capi.S.sqlite3_trace_v2(c.handle, 0, None, None)
    capi.S.sqlite3_busy_timeout(c.handle, 5000)
    c.rows("SELECT so_run()")
    c.close()


def timeout_stays(path):
    c = sqlite3.connect(path, isolation_level=None)
    c.enable_load_extension(True)
    c.load_extension(capi.LIBRARY)
    other = sqlite3.connect(path, isolation_level=None)
    for milliseconds in (0, 250):
        c.execute(f"PRAGMA busy_timeout = {milliseconds}")
        for text in CALLS:
            c.execute(f"SELECT {text}").fetchall()
            equal(call(c, "PRAGMA busy_timeout"), milliseconds, f"busy_timeout after {text}")
        other.execute("BEGIN IMMEDIATE")
        for text in ("so_call('T', '1', 'count')", "so_send('T', '1', 'count')"):
            started = time.monotonic()
            try:
                c.execute(f"SELECT {text}").fetchall()
                check(False, f"{text} went through a lock")
            except sqlite3.OperationalError as error:
                check("locked" in str(error), f"{text}: {error}")
            waited = (time.monotonic() - started) * 1000
            check(milliseconds * 0.8 <= waited < milliseconds + 700, f"{text}: waited {waited} ms of {milliseconds}")
        other.execute("ROLLBACK")
    other.close()
    c.close()


def commit_refused(path):
    """A commit hook that says no: the call fails with the engine's code, nothing is left, later calls work."""
    answers = [0]
    c = Connection(path)
    c.hook("commit_hook", INT, (), lambda: answers[0])
    for text in ("so_send('T', 'r', 'count')", "so_call('T', 'r', 'count')", "so_try('T', 'r', 'refuse')", "so_run()",
                 "so_claim('w2')", "so_define_actor('Refused')"):
        c.rows("SELECT so_send('T', 'x', 'count')")
        c.rows("SELECT so_send('T', 'y' || abs(random()), 'outside')")
        before = c.rows("SELECT * FROM solidobj_messages_view"), c.rows("SELECT * FROM solidobj_actors_view")
        answers[0] = 1
        equal(c.refused(f"SELECT {text}", "constraint failed"), 531, f"{text}: the code")
        answers[0] = 0
        check(c.autocommit, f"{text}: a transaction is left open")
        after = c.rows("SELECT * FROM solidobj_messages_view"), c.rows("SELECT * FROM solidobj_actors_view")
        equal(after, before, f"what {text} left")
    c.rows("SELECT so_run()")
    c.close()


def denied(path):
    """An authorizer that denies one action after the other: an error that says so or a call that works; never half of one."""
    c = Connection(path)
    plain = Connection(path, load=False)
    state = {"at": -1, "seen": 0, "actions": set()}

    def decide(_, action, *names):
        state["seen"] += 1
        state["actions"].add(action)
        return 1 if state["seen"] == state["at"] or state["at"] == 0 else 0

    authorizer = ctypes.CFUNCTYPE(INT, capi.P, INT, TEXT, TEXT, TEXT, TEXT)(decide)
    tables = ("message", "actor", "queue", "claim", "mail", "later", "operation", "type", "setting")
    refusals = 0
    for text in ("so_call('T', 'd', 'write')", "so_send('T', 'd', 'count')", "so_run('{\"max_turns\": 1}')", "so_claim('w3')",
                 "so_define_operation('T', 'd', 'SELECT 1')", "so_snapshot('T', 'd')"):
        at = 1
        while at < 400:
            state.update(at=-1, seen=0)
            # Setting an authorizer makes SQLite prepare everything anew, so that each statement of the call is asked for.
            capi.S.sqlite3_set_authorizer(c.handle, authorizer, None)
            statement = c.prepare(f"SELECT {text}")
            before = [plain.rows(f"SELECT * FROM solidobj_{table}") for table in tables]
            state.update(at=at, seen=0)
            code = capi.S.sqlite3_step(statement)
            message = c.message()
            capi.S.sqlite3_finalize(statement)
            reached = state["seen"] >= at
            state.update(at=-1)
            if code not in (capi.ROW, capi.DONE):
                refusals += 1
                check("not authorized" in message or "prohibited" in message or "authoriz" in message or "SO_" in message,
                      f"{text}, denied at {at}: {message} ({code})")
                after = [plain.rows(f"SELECT * FROM solidobj_{table}") for table in tables]
                check(after == before, f"{text}, denied at {at}: something is left ({message})")
            check(c.autocommit, f"{text}, denied at {at}: a transaction is left open ({message})")
            if not reached:
                break
            at += 1 if at < 60 else 7
    check(refusals > 50, f"only {refusals} calls were denied")
    capi.S.sqlite3_set_authorizer(c.handle, None, None)
    equal(c.one("SELECT so_call('T', 'after', 'count')"), "1", "a call after all that")
    plain.close()
    c.close()


def stopped(path):
    """A progress handler that stops at the Nth step: interrupted, and nothing is left; or, when the caller's own statement is
    stopped after the call in it had committed, all of it."""
    c = Connection(path)
    plain = Connection(path, load=False)
    left = [0]

    def decide(_):
        left[0] -= 1
        return left[0] == 0

    handler = ctypes.CFUNCTYPE(INT, capi.P)(decide)
    tables = ("message", "actor", "queue", "claim", "mail", "later")
    # What one more of it shows.
    shown = {"so_call('T', 's', 'write')": "SELECT count(*) FROM solidobj_messages_view WHERE operation = 'write' AND status = 'completed'",
             "so_send('T', 's', 'count')": "SELECT max(id) FROM solidobj_message",
             "so_claim('w4')": "SELECT count(*) FROM solidobj_claim",
             "so_run('{\"max_turns\": 3}')": None}
    stops = 0
    for text, sql in shown.items():
        late = 0
        for n in (*range(1, 40), *range(40, 400, 9)):
            c.rows("SELECT so_send('T', 's' || abs(random() % 3), 'count'), so_send('T', 'o' || random(), 'outside')")
            before = [plain.rows(f"SELECT * FROM solidobj_{table}") for table in tables]
            number = int(plain.one(sql)) if sql else 0
            notes = int(plain.one("SELECT count(*) FROM note"))
            left[0] = n
            capi.S.sqlite3_progress_handler(c.handle, 3, handler, None)
            try:
                c.rows(f"SELECT {text}")
            except Error as error:
                stops += 1
                equal(error.code & 0xff, 9, f"{text}, stopped at {n}: {error}")
                after = [plain.rows(f"SELECT * FROM solidobj_{table}") for table in tables]
                wrote = int(plain.one("SELECT count(*) FROM note")) - notes
                if sql and after != before:
                    late += 1
                    equal(int(plain.one(sql)), number + 1, f"{text}, stopped at {n}: a part is left: {sql}")
                    equal(wrote, int("write" in text), f"{text}, stopped at {n}: rows of the application's")
                elif sql:
                    equal(wrote, 0, f"{text}, stopped at {n}: rows of the application's")
            capi.S.sqlite3_progress_handler(c.handle, 0, None, None)
            check(c.autocommit, f"{text}, stopped at {n}: a transaction is left open")
        # The caller's statement has a few steps of its own after the call.
        check(late <= 3, f"{text}: {late} calls were told to be stopped and had done their work")
    check(stops > 50, f"only {stops} calls were stopped")
    plain.close()
    c.close()


def configured(path):
    """Settings of sqlite3_db_config() and low limits: calls work, or say what is too low."""
    options = {"FKEY": (1002, 1), "no triggers": (1003, 0), "no views": (1015, 0), "DEFENSIVE": (1010, 1), "writable_schema": (1011, 1),
               "legacy ALTER": (1012, 1), "no DQS in DML": (1013, 0), "no DQS in DDL": (1014, 0), "untrusted schema": (1017, 0),
               "no checkpoint on close": (1006, 1), "trigger EQP": (1008, 1), "QPSG": (1007, 1)}
    for name, (option, value) in options.items():
        c = Connection(path)
        c.config(option, value)
        key = f"c-{option}"
        equal(c.one(f"SELECT so_call('T', '{key}', 'count')"), "1", f"{name}: so_call")
        c.rows(f"SELECT so_send('T', '{key}', 'count')")
        c.rows("SELECT so_run()")
        equal(c.one(f"SELECT so_snapshot('T', '{key}') ->> '$.state.n'"), "2", f"{name}: the state")
        equal(c.one(f"SELECT so_define_operation('T', '{key}', 'SELECT 1 AS result')"), key, f"{name}: a definition")
        equal(c.one(f"SELECT so_call('T', '{key}', '{key}')"), "1", f"{name}: what was defined")
        c.close()
    fresh = Database()
    c = Connection(fresh.path)
    for _, (option, value) in options.items():
        c.config(option, value)
    equal(c.one("SELECT so_install()"), VERSION, "so_install with all of them")
    c.rows("SELECT so_define_actor('T')")
    c.rows("SELECT so_define_operation('T', 'count', 'SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result')")
    equal(c.one("SELECT so_call('T', '1', 'count')"), "1", "so_call with all of them")
    # DEFENSIVE: whoever is not the extension cannot write its tables.
    for sql in ("INSERT INTO solidobj_setting VALUES ('x', 1)", "UPDATE solidobj_message SET status = 2", "DELETE FROM solidobj_actor",
                "DROP TABLE solidobj_queue", "CREATE TABLE solidobj_claim(x)", "ALTER TABLE solidobj_actor ADD COLUMN x"):
        before = c.rows("SELECT * FROM solidobj_actor")
        try:
            c.rows(sql)
            check(False, f"DEFENSIVE let this through: {sql}")
        except Error as error:
            check("may not be" in str(error) or "reserved" in str(error) or "already" in str(error), f"{sql}: {error}")
        equal(c.rows("SELECT * FROM solidobj_actor"), before, sql)
    c.rows("DROP TABLE solidobj")
    equal(c.rows("SELECT name FROM sqlite_schema WHERE name LIKE '%solidobj%'"), [], "what DROP TABLE solidobj left")
    equal(c.one("SELECT so_install()"), VERSION, "so_install once more")
    c.close()
    # The main schema under another name.
    renamed = Database()
    c = Connection(renamed.path)
    name = ctypes.c_char_p(b"principal")
    capi.S.sqlite3_db_config(c.handle, 1000, name)
    equal(c.one("SELECT so_install()"), VERSION, "so_install where main has another name")
    c.rows("SELECT so_define_actor('T')")
    c.rows("SELECT so_define_operation('T', 'x', 'SELECT 5 AS result')")
    equal(c.one("SELECT so_call('T', '1', 'x')"), "5", "so_call where main has another name")
    c.close()
    c = Connection(renamed.path)
    equal(c.one("SELECT so_call('T', '1', 'x')"), "5", "and where it has its own")
    c.close()
    renamed.close()
    fresh.close()


def limited(path):
    limits = {"LENGTH": (0, 2000), "SQL_LENGTH": (1, 100), "COLUMN": (2, 5), "EXPR_DEPTH": (3, 3), "COMPOUND_SELECT": (4, 1),
              "VDBE_OP": (5, 20), "FUNCTION_ARG": (6, 2), "ATTACHED": (7, 0), "VARIABLE_NUMBER": (9, 3), "TRIGGER_DEPTH": (10, 1)}
    for name, (limit, value) in limits.items():
        c = Connection(path)
        before = c.rows("SELECT * FROM solidobj_messages_view")
        usual = capi.S.sqlite3_limit(c.handle, limit, value)
        for text in ("so_send('T', 'l', 'count')", "so_call('T', 'l', 'write')", "so_run()"):
            try:
                c.rows(f"SELECT {text}")
            except Error as error:
                check(str(error) != "", f"{name}: {text}: an error without a text")
            check(c.autocommit, f"{name}: {text}: a transaction is left open")
        capi.S.sqlite3_limit(c.handle, limit, usual)
        c.rows("SELECT so_run()")
        after = c.rows("SELECT * FROM solidobj_messages_view")
        equal(after[:len(before)], before, f"{name}: the messages that were there")
        equal(int(c.one("SELECT so_call('T', 'l', 'count')")) > 0, True, f"{name}: a call afterwards")
        c.close()


def unbound(path):
    """Nothing stays bound to a kept statement when a call has ended, with an error as well: it would be freed memory."""
    mark = "marked-" * 20
    c = Connection(path)
    # 1,500 control characters are 9,000 bytes of JSON: too long to be stored where texts may have 5,000 bytes.
    c.rows("SELECT so_define_operation('T', 'grow', 'SELECT replace(hex(zeroblob(750)), ''0'', char(1)) AS result')")
    for text in (f"so_send('T', '{mark}', 'count', '{{\"m\":\"{mark}\"}}', '{{\"idempotency_key\":\"{mark}\"}}')",
                 f"so_call('T', '{mark}', 'note', '{{\"text\":\"{mark}\"}}')", "so_run()", "so_claim('w')",
                 f"so_snapshot('T', '{mark}')", f"so_find('T', '{mark}', '{mark}')", f"so_actor('T', '{mark}')",
                 f"so_call('T', '{mark}', 'break')", f"so_call('T', '{mark}', 'grow')", f"so_destroy('T', '{mark}')"):
        for longest in (1000000, 5000):
            usual = capi.S.sqlite3_limit(c.handle, 0, longest)
            try:
                c.rows(f"SELECT {text}")
            except Error as error:
                check("break" in text or ("grow" in text and longest == 5000), f"{text}: {error}")
            capi.S.sqlite3_limit(c.handle, 0, usual)
            left = [sql for sql in c.expanded() if b"marked-" in sql]
            check(not left, f"{text}, texts up to {longest} bytes: still bound: {left[:1]}")
    c.close()


def main():
    database = Database()
    c = database.connect()
    define(c)
    call(c, "SELECT so_define_operation('T', 'peek', 'SELECT so_get(''n'') AS result', '{\"query\": true}')")
    call(c, "SELECT so_call('T', '1', 'count')")
    for part in (hooks_stay, timeout_stays, commit_refused, denied, stopped, configured, limited, unbound):
        part(database.path)
        holds(c, part.__name__)
    check(everything(c) != {}, "there are rows")
    c.close()
    database.close()


main()
