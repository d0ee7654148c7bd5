#!/usr/bin/python3
"""
so_stats, so_actor, so_status and the views say the same about every message, whatever was done before: unsorted, delayed,
claimed in a batch, retrying, paused, stuck, the clock set back. They are computed in different ways.
"""
import json
import os
import random
import sqlite3

from fixture import Database, answer, call, check

SEED = int(os.environ.get("SOLIDOBJ_SEED", str(random.randrange(1 << 30))))
STEPS = 500
TYPES = ["A", "B"]
KEYS = ["1", "2", "3"]
HOUR = 3600000  # everything lasts whole half hours, so that nothing becomes due between two looks
COUNTS = ["waiting", "delayed", "retrying", "claimed"]
HANDLERS = {
    "good": "SELECT so_set('n', 1) AS result",
    "bad": "SELECT 1 AS nonsense",
    "sometimes": "SELECT 1 AS result",
}


def define(c):
    call(c, """SELECT so_install('{"test": true}')""")
    for name in TYPES:
        options = {"max_attempts": 3, "retry_base_ms": HOUR, "retry_cap_ms": 2 * HOUR, "lease_ms": 2 * HOUR}
        call(c, "SELECT so_define_actor(?, ?)", name, json.dumps(options))
        for operation, handler in HANDLERS.items():
            call(c, "SELECT so_define_operation(?, ?, ?)", name, operation, handler)
        call(c, "SELECT so_define_operation(?, 'outside', NULL)", name)


def may_refuse(c, refusal, sql, *values):
    try:
        call(c, sql, *values)
    except sqlite3.OperationalError as error:
        check(refusal in str(error), f"{sql}: {error}")


def send(c, held):
    options = json.dumps(random.choice([{}, {}, {}, {"delay_ms": 3 * HOUR}, {"max_attempts": 1}]))
    operation = random.choice(["good", "bad", "sometimes", "sometimes", "outside", "outside"])
    for _ in range(random.choice([1, 1, 4])):
        may_refuse(c, "is a query", "SELECT so_send(?, ?, ?, '{}', ?)", random.choice(TYPES), random.choice(KEYS),
                   operation, options)


def claim(c, held):
    options = json.dumps({"max": random.randint(1, 2), "batch": random.randint(1, 3)})
    held.extend(answer(c, "SELECT so_claim('w', ?)", options))


def settle(c, held):
    if held:
        row = held.pop(random.randrange(len(held)))
        calls = ["SELECT so_commit(?)", "SELECT so_fail(?, 'no')", "SELECT so_release(?)"]
        may_refuse(c, "SO_LOST_CLAIM", random.choice(calls), row["claim"])


def run(c, held):
    call(c, "SELECT so_run(?)", json.dumps({"max_turns": random.randint(1, 4)}))


def move_clock(c, held):
    call(c, "SELECT so_test_clock(?)", random.choice([-3 * HOUR, -HOUR, HOUR // 2, HOUR, 3 * HOUR, 3 * HOUR]))


def of_actor(c, held):
    call(c, f"SELECT so_{random.choice(['pause', 'resume', 'resume'])}(?, ?)", random.choice(TYPES), random.choice(KEYS))


def of_message(c, held):
    row = c.execute("SELECT message, status FROM solidobj_messages_view WHERE status IN ('waiting', 'delayed', 'dead') "
                    "ORDER BY random() LIMIT 1").fetchone()
    if row:
        call(c, f"SELECT so_{'retry' if row[1] == 'dead' else 'cancel'}(?)", row[0])


def lose(c, held):
    """An operation is there or is not."""
    query = random.choice(["{}", '{"query": true}'])
    call(c, "SELECT so_define_operation(?, 'sometimes', ?, ?)", random.choice(TYPES), HANDLERS["sometimes"], query)


def charge(c, held):
    """As after a process died in the turn of a message that was not sorted."""
    c.execute("UPDATE solidobj_message SET attempts = 1, error = 'died' WHERE status = 1 AND attempts IS NULL "
              "AND id >= (SELECT inbox FROM solidobj_message ORDER BY id DESC LIMIT 1)")


def destroy(c, held):
    call(c, "SELECT so_destroy(?, ?)", random.choice(TYPES), random.choice(KEYS))


def rows(c, sql, *values):
    cursor = c.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def compare_messages(c):
    seen = {row["message"]: row for row in rows(c, "SELECT * FROM solidobj_messages_view")}
    mailbox = rows(c, "SELECT * FROM solidobj_mailbox_view")
    for row in mailbox:
        status = answer(c, "SELECT so_status(?)", row["message"])
        for name in ("type", "key", "operation", "status", "attempts", "error", "created_at"):
            check(row[name] == status[name] == seen[row["message"]][name],
                  f"{name}: mailbox {row}, message {seen[row['message']]}, status {status}")
    return mailbox


def near(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) < 60000)


def compare_figures(c, mailbox):
    for stats, view in zip(answer(c, "SELECT so_stats()"), rows(c, "SELECT * FROM solidobj_stats_view ORDER BY type")):
        ages = [("oldest_ready_age_ms", stats.pop("oldest_ready_age_ms"), view.pop("oldest_ready_age_ms")),
                ("next_due_ms", stats.pop("next_due_ms"), view.pop("next_due_ms"))]
        check(stats == view, f"so_stats {stats}, the view {view}")
        check(all(near(one, other) for _, one, other in ages), f"{ages}")
        alone = answer(c, "SELECT so_stats(?)", stats["type"])[0]
        check({name: alone[name] for name in stats} == stats, f"so_stats(type) {alone}, so_stats() {stats}")
        own = [row for row in mailbox if row["type"] == stats["type"]]
        actors = [answer(c, "SELECT so_actor(?, ?)", stats["type"], key) for key in KEYS]
        for name in COUNTS:
            number = sum(row["status"] == name for row in own)
            check(stats[name] == number, f"{stats} says {stats[name]} {name}, the mailbox {number}")
            listed = sum(actor["mailbox"][name] for actor in actors)
            check(listed == number, f"so_actor says {listed} {name}, the mailbox {number}: {actors}")
        for actor in actors:
            compare_actor(actor, {row["message"]: row for row in own if row["key"] == actor["key"]})
        check(stats["actors"] == sum(actor["exists"] for actor in actors), f"actors: {stats}")
        check(stats["paused"] == sum(actor["paused"] for actor in actors), f"paused: {stats}")
        dead = answer(c, "SELECT so_dead_letters(?)", json.dumps({"type": stats["type"], "limit": 1000}))
        check(stats["dead_letters"] == len(dead), f"{len(dead)} dead letters: {stats}")
        check(stats["unretried"] == sum(row["replacement"] is None for row in dead), f"unretried: {stats}")


def compare_actor(actor, own):
    mailbox = actor["mailbox"]
    messages = mailbox["messages"]
    check(len(messages) == min(len(own), 100), f"{len(messages)} of {len(own)} messages: {actor}")
    check(len({row["message"] for row in messages}) == len(messages), f"a message is listed twice: {actor}")
    for row in messages:
        check(row["status"] == own[row["message"]]["status"], f"{row}, the mailbox {own[row['message']]}")
    ready = [row for row in messages if row["status"] != "delayed"]
    check((mailbox["head"] or {"message": None})["message"] == (ready[0]["message"] if ready else None),
          f"the head is the first that is not delayed: {actor}")


def main():
    random.seed(SEED)
    database = Database()
    c = database.connect()
    define(c)
    held = []
    steps = [send] * 5 + [claim, settle, settle, run, run, move_clock, of_actor, of_message, lose, charge]
    kinds = set()
    for number in range(5 * STEPS):
        if number >= STEPS and len(kinds) == len(COUNTS) + 1:
            break
        step = destroy if number % 100 == 99 else random.choice(steps)
        step(c, held)
        if number % 3 == 0:
            mailbox = compare_messages(c)
            compare_figures(c, mailbox)
            kinds.update(row["status"] for row in mailbox)
            kinds.update("stuck" for row in answer(c, "SELECT so_stats()") if row["stuck"])
    check(kinds == {*COUNTS, "stuck"}, f"only {kinds} were seen; seed {SEED}")
    c.close()
    database.close()


print(f"seed {SEED}", flush=True)
main()
