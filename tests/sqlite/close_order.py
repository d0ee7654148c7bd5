#!/usr/bin/python3
"""Closing in every order: with half-read statements, open transactions, waiting rings; sqlite3_close and close_v2."""
import ctypes
import os
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj").encode()
S = ctypes.CDLL("libsqlite3.so.0")
P = ctypes.c_void_p
S.sqlite3_close.argtypes = S.sqlite3_close_v2.argtypes = S.sqlite3_finalize.argtypes = S.sqlite3_step.argtypes = [P]
S.sqlite3_errmsg.argtypes = [P]
S.sqlite3_errmsg.restype = ctypes.c_char_p
S.sqlite3_prepare_v2.argtypes = [P, ctypes.c_char_p, ctypes.c_int, P, P]
S.sqlite3_db_config.argtypes = [P, ctypes.c_int, ctypes.c_int, P]
S.sqlite3_load_extension.argtypes = [P, ctypes.c_char_p, P, P]
S.sqlite3_memory_used.restype = ctypes.c_int64
OK, BUSY, ROW, DONE = 0, 5, 100, 101
COUNT = "SELECT so_set(''n'', coalesce(so_get(''n''), 0) + 1) AS result"


def connect(path):
    db = P()
    assert S.sqlite3_open(path.encode(), ctypes.byref(db)) == OK
    S.sqlite3_db_config(db, 1005, 1, None)
    assert S.sqlite3_load_extension(db, LIBRARY, None, None) == OK, S.sqlite3_errmsg(db)
    return db


def prepare(db, sql):
    statement = P()
    assert S.sqlite3_prepare_v2(db, sql.encode(), -1, ctypes.byref(statement), None) == OK, S.sqlite3_errmsg(db)
    return statement


def run(db, sql):
    statement = prepare(db, sql)
    while S.sqlite3_step(statement) == ROW:
        pass
    assert S.sqlite3_finalize(statement) == OK, S.sqlite3_errmsg(db)


def half(db, sql):
    """A statement with one row read."""
    statement = prepare(db, sql)
    assert S.sqlite3_step(statement) == ROW, S.sqlite3_errmsg(db)
    return statement


def main():
    faults = []
    statements = ("SELECT so_call('T', value, 'count') FROM json_each('[\"a\",\"b\",\"c\"]')", "SELECT * FROM so_types()",
                  "SELECT * FROM so_claim('w', '{\"max\":3}')", "SELECT * FROM solidobj", "SELECT so_send('T', 'a', 'count')",
                  "SELECT * FROM solidobj_messages_view")
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/app.db"
        db = connect(path)
        run(db, "SELECT so_install()")
        run(db, "SELECT so_define_actor('T')")
        run(db, "SELECT so_define_operation('T', 'count', '%s')" % COUNT)
        run(db, "SELECT so_define_operation('T', 'outside', NULL)")
        for key in "abcdefghijkl":
            run(db, "SELECT so_send('T', 'x%s', 'outside')" % key)
        assert S.sqlite3_close(db) == OK
        used = S.sqlite3_memory_used()
        for sql in statements:
            for begin in (None, "BEGIN"):
                # close refuses, the connection stays of use, the statement goes on
                db = connect(path)
                run(db, "SELECT so_call('T', 'a', 'count')")
                if begin:
                    run(db, begin)
                    run(db, "SELECT so_send('T', 'a', 'count')")
                statement = half(db, sql)
                if S.sqlite3_close(db) != BUSY:
                    faults.append("sqlite3_close with a half-read statement: " + sql)
                run(db, "SELECT so_snapshot('T', 'a')")
                rc = S.sqlite3_step(statement)
                if rc not in (ROW, DONE):
                    faults.append("after a refused close: %s: %s" % (sql, S.sqlite3_errmsg(db)))
                S.sqlite3_finalize(statement)
                if begin:
                    run(db, "COMMIT")
                run(db, "SELECT so_call('T', 'b', 'count')")
                if S.sqlite3_close(db) != OK:
                    faults.append("sqlite3_close in the end: " + sql)
                # close_v2: a zombie until the statement ends
                db = connect(path)
                if begin:
                    run(db, begin)
                    run(db, "SELECT so_call('T', 'a', 'count')")
                statement = half(db, sql)
                if S.sqlite3_close_v2(db) != OK:
                    faults.append("sqlite3_close_v2: " + sql)
                S.sqlite3_step(statement)
                S.sqlite3_finalize(statement)
        if S.sqlite3_memory_used() > used:
            faults.append("%d bytes were not given back" % (S.sqlite3_memory_used() - used))
        db = connect(path)
        run(db, "SELECT so_call('T', 'a', 'count')")
        if S.sqlite3_close(db) != OK:
            faults.append("a last connection did not close")
    if faults:
        sys.exit("\n".join(faults))


main()
