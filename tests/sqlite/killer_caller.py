#!/usr/bin/python3
"""C06: a handler that kills its process: the attempts count, it ends as a dead letter, and everything else goes on.

A caller that would run such a message before its own is not killed more often than the message may be attempted."""
import os
import sqlite3
import subprocess
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"
ATTEMPTS = 3


def connect(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.create_function("die", 0, os.abort)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def child(path, sql):
    return subprocess.run([sys.executable, __file__, "child", path, sql], stderr=subprocess.DEVNULL,
                          check=False, timeout=10).returncode


def install(path):
    db = connect(path)
    db.execute("PRAGMA journal_mode=WAL").fetchall()
    db.execute("SELECT so_install()").fetchall()
    db.execute("SELECT so_define_actor('T', '{\"max_attempts\":%d,\"retry_base_ms\":0}')" % ATTEMPTS).fetchall()
    db.execute("SELECT so_define_operation('T', 'count', ?)", (COUNT,)).fetchall()
    db.execute("SELECT so_define_operation('T', 'die', 'INSERT INTO app VALUES(1); SELECT die() AS result')").fetchall()
    return db


def worker_dies(directory, faults):
    path = directory + "/worker.db"
    connect(path).execute("CREATE TABLE app(x)").connection.close()
    db = install(path)
    for key, operation in (("a", "count"), ("b", "die"), ("b", "count"), ("c", "count")):
        db.execute("SELECT so_send('T', ?, ?)", (key, operation)).fetchall()
    deaths = 0
    while child(path, "SELECT so_run()") != 0 and deaths <= ATTEMPTS:
        deaths += 1
    rows = db.execute("SELECT operation, status, attempts FROM solidobj_messages_view ORDER BY message").fetchall()
    expected = [("count", "completed", 1), ("die", "dead", ATTEMPTS), ("count", "completed", 1), ("count", "completed", 1)]
    if deaths != ATTEMPTS or rows != expected:
        faults.append("%d workers died, %s" % (deaths, rows))
    (error,) = db.execute("SELECT error FROM solidobj_dead_letters_view").fetchone()
    if "died" not in error:
        faults.append("the dead letter says: %s" % error)
    if db.execute("SELECT count(*) FROM app").fetchone() != (0,):
        faults.append("a turn that died has written")
    if db.execute("SELECT count(*) FROM solidobj_dead_letters_view").fetchone() != (1,):
        faults.append("not exactly one dead letter")
    db.close()


def caller_dies(directory, faults):
    path = directory + "/caller.db"
    connect(path).execute("CREATE TABLE app(x)").connection.close()
    db = install(path)
    db.execute("SELECT so_send('T', 'b', 'die')").fetchall()
    deaths = sum(child(path, "SELECT so_call('T', 'b', 'count')") < 0 for _ in range(ATTEMPTS + 3))
    if deaths > ATTEMPTS:
        faults.append("a waiting message killed %d callers of %d" % (deaths, ATTEMPTS + 3))
    db.close()


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        worker_dies(directory, faults)
        caller_dies(directory, faults)
    if faults:
        sys.exit("\n".join(faults))


if sys.argv[1:2] == ["child"]:
    connect(sys.argv[2]).execute(sys.argv[3]).fetchall()
else:
    main()
