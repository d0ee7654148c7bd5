#!/usr/bin/python3
"""so_run without a doorbell (in memory, or where the file cannot be made): turns run at once and are charged once;
a handler that rolls the transaction back, or kills its process, becomes a dead letter and holds up nobody else."""
import os
import sqlite3
import subprocess
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"


def connect(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def install(db):
    db.execute("SELECT so_install('{\"test\":true}')").fetchall()
    db.execute("SELECT so_define_actor('T', '{\"max_attempts\":2,\"retry_base_ms\":0}')").fetchall()
    db.execute("SELECT so_define_operation('T', 'count', ?)", (COUNT,)).fetchall()


def send(db, key, operation):
    db.execute("SELECT so_send('T', ?, ?)", (key, operation)).fetchall()


def messages(db):
    return db.execute("SELECT key, operation, status, attempts FROM solidobj_messages_view ORDER BY message").fetchall()


def plain(directory, faults):
    for path in (":memory:", directory + "/plain.db"):
        if path != ":memory:":
            os.mkdir(path + "-solidobj")
        db = connect(path)
        install(db)
        for key in ("a", "a", "b"):
            send(db, key, "count")
        (answer,) = db.execute("SELECT json_extract(so_run(), '$.completed')").fetchone()
        expected = [(key, "count", "completed", 1) for key in ("a", "a", "b")]
        if answer != 3 or messages(db) != expected:
            faults.append("%s: so_run completed %s of 3: %s" % (os.path.basename(path), answer, messages(db)))
        db.close()


def rolling_back(faults):
    db = connect(":memory:")
    install(db)
    db.execute("CREATE TABLE u(x PRIMARY KEY)")
    db.execute("INSERT INTO u VALUES(1)")
    db.execute("SELECT so_define_operation('T', 'rollback', 'INSERT OR ROLLBACK INTO u VALUES(1)')").fetchall()
    for key, operation in (("a", "rollback"), ("b", "count"), ("a", "count")):
        send(db, key, operation)
    for _ in range(8):
        try:
            db.execute("SELECT so_run()").fetchall()
        except sqlite3.OperationalError:
            pass
        db.execute("SELECT so_test_clock(60000)").fetchall()
    if [row[2] for row in messages(db)] != ["dead", "completed", "completed"]:
        faults.append("a handler with ON CONFLICT ROLLBACK: %s" % messages(db))
    db.close()


def given_back(faults):
    """A worker that is stopped gives back what it has claimed, with the error of the attempt before."""
    db = connect(":memory:")
    install(db)
    moods = [lambda: 1 // 0, lambda: 10000000]
    db.create_function("mood", 0, lambda: moods.pop(0)())
    db.execute("CREATE TABLE big(x)")
    db.execute("SELECT so_define_operation('T', 'moody', 'INSERT INTO big VALUES (zeroblob(mood()))')").fetchall()
    send(db, "a", "moody")
    db.execute("SELECT so_run('{\"max_turns\":1}')").fetchall()
    status = "SELECT status, attempts, error FROM solidobj_messages_view"
    before = db.execute(status).fetchall()
    db.execute("PRAGMA max_page_count = 100").fetchall()
    try:
        db.execute("SELECT so_run()").fetchall()
        faults.append("so_run ran on a full disk")
    except sqlite3.OperationalError as error:
        if "full" not in str(error):
            faults.append("on a full disk: %s" % error)
    after = db.execute(status).fetchall()
    if moods or before != after or before[0][2] is None:
        faults.append("given back: %s, before %s" % (after, before))
    db.close()


def killing(directory, faults):
    path = directory + "/kill.db"
    os.mkdir(path + "-solidobj")
    db = connect(path)
    db.create_function("die", 0, lambda: os.kill(os.getpid(), 9))
    install(db)
    db.execute("SELECT so_define_operation('T', 'die', 'SELECT die() AS result')").fetchall()
    for key, operation in (("a", "count"), ("b", "die"), ("b", "count"), ("c", "count")):
        send(db, key, operation)
    for _ in range(6):
        subprocess.run([sys.executable, __file__, "worker", path], check=False, timeout=10)
        db.execute("SELECT so_test_clock(60000)").fetchall()
    if [row[2] for row in messages(db)] != ["completed", "dead", "completed", "completed"]:
        faults.append("a handler that kills its process: %s" % messages(db))
    db.close()


def worker(path):
    db = connect(path)
    db.create_function("die", 0, lambda: os.kill(os.getpid(), 9))
    db.execute("SELECT so_run()").fetchall()


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        plain(directory, faults)
        rolling_back(faults)
        given_back(faults)
        killing(directory, faults)
    if faults:
        sys.exit("\n".join(faults))


if sys.argv[1:2] == ["worker"]:
    worker(sys.argv[2])
else:
    main()
