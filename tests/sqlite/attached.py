#!/usr/bin/python3
"""Tables of other schemas are never taken for ours, and locks of other files hold nobody up."""
# Cases: C25, C26
import glob
import os
import re
import shutil
import sqlite3
import time

from fixture import Database, answer, call, check
from places import application, define, equal, everything, holds, refused

TABLES = ("setting", "type", "operation", "actor", "member", "message", "mail", "later", "queue", "claim")
VIEWS = ("messages_view", "mailbox_view", "dead_letters_view", "actors_view")


def work(c, key):
    """A bit of everything; gives rows that must come from main."""
    equal(call(c, "SELECT so_call('T', ?, 'count')", key), "1", "so_call")
    call(c, "SELECT so_send('T', ?, 'count')", key)
    call(c, "SELECT so_send('T', ?, 'note', '{\"text\": \"x\"}')", key)
    call(c, "SELECT so_send('T', ?, 'break')", key)
    equal(answer(c, "SELECT so_run()"), {"turns": 4, "completed": 2, "rejected": 0, "retried": 1, "dead": 1}, "so_run")
    message = call(c, "SELECT so_send('T', ?, 'outside')", key)
    (claim,) = answer(c, "SELECT so_claim('w')")
    equal(claim["message"], message, "the claim")
    call(c, "SELECT so_commit(?, ?)", claim["claim"], '{"result": {"a": 1}, "patch": {"x": "%s"}}' % ("y" * 3000))
    equal(call(c, "SELECT so_result(?)", message), '{"a":1}', "the result")
    return call(c, "SELECT so_snapshot('T', ?) ->> '$.state.n'", key)


def in_the_way(c, schema):
    """Every one of our names, and those of tables without rows, in another schema."""
    quoted = '"' + schema.replace('"', '""') + '"'
    for table in TABLES:
        c.execute(f"CREATE TABLE {quoted}.solidobj_{table} AS SELECT * FROM main.solidobj_{table} LIMIT 3")
        if schema == "temp":
            c.execute(f"CREATE TEMP TRIGGER t_{table} BEFORE INSERT ON {quoted}.solidobj_{table} BEGIN SELECT RAISE(ABORT, 'theirs'); END")
    for name in VIEWS + ("ring", "connection"):
        c.execute(f"CREATE TABLE {quoted}.solidobj_{name}(message, type, key, status, ring)")
    c.execute(f"CREATE TABLE {quoted}.solidobj(function)")
    c.execute(f"CREATE TABLE {quoted}.json_each(value)")


def same_names():
    for schema in ("temp", "other", "my db", 'a"b', "select", "solidobj"):
        database, c = application()
        call(c, "SELECT so_send('T', 'old', 'outside', NULL, '{\"delay_ms\": 3600000}')")
        if schema != "temp":
            c.execute('ATTACH ? AS "{}"'.format(schema.replace('"', '""')), (os.path.join(database.directory, "other.db"),))
        in_the_way(c, schema)
        quoted = '"' + schema.replace('"', '""') + '"'
        theirs = {t: c.execute(f"SELECT * FROM {quoted}.solidobj_{t}").fetchall() for t in TABLES}
        equal(work(c, "k"), 2, f"{schema}: the state")
        equal({t: c.execute(f"SELECT * FROM {quoted}.solidobj_{t}").fetchall() for t in TABLES}, theirs, f"{schema}: their rows")
        for name in VIEWS + ("ring", "connection"):
            equal(call(c, f"SELECT count(*) FROM {quoted}.solidobj_{name}"), 0, f"{schema}: rows of their solidobj_{name}")
        # Our views read our tables, whatever the connection has of the same names.
        equal(call(c, "SELECT count(*) FROM main.solidobj_messages_view"), 6, f"{schema}: the view's rows")
        equal(call(c, "SELECT count(*) FROM main.solidobj_mailbox_view"), 1, f"{schema}: the mailbox view's rows")
        check(answer(c, "SELECT so_actor('T', 'k')")["exists"], f"{schema}: so_actor")
        refused(c, "SELECT so_drop_operation('T', 'outside')", "SO_BLOCKED")
        c.close()
        # Seen from a connection that has nothing in the way.
        plain = database.connect()
        holds(plain, schema)
        equal(call(plain, "SELECT so_snapshot('T', 'k') ->> '$.state.n'"), 2, f"{schema}: the state elsewhere")
        plain.close()
        database.close()


def only_attached():
    """solidobj in an attached file only: main is what counts."""
    database, c = application()
    call(c, "SELECT so_call('T', '1', 'count')")
    c.close()
    empty = Database()
    c = empty.connect()
    c.execute("ATTACH ? AS other", (database.path,))
    refused(c, "SELECT so_send('T', '1', 'count')", "SO_NOT_INSTALLED")
    refused(c, "SELECT so_snapshot('T', '1')", "SO_NOT_INSTALLED")
    refused(c, "SELECT so_call('T', '1', 'count')", "SO_NOT_INSTALLED")
    equal(call(c, "SELECT count(*) FROM other.solidobj_messages_view"), 1, "rows through the attached file's view")
    before = c.execute("SELECT * FROM other.solidobj_message").fetchall()
    define(c)
    equal(call(c, "SELECT so_call('T', '1', 'count')"), "1", "an actor of main")
    equal(c.execute("SELECT * FROM other.solidobj_message").fetchall(), before, "rows of the attached file")
    refused(c, "CREATE VIRTUAL TABLE other.more USING solidobj", "SO_INVALID_ARGUMENT")
    refused(c, "CREATE VIRTUAL TABLE temp.solidobj USING solidobj", "SO_INVALID_ARGUMENT")
    c.close()
    empty.close()
    database.close()


def locks():
    """Somebody else's lock on an attached file is not in the way; with main's own it is SQLITE_BUSY after the time-out."""
    database, early = application()
    path = os.path.join(database.directory, "other.db")
    theirs = sqlite3.connect(path, isolation_level=None)
    theirs.execute("CREATE TABLE x(y)")
    c = database.connect()
    for connection in (early, c):
        connection.execute("PRAGMA busy_timeout = 200")
        connection.execute("ATTACH ? AS other", (path,))
    theirs.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    equal(work(early, "early"), 2, "work beside a locked file, known before it was attached")
    equal(work(c, "k"), 2, "work beside a locked file")
    call(c, "SELECT so_ask('T', 'k', 'count')")
    c.execute("BEGIN")
    call(c, "SELECT so_call('T', 'k', 'count')")
    c.execute("COMMIT")
    check(time.monotonic() - started < 1, f"it waited for somebody else's file: {time.monotonic() - started} s")
    theirs.execute("ROLLBACK")
    # Our own lock on it, in the same transaction: both or none.
    for end, rows in (("ROLLBACK", 0), ("COMMIT", 1)):
        c.execute("BEGIN")
        c.execute("INSERT INTO other.x VALUES (1)")
        call(c, "SELECT so_call('T', 'both', 'count')")
        call(c, "SELECT so_send('T', 'both', 'count')")
        c.execute(end)
        equal(call(c, "SELECT count(*) FROM other.x"), rows, f"{end}: rows of the attached file")
        equal(call(c, "SELECT count(*) FROM solidobj_messages_view WHERE key = 'both'"), 2 * rows, f"{end}: messages")
    # Under a statement that writes to the attached file only, as under any that writes.
    refused(c, "INSERT INTO other.x SELECT so_call('T', 'both', 'count')", "SO_INSIDE_STATEMENT")
    c.execute("INSERT INTO other.x SELECT so_send('T', 'both', 'count')")
    equal(call(c, "SELECT max(y) FROM other.x"), call(c, "SELECT max(message) FROM solidobj_messages_view"), "a message's id")
    blocker = database.connect()
    blocker.execute("BEGIN IMMEDIATE")
    for text in ("so_send('T', '1', 'count')", "so_call('T', '1', 'count')", "so_run()"):
        started = time.monotonic()
        refused(c, f"SELECT {text}", "database is locked")
        waited = time.monotonic() - started
        check(0.15 < waited < 5, f"{text}: waited {waited} s with a time-out of 0.2 s")
    blocker.execute("ROLLBACK")
    early.execute("DROP TABLE main.solidobj")
    for connection in (early, c):
        refused(connection, "SELECT so_call('T', 'k', 'count')", "SO_NOT_INSTALLED")
        refused(connection, "SELECT so_send('T', 'k', 'count')", "SO_NOT_INSTALLED")
    define(early)
    equal(work(c, "k"), 2, "work after solidobj was dropped and installed again")
    early.close()
    c.execute("DETACH other")
    c.execute("SELECT so_run()").fetchall()
    holds(c, "locks")
    blocker.close()
    theirs.close()
    c.close()
    database.close()


def read_only_attached():
    database, c = application()
    path = os.path.join(database.directory, "other.db")
    theirs = sqlite3.connect(path, isolation_level=None)
    theirs.execute("CREATE TABLE x(y)")
    theirs.execute("INSERT INTO x VALUES (7)")
    theirs.close()
    c.close()
    c = database.connect()
    for how in ("mode=ro", "immutable=1"):
        uri = sqlite3.connect(f"file:{database.path}", uri=True, isolation_level=None)
        uri.enable_load_extension(True)
        uri.load_extension(os.environ.get("SOLIDOBJ", "build/solidobj"))
        uri.execute("ATTACH ? AS fixed", (f"file:{path}?{how}",))
        call(uri, "SELECT so_define_operation('T', 'theirs', 'SELECT y AS result FROM fixed.x')")
        equal(call(uri, "SELECT so_call('T', '1', 'theirs')"), "7", f"{how}: a handler that reads the attached file")
        # It is the handler's fault that this file is read-only: main is not, and others are not held up.
        call(uri, "SELECT so_define_operation('T', 'writes', 'INSERT INTO fixed.x VALUES (1)')")
        refused(uri, "SELECT so_call('T', '2', 'writes')", "SO_FAILED: attempt to write a readonly database")
        call(uri, "SELECT so_send('T', '2', 'writes')")
        call(uri, "SELECT so_send('T', '3', 'count')")
        equal(answer(uri, "SELECT so_run()"), {"turns": 3, "completed": 1, "rejected": 0, "retried": 1, "dead": 1},
              f"{how}: a worker meets a handler that cannot write")
        uri.close()
    refused(c, "SELECT so_call('T', '1', 'theirs')", "SO_FAILED: no such table: fixed.x")
    holds(c, "a read-only attached file")
    c.close()
    database.close()


def names_of_files():
    """A file's own name may be anything."""
    directory = Database()
    for name in ("my db", "a'b", 'a"b', "ünï", "a;b.db", "%s%n"):
        path = os.path.join(directory.directory, name)
        database = Database.__new__(Database)
        database.directory, database.path = directory.directory, path
        c = database.connect()
        define(c)
        equal(work(c, "k"), 2, f"{name}: the state")
        check(os.path.exists(path + "-solidobj"), f"{name}: it has a doorbell")
        c.close()
    shutil.rmtree(directory.directory)


def qualified():
    """Every statement of ours says main, so that no temporary or attached table is meant where we did not look."""
    seen = 0
    for path in ["common/so_catalog.c", *sorted(glob.glob("sqlite_ext/*.c"))]:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for sql in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', text):
            sql = re.sub(r'"\s*"', "", sql)
            for before, name in re.findall(r"\b(FROM|JOIN|INTO|UPDATE|,) +((?:main\.)?solidobj_[a-z]+)", sql):
                check(name.startswith("main."), f"{path}: {before} {name}")
                seen += 1
    check(seen > 100, f"only {seen} tables were seen")


def name_taken():
    """A table of the file that has the name by which a connection finds its state: said, not guessed."""
    for kind in ("TABLE solidobj_connection(x)", "VIEW solidobj_connection AS SELECT 1"):
        database, c = application()
        c.execute(f"CREATE {kind}")
        c.close()
        c = database.connect()
        refused(c, "SELECT so_send('T', '1', 'count')", "SO_INVALID_NAME: the name solidobj_connection is taken")
        refused(c, "SELECT so_version()", "SO_INVALID_NAME")
        c.execute(f"DROP {kind.split('(')[0].split(' AS ')[0]}")
        equal(call(c, "SELECT so_call('T', '1', 'count')"), "1", "a call after it was dropped")
        holds(c, "a name that was taken")
        c.close()
        database.close()


def functions():
    """What only the application itself may call, with the number of its arguments: all but so_send, so_version, and what is
    refused outside a turn anyway."""
    with open("common/so_functions.c", encoding="utf-8") as file:
        table = re.findall(r'^ *\{"(so_[a-z_]+)", (\d),\s*\d,\s*([A-Z_ |]+)', file.read(), re.M)
    found = [(name, int(arguments)) for name, arguments, flags in table
             if name not in ("so_send", "so_version") and "SO_FN_TURN" not in flags]
    check(len(found) > 30 and len(table) > 40, f"too few functions: {table}")
    return found


def foreign_file():
    """A file that somebody prepared: its views and triggers cannot run turns, nor send where the schema is not trusted."""
    database, c = application()
    call(c, "SELECT so_call('T', '1', 'count')")
    c.executescript("""
        CREATE TABLE bait(x);
        CREATE VIEW v_call AS SELECT so_call('T', '1', 'count');
        CREATE VIEW v_run AS SELECT so_run();
        CREATE VIEW v_claim AS SELECT * FROM so_claim('w');
        CREATE VIEW v_install AS SELECT so_install();
        CREATE VIEW v_send AS SELECT so_send('T', '1', 'count');
        CREATE TRIGGER sends AFTER INSERT ON bait BEGIN SELECT so_send('T', '1', 'count'); END;
        CREATE TRIGGER calls AFTER UPDATE ON bait BEGIN SELECT so_call('T', '1', 'count'); END;
        CREATE TRIGGER rings AFTER DELETE ON bait BEGIN INSERT INTO solidobj_ring VALUES (1); END;
        CREATE TABLE defaults(x DEFAULT (so_send('T', '1', 'count')), y);
    """)
    for name, arguments in functions():
        c.execute(f"CREATE VIEW every_{name} AS SELECT {name}({', '.join(['NULL'] * arguments)})")
    c.execute("INSERT INTO bait VALUES (1)")
    equal(call(c, "SELECT count(*) FROM solidobj_mailbox_view"), 1, "what a trigger sent")
    c.close()
    for trusted in ("ON", "OFF"):
        c = database.connect()
        c.execute(f"PRAGMA trusted_schema = {trusted}")
        before = everything(c)
        for view in ("v_call", "v_run", "v_install"):
            refused(c, f"SELECT * FROM {view}", "unsafe use of so_")
        for name, _ in functions():
            refused(c, f"SELECT * FROM every_{name}", f"unsafe use of {name}()")
        refused(c, "SELECT * FROM v_claim", "unsafe use of virtual table")
        refused(c, "UPDATE bait SET x = 2", "unsafe use of so_call()")
        refused(c, "DELETE FROM bait", "unsafe use of virtual table")
        if trusted == "OFF":
            refused(c, "SELECT * FROM v_send", "unsafe use of so_send()")
            refused(c, "INSERT INTO bait VALUES (2)", "unsafe use of so_send()")
            refused(c, "INSERT INTO defaults(y) VALUES (1)", "unsafe use of so_send()")
            equal(everything(c), before, "what an untrusted schema did")
            # Calls of one's own work, and the product's views are harmless.
            equal(call(c, "SELECT so_call('T', '2', 'count')"), "1", "a call of one's own")
            check(call(c, "SELECT count(*) FROM solidobj_messages_view") > 1, "the view")
            equal(call(c, "SELECT count(*) > 20 FROM solidobj"), 1, "the list of functions")
        else:
            equal(everything(c), before, "what a trusted schema did")
            message = call(c, "SELECT * FROM v_send")
            equal(answer(c, "SELECT so_status(?)", message)["status"], "waiting", "a message sent by a view")
            c.execute("INSERT INTO defaults(y) VALUES (1)")
            equal(call(c, "SELECT x FROM defaults"), message + 1, "a message sent by a default")
        c.close()
    database.close()


def main():
    same_names()
    only_attached()
    locks()
    read_only_attached()
    names_of_files()
    name_taken()
    foreign_file()
    qualified()


main()
