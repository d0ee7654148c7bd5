#!/usr/bin/python3
"""A program that has the extension on every connection (sqlite3_auto_extension) can open connections and use it."""
import ctypes
import os
import sqlite3
import sys

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
SQLITE = ctypes.CDLL("libsqlite3.so.0")


def main():
    entry = ctypes.CDLL(os.path.abspath(LIBRARY + ".so")).sqlite3_solidobj_init
    if SQLITE.sqlite3_auto_extension(entry) != 0:
        sys.exit("sqlite3_auto_extension refuses the entry point")
    try:
        for _ in range(2):
            db = sqlite3.connect(":memory:")
            db.execute("SELECT so_install()").fetchall()
            if db.execute("SELECT so_version() ->> 'schema'").fetchone()[0] is None:
                sys.exit("so_install() installed nothing")
            db.close()
    finally:
        SQLITE.sqlite3_cancel_auto_extension(entry)


main()
