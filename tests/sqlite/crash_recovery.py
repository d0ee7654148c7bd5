#!/usr/bin/python3
"""
Senders, callers, workers and external workers are killed at random moments. Afterwards nothing that was acknowledged is
lost, nothing ran twice, each sender's order held, the turns of each actor are numbered without a gap, and nothing is left.
"""
import json
import os
import random
import signal
import sqlite3
import time

from fixture import Database, answer, call, check, start

SECONDS = float(os.environ.get("SOLIDOBJ_CRASH_SECONDS", "6"))
SEED = int(os.environ.get("SOLIDOBJ_SEED", str(random.randrange(1 << 30))))
ACTORS = 4


def define(database):
    c = database.connect()
    call(c, "SELECT so_install()")
    call(c, """SELECT so_define_actor('C', '{"initial": {"n": 0}, "lease_ms": 300, "max_attempts": 1000,
                                             "retry_base_ms": 1}')""")
    c.execute("CREATE TABLE log(key, sender, number)")
    call(c, "SELECT so_define_operation('C', 'step', 'SELECT so_set(''n'', so_get(''n'') + 1) AS result')")
    call(c, """SELECT so_define_operation('C', 'record', '
        INSERT INTO log VALUES(:key, :args ->> ''sender'', :args ->> ''number'');
        SELECT so_set(''n'', so_get(''n'') + 1) AS result')""")
    call(c, "SELECT so_define_operation('C', 'outside', NULL)")
    c.close()


def send(database, sender):
    c = database.connect()
    with open(os.path.join(database.directory, f"acknowledged-{sender}"), "a") as acknowledged:
        for number in range(1 << 30):
            operation = random.choice(["record", "record", "outside"])
            arguments = json.dumps({"sender": sender, "number": number})
            key = str(random.randrange(ACTORS))
            message = call(c, "SELECT so_send('C', ?, ?, ?)", key, operation, arguments)
            acknowledged.write(f"{message} {key};")
            acknowledged.flush()
            if number % 20 == 0:
                time.sleep(0.02)


def call_at_once(database, _):
    c = database.connect()
    while True:
        try:
            call(c, "SELECT so_call('C', ?, 'step')", str(random.randrange(ACTORS, ACTORS + 2)))
        except sqlite3.OperationalError as error:
            if "SO_BLOCKED" not in str(error) and "SO_TIMEOUT" not in str(error):
                raise


def run(database, _):
    c = database.connect()
    while True:
        call(c, """SELECT so_run('{"wait_ms": 200, "max_ms": 500}')""")


def work_outside(database, _):
    c = database.connect()
    while True:
        for row in answer(c, """SELECT so_claim('w', '{"wait_ms": 200, "max": 2, "batch": 3, "lease_ms": 300}')"""):
            try:
                call(c, "SELECT so_commit(?, ?)", row["claim"], json.dumps({"patch": {"seen": row["message"]}}))
            except sqlite3.OperationalError as error:
                if "SO_LOST_CLAIM" not in str(error):
                    raise


def kill_at_random(database):
    roles = [send, send, call_at_once, call_at_once, run, run, work_outside, work_outside]
    running = {}
    senders = iter(range(1 << 30))
    for role in roles:
        running[start(role, database, next(senders))] = role
    end = time.monotonic() + SECONDS
    kills = 0
    while time.monotonic() < end:
        time.sleep(random.random() * 0.1)
        process = random.choice(list(running))
        role = running.pop(process)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        check(os.WIFSIGNALED(status), f"{role.__name__} ended by itself")
        kills += 1
        running[start(role, database, next(senders))] = role
    for process in running:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return kills


def finish(database):
    c = database.connect()
    check(call(c, "PRAGMA integrity_check") == "ok", "integrity_check")
    deadline = time.monotonic() + 30
    while c.execute("SELECT 1 FROM solidobj_mailbox_view LIMIT 1").fetchone():
        check(time.monotonic() < deadline, "messages stay in the mailbox")
        call(c, "SELECT so_run()")
        for row in answer(c, """SELECT so_claim('last', '{"max": 50, "batch": 50}')"""):
            call(c, "SELECT so_commit(?)", row["claim"])
    return c


def verify(database, c):
    for name in os.listdir(database.directory):
        if not name.startswith("acknowledged-"):
            continue
        with open(os.path.join(database.directory, name)) as file:
            for line in file.read().split(";")[:-1]:
                message, key = line.split()
                status = answer(c, "SELECT so_status(?)", int(message))
                check(status["status"] == "completed" and status["key"] == key, f"acknowledged, and now {status}")
    last = {}
    for key, sender, number in c.execute("SELECT key, sender, number FROM log ORDER BY rowid"):
        check(last.get((key, sender), -1) < number, f"sender {sender}: {number} ran after {last.get((key, sender))}")
        last[key, sender] = number
    recorded = call(c, "SELECT count(*) FROM log")
    completed = call(c, "SELECT count(*) FROM solidobj_messages_view WHERE operation = 'record'")
    check(recorded == completed, f"{recorded} effects of {completed} turns")
    for key in map(str, range(ACTORS + 2)):
        steps, turns, numbers, highest = c.execute(
            """SELECT sum(operation <> 'outside'), count(*), count(DISTINCT turn), max(turn)
               FROM solidobj_messages_view WHERE key = ?""", (key,)).fetchone()
        if turns == 0:
            continue
        check(turns == numbers == highest, f"actor {key}: {turns} turns, {numbers} numbers up to {highest}")
        state = answer(c, "SELECT so_snapshot('C', ?)", key)["state"]
        check(state["n"] == steps, f"actor {key} counted {state['n']} of {steps}")
    for table in ("mail", "later", "queue", "claim"):
        check(call(c, f"SELECT count(*) FROM solidobj_{table}") == 0, f"rows are left in solidobj_{table}")


def main():
    random.seed(SEED)
    database = Database()
    define(database)
    kills = kill_at_random(database)
    c = finish(database)
    verify(database, c)
    print(f"{kills} kills, {call(c, 'SELECT count(*) FROM solidobj_messages_view')} messages, seed {SEED}")
    c.close()
    database.close()


main()
