#!/usr/bin/python3
"""A disk that is full when the doorbell file is made: calls work without it, nothing is killed by its mapping, and when
there is room again a new connection has one. The disk is a small tmpfs in a mount namespace of its own."""
import os
import sqlite3
import subprocess
import sys
import tempfile

from fixture import LIBRARY, call, check

COUNT = "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result"
CANNOT_RUN = 77


def connect(path):
    # A journal in memory and free pages in the file: the database itself needs no room.
    connection = sqlite3.connect(path, isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    connection.execute("PRAGMA journal_mode = MEMORY")
    return connection


def fill(directory):
    filler = os.open(directory + "/filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        while True:
            os.write(filler, b"x" * 4096)
    except OSError:
        pass
    finally:
        os.close(filler)


def works(connection):
    before = call(connection, "SELECT so_snapshot('T', 'a') -> 'state' ->> 'n'") or 0
    call(connection, "SELECT so_call('T', 'a', 'count')")
    call(connection, "SELECT so_send('T', 'a', 'count')")
    call(connection, "SELECT so_run('{\"wait_ms\": 1}')")
    after = call(connection, "SELECT so_snapshot('T', 'a') -> 'state' ->> 'n'")
    check(after == before + 2, f"two turns counted from {before} to {after}")


def inside(directory):
    path = directory + "/test.db"
    bell = path + "-solidobj"
    connection = connect(path)
    call(connection, "SELECT so_install()")
    call(connection, "SELECT so_define_actor('T')")
    call(connection, "SELECT so_define_operation('T', 'count', ?)", COUNT)
    connection.execute("CREATE TABLE room AS SELECT zeroblob(200000)")
    connection.execute("DROP TABLE room")
    connection.close()
    os.unlink(bell)
    fill(directory)

    for sparse in (False, True):
        if sparse:  # as a copy of the directory may have it
            os.truncate(bell, bell_bytes)
        connection = connect(path)
        works(connection)
        connection.close()
        if not sparse:
            check(os.stat(bell).st_blocks == 0, "the doorbell took room on a full disk, the test proves nothing")
            os.unlink(directory + "/filler")
            connection = connect(path)
            works(connection)
            connection.close()
            bell_bytes = os.path.getsize(bell)
            check(os.stat(bell).st_blocks * 512 >= bell_bytes, "the doorbell's room is not its own")
            os.truncate(bell, 0)
            fill(directory)


def main():
    with tempfile.TemporaryDirectory() as directory:
        mounted = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=1m none "$1" || exit 77; exec "$0" "$2" inside "$1"',
             sys.executable, directory, __file__], check=False, timeout=60)
    if mounted.returncode == CANNOT_RUN:
        print("skipped: no file system can be mounted here")
    check(mounted.returncode >= 0, f"killed by signal {-mounted.returncode}")
    sys.exit(mounted.returncode)


if sys.argv[1:2] == ["inside"]:
    inside(sys.argv[2])
else:
    main()
