#!/usr/bin/python3
"""Senders, callers, workers inside and outside the database are killed at random moments; then the file is whole,
every message is in one place, and every acknowledged one is finished once, in each sender's order."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
ACTORS = 4
ROUNDS = 5
ROLES = ("send", "send", "call", "run", "run", "claim")
NOTE = ("INSERT INTO log(actor, sender, number) VALUES(:key, json_extract(:args, '$.s'), json_extract(:args, '$.n')); "
        "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result")
HOMES = ("SELECT head FROM solidobj_queue WHERE head = m.id UNION ALL SELECT id FROM solidobj_mail WHERE id = m.id "
         "UNION ALL SELECT id FROM solidobj_later WHERE id = m.id UNION ALL SELECT head FROM solidobj_claim WHERE head = m.id "
         "UNION ALL SELECT j.value FROM solidobj_claim, json_each(more) j WHERE j.value = m.id "
         "UNION ALL SELECT m.id WHERE m.id >= (SELECT inbox FROM solidobj_message ORDER BY id DESC LIMIT 1)")


def connect(path):
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def play(role, path, name):
    """One process, until it is killed."""
    db = connect(path)
    print("ready", flush=True)
    for n in range(1000000):
        actor = "a%d" % (n % ACTORS)
        if role in ("send", "call"):
            db.execute("SELECT so_%s('T', ?, 'note', json_object('s', ?, 'n', ?))" % role, (actor, name, n)).fetchall()
            print(actor, n, flush=True)
        elif role == "run":
            db.execute("SELECT so_run('{\"max_turns\":20,\"wait_ms\":50}')").fetchall()
        else:
            db.execute("SELECT so_send('T', ?, 'outside')", ("x%d" % (n % ACTORS),)).fetchall()
            (rows,) = db.execute("SELECT so_claim('w', '{\"lease_ms\":600}')").fetchone()
            for row in json.loads(rows):
                try:
                    db.execute("SELECT so_commit(?, '{\"patch\":{\"done\":1}}')", (row["claim"],)).fetchall()
                except sqlite3.OperationalError as error:
                    if "SO_LOST_CLAIM" not in str(error):
                        raise


def checks(db, faults):
    def count(what, sql):
        (number,) = db.execute(sql).fetchone()
        if number != 0:
            faults.append("%s: %d" % (what, number))

    if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        faults.append("integrity_check failed")
    count("unfinished messages that are not in exactly one place",
          "SELECT count(*) FROM solidobj_message m WHERE status = 1 AND (SELECT count(*) FROM (%s)) <> 1" % HOMES)
    count("finished messages that still wait", "SELECT count(*) FROM solidobj_message m WHERE status > 1 AND EXISTS "
          "(SELECT 1 FROM solidobj_queue q WHERE q.head = m.id UNION ALL SELECT 1 FROM solidobj_mail w WHERE w.id = m.id "
          "UNION ALL SELECT 1 FROM solidobj_later l WHERE l.id = m.id UNION ALL SELECT 1 FROM solidobj_claim c WHERE c.head = m.id)")
    count("members of no actor", "SELECT count(*) FROM solidobj_member WHERE incarnation NOT IN "
          "(SELECT incarnation FROM solidobj_actor)")
    count("turn numbers that are there twice", "SELECT count(*) FROM (SELECT 1 FROM solidobj_message WHERE turn IS NOT NULL "
          "GROUP BY incarnation, turn HAVING count(*) > 1)")
    count("actors whose turns were not all kept", "SELECT count(*) FROM solidobj_actor a WHERE turns <> "
          "(SELECT count(*) FROM solidobj_message m WHERE m.incarnation = a.incarnation AND m.turn IS NOT NULL)")


def main():
    faults = []
    chance = random.Random(20)
    acknowledged = set()
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/app.db"
        db = connect(path)
        db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("CREATE TABLE log(id INTEGER PRIMARY KEY, actor, sender, number)")
        db.execute("SELECT so_install('{\"test\":true}')").fetchall()
        db.execute("SELECT so_define_actor('T', '{\"max_attempts\":1000,\"retry_base_ms\":0}')").fetchall()
        db.execute("SELECT so_define_operation('T', 'note', ?)", (NOTE,)).fetchall()
        db.execute("SELECT so_define_operation('T', 'outside', NULL)").fetchall()
        for turn in range(ROUNDS):
            players = []
            for i, role in enumerate(ROLES):
                name = "%s%d.%d" % (role, i, turn)
                output = open(directory + "/" + name, "w+")
                command = [sys.executable, __file__, role, path, name]
                players.append((name, role, output, subprocess.Popen(command, stdout=output)))
            time.sleep(0.5)
            for _, _, _, process in chance.sample(players, len(players)):
                time.sleep(chance.random() * 0.06)
                process.send_signal(signal.SIGKILL)
            for name, role, output, process in players:
                if process.wait() != -signal.SIGKILL:
                    faults.append("%s ended by itself" % name)
                output.seek(0)
                lines = output.read().split("\n")[1:-1]
                output.close()
                acknowledged.update((line.split()[0], name, int(line.split()[1])) for line in lines if role in ("send", "call"))
            checks(db, faults)
        for _ in range(20):
            db.execute("SELECT so_run()").fetchall()
            db.execute("SELECT so_test_clock(60000)").fetchall()
            if db.execute("SELECT count(*) FROM solidobj_mailbox_view WHERE operation = 'note'").fetchone() == (0,):
                break
        checks(db, faults)
        for status, number in db.execute("SELECT status, count(*) FROM solidobj_messages_view WHERE operation = 'note' GROUP BY 1"):
            if status != "completed":
                faults.append("%d messages are %s" % (number, status))
        log = db.execute("SELECT actor, sender, number FROM log ORDER BY id").fetchall()
        if len(set(log)) != len(log):
            faults.append("%d turns ran twice" % (len(log) - len(set(log))))
        if acknowledged - set(log):
            faults.append("%d acknowledged messages are lost" % len(acknowledged - set(log)))
        if len(acknowledged) < 200:
            faults.append("only %d messages were acknowledged, the test proves nothing" % len(acknowledged))
        newest = {}
        for actor, sender, number in log:
            if newest.get((actor, sender), -1) > number:
                faults.append("%s: message %d of %s ran late" % (actor, number, sender))
            newest[(actor, sender)] = number
        counted = dict(db.execute("SELECT key, json_extract(so_snapshot('T', key), '$.state.n') FROM solidobj_actors_view"))
        for actor, turns in db.execute("SELECT actor, count(*) FROM log GROUP BY 1").fetchall():
            if counted.get(actor) != turns:
                faults.append("%s counted %s of %d turns" % (actor, counted.get(actor), turns))
        db.close()
    if faults:
        sys.exit("\n".join(faults[:20]))


if len(sys.argv) == 4:
    play(*sys.argv[1:])
else:
    main()
