"""What the tests of places share: a small application with actors, and what must hold afterwards wherever it was called from."""
import sqlite3

from fixture import Database, call, check

# An actor that counts, one whose handler writes to the application's table, one that breaks, one for external workers.
OPERATIONS = {
    "count": "SELECT so_set('n', coalesce(so_get('n'), 0) + 1) AS result",
    "note": "INSERT INTO note(key, text) VALUES (:key, :args ->> 'text'); SELECT changes() AS result",
    "refuse": "SELECT so_raise('NO', 'never')",
    "break": "INSERT INTO note(key, text) VALUES (:key, 'half'); SELECT abs(-9223372036854775808) AS result",
    "outside": None,
}

# Each gives the rows that break a rule of the product.
RULES = {
    "an unfinished message is in the mailbox once":
        "SELECT m.message FROM solidobj_messages_view m WHERE m.finished_at IS NULL"
        " AND (SELECT count(*) FROM solidobj_mailbox_view b WHERE b.message = m.message) <> 1",
    "a finished message is not in the mailbox":
        "SELECT message FROM solidobj_mailbox_view WHERE message IN"
        " (SELECT message FROM solidobj_messages_view WHERE finished_at IS NOT NULL)",
    "a dead message has one dead letter":
        "SELECT message FROM solidobj_messages_view m WHERE status = 'dead'"
        " AND (SELECT count(*) FROM solidobj_dead_letters_view d WHERE d.message = m.message) <> 1",
    "a completed message belongs to a living actor":
        "SELECT message FROM solidobj_messages_view m WHERE status = 'completed' AND NOT EXISTS"
        " (SELECT 1 FROM solidobj_actors_view a WHERE a.type = m.type AND a.key = m.key)",
    "turn numbers of an incarnation are unique":
        "SELECT max(message) FROM solidobj_messages_view WHERE turn IS NOT NULL"
        " GROUP BY type, key, incarnation, turn HAVING count(*) <> 1",
    "an unfinished message has one place":
        "SELECT m.id FROM solidobj_message m WHERE m.status = 1 AND 1 <>"
        " (m.id >= (SELECT inbox FROM solidobj_message ORDER BY id DESC LIMIT 1))"
        " + (SELECT count(*) FROM solidobj_mail x WHERE x.id = m.id)"
        " + (SELECT count(*) FROM solidobj_later x WHERE x.id = m.id)"
        " + (SELECT count(*) FROM solidobj_queue x WHERE x.head = m.id)"
        " + (SELECT count(*) FROM solidobj_claim x WHERE x.head = m.id"
        "    OR m.id IN (SELECT value FROM json_each(coalesce(x.more, '[]'))))",
    "a place holds an unfinished message":
        "SELECT p.id FROM (SELECT id FROM solidobj_mail UNION ALL SELECT id FROM solidobj_later"
        " UNION ALL SELECT head FROM solidobj_queue UNION ALL SELECT head FROM solidobj_claim) p"
        " WHERE NOT EXISTS (SELECT 1 FROM solidobj_message m WHERE m.id = p.id AND m.status = 1)",
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
