#!/usr/bin/python3
"""so_ask and so_wait behind other messages of the same actor, without a worker: they run them all without a pause."""
import os
import sqlite3
import sys
import tempfile
import time

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"


def main():
    with tempfile.TemporaryDirectory() as directory:
        db = sqlite3.connect(directory + "/app.db", isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(LIBRARY)
        db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("SELECT so_install()").fetchall()
        db.execute("SELECT so_define_actor('T')").fetchall()
        db.execute("SELECT so_define_operation('T', 'count', ?)", (COUNT,)).fetchall()
        for _ in range(20):
            db.execute("SELECT so_send('T', 'a', 'count')").fetchall()
        start = time.monotonic()
        try:
            (answer,) = db.execute("SELECT so_ask('T', 'a', 'count')").fetchone()
        except sqlite3.OperationalError as error:
            answer = str(error)
        took = time.monotonic() - start
        db.close()
    if answer != "21" or took > 1:
        sys.exit("so_ask behind 20 messages took %.2f s and answered %s" % (took, answer))


main()
