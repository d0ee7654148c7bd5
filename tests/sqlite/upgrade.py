#!/usr/bin/python3
"""
A file of an older version of the tables: nothing but so_install() and so_version() touches it, so_install() brings it up to
date, once, whoever else installs and whoever dies, and then it is as a new one, with all that was in it. A newer file is refused.
"""
import os
import re
import signal
import sqlite3
import time

from fixture import Database, answer, call, check, start

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
SPARED = {"so_install", "so_version"}
FILLED = ["setting", "type", "operation", "actor", "member", "message", "mail", "later", "queue", "claim"]
KILLS = 25


def old_file():
    database = Database()
    c = database.connect()
    with open(os.path.join(DIRECTORY, "schema_1.sql")) as text:
        c.executescript("BEGIN;" + text.read() + "COMMIT;")
    return database, c


def functions(c):
    return c.execute("SELECT function, min_args FROM solidobj").fetchall()


def contents(c, columns=None):
    """What is in the tables, by the columns that they have (or had), but for the version and the stamp."""
    found = {}
    for table in FILLED:
        names = (columns or {}).get(table) or [row[1] for row in c.execute(f"PRAGMA table_info(solidobj_{table})")
                                               if row[1] != "stamp"]
        where = "WHERE name <> 'schema_version'" if table == "setting" else ""
        rows = c.execute(f"SELECT {', '.join(names)} FROM solidobj_{table} {where}").fetchall()
        found[table] = (names, sorted(rows, key=repr))
    return found


def normal(sql):
    """The words of a CREATE statement: what was added later, or renamed, is spelt with other white space."""
    return re.sub(r"\s+", " ", sql.replace('"', "")).strip()


def schema(c):
    found = {}
    for kind, name, sql in c.execute("SELECT type, name, sql FROM sqlite_schema WHERE name LIKE 'solidobj%'"):
        if kind == "table" and name != "solidobj":
            indexes = {row[1]: (row[2:], c.execute(f"PRAGMA index_xinfo('{row[1]}')").fetchall())
                       for row in c.execute(f"PRAGMA index_list({name})")}
            found[name] = (c.execute(f"PRAGMA table_xinfo({name})").fetchall(), indexes)
        else:
            found[name] = normal(sql)
    return found


def refused(c, state, hint):
    """Every function answers SO_VERSION and writes nothing."""
    before = list(c.iterdump())
    tried = 0
    for name, arguments in functions(c):
        if name in SPARED:
            continue
        texts = {"so_result": "1", "so_status": "1", "so_wait": "1", "so_cancel": "1", "so_retry": "1",
                 "so_test_clock": "0", "so_find": "'Counter', 'a', 'k'", "so_send_batch": "'[]'", "so_claim": "'w'",
                 "so_renew": "'8.1'", "so_commit": "'8.1'", "so_reject": "'8.1', 'NO'", "so_fail": "'8.1'",
                 "so_release": "'8.1'", "so_define_operation": "'Counter', 'add', NULL",
                 "so_define_migration": "'Counter', 1, 'SELECT :state AS state'"}
        usual = ", ".join(["'Counter'", "'a'", "'add'"][:arguments])
        try:
            call(c, f"SELECT {name}({texts.get(name, usual)})")
            error = "no error"
        except sqlite3.OperationalError as raised:
            error = str(raised)
        if error.startswith("SO_NOT_IN_TURN"):
            continue
        check(error.startswith("SO_VERSION: ") and hint in error, f"{state}: {name}: {error}")
        tried += 1
    check(tried > 25, f"only {tried} functions were tried")
    check(list(c.iterdump()) == before, f"{state}: something was written")


def compare(c, fresh, before):
    after = schema(c)
    for name in fresh.keys() | after.keys():
        check(fresh.get(name) == after.get(name), f"{name}: upgraded {after.get(name)}, new {fresh.get(name)}")
    now = contents(c, {table: names for table, (names, _) in before.items()})
    for table in FILLED:
        check(now[table] == before[table], f"solidobj_{table} was {before[table]}, is {now[table]}")
    check(call(c, "PRAGMA integrity_check") == "ok", "integrity_check")
    check(answer(c, "SELECT so_version()")["schema"] > 1, "so_version")


def goes_on(c):
    """What was begun before the upgrade goes on after it."""
    for table in FILLED:
        check(call(c, f"SELECT count(*) FROM solidobj_{table}") > 0, f"the old file has nothing in solidobj_{table}")
    claim = call(c, "SELECT head || '.' || nonce FROM solidobj_claim")
    check(call(c, "SELECT so_commit(?, '{\"patch\": {\"seen\": 1}}')", claim) == 1, "the claim was lost")
    check(answer(c, "SELECT so_snapshot('Counter', 'done')")["state"] == {"count": 2, "large": "x" * 600}, "state")
    check(call(c, "SELECT so_call('Counter', 'done', 'add')") == "3", "so_call")
    statuses = [row["status"] for row in answer(c, "SELECT so_history('Counter', 'done')")]
    check(sorted(statuses) == ["completed"] * 4 + ["dead", "rejected"], f"history {statuses}")
    replacement = call(c, "SELECT so_retry(?)", answer(c, "SELECT so_dead_letters()")[0]["message"])
    now = call(c, "SELECT so_test_clock(0)")
    call(c, "SELECT so_test_clock(?)", 4000000000001 - now)
    for _ in range(20):
        call(c, "SELECT so_run()")
        for row in answer(c, """SELECT so_claim('w', '{"max": 10, "batch": 10}')"""):
            call(c, "SELECT so_commit(?)", row["claim"])
        call(c, "SELECT so_test_clock(3600000)")
    left = c.execute("SELECT * FROM solidobj_mailbox_view").fetchall()
    check(left == [], f"still in the mailbox: {left}")
    check(answer(c, "SELECT so_status(?)", replacement)["status"] == "dead", "the replacement was tried")
    counts = [answer(c, "SELECT so_snapshot('Counter', ?)", key)["state"]["count"] for key in ("retrying", "later", "inbox")]
    check(counts == [1, 1, 2], f"counts {counts}")
    check(call(c, "SELECT so_send('Counter', 'k', 'add', '{}', '{\"idempotency_key\": \"k\"}')")
          == call(c, "SELECT so_find('Counter', 'k', 'k')"), "idempotency keys")


def install(database):
    c = database.connect()
    check(call(c, "SELECT so_install()") > 1, "so_install")
    c.close()


def install_at_once(fresh):
    database, c = old_file()
    before = contents(c)
    stamp = "SELECT stamp FROM solidobj_message ORDER BY id DESC LIMIT 1"
    old_stamp = call(c, stamp)
    processes = [start(install, database) for _ in range(8)]
    stamps = set()
    for process in processes:
        _, status = os.waitpid(process, 0)
        check(status == 0, "an installing process failed")
        stamps.add(call(c, stamp))
    # An upgrade changes the stamp; whoever came later has changed nothing.
    check(len(stamps) == 1 and stamps != {old_stamp}, f"upgraded more than once: {stamps}")
    compare(c, fresh, before)
    c.close()
    database.close()


def install_observed(database, observer):
    c = database.connect()
    os.write(observer, b"<")
    call(c, "SELECT so_install()")
    os.write(observer, b">")


def install_killed(fresh):
    """Killed at any moment, it was either not upgraded or upgraded."""
    seen = {}
    took = None
    for number in range(5 * KILLS):
        if number > KILLS and len(seen) == 2:
            break
        database, c = old_file()
        before = contents(c)
        c.close()
        observe, observer = os.pipe()
        process = start(install_observed, database, observer)
        os.close(observer)
        check(os.read(observe, 1) == b"<", "the installing process failed")
        began = time.monotonic()
        if took is None:  # the first one lives and is timed
            os.read(observe, 1)
            took = time.monotonic() - began
        else:
            time.sleep(took * 1.2 * number / KILLS)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(observe)
        c = database.connect()
        version = call(c, "SELECT value FROM solidobj_setting WHERE name = 'schema_version'")
        seen[version] = seen.get(version, 0) + 1
        tables = call(c, "SELECT count(*) FROM sqlite_schema WHERE name = 'solidobj_migration'")
        check(tables == (version > 1), f"version {version} with {tables} new tables")
        call(c, "SELECT so_install()")
        compare(c, fresh, before)
        c.close()
        database.close()
    check(len(seen) == 2, f"no kill came in the middle: {seen}")
    print(f"killed, and found at version: {seen}, {took * 1000:.1f} ms")


def undone(fresh):
    """In the caller's transaction it is undone with it."""
    database, c = old_file()
    before = list(c.iterdump())
    c.execute("BEGIN IMMEDIATE")
    call(c, "SELECT so_install()")
    call(c, "SELECT so_call('Counter', 'a', 'add')")
    c.execute("ROLLBACK")
    check(list(c.iterdump()) == before, "rolled back, and something stays")
    refused(c, "after the rollback", "so_install()")
    contents_before = contents(c)
    call(c, "SELECT so_install()")
    compare(c, fresh, contents_before)
    c.close()
    database.close()


def main():
    database = Database()
    c = database.connect()
    version = call(c, "SELECT so_install('{\"test\": true}')")
    fresh = schema(c)
    check(len(fresh) > 20, f"the schema has only {len(fresh)} parts")
    c.execute("UPDATE solidobj_setting SET value = value + 1 WHERE name = 'schema_version'")
    c.close()
    c = database.connect()
    refused(c, "a newer schema", "Load a newer")
    try:
        call(c, "SELECT so_install()")
        check(False, "so_install took a newer schema")
    except sqlite3.OperationalError as error:
        check(str(error).startswith("SO_VERSION: "), f"so_install on a newer schema: {error}")
    check(call(c, "SELECT value FROM solidobj_setting WHERE name = 'schema_version'") == version + 1, "the version stays")
    c.close()
    database.close()

    database, c = old_file()
    before = contents(c)
    refused(c, "version 1", "so_install()")
    check(call(c, "SELECT so_install()") == version, "so_install answers the version")
    compare(c, fresh, before)
    check(call(c, "SELECT so_install()") == version, "so_install twice")
    goes_on(c)
    c.close()
    database.close()

    undone(fresh)
    install_at_once(fresh)
    install_killed(fresh)


main()
