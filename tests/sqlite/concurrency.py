#!/usr/bin/python3
"""Many clients and workers on few actors: no turn is lost or doubled, each sender's order holds, results come in order."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
ACTORS = 3
OPERATIONS = 60
PROCESSES = {"send": 3, "ask": 3, "call": 3, "run": 2}
NOTE = ("INSERT INTO log(actor, sender, number) VALUES(:key, json_extract(:args, '$.s'), json_extract(:args, '$.n')); "
        "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result")


def connect(path):
    db = sqlite3.connect(path, timeout=20, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def client(role, path, name, faults):
    """Sends OPERATIONS messages; the results of one client on one actor only grow."""
    db = connect(path)
    newest = {}
    for n in range(OPERATIONS):
        actor = "a%d" % (n % ACTORS)
        sql = "SELECT so_%s('T', ?, 'note', json_object('s', ?, 'n', ?))" % role
        (answer,) = db.execute(sql, (actor, name, n)).fetchone()
        if int(answer) <= newest.get(actor, 0):
            faults.append("%s: %s after %s" % (name, answer, newest[actor]))
        newest[actor] = int(answer)
    db.close()


def clients(role, path, name):
    """Two threads of one process, each with its connection."""
    faults = []
    threads = [threading.Thread(target=client, args=(role, path, "%s.%d" % (name, i), faults)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        sys.exit("\n".join(faults))


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/app.db"
        db = connect(path)
        db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("CREATE TABLE log(id INTEGER PRIMARY KEY, actor, sender, number)")
        db.execute("SELECT so_install()").fetchall()
        db.execute("SELECT so_define_actor('T')").fetchall()
        db.execute("SELECT so_define_operation('T', 'note', ?)", (NOTE,)).fetchall()
        players = []
        for role, number in PROCESSES.items():
            for i in range(number):
                command = [sys.executable, __file__, role, path, "%s%d" % (role, i)]
                players.append((role, i, subprocess.Popen(command)))
        for role, i, process in players:
            if role != "run" and process.wait(timeout=60) != 0:
                faults.append("%s %d failed" % (role, i))
        for role, i, process in players:
            if process.wait(timeout=60) != 0:
                faults.append("%s %d failed" % (role, i))
        db.execute("SELECT so_run()").fetchall()
        log = db.execute("SELECT actor, sender, number FROM log ORDER BY id").fetchall()
        expected = sum(number for role, number in PROCESSES.items() if role != "run") * 2 * OPERATIONS
        if len(log) != expected or len(set(log)) != expected:
            faults.append("%d turns, %d different ones, expected %d" % (len(log), len(set(log)), expected))
        newest = {}
        for actor, sender, number in log:
            if newest.get((actor, sender), -1) > number:
                faults.append("%s: message %d of %s ran late" % (actor, number, sender))
            newest[(actor, sender)] = number
        statuses = db.execute("SELECT status, attempts, count(*) FROM solidobj_messages_view GROUP BY 1, 2").fetchall()
        if statuses != [("completed", 1, expected)]:
            faults.append("messages: %s" % statuses)
        (gaps,) = db.execute("SELECT count(*) FROM solidobj_actor a WHERE turns <> (SELECT max(turn) FROM solidobj_message m "
                             "WHERE m.incarnation = a.incarnation) OR turns <> (SELECT count(DISTINCT turn) FROM "
                             "solidobj_message m WHERE m.incarnation = a.incarnation)").fetchone()
        if gaps:
            faults.append("turn numbers of %d actors have gaps or doubles" % gaps)
        (backwards,) = db.execute("SELECT count(*) FROM (SELECT CAST(result AS INTEGER) r, turn FROM solidobj_message "
                                  "WHERE turn IS NOT NULL) WHERE r <> turn").fetchone()
        if backwards:
            faults.append("%d results are not in the order of the turns" % backwards)
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            faults.append("integrity_check failed")
        db.close()
    if faults:
        sys.exit("\n".join(faults[:20]))


if len(sys.argv) == 4 and sys.argv[1] == "run":
    connect(sys.argv[2]).execute("SELECT so_run('{\"wait_ms\":1500}')").fetchall()
elif len(sys.argv) == 4:
    clients(*sys.argv[1:])
else:
    main()
