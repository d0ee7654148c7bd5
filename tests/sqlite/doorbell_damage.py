#!/usr/bin/python3
"""The doorbell file may be lost or damaged at any time: nothing crashes, nothing is lost, it is rebuilt."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"


def connect(path):
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def delete(bell):
    os.unlink(bell)


def garbage(bell):
    size = os.path.getsize(bell)
    with open(bell, "r+b") as file:
        file.write(bytes(range(1, 252)) * (size // 251 + 1))
        file.truncate(size)


def garbage_after_magic(bell):
    size = os.path.getsize(bell)
    with open(bell, "r+b") as file:
        file.seek(4)
        file.write(bytes((i * 7 + 3) % 256 for i in range(251)) * (size // 251 + 1))
        file.truncate(size)


def shorten(bell):
    os.truncate(bell, 0)


def link(bell):
    os.unlink(bell)
    with open(bell + ".target", "wb"):
        pass
    os.symlink(bell + ".target", bell)


def folder(bell):
    os.unlink(bell)
    os.mkdir(bell)


def work(db, faults, what):
    """Everything works on this connection, and soon."""
    start = time.monotonic()
    before = db.execute("SELECT count(*) FROM solidobj_messages_view WHERE status = 'completed'").fetchone()[0]
    db.execute("SELECT so_call('T', 'a', 'count')").fetchall()
    db.execute("SELECT so_send('T', 'b', 'count')").fetchall()
    db.execute("SELECT so_run()").fetchall()
    db.execute("SELECT so_ask('T', 'b', 'count')").fetchall()
    after = db.execute("SELECT count(*) FROM solidobj_messages_view WHERE status = 'completed'").fetchone()[0]
    took = time.monotonic() - start
    if after - before != 3:
        faults.append("%s: %d of 3 turns" % (what, after - before))
    if took > 3:
        faults.append("%s: took %.1f s" % (what, took))


def closed(directory, faults):
    """Damage while no connection is open."""
    for damage in (delete, garbage, garbage_after_magic, shorten, link, folder):
        path = "%s/%s.db" % (directory, damage.__name__)
        install(path).close()
        damage(path + "-solidobj")
        db = connect(path)
        work(db, faults, "closed, " + damage.__name__)
        db.close()
        if damage in (delete, garbage, shorten):
            with open(path + "-solidobj", "rb") as file:
                if file.read(4) != b"1bos":
                    faults.append("the doorbell was not rebuilt after: " + damage.__name__)


def opened(directory, faults):
    """
    Damage under a worker that waits and a connection that is open. Not shortened: a mapping beyond the end of its file
    is an error of whoever shortens it, as for SQLite's own -shm.
    """
    for damage in (delete, garbage, garbage_after_magic, link):
        path = "%s/open_%s.db" % (directory, damage.__name__)
        db = install(path)
        worker = subprocess.Popen([sys.executable, __file__, "worker", path], stdout=subprocess.PIPE)
        worker.stdout.readline()
        time.sleep(0.2)
        damage(path + "-solidobj")
        client = subprocess.run([sys.executable, __file__, "client", path], check=False, timeout=20)
        if client.returncode != 0:
            faults.append("open, %s: the client ended with %d" % (damage.__name__, client.returncode))
        if worker.wait(timeout=20) != 0:
            faults.append("open, %s: the worker ended with %d" % (damage.__name__, worker.returncode))
        worker.stdout.close()
        work(db, faults, "open, " + damage.__name__)
        db.close()


def install(path):
    db = connect(path)
    db.execute("PRAGMA journal_mode=WAL").fetchall()
    db.execute("SELECT so_install()").fetchall()
    db.execute("SELECT so_define_actor('T', '{\"max_attempts\":2,\"retry_base_ms\":0}')").fetchall()
    db.execute("SELECT so_define_operation('T', 'count', ?)", (COUNT,)).fetchall()
    db.execute("SELECT so_call('T', 'a', 'count')").fetchall()
    return db


def client(path):
    db = connect(path)
    (message,) = db.execute("SELECT so_send('T', 'c', 'count')").fetchone()
    start = time.monotonic()
    if db.execute("SELECT so_wait(?, 5000)", (message,)).fetchone() != ("1",):
        sys.exit("a wrong result")
    if time.monotonic() - start > 2:
        sys.exit("waited %.1f s" % (time.monotonic() - start))


def worker(path):
    db = connect(path)
    print("ready", flush=True)
    db.execute("SELECT so_run('{\"max_turns\":1,\"wait_ms\":1200}')").fetchall()


def main():
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        closed(directory, faults)
        opened(directory, faults)
    if faults:
        sys.exit("\n".join(faults))


if sys.argv[1:2] == ["client"]:
    client(sys.argv[2])
elif sys.argv[1:2] == ["worker"]:
    worker(sys.argv[2])
else:
    main()
