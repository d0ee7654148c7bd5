#!/usr/bin/python3
"""A file of another schema version: so_version says which, everything else is SO_VERSION and says what to do."""
import sqlite3

from fixture import Database, answer, call, check


def refused(connection, sql):
    try:
        call(connection, sql)
    except sqlite3.OperationalError as error:
        return str(error)
    return "it was not refused"


database = Database()
first = database.connect()
check(answer(first, "SELECT so_version()")["schema"] is None, "a version before so_install")
current = call(first, "SELECT so_install()")
call(first, "SELECT so_define_actor('T')")
for version, hint in ((current - 1, "so_install()"), (current + 1, "newer solidobj library")):
    writer = sqlite3.connect(database.path, isolation_level=None)
    writer.execute("UPDATE solidobj_setting SET value = ? WHERE name = 'schema_version'", (version,))
    writer.execute("UPDATE solidobj_message SET stamp = stamp + 1 WHERE id = (SELECT max(id) FROM solidobj_message)")
    writer.close()
    # A connection that read the tables before, and one that never did.
    for connection in (first, database.connect()):
        for _ in range(2):
            check(answer(connection, "SELECT so_version()")["schema"] == version, f"so_version does not say {version}")
        for sql in ("SELECT so_send('T', '1', 'x')", "SELECT so_types()", "SELECT so_run()"):
            error = refused(connection, sql)
            check(error.startswith("SO_VERSION") and f"version {version}" in error and hint in error, f"{sql}: {error}")
check(refused(first, "SELECT so_install()").startswith("SO_VERSION"), "so_install takes a file that is too new")
database.close()
