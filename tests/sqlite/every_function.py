#!/usr/bin/python3
"""Every function at the top of a statement: alone, in a transaction, beside an open read cursor, over the rows of a table, in a
database in memory. Each does its work there, or says which place it is in and changes nothing."""
import re
import sqlite3

from fixture import LIBRARY, Database, answer, call, check
from places import define, equal, everything, holds, refused

WAITS = "SO_INSIDE_TRANSACTION"
TURN = "SO_NOT_IN_TURN"
# What each answers (None: anything); the code where it stands in a transaction or beside a cursor, if it is refused there.
CALLS = {
    "so_install()": (None, None),
    "so_version()": (None, None),
    "so_test_clock(0)": (None, None),
    "so_define_actor('New')": ("New", None),
    "so_define_operation('T', 'new', 'SELECT 1 AS result')": ("new", None),
    "so_define_migration('T', 1, 'SELECT :state AS state')": (2, None),
    "so_drop_operation('T', 'write')": (1, None),
    "so_drop_actor('Unused')": (1, None),
    "so_types()": (None, None),
    "so_send('T', 'a', 'count')": (None, None),
    """so_send_batch('[{"type":"T","key":"b","operation":"count"}]')""": (None, None),
    "so_find('T', 'keyed', 'k')": ("{keyed}", None),
    "so_call('T', 'c', 'count')": ("1", None),
    "so_try('T', 'c', 'refuse')": ('{"status":"rejected","code":"NO","message":"never","details":null}', None),
    "so_query('T', 'there', 'peek')": ("1", None),
    "so_ask('T', 'c', 'count')": ("1", WAITS),
    "so_wait({done})": ("1", WAITS),
    "so_result({done})": ("1", None),
    "so_status({done})": (None, None),
    "so_snapshot('T', 'there')": (None, None),
    "so_history('T', 'there')": (None, None),
    "so_next_due()": (0, None),
    "so_dead_letters()": (None, None),
    "so_stats()": (None, None),
    "so_actor('T', 'there')": (None, None),
    "so_claim('w')": (None, None),
    """so_claim('w', '{"wait_ms":1}')""": (None, WAITS),
    "so_renew('{claim}')": (None, None),
    """so_commit('{claim}', '{"state":{"n":5}}')""": (1, None),
    "so_reject('{claim}', 'NO')": ("rejected", None),
    "so_fail('{claim}', 'x')": ("retrying", None),
    "so_release('{claim}')": (1, None),
    "so_cancel({waiting})": (1, None),
    "so_retry({dead})": (None, None),
    "so_pause('T', 'a')": (1, None),
    "so_resume('T', 'paused')": (1, None),
    "so_destroy('T', 'there')": (1, None),
    "so_tick()": (None, None),
    "so_run()": (None, WAITS),
    "so_self()": (TURN, TURN),
    "so_get('n')": (TURN, TURN),
    "so_set('n', 1)": (TURN, TURN),
    "so_unset('n')": (TURN, TURN),
    "so_members()": (TURN, TURN),
    "so_tell('T', 'a', 'count')": (TURN, TURN),
    "so_raise('NO')": (TURN, TURN),
}


def in_memory():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    return connection


def prepare(connection):
    """A message in each state; gives their names."""
    call(connection, "SELECT so_install('{\"test\":true}')")
    define(connection)
    call(connection, "SELECT so_define_operation('T', 'peek', 'SELECT so_get(''n'') AS result', '{\"query\":true}')")
    call(connection, "SELECT so_define_actor('Unused')")
    connection.execute("CREATE TABLE app(x)")
    connection.execute("INSERT INTO app VALUES (1), (2), (3)")
    names = {"done": call(connection, "SELECT so_send('T', 'there', 'count')"),
             "keyed": call(connection, "SELECT so_send('T', 'keyed', 'count', '{}', '{\"idempotency_key\":\"k\"}')"),
             "dead": call(connection, "SELECT so_send('T', 'dead', 'break', '{}', '{\"max_attempts\":1}')")}
    call(connection, "SELECT so_run()")
    call(connection, "SELECT so_send('T', 'out', 'outside')")
    names["claim"] = answer(connection, "SELECT so_claim('w')")[0]["claim"]
    names["waiting"] = call(connection, "SELECT so_send('T', 'waits', 'outside')")
    call(connection, "SELECT so_pause('T', 'paused')")
    return names


def fill(text, names):
    return re.sub(r"\{(done|keyed|dead|claim|waiting)\}", lambda found: str(names[found[1]]), text)


def one(connection, text, expected, where):
    """Calls it; an expected code is refused and changes nothing. Gives whether it went through."""
    if str(expected).startswith("SO_"):
        before = everything(connection)
        refused(connection, f"SELECT {text}", expected)
        equal(everything(connection), before, f"{text} {where}: the tables after a refusal")
        return False
    try:
        found = call(connection, f"SELECT {text}")
    except sqlite3.Error as error:
        check(False, f"{text} {where}: {error}")
    if expected is not None:
        equal(str(found), str(expected), f"{text} {where}")
    return True


def each(open_):
    """Each call on a database of its own."""
    for text, (alone, inside) in CALLS.items():
        database = open_()
        connection = database.connect() if database else in_memory()
        names = prepare(connection)
        filled, alone = fill(text, names), fill(alone, names) if isinstance(alone, str) else alone
        begun = alone if inside is None else inside

        reading = connection.execute("SELECT x FROM app")
        reading.fetchone()
        connection.execute("SAVEPOINT outer_one")
        one(connection, filled, begun, "in a savepoint beside a cursor")
        connection.execute("ROLLBACK TO outer_one")
        connection.execute("RELEASE outer_one")
        reading.close()

        before = everything(connection)
        connection.execute("BEGIN")
        one(connection, filled, begun, "in a transaction")
        connection.execute("ROLLBACK")
        equal(everything(connection), before, f"{text}: the tables after ROLLBACK")

        reading = connection.execute("SELECT x FROM app")
        equal(reading.fetchone(), (1,), "the cursor")
        went = one(connection, filled, begun, "beside a cursor")
        equal(reading.fetchall(), [(2,), (3,)], f"{text}: the rest of the cursor")
        holds(connection, f"{text} beside a cursor")
        if not went:
            one(connection, filled, alone, "alone")
            holds(connection, f"{text} alone")
        connection.close()
        if database:
            database.close()


def main():
    with open("common/so_functions.c", encoding="utf-8") as file:
        functions = re.findall(r'^ *\{"(so_[a-z_]+)"', file.read(), re.M)
    missing = set(functions) - {text.split("(")[0] for text in CALLS}
    check(len(functions) > 40 and not missing, f"not called here: {missing or functions}")
    each(Database)
    each(lambda: None)


main()
