"""What the tests of places share: a small application with actors, and what must hold afterwards wherever it was called from."""
import sqlite3

from fixture import Database, call, check

# An actor that counts, one whose handler writes to the application's table, one that breaks, one for external workers.
OPERATIONS = {
    "count": "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result",
    "note": "INSERT INTO note(key, text) VALUES (:key, :args ->> 'text'); SELECT changes() AS result",
    "write": "INSERT INTO note(key, text) VALUES (:key, 'written')",
    "refuse": "SELECT so_raise('NO', 'never')",
    "break": "INSERT INTO note(key, text) VALUES (:key, 'half'); SELECT abs(-9223372036854775808) AS result",
    "outside": None,
}

# Each gives the rows that break a rule of the product.
RULES = {
    "an unfinished message is in the mailbox once":
        "SELECT message FROM solidobj_messages_view WHERE finished_at IS NULL EXCEPT SELECT message FROM solidobj_mailbox_view",
    "the mailbox holds unfinished messages, once":
        "SELECT message FROM solidobj_mailbox_view GROUP BY message HAVING count(*) > 1 UNION ALL "
        "SELECT * FROM (SELECT message FROM solidobj_mailbox_view"
        " EXCEPT SELECT message FROM solidobj_messages_view WHERE finished_at IS NULL)",
    "a dead message has one dead letter":
        "SELECT message FROM solidobj_dead_letters_view GROUP BY message HAVING count(*) > 1 UNION ALL "
        "SELECT * FROM (SELECT message FROM solidobj_messages_view WHERE status = 'dead'"
        " EXCEPT SELECT message FROM solidobj_dead_letters_view)",
    "a completed message belongs to a living actor":
        "SELECT type, key FROM solidobj_messages_view WHERE status = 'completed' EXCEPT SELECT type, key FROM solidobj_actors_view",
    "turn numbers of an incarnation are unique":
        "SELECT max(message) FROM solidobj_messages_view WHERE turn IS NOT NULL"
        " GROUP BY type, key, incarnation, turn HAVING count(*) <> 1",
    "an unfinished message, and no other, has one place":
        "SELECT id FROM (SELECT id FROM solidobj_mail UNION ALL SELECT id FROM solidobj_later"
        " UNION ALL SELECT head FROM solidobj_queue WHERE head > 0 UNION ALL SELECT head FROM solidobj_claim"
        " UNION ALL SELECT value FROM solidobj_claim, json_each(more)"
        " UNION ALL SELECT id FROM solidobj_message WHERE status = 1"
        "   AND id >= (SELECT inbox FROM solidobj_message ORDER BY id DESC LIMIT 1)"
        " UNION ALL SELECT -id FROM solidobj_message WHERE status = 1)"
        " GROUP BY abs(id) HAVING count(*) <> 2 OR sum(id) <> 0",
    "an empty row is the newest, or stands before an unfinished message that came while it was":
        "SELECT e.id FROM solidobj_message e WHERE e.status = 0 AND e.id > 0"
        " AND e.id < (SELECT max(id) FROM solidobj_message)"
        " AND NOT EXISTS (SELECT 1 FROM solidobj_message m WHERE m.id = e.id + 1 AND m.status = 1)",
}


def broken_rules(connection):
    """In one snapshot, so that a writer beside us does not matter."""
    connection.execute("BEGIN")
    try:
        broken = []
        for rule, sql in RULES.items():
            rows = connection.execute(sql).fetchall()
            if rows:
                broken.append(f"{rule}: {rows[:5]}")
        return broken
    finally:
        connection.execute("ROLLBACK")


def define(connection):
    connection.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, key TEXT, text TEXT)")
    call(connection, "SELECT so_install()")
    call(connection, """SELECT so_define_actor('T', '{"retry_base_ms": 0, "max_attempts": 2}')""")
    for name, handler in OPERATIONS.items():
        call(connection, "SELECT so_define_operation('T', ?, ?)", name, handler)


def schema_version():
    """Of this library."""
    database = Database()
    connection = database.connect()
    version = call(connection, "SELECT so_install()")
    connection.close()
    database.close()
    return version


def application():
    """A database with the application in it, and a connection."""
    database = Database()
    connection = database.connect()
    define(connection)
    return database, connection


def refused(connection, sql, expected, *values):
    """The statement fails with an error whose text begins so."""
    try:
        connection.execute(sql, values).fetchall()
    except sqlite3.Error as error:
        check(str(error).startswith(expected), f"{sql}\n  said: {error}\n  expected: {expected}")
        return
    check(False, f"{sql}\n  went through, expected: {expected}")


def everything(connection):
    """All rows of all tables of the file, to see that nothing changed."""
    names = [name for (name,) in connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")]
    return {name: connection.execute(f'SELECT * FROM main."{name}"').fetchall() for name in names}


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r}, expected {expected!r}")


def holds(connection, where):
    """The rules hold, nothing is left open, and the file is sound."""
    check(not connection.in_transaction, f"{where}: a transaction is left open")
    broken = broken_rules(connection)
    check(not broken, f"{where}: " + "; ".join(broken))
    equal(call(connection, "PRAGMA integrity_check"), "ok", f"{where}: integrity_check")
