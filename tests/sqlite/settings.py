#!/usr/bin/python3
"""The same small day of work under every journal, page size, encoding and pragma of the application's: the same rows."""
# Cases: C16, C22
import json
import os
import shutil
import sqlite3
import sys
import tempfile

from fixture import LIBRARY, answer, call, check
from places import define, equal, holds, refused

TEXT = "Grüße, 猫, \U0001f408, \\ \" ' \x01"
KEY = "schlüssel-猫-\U0001f408 "
# name: pragmas before anything is in the file, pragmas of each connection, whether a second connection can come
SETTINGS = {
    "WAL": ("journal_mode=WAL", "", True),
    "DELETE": ("journal_mode=DELETE", "", True),
    "TRUNCATE": ("", "journal_mode=TRUNCATE", True),
    "PERSIST": ("", "journal_mode=PERSIST", True),
    "MEMORY": ("", "journal_mode=MEMORY", True),
    "exclusive WAL": ("journal_mode=WAL", "locking_mode=EXCLUSIVE", False),
    "exclusive DELETE": ("journal_mode=DELETE", "locking_mode=EXCLUSIVE", False),
    "exclusive, WAL after": ("", "locking_mode=EXCLUSIVE; journal_mode=WAL", False),
    "page size 512": ("page_size=512; journal_mode=WAL", "", True),
    "page size 512, DELETE": ("page_size=512", "", True),
    "page size 65536": ("page_size=65536; journal_mode=WAL", "", True),
    "UTF-16le": ("encoding='UTF-16le'; journal_mode=WAL", "", True),
    "UTF-16be": ("encoding='UTF-16be'", "", True),
    "UTF-16le, page size 512": ("encoding='UTF-16le'; page_size=512", "", True),
    "auto_vacuum FULL": ("auto_vacuum=FULL", "", True),
    "auto_vacuum INCREMENTAL": ("auto_vacuum=INCREMENTAL; journal_mode=WAL", "", True),
    "small cache": ("journal_mode=WAL", "cache_size=2; cache_spill=1", True),
    "small cache, DELETE": ("", "cache_size=1; temp_store=FILE", True),
    "mmap": ("journal_mode=WAL", "mmap_size=268435456", True),
    "synchronous EXTRA": ("", "synchronous=EXTRA", True),
    "checkpoint at each commit": ("journal_mode=WAL", "wal_autocheckpoint=1", True),
    "foreign keys": ("", "foreign_keys=ON; defer_foreign_keys=ON", True),
    "recursive triggers": ("", "recursive_triggers=ON", True),
    "trusted_schema off": ("", "trusted_schema=OFF", True),
    "writable_schema": ("", "writable_schema=ON", True),
    "cell checks": ("", "cell_size_check=ON; secure_delete=ON; automatic_index=OFF; threads=2", True),
    "reverse order": ("", "reverse_unordered_selects=ON", True),
    "count_changes": ("", "count_changes=ON", True),
    "full column names": ("", "full_column_names=ON; short_column_names=OFF", True),
    "case sensitive LIKE": ("", "case_sensitive_like=ON; read_uncommitted=ON", True),
    "legacy alter table": ("", "legacy_alter_table=ON; ignore_check_constraints=ON", True),
    "hard heap limit": ("", "soft_heap_limit=1000000", True),
}


def pragmas(connection, text):
    for one in filter(None, text.split("; ")):
        connection.execute(f"PRAGMA {one}").fetchall()


def connect(path, text):
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    connection.execute("PRAGMA synchronous = OFF")  # no power is cut here
    pragmas(connection, text)
    return connection


def settle(connection, outcome):
    for row in answer(connection, "SELECT so_claim('w', '{\"max\": 9}')"):
        equal(row["args"], {"text": TEXT}, "arguments of a claim")
        call(connection, "SELECT so_commit(?, ?)", row["claim"], json.dumps(outcome, ensure_ascii=False))


def day(one, two):
    """Every kind of turn and end; the two connections may be the same. Gives what must be equal everywhere."""
    args = json.dumps({"text": TEXT}, ensure_ascii=False)
    equal(call(one, "SELECT so_call('T', ?, 'note', ?)", KEY, args), "1", "so_call")
    equal(call(two, "SELECT so_call('T', 'c', 'count')"), "1", "so_call on another connection")
    equal(call(two, "SELECT so_call('T', 'w', 'write')"), "null", "a handler that only writes")
    equal(call(one, "SELECT so_call('T', 'c', 'count')"), "2", "and back")
    big = {str(i): TEXT * 40 for i in range(60)}
    call(two, "SELECT so_send('T', ?, 'outside', ?)", KEY, args)
    settle(one, {"state": big, "result": TEXT, "tell": [{"type": "T", "key": "told", "operation": "count"}]})
    equal(answer(two, "SELECT so_snapshot('T', ?)", KEY)["state"], big, "a large state")
    for n in range(300):
        call(one if n % 2 else two, "SELECT so_send('T', ?, 'count')", f"k{n % 11}")
    call(two, "SELECT so_send('T', 'k1', 'break')")
    call(one, "SELECT so_send('T', 'k1', 'count')")
    call(one, "SELECT so_send('T', 'k2', 'refuse')")
    equal(answer(two, "SELECT so_try('T', 'c', 'refuse')")["code"], "NO", "so_try")
    refused(one, "SELECT so_call('T', 'c', 'break')", "SO_FAILED")
    refused(one, "SELECT so_send('T', 'a' || char(0) || 'b', 'count')", "SO_INVALID_NAME")
    refused(one, "SELECT so_call('T', 'c', 'count', '{\"a\":\"x\\u0000y\"}')", "SO_INVALID_JSON")
    refused(one, "SELECT so_call('T', 'c', 'count', '{\"a\":1}' || char(0) || '2')", "SO_INVALID_JSON")
    two.execute("BEGIN IMMEDIATE")
    call(two, "SELECT so_send('T', 'gone', 'count')")
    two.execute("ROLLBACK")
    equal(answer(one, "SELECT so_run('{\"types\": [\"T\"]}')"),
          {"turns": 305, "completed": 302, "rejected": 1, "retried": 1, "dead": 1}, "so_run")
    equal(call(two, "SELECT so_ask('T', 'k1', 'count')"), "30", "so_ask")
    state = call(one, "SELECT so_snapshot('T', 'told') ->> '$.state.n'")
    equal(state, 1, "what a turn told")
    return {
        "messages": one.execute("SELECT message, type, key, operation, status, attempts, turn, revision, result, error "
                                "FROM solidobj_messages_view ORDER BY message").fetchall(),
        "actors": two.execute("SELECT type, key, revision, turns, state_bytes FROM solidobj_actors_view "
                              "ORDER BY type, key COLLATE BINARY").fetchall(),
        "dead": one.execute("SELECT key, args, error FROM solidobj_dead_letters_view").fetchall(),
        "notes": two.execute("SELECT key, text FROM note").fetchall(),
        "states": [(key, answer(one, "SELECT so_snapshot('T', ?)", key)["state"]) for key in ("c", "k0", "k1", KEY)],
    }


def run(name, first, each, second):
    directory = tempfile.mkdtemp(prefix="solidobj-test-")
    try:
        path = os.path.join(directory, "test.db")
        maker = sqlite3.connect(path, isolation_level=None)
        pragmas(maker, "synchronous=OFF; " + first)
        maker.close()
        one = connect(path, each)
        define(one)
        two = connect(path, each) if second else one
        found = day(one, two)
        pragmas(one, "count_changes=OFF")
        holds(one, name)
        if second:
            two.close()
        one.close()
        again = connect(path, "")
        equal(call(again, "SELECT count(*) FROM solidobj_messages_view"), len(found["messages"]), f"{name}: after opening it again")
        holds(again, name)
        again.close()
        return found
    finally:
        shutil.rmtree(directory)


def main():
    expected = None
    for name, (first, each, second) in SETTINGS.items():
        try:
            found = run(name, first, each, second)
        except BaseException as error:
            print(f"{name}: {error!r}", flush=True)
            sys.exit(1)
        if expected is None:
            expected = found
            equal(found["dead"][0][0], "k1", "the dead letter")
        for what, rows in expected.items():
            rows = sorted(rows, key=repr)
            other = sorted(found[what], key=repr)
            check(rows == other, f"{name}: {what}: "
                  + repr([pair for pair in zip(other, rows) if pair[0] != pair[1]])[:400])


main()
