#!/usr/bin/python3
"""sqlite3_interrupt() during a call leaves no transaction open and nothing half done."""
import os
import sqlite3
import sys
import tempfile
import threading

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) AS result FROM r"


def connect(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def interrupted(db, sql):
    timer = threading.Timer(0.3, db.interrupt)
    timer.start()
    try:
        db.execute(sql).fetchall()
        return False
    except sqlite3.OperationalError as error:
        return "interrupted" in str(error)
    finally:
        timer.join()


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        db = connect(directory + "/app.db")
        other = connect(directory + "/app.db")
        db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("SELECT so_install()").fetchall()
        db.execute("SELECT so_define_actor('T')").fetchall()
        db.execute("SELECT so_define_operation('T', 'reading', ?)", (ENDLESS,)).fetchall()
        db.execute("SELECT so_define_operation('T', 'setting', ?)",
                   (ENDLESS.replace("count(*)", "so_set('a', 1), count(*)"),)).fetchall()
        db.execute("SELECT so_define_operation('T', 'outside', NULL)").fetchall()
        db.execute("SELECT so_send('T', 'waiting', 'outside')").fetchall()
        db.execute("SELECT so_send('T', 'queued', 'reading')").fetchall()
        calls = ("SELECT so_call('T', '1', 'reading')", "SELECT so_call('T', '1', 'setting')",
                 "SELECT so_try('T', '1', 'reading')", "SELECT so_run()",
                 "SELECT so_ask('T', '1', 'reading')", "SELECT so_wait(1, 5000)",
                 "SELECT so_claim('w', '{\"types\":[\"T\"],\"operations\":[\"none\"],\"wait_ms\":5000}')")
        for call in calls:
            if not interrupted(db, call):
                faults.append("not interrupted: " + call)
            if db.in_transaction:
                faults.append("a transaction was left open by " + call)
                db.execute("ROLLBACK")
            try:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
            except sqlite3.OperationalError as error:
                faults.append("after %s: %s" % (call, error))
        db.execute("CREATE TABLE app(x)")
        db.execute("BEGIN")
        db.execute("INSERT INTO app VALUES(1)")
        interrupted(db, "SELECT so_call('T', '1', 'reading')")
        if db.in_transaction:
            try:
                db.execute("RELEASE solidobj_work")
                faults.append("a savepoint of a call was left open in the caller's transaction")
            except sqlite3.OperationalError:
                pass
            db.execute("ROLLBACK")
        other.close()
        db.close()
    if faults:
        sys.exit("\n".join(faults))


main()
