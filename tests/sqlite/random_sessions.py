#!/usr/bin/python3
"""Random sessions of several connections: what is answered, what is stored and what is counted stay of one piece.

Rules: a call that fails and a rollback leave nothing; ids grow; what is over stays as it ended; a claim gives the
oldest message of its actor, which nobody else holds; counts are the rows; all connections see the same.
An argument is the seed, a second one how many seconds."""
import collections
import json
import os
import random
import sqlite3
import sys
import time

from fixture import Database, LIBRARY, answer, call, check

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "torture"))
import invariants

STEPS = 120  # of one session
FINAL = ("completed", "rejected", "dead", "cancelled")
TYPES = ("A", "B", "C")
KEYS = ("k", "K ", "\u00e4\"'")
HANDLERS = {
    "x": None,
    "y": None,
    "log": "INSERT INTO ran VALUES (:type, :key, :message);"
           "SELECT so_set('log', json_insert(coalesce(so_get('log'), '[]'), '$[#]', :message)) , :attempt AS result",
    "fat": "SELECT json_object('fat', hex(zeroblob(:args ->> 'n'))) AS patch",
    "no": "SELECT so_raise('no', 'never')",
    "break": "INSERT INTO ran VALUES ('broken', :key, :message); SELECT abs(-9223372036854775808)",
    "tell": "SELECT so_tell('B', :key, 'log'), so_tell(:type, :key, 'x')",
    "end": "SELECT 1 AS destroy",
}
PAUSES = {"retry_base_ms": 15000}  # nothing becomes due between two looks: only so_test_clock brings it about
TABLES = ("setting", "type", "operation", "migration", "actor", "member", "message", "mail", "later", "queue", "claim")


def options(r, always=None, **more):
    some = {name: value() for name, value in more.items() if r.random() < 0.3}
    return json.dumps({**(always or {}), **some})


class Session:
    def __init__(self, r, connections, trace):
        self.r = r
        self.connections = connections
        self.trace = trace
        self.c = connections[0]
        self.claims = []
        self.highest = 0
        self.over = {}
        self.saved = []  # (name, tables, highest id, what is over) of the open transaction's savepoints
        self.counts = collections.Counter()

    def wrong(self, message):
        print("\n".join(self.trace[-25:]))
        check(False, message)

    def tables(self):
        return [self.c.execute(f"SELECT * FROM main.{name} ORDER BY 1, 2").fetchall()
                for name in [f"solidobj_{table}" for table in TABLES] + ["ran"]]

    def run(self, sql, *values, partly=False):
        """The answer or None; a call that fails has to leave nothing."""
        before = self.tables()
        number = self.connections.index(self.c)
        try:
            result = call(self.c, sql, *values)
        except sqlite3.Error as error:
            self.trace.append(f"{number}: {sql} {values} -> {error}")
            self.counts[str(error).split(":")[0][:30]] += 1
            if not str(error).startswith("SO_"):
                self.wrong("an error without a code")
            if not partly and self.tables() != before:
                self.wrong("a call that failed left something")
            return None
        self.trace.append(f"{number}: {sql} {values} -> {result}")
        self.counts["answers"] += 1
        return result

    def sent(self, identity, fresh):
        if identity is None:
            return
        if fresh and identity <= self.highest:
            self.wrong(f"id {identity} after {self.highest}")
        self.highest = max(self.highest, identity)

    def actor(self):
        return self.r.choice(TYPES), self.r.choice(KEYS)

    def message(self):
        return self.r.randint(max(1, self.highest - 12), max(1, self.highest))

    def send(self):
        r = self.r
        more = options(r, idempotency_key=lambda: r.choice("pq"), delay_ms=lambda: r.choice((0, 20000, 50000)),
                       max_attempts=lambda: r.choice((1, 2)), keep_result=lambda: True)
        verb = r.choice(("send", "send", "send", "call", "try", "ask"))
        if verb in ("call", "try"):
            more = options(r, {"timeout_ms": 0}, idempotency_key=lambda: r.choice("pq"))
        if verb == "ask":
            more = '{"timeout_ms": 0}'
        arguments = (*self.actor(), r.choice(tuple(HANDLERS)), json.dumps({"n": r.choice((1, 700, 3000))}), more)
        result = self.run(f"SELECT so_{verb}(?, ?, ?, ?, ?)", *arguments, partly=verb == "ask")
        if verb == "send":
            self.sent(result, "idempotency_key" not in more)

    def batch(self):
        rows = [dict(zip(("type", "key", "operation"), (*self.actor(), self.r.choice(tuple(HANDLERS)))))
                for _ in range(self.r.randint(1, 5))]
        for identity in json.loads(self.run("SELECT so_send_batch(?)", json.dumps(rows)) or "[]"):
            self.sent(identity, True)

    def claim(self):
        r = self.r
        rows = self.run("SELECT so_claim('w', ?)", options(
            r, max=lambda: r.choice((2, 5)), batch=lambda: r.choice((2, 4)), types=lambda: [r.choice(TYPES)],
            operations=lambda: ["y"], lease_ms=lambda: r.choice((20000, 90000))))
        for row in json.loads(rows or "[]"):
            mine = self.c.execute("SELECT message, status FROM solidobj_mailbox_view WHERE type = ? AND key = ?"
                                  " ORDER BY message", (row["type"], row["key"])).fetchall()
            if (row["message"], "claimed") not in mine:
                self.wrong(f"{row['message']} was claimed and is not: {mine}")
            self.claims.append(row["claim"])

    def settle(self):
        if not self.claims:
            return
        r = self.r
        claim = r.choice(self.claims[-4:])
        verb, more = r.choice((
            ("commit", ('{"patch": {"x": 1}, "result": 2}',)), ("commit", ('{"destroy": true}',)),
            ("commit", ("{}",)), ("commit", ('{"patch": 7}',)),
            ("commit", ('{"tell": [{"type": "A", "key": "k", "operation": "log"}]}',)),
            ("reject", ("code", "words")), ("fail", ("broke",)), ("fail", ("broke", '{"retry": false}')),
            ("fail", ("broke", '{"delay_ms": 20000}')), ("release", ()), ("renew", (60000,))))
        message = int(claim.split(".")[0])
        result = self.run(f"SELECT so_{verb}({', '.join('?' * (1 + len(more)))})", claim, *more)
        if result is not None and verb in ("commit", "reject"):
            status = answer(self.c, "SELECT so_status(?)", message)["status"]
            if status not in ("completed" if verb == "commit" else "rejected", "gone"):
                self.wrong(f"{message} is {status} after so_{verb}")

    def manage(self):
        r = self.r
        verb = r.choice(("cancel", "retry", "pause", "resume", "resume", "destroy", "tick", "clock", "clock", "find", "run"))
        if verb in ("cancel", "retry"):
            message = self.message()
            result = self.run(f"SELECT so_{verb}(?)", message)
            if verb == "retry":
                self.sent(result, False)
            elif result and answer(self.c, "SELECT so_status(?)", message)["status"] not in ("cancelled", "gone"):
                self.wrong(f"{message} was cancelled and is not")
        elif verb == "tick":
            self.run("SELECT so_tick()")
        elif verb == "run":
            self.run("SELECT so_run(?)", options(r, max_turns=lambda: 3, batch=lambda: 2, types=lambda: ["A"]), partly=True)
        elif verb == "clock":
            self.run("SELECT so_test_clock(?)", r.choice((10000, 30000, 70000)))
        elif verb == "find":
            self.run("SELECT so_find(?, ?, 'p')", *self.actor())
        else:
            actor = self.actor()
            result = self.run(f"SELECT so_{verb}(?, ?)", *actor)
            if verb == "destroy" and result is not None and call(self.c, "SELECT so_snapshot(?, ?)", *actor) is not None:
                self.wrong(f"{actor} was destroyed and is there")

    def define(self):
        r = self.r
        what = r.choice(("actor", "actor", "operation", "operation", "drop_operation", "drop_actor", "migration"))
        kind = r.choice(TYPES)
        name = r.choice(tuple(HANDLERS))
        if what == "actor":
            self.run("SELECT so_define_actor(?, ?)", kind, options(
                r, PAUSES, history=lambda: r.choice(("none", "results")), max_mailbox=lambda: 3, max_state_bytes=lambda: 2000,
                state_version=lambda: r.choice((1, 2, 3)), max_attempts=lambda: 2))
        elif what == "operation":
            handler = HANDLERS[name] if r.random() < 0.8 else HANDLERS[r.choice(tuple(HANDLERS))]
            self.run("SELECT so_define_operation(?, ?, ?)", kind, name, handler)
        elif what == "migration":
            self.run("SELECT so_define_migration(?, ?, ?)", kind, r.choice((1, 2)),
                     r.choice(("SELECT '{\"moved\": 1}' AS patch", "SELECT :state AS state", "SELECT 7 AS state")))
        elif what == "drop_actor":
            if r.random() < 0.3:
                self.run("SELECT so_drop_actor(?)", kind)
        else:
            self.run("SELECT so_drop_operation(?, ?)", kind, name)

    def transaction(self):
        r = self.r
        if not self.c.in_transaction:
            self.c.execute("BEGIN IMMEDIATE")
            self.saved = [("", self.tables(), self.highest, dict(self.over))]
            self.trace.append("BEGIN")
            return
        if len(self.saved) < 4 and r.random() < 0.5:
            name = f"s{len(self.saved)}"
            self.c.execute(f"SAVEPOINT {name}")
            self.saved.append((name, self.tables(), self.highest, dict(self.over)))
            self.trace.append(f"SAVEPOINT {name}")
            return
        name, tables, highest, over = self.saved.pop()
        if r.random() < 0.5:
            sql = f"RELEASE {name}" if name else "COMMIT"
            self.c.execute(sql)
        else:
            sql = f"ROLLBACK TO {name}" if name else "ROLLBACK"
            self.c.execute(sql)
            self.highest, self.over = highest, over
            if self.tables() != tables:
                self.trace.append(sql)
                self.wrong("a rollback left something")
            if name:
                self.c.execute(f"RELEASE {name}")
        self.trace.append(sql)

    def holds(self):
        for problem in invariants.check(self.c):
            self.wrong(problem)
        statuses = dict(self.c.execute("SELECT message, status FROM solidobj_messages_view"))
        for message, status in self.over.items():
            if statuses.get(message, status) != status:
                self.wrong(f"{message} was {status} and is {statuses[message]}")
        self.over = {message: status for message, status in statuses.items() if status in FINAL}
        boxes = collections.defaultdict(list)
        for message, kind, key, status in self.c.execute(
                "SELECT message, type, key, status FROM solidobj_mailbox_view ORDER BY message"):
            boxes[kind, key].append((message, status))
            told = answer(self.c, "SELECT so_status(?)", message)["status"]
            if told != status:
                self.wrong(f"so_status says {message} is {told}, the view {status}")
        counted = collections.Counter()
        for (kind, key), box in boxes.items():
            told = answer(self.c, "SELECT so_actor(?, ?)", kind, key)["mailbox"]
            if sorted((row["message"], row["status"]) for row in told["messages"]) != box:
                self.wrong(f"so_actor says {told}, the view {box}")
            here = collections.Counter(status for _, status in box)
            for status in ("waiting", "delayed", "retrying", "claimed"):
                counted[kind, status] += here[status]
                if told[status] != here[status]:
                    self.wrong(f"so_actor counts {told}, the view {box}")
        for row in answer(self.c, "SELECT so_stats()"):
            for status in ("waiting", "delayed", "retrying", "claimed"):
                if row[status] != counted[row["type"], status]:
                    self.wrong(f"so_stats counts {row}, the view {dict(boxes)}")
        for kind, key, log in self.c.execute(
                "SELECT t.name, a.key, so_snapshot(t.name, a.key) -> 'state' -> 'log' FROM solidobj_actor a"
                " JOIN solidobj_type t USING (type)").fetchall():
            ran = [row[0] for row in self.c.execute(
                "SELECT message FROM ran WHERE type = ? AND key = ? ORDER BY rowid", (kind, key))]
            log = json.loads(log or "[]")
            if log and ran[-len(log):] != log:
                self.wrong(f"{kind} {key} knows the turns {log}, the table {ran}")
        if not self.c.in_transaction:
            told = {call(c, "SELECT so_stats() || (SELECT max(id) FROM solidobj_message)").split("next_due")[0]
                    for c in self.connections}
            if len(told) != 1 and "oldest" not in str(told):
                self.wrong(f"the connections disagree: {told}")

    def finish(self):
        """With every operation there and nothing held, everything comes to an end."""
        if self.c.in_transaction:
            self.c.execute("COMMIT")
        for kind in TYPES:
            version = self.c.execute("SELECT json_extract(options, '$.state_version') FROM solidobj_type"
                                     " WHERE name = ?", (kind,)).fetchone()
            version = version and version[0] or 1
            for step in range(1, version):
                self.run("SELECT so_define_migration(?, ?, 'SELECT :state AS state')", kind, step)
            self.run("SELECT so_define_actor(?, ?)", kind, json.dumps({"state_version": version}))
            for name in HANDLERS:
                self.run("SELECT so_define_operation(?, ?, ?)", kind, name, HANDLERS[name])
            for key in KEYS:
                self.run("SELECT so_resume(?, ?)", kind, key)
        for _ in range(400):
            self.run("SELECT so_test_clock(100000)")
            self.run("SELECT so_run('{\"max_turns\": 1000}')", partly=True)
            for row in json.loads(self.run("SELECT so_claim('w', '{\"max\": 20, \"batch\": 20}')") or "[]"):
                self.run("SELECT so_commit(?)", row["claim"])
            if not call(self.c, "SELECT count(*) FROM solidobj_mailbox_view"):
                break
        else:
            self.wrong("messages never end")
        self.holds()
        if call(self.c, "SELECT so_next_due()") is not None:
            self.wrong("so_next_due waits for something where nothing is")

    def play(self):
        call(self.c, "SELECT so_install('{\"test\": true}')")
        for kind in TYPES:
            self.run("SELECT so_define_actor(?, ?)", kind, json.dumps(PAUSES))
            for name, handler in HANDLERS.items():
                self.run("SELECT so_define_operation(?, ?, ?)", kind, name, handler)
        kinds = (self.send,) * 8 + (self.batch, self.define, self.transaction) + (self.claim, self.settle, self.manage) * 3
        for step in range(STEPS):
            if not self.c.in_transaction:
                self.c = self.r.choice(self.connections)
            self.r.choice(kinds)()
            if step % 5 == 0:
                self.holds()
        self.finish()


def session(seed, counts):
    r = random.Random(seed)
    database = Database()
    if r.random() < 0.3:
        memory = sqlite3.connect(":memory:", isolation_level=None)
        memory.enable_load_extension(True)
        memory.load_extension(LIBRARY)
        connections = [memory]
    else:
        connections = [database.connect() for _ in range(r.choice((2, 3)))]
    trace = [f"seed {seed}"]
    try:
        connections[0].execute("CREATE TABLE ran(type, key, message)")
        played = Session(r, connections, trace)
        played.play()
        counts.update(played.counts)
    except sqlite3.Error as error:
        print("\n".join(trace[-25:]))
        check(False, f"seed {seed}: {error}")
    finally:
        for connection in connections:
            connection.close()
        database.close()


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    end = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 8)
    print(f"seed {seed}", flush=True)
    counts = collections.Counter()
    sessions = 0
    while sessions == 0 or time.monotonic() < end:
        session(seed + sessions, counts)
        sessions += 1
    print(f"{sessions} sessions: {dict(counts.most_common())}")
    check(counts["answers"] > 50 * sessions, "hardly any call answered")


main()
