#!/usr/bin/python3
"""A handler whose last statement answers wrongly fails the turn, also when its next row calls a function of ours."""
import os
import sqlite3
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
HANDLERS = {
    "rows": "SELECT so_set('n', column1) AS result FROM (VALUES (1), (2), (3))",
    "column": "SELECT so_set('n', column1) AS other FROM (VALUES (1), (2))",
    "plain": "SELECT column1 AS result FROM (VALUES (1), (2), (3))",
}


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        db = sqlite3.connect(directory + "/app.db", isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(LIBRARY)
        db.execute("SELECT so_install()").fetchall()
        db.execute("SELECT so_define_actor('T', '{\"max_attempts\":1}')").fetchall()
        for name, handler in HANDLERS.items():
            db.execute("SELECT so_define_operation('T', ?, ?)", (name, handler)).fetchall()
            try:
                db.execute("SELECT so_call('T', '1', ?)", (name,)).fetchall()
                faults.append("so_call answered for the handler: " + handler)
            except sqlite3.OperationalError as error:
                if "SO_FAILED" not in str(error):
                    faults.append("%s: %s" % (name, error))
            (message,) = db.execute("SELECT so_send('T', '1', ?)", (name,)).fetchone()
            db.execute("SELECT so_run()").fetchall()
            (status,) = db.execute("SELECT json_extract(so_status(?), '$.status')", (message,)).fetchone()
            if status != "dead":
                faults.append("a worker's turn ended as %s for the handler: %s" % (status, handler))
        if db.execute("SELECT so_snapshot('T', '1')").fetchone()[0] is not None:
            faults.append("a failed turn left a state")
        db.close()
    if faults:
        sys.exit("\n".join(faults))


main()
