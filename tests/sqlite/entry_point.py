#!/usr/bin/python3
"""The loadable library's entry point, called as others than load_extension() may call it: without SQLite's table it says
so with a code; with it, it leaves no error on the connection and none in SQLite's log."""
import ctypes
import os
import sys

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
OK, MISUSE, CONFIG_LOG = 0, 21, 16
S = ctypes.CDLL("libsqlite3.so.0")
P = ctypes.c_void_p
S.sqlite3_auto_extension.argtypes = [P]
for name in ("sqlite3_errcode", "sqlite3_close"):
    getattr(S, name).argtypes = [P]
S.sqlite3_exec.argtypes = [P, ctypes.c_char_p, P, P, P]

logged = []
LOG = ctypes.CFUNCTYPE(None, P, ctypes.c_int, ctypes.c_char_p)
log = LOG(lambda _, code, text: logged.append((code, text)))


def check(condition, message):
    if not condition:
        print(f"wrong: {message}")
        sys.exit(1)


check(S.sqlite3_config(CONFIG_LOG, log, P()) == OK, "no log can be set")
entry = ctypes.CDLL(os.path.abspath(LIBRARY + ".so")).sqlite3_solidobj_init
entry.argtypes = [P, P, P]

db = P()
check(S.sqlite3_open(b":memory:", ctypes.byref(db)) == OK, "cannot open")
check(entry(db, None, None) == MISUSE, "without the table it is not misuse")
check(S.sqlite3_close(db) == OK, "cannot close")

check(S.sqlite3_auto_extension(ctypes.cast(entry, P)) == OK, "not taken as an automatic extension")
check(S.sqlite3_open(b":memory:", ctypes.byref(db)) == OK, "a connection with the automatic extension cannot be opened")
check(S.sqlite3_errcode(db) == OK, "an error is left on the connection")
check(not logged, f"SQLite's log has {logged}")
check(S.sqlite3_exec(db, b"SELECT so_install()", None, None, None) == OK, "so_install() failed")
check(S.sqlite3_close(db) == OK, "cannot close")
check(S.sqlite3_exec(P(), b"SELECT 1", None, None, None) == MISUSE and logged, "the log does not work")
