"""What the tests of this directory share: a temporary database, connections with the library, processes that end."""
import atexit
import json
import os
import shutil
import sqlite3
import sys
import tempfile

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")


class Database:
    """A database file in a directory of its own, removed by close(), or when the process ends that made it."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="solidobj-test-")
        self.creator = os.getpid()
        atexit.register(self.remove)
        self.path = os.path.join(self.directory, "test.db")
        connection = self.connect()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=20, check_same_thread=False)
        connection.enable_load_extension(True)
        connection.load_extension(LIBRARY)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def remove(self):
        """In a child that ends by itself it does nothing: the others still use the file."""
        if os.getpid() == self.creator:
            shutil.rmtree(self.directory, ignore_errors=True)

    def close(self):
        shutil.rmtree(self.directory)
        atexit.unregister(self.remove)


def call(connection, sql, *values):
    """The first column of the first row."""
    return connection.execute(sql, values).fetchone()[0]


def answer(connection, sql, *values):
    """The same, as JSON."""
    return json.loads(call(connection, sql, *values))


def start(function, *arguments):
    """Runs function(*arguments) in a process of its own; gives its id. Connections must be opened in there."""
    process = os.fork()
    if process == 0:
        try:
            function(*arguments)
        except BaseException as error:  # whatever it is, the parent's code must not go on here
            print(f"{function.__name__}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return process


def check(condition, message):
    if not condition:
        print(f"wrong: {message}")
        sys.exit(1)
