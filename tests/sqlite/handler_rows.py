#!/usr/bin/python3
"""A handler whose last statement answers wrongly fails the turn, also when its next row calls a function of ours; so does
one that writes to its own message."""
import json
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


MEDDLERS = {
    "finish": "UPDATE solidobj_message SET status = 2, finished_ms = 1 WHERE id = :message; SELECT so_set('n', 1) AS result",
    "remove": "DELETE FROM solidobj_message WHERE id = :message; SELECT so_set('n', 1) AS result",
}


def meddlers(db):
    """Each fails as often as it may and holds up nobody else, without and with a batch, and before a so_call."""
    db.execute("SELECT so_define_actor('M', '{\"max_attempts\":2, \"retry_base_ms\":0}')").fetchall()
    db.execute("SELECT so_define_operation('M', 'plain', 'SELECT so_set(''m'', 1) AS result')").fetchall()
    for name, handler in MEDDLERS.items():
        db.execute("SELECT so_define_operation('M', ?, ?)", (name, handler)).fetchall()
    for batch in (1, 32):
        for name in MEDDLERS:
            key = f"{name} {batch}"
            for operation in (name, "plain"):
                db.execute("SELECT so_send('M', ?, ?)", (key, operation)).fetchall()
            try:
                db.execute("SELECT so_call('M', ?, 'plain')", (key,)).fetchall()
                yield f"{key}: so_call answered behind it"
            except sqlite3.OperationalError as error:
                if not str(error).startswith("SO_BLOCKED"):
                    yield f"{key}: so_call: {error}"
            ended = json.loads(db.execute("SELECT so_run(json_object('batch', ?))", (batch,)).fetchone()[0])
            rows = db.execute("SELECT operation, status, attempts, error FROM solidobj_messages_view WHERE type = 'M'"
                              " AND key = ? ORDER BY message", (key,)).fetchall()
            if rows != [(name, "dead", 2, "its handler changed its own message"), ("plain", "completed", 1, None)]:
                yield f"{key}: {rows} after {ended}"
            if db.execute("SELECT so_snapshot('M', ?) ->> '$.state'", (key,)).fetchone()[0] != '{"m":1}':
                yield f"{key}: a failed turn left a state"


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
        faults += meddlers(db)
        db.close()
    if faults:
        sys.exit("\n".join(faults))


main()
