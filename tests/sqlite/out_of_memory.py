#!/usr/bin/python3
"""A call that runs out of memory says so, leaves no transaction open and harms no later call."""
import ctypes
import os
import sqlite3
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
SQLITE = ctypes.CDLL("libsqlite3.so.0")
SQLITE.sqlite3_memory_used.restype = ctypes.c_int64
SQLITE.sqlite3_hard_heap_limit64.argtypes = [ctypes.c_int64]
SQLITE.sqlite3_hard_heap_limit64.restype = ctypes.c_int64
COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"
CALLS = ("SELECT so_call('T', '1', 'count')", "SELECT so_run()", "SELECT so_try('T', '2', 'count')",
         "SELECT so_claim('w')", "SELECT so_define_operation('T', 'more', 'SELECT 1 AS result')")
STEPS = 110
STEP_BYTES = 1500


def connect(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def main():
    faults = []
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/app.db"
        db = connect(path)
        db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("SELECT so_install()").fetchall()
        db.execute("SELECT so_define_actor('T')").fetchall()
        db.execute("SELECT so_define_operation('T', 'count', ?)", (COUNT,)).fetchall()
        db.execute("SELECT so_define_operation('T', 'outside', NULL)").fetchall()
        for call in CALLS:
            for step in range(STEPS):
                db.execute("SELECT so_send('T', '3', 'count')").fetchall()
                db.execute("SELECT so_send('T', ?, 'outside')", ("x%d" % step,)).fetchall()
                one = connect(path)
                one.execute("SELECT count(*) FROM solidobj_setting").fetchall()
                SQLITE.sqlite3_hard_heap_limit64(SQLITE.sqlite3_memory_used() + step * STEP_BYTES + 1)
                outcome = None
                try:
                    one.execute(call).fetchall()
                except MemoryError:
                    outcome = "memory"
                except sqlite3.Error as error:
                    outcome = str(error)
                SQLITE.sqlite3_hard_heap_limit64(0)
                failed += outcome == "memory"
                if outcome not in (None, "memory", "out of memory"):
                    faults.append("%s: %s" % (call, outcome))
                if one.in_transaction:
                    faults.append("a transaction was left open by " + call)
                    one.execute("ROLLBACK")
                one.execute("SELECT so_call('T', '4', 'count')").fetchall()
                one.close()
                if outcome is None:
                    break
        if failed < 50:
            faults.append("memory ran out only %d times, the test proves nothing" % failed)
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            faults.append("integrity_check failed")
        db.close()
    if faults:
        sys.exit("\n".join(sorted(set(faults))))


main()
