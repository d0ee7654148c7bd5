#!/usr/bin/python3
"""What a call or a connection keeps in memory does not grow with the turns that it runs or with the rows that it reads."""
import os
import sqlite3

from fixture import LIBRARY, Database, call, check

LARGE = 1000000
LIMIT = 60 * 1000000


def resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bounded(what, run):
    run()
    before = resident()
    for _ in range(3):
        run()
    grown = resident() - before
    check(grown < LIMIT, f"{what}: {grown} bytes more")


def in_memory():
    """Without a doorbell a turn is claimed in one piece of work and run in the next."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    call(connection, "SELECT so_install()")
    call(connection, "SELECT so_define_actor('T')")
    call(connection, "SELECT so_define_operation('T', 'op', 'SELECT :args AS state, 1 AS result')")
    args = '{"x":"%s"}' % ("x" * (LARGE - 100))
    call(connection, "SELECT so_ask('T', 'k', 'op', ?)", args)
    bounded("so_ask in memory",
            lambda: [call(connection, "SELECT so_ask('T', 'k', 'op', ?)", args) for _ in range(40)])
    connection.close()


def undone(connection):
    call(connection, "SELECT so_define_actor('U', '{\"max_attempts\":1000000,\"retry_base_ms\":0}')")
    connection.execute("CREATE TABLE once(x PRIMARY KEY)")
    connection.execute("INSERT INTO once VALUES(1)")
    peaks = []
    connection.create_function("peak", 0, lambda: peaks.append(resident()))
    call(connection, "SELECT so_define_operation('U', 'undo', ?)",
         "SELECT peak() AS result; INSERT OR ROLLBACK INTO once VALUES(1)")
    call(connection, "SELECT so_send('U', 'k', 'undo', ?)", '{"x":"%s"}' % ("x" * (LARGE - 100)))
    before = resident()
    call(connection, "SELECT so_run('{\"max_turns\":200}')")
    check(len(peaks) > 100, "the handler ran that often")
    check(max(peaks) - before < LIMIT, f"attempts that roll back, in one so_run: {max(peaks) - before} bytes more")


def rows(connection):
    call(connection, "SELECT so_define_actor('R', '{\"max_attempts\":1}')")
    call(connection, "SELECT so_define_operation('R', 'fail', 'SELECT 1 AS unknown')")
    call(connection, "SELECT so_send('R', 'k', 'fail', ?)", '{"x":"%s"}' % ("x" * (LARGE - 100)))
    call(connection, "SELECT so_run('{\"types\":[\"R\"]}')")
    connection.create_function("grown", 1, lambda text: resident())
    columns = ", ".join(["grown(args)"] * 200)
    sizes = connection.execute(f"SELECT {columns} FROM so_dead_letters('{{\"type\":\"R\"}}')").fetchone()
    check(sizes[-1] - sizes[0] < LIMIT, f"columns of one row: {sizes[-1] - sizes[0]} bytes more")


def main():
    in_memory()
    database = Database()
    connection = database.connect()
    call(connection, "SELECT so_install()")
    undone(connection)
    rows(connection)
    connection.close()
    database.close()


main()
