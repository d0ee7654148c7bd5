"""The processes of a round: senders, callers, workers inside the database, external workers.

Each writes what it is about to do and what came of it into a log of its own, one JSON array a line, with one write() a
line, so that the log survives a SIGKILL:

    [monotonic us, wall ms, "begin", number, kind, arguments]
    [monotonic us, wall ms, "end", number, "ok" or "error", value or error code]
    [monotonic us, wall ms, "start", actor, message, attempt, [sender, number], state version]        a handler began

What a client wants done once is an *offer*, known by (sender, number); the arguments carry both to wherever the message
ends: into the result, the rejection, or the dead letter. Besides, they say how its handler is to behave:

    r  it is rejected          f  it fails at the first f attempts          k  it kills its process at the first k
    t  it tells this key of the type T, or of the type tt, with the options o      d  it destroys its actor

The types of actors: C has handlers inside the database only, X also an external operation. N is like X and keeps no
history, F is like X and has small mailboxes. T is only told. The state is {n: turns, v: the state_version whose form it
has, steps: migrations since it began}; a handler is defined anew with each version and says which one it was written for.
"""
import datetime
import functools
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time

import invariants

LIBRARY = os.environ.get("SOLIDOBJ", "build/solidobj")
MAX_ATTEMPTS = 4
BUSY_SECONDS = 20
QUIET = ("C", "quiet")  # an actor that is only called, so that no backlog is in the way of calls
KEYED = [("C", "keyed"), ("N", "keyed")]  # the actors of what several clients want done once
NOBODY = ("C", "nobody")  # an actor that never lives: all that is sent to it is for a living one
NO_INCARNATION = 1 << 40
CHANGING = ("C", "X", "N", "F")  # the types whose state_version is raised
EXTERNAL = ("X", "N", "F")  # the types that have an external operation
FORGETFUL = ("N",)
LIMITED = ("F",)
REFUSED = ("SO_MAILBOX_FULL", "SO_DESTROYED")  # what a send may answer without any fault
DONE = object()  # what a role answers that has nothing left to do

STEP = """
SELECT started(:type, :key, :message, :attempt, :args ->> 'k', :args ->> 's', :args ->> 'm', {version});
INSERT INTO done(type, key, incarnation, message, sender, number, attempt, n, version, steps, wanted)
VALUES(:type, :key, coalesce(so_self() ->> 'incarnation', :message), :message, :args ->> 's', :args ->> 'm', :attempt,
       so_get('n') + 1, so_get('v'), so_get('steps'), {version});
SELECT so_raise('NO', 'refused', json_array(:args ->> 's', :args ->> 'm')) WHERE :args ->> 'r';
SELECT so_tell(coalesce(:args ->> 'tt', 'T'), :args ->> 't', 'step', json_object('s', 'm' || :message, 'm', 0),
               coalesce(:args -> 'o', '{{}}')) WHERE :args ->> 't' IS NOT NULL;
SELECT broken(:attempt, :args ->> 'f');
SELECT json_array(so_set('n', so_get('n') + 1), :args ->> 's', :args ->> 'm') AS result_json, :args ->> 'd' AS destroy"""

LOOK = "SELECT json_array(so_get('n'), so_get('v'), so_get('steps'), {version}) AS result_json"

# One step, as a patch or as a whole state.
MIGRATIONS = ["SELECT json_object('v', {next}, 'steps', (:state ->> 'steps') + 1) AS patch",
              "SELECT json_set(:state, '$.v', {next}, '$.steps', (:state ->> 'steps') + 1) AS state"]

SCHEMA = """
CREATE TABLE done(id INTEGER PRIMARY KEY, type, key, incarnation, message, sender, number, attempt, n, version, steps,
                  wanted);
CREATE TABLE versions(type PRIMARY KEY, version);
CREATE TABLE outbox(id INTEGER PRIMARY KEY, type, key, operation, args, options);
CREATE TABLE sent(message);
CREATE TRIGGER outbox_sends AFTER INSERT ON outbox BEGIN
    SELECT so_send(new.type, new.key, new.operation, new.args, new.options);
END;"""


def connect(path, settings):
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    db.execute("PRAGMA synchronous = " + settings["synchronous"]).fetchall()
    return db


def value(db, sql, *values):
    return db.execute(sql, values).fetchall()[0][0]


def type_options(settings, kind, version, changed=0):
    """The lease is what workers inside the database take where there is no doorbell: nothing but a kill may end it."""
    options = {"initial": {"n": 0, "v": version, "steps": 0}, "state_version": version, "max_attempts": MAX_ATTEMPTS,
               "retry_base_ms": 1, "retry_cap_ms": 40, "lease_ms": 500 if settings["kills"] else 20000,
               "max_mailbox": settings["limits"].get(kind, 1000000), "max_payload_bytes": 1000000 + changed}
    if kind in FORGETFUL:
        options["history"] = "none"
    return json.dumps(options)


def define(call, settings, kind, version, changed=0):
    """All that a type has, as of this version of its state. `changed`: the texts differ and mean the same."""
    call("SELECT so_define_actor(?, ?)", kind, type_options(settings, kind, version, changed))
    call("SELECT so_define_operation(?, 'step', ?)", kind, STEP.format(version=version) + " " * changed)
    call("SELECT so_define_operation(?, 'look', ?, '{\"query\": true}')", kind, LOOK.format(version=version))


def install(path, settings):
    if not settings["doorbell"]:
        os.mkdir(path + "-solidobj")  # what stands in the way of the file
    db = connect(path, settings)
    value(db, "PRAGMA journal_mode = " + settings["journal"])
    db.create_function("started", 8, lambda *_: None)
    db.create_function("broken", 2, lambda *_: None)
    db.executescript(SCHEMA)
    value(db, "SELECT so_install()")
    for kind in (*CHANGING, "T"):
        define(functools.partial(value, db), settings, kind, 1)
        db.execute("INSERT INTO versions VALUES (?, 1)", (kind,))
    for kind in EXTERNAL:
        value(db, "SELECT so_define_operation(?, 'out', NULL)", kind)
    db.close()


class Failed(Exception):
    """An error that a call answered; its text is the code."""


class Client:
    """One process with one connection."""

    def __init__(self, path, log_path, settings, name, seed):
        self.settings, self.name = settings, name
        self.random = random.Random(seed)
        self.path = path
        self.log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.number = 0  # of calls
        self.offered = 0
        self.earlier = []  # messages that this client sent
        self.mortals = [list(actor) for actor in settings["mortals"]]
        self.incarnations = {}  # actor: those that this client has seen
        self.open()

    def open(self):
        self.db = connect(self.path, self.settings)
        self.db.create_function("started", 8, self.started)
        self.db.create_function("broken", 2, self.broken)

    def write(self, *record):
        line = json.dumps([time.monotonic_ns() // 1000, time.time_ns() // 1000000, *record])
        os.write(self.log, line.encode() + b"\n")

    def started(self, kind, key, message, attempt, kills, sender, number, version):
        self.write("start", (kind, key), message, attempt, (sender, number), version)
        if attempt <= (kills or 0):
            os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def broken(attempt, failures):
        if attempt <= (failures or 0):
            raise ValueError("broken")

    def sql(self, sql, *values):
        """The first column of the first row; an error is Failed."""
        try:
            rows = self.db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise Failed(str(error).split(":", 1)[0]) from error
        return rows[0][0] if rows else None

    def record(self, kind, arguments, function):
        """Calls function() between the two lines of the log. Gives its answer, None after an error."""
        self.number += 1
        number = self.number
        self.write("begin", number, kind, arguments)
        try:
            answer = function()
        except Failed as error:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK").fetchall()
            self.write("end", number, "error", str(error))
            return None
        self.write("end", number, "ok", answer)
        return answer

    # ---- offers ------------------------------------------------------------------------------------------------

    def offer(self, at_once=False):
        chance = self.random.random
        self.offered += 1
        actor = self.random.choice(self.settings["actors"])
        if at_once and chance() < 0.6:
            actor = QUIET
        operation = "out" if actor[0] in EXTERNAL and chance() < (0.2 if at_once else 0.7) else "step"
        behaviour = {}
        if chance() < 0.04:
            behaviour["r"] = 1
        if chance() < 0.015:
            behaviour["f"] = self.random.randint(1, MAX_ATTEMPTS + 1)
        if chance() < self.settings["suicide"] and operation == "step":
            behaviour["k"] = self.random.randint(1, MAX_ATTEMPTS)
        if chance() < 0.05 and operation == "step":
            behaviour.update(self.tell())
        if list(actor) in self.mortals and chance() < 0.005 and operation == "step":
            behaviour["d"] = 1
        options = {}
        if not at_once and chance() < 0.1:
            options["delay_ms"] = self.random.randint(1, 150)
        if not at_once and chance() < 0.05:
            options["max_attempts"] = self.random.randint(1, 3)
        if not at_once and actor[0] in FORGETFUL and chance() < 0.2:
            options["keep_result"] = True
        if not at_once and chance() < 0.2:
            actor = self.address(actor, operation, options)
        return {"number": self.offered, "actor": actor, "operation": operation, "behaviour": behaviour, "options": options,
                "kept": True}

    def tell(self):
        """Whom a turn tells: T, or somebody with a small mailbox, or only who lives, or nobody."""
        limited = [key for kind, key in self.settings["actors"] if kind in LIMITED]
        chance = self.random.random()
        if limited and chance < 0.5:
            return {"t": self.random.choice(limited), "tt": LIMITED[0]}
        if chance < 0.75:
            return {"t": self.random.choice("ab")}
        if chance < 0.85:
            return {"t": self.random.choice("ab"), "o": {"incarnation": NO_INCARNATION}}
        return {"t": self.random.choice(["a", "b", "nobody"]), "o": {"if_exists": True}}

    def address(self, actor, operation, options):
        """Makes it an offer to a living actor only, or to one incarnation, which may be gone; gives the actor."""
        if self.random.random() < 0.5:
            options["if_exists"] = True
            return NOBODY if operation == "step" and self.random.random() < 0.3 else actor
        seen = self.incarnations.setdefault(actor, [])
        now = self.sql("SELECT so_snapshot(?, ?) ->> 'incarnation'", *actor)
        if now is not None and now not in seen:
            seen.append(now)
        options["incarnation"] = self.random.choice(seen[-3:] + seen[-1:] * 3 + [NO_INCARNATION])
        return actor

    def arguments(self, offer):
        kind, key = offer["actor"]
        text = json.dumps({"s": self.name, "m": offer["number"], **offer["behaviour"]})
        return kind, key, offer["operation"], text, json.dumps(offer["options"])

    def send_one(self, offer):
        message = self.sql("SELECT so_send(?, ?, ?, ?, ?)", *self.arguments(offer))
        if offer["kept"] and message is not None:
            self.earlier.append(message)
        return message

    # ---- sending -----------------------------------------------------------------------------------------------

    def send(self):
        offer = self.offer()
        self.record("send", {"offers": [offer]}, lambda: [self.send_one(offer)])

    def send_in_transaction(self):
        """Several, with savepoints some of which are rolled back; then the whole commits or rolls back. What is refused
        leaves the transaction as it was."""
        commits = self.random.random() < 0.7
        offers = [self.offer() for _ in range(self.random.randint(1, 5))]
        for offer in offers:
            offer["savepoint"] = self.random.random() < 0.3
            offer["kept"] = commits and not (offer["savepoint"] and self.random.random() < 0.6)

        def run():
            messages = []
            self.sql("BEGIN IMMEDIATE")
            for offer in offers:
                if offer["savepoint"]:
                    self.sql("SAVEPOINT s")
                try:
                    messages.append(self.send_one(offer))
                except Failed as error:
                    if str(error) not in REFUSED:
                        raise
                    messages.append(str(error))
                if offer["savepoint"] and commits and not offer["kept"]:
                    self.sql("ROLLBACK TO s")
                if offer["savepoint"]:
                    self.sql("RELEASE s")
            self.sql("COMMIT" if commits else "ROLLBACK")
            return [message if offer["kept"] else None for message, offer in zip(messages, offers)]

        self.record("transaction", {"offers": offers}, run)

    def send_by_trigger(self):
        offers = [self.offer() for _ in range(self.random.randint(1, 3))]

        def run():
            rows = json.dumps([self.arguments(offer) for offer in offers])
            self.sql("INSERT INTO outbox(type, key, operation, args, options) SELECT value ->> 0, value ->> 1, value ->> 2,"
                     " value ->> 3, value ->> 4 FROM json_each(?) ORDER BY key", rows)

        self.record("trigger", {"offers": offers}, run)

    def send_by_insert(self):
        offers = [self.offer() for _ in range(self.random.randint(1, 3))]

        def run():
            rows = json.dumps([self.arguments(offer) for offer in offers])
            self.sql("INSERT INTO sent SELECT so_send(value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4)"
                     " FROM json_each(?) ORDER BY key", rows)

        self.record("insert", {"offers": offers}, run)

    def send_batch(self):
        offers = [self.offer() for _ in range(self.random.randint(1, 4))]

        def run():
            names = ("type", "key", "operation", "args", "options")
            rows = [dict(zip(names, self.arguments(offer))) for offer in offers]
            for row in rows:
                row.update(args=json.loads(row["args"]), options=json.loads(row["options"]))
            messages = json.loads(self.sql("SELECT so_send_batch(?)", json.dumps(rows)))
            self.earlier += [message for message in messages if message is not None]
            return messages

        self.record("batch", {"offers": offers}, run)

    def send_keyed(self):
        """What several clients want done once, all with the same idempotency key; as a message or as a call."""
        number = time.monotonic_ns() // 100000000 * 2 + self.random.randint(0, 1)
        function = self.random.choice(["send", "send", "call", "ask"])
        args = json.dumps({"s": "keyed", "m": number})
        options = json.dumps({"idempotency_key": str(number)})
        self.record("keyed", {"number": number, "function": function}, lambda: json.loads(
            str(self.sql(f"SELECT so_{function}(?, ?, 'step', ?, ?)", *KEYED[number % 2], args, options))))

    def cancel(self):
        if self.earlier:
            message = self.random.choice(self.earlier[-5:])
            self.record("cancel", {"message": message}, lambda: self.sql("SELECT so_cancel(?)", message))

    def keep_pace(self):
        """Waits a little while what this client sent some time ago is unfinished."""
        if len(self.earlier) < 30:
            return
        message = self.earlier[0]
        del self.earlier[:10]
        for _ in range(60):
            status = self.record("status", {"message": message},
                                 lambda: json.loads(self.sql("SELECT so_status(?)", message))["status"])
            if status not in ("waiting", "delayed", "retrying", "claimed"):
                break
            time.sleep(0.005)

    def sender(self):
        self.random.choices([self.send, self.send_in_transaction, self.send_by_trigger, self.send_by_insert,
                             self.send_batch, self.send_keyed, self.cancel], [10, 4, 2, 1, 2, 1, 1])[0]()
        self.keep_pace()

    # ---- calling -----------------------------------------------------------------------------------------------

    def call_one(self, function, offer):
        answer = json.loads(self.sql(f"SELECT so_{function}(?, ?, ?, ?)", *self.arguments(offer)[:4]))
        return answer

    def call(self):
        offer = self.offer(at_once=True)
        self.record("call", {"offers": [offer]}, lambda: [self.call_one("call", offer)])

    def try_(self):
        offer = self.offer(at_once=True)
        self.record("try", {"offers": [offer]}, lambda: [self.call_one("try", offer)])

    def call_in_transaction(self):
        """Several actors change together or not at all."""
        commits = self.random.random() < 0.7
        offers = [{**self.offer(at_once=True), "kept": commits} for _ in range(self.random.randint(1, 3))]

        def run():
            self.sql("BEGIN IMMEDIATE")
            answers = [self.call_one("call", offer) for offer in offers]
            self.sql("COMMIT" if commits else "ROLLBACK")
            return answers

        self.record("calls", {"offers": offers}, run)

    def ask(self):
        offer = self.offer()
        offer["options"] = {"timeout_ms": 1000, **{name: option for name, option in offer["options"].items()
                                                  if name in ("if_exists", "incarnation")}}
        self.record("ask", {"offers": [offer]}, lambda: [
            json.loads(self.sql("SELECT so_ask(?, ?, ?, ?, ?)", *self.arguments(offer)))])

    def send_and_wait(self):
        offer = self.offer()
        sent = self.record("send", {"offers": [offer]}, lambda: [self.send_one(offer)])
        if sent and sent[0] is not None:
            self.record("wait", {"message": sent[0]}, lambda: json.loads(self.sql("SELECT so_wait(?, 1000)", sent[0])))

    def query(self):
        actor = self.random.choice(self.settings["actors"])
        self.record("query", {"actor": actor}, lambda: json.loads(self.sql("SELECT so_query(?, ?, 'look')", *actor)))

    def caller(self):
        self.random.choices([self.call, self.try_, self.call_in_transaction, self.ask, self.send_and_wait,
                             self.send_keyed, self.query], [8, 3, 3, 3, 2, 2, 2])[0]()

    # ---- working -----------------------------------------------------------------------------------------------

    def runner(self):
        options = {"batch": self.random.choice([1, 3, 8, 32, 100]), "wait_ms": self.random.choice([0, 5, 50, 200]),
                   "max_ms": self.random.choice([50, 500])}
        if self.random.random() < 0.3:
            options["max_turns"] = self.random.randint(1, 50)
        self.record("run", options, lambda: json.loads(self.sql("SELECT so_run(?)", json.dumps(options))))
        if options["wait_ms"] == 0:
            time.sleep(0.002)

    def worker(self, wait_ms=30):
        lease_ms = self.random.choice([60, 150, 400, 1500])
        options = {"max": self.random.randint(1, 3), "batch": self.random.choice([1, 1, 2, 5]), "lease_ms": lease_ms,
                   "wait_ms": wait_ms}
        rows = self.record("claim", options, lambda: [self.granted(row) for row in json.loads(
            self.sql("SELECT so_claim(?, ?)", self.name, json.dumps(options)))])
        states = {}
        whole = self.random.random() < 0.5  # of a batch either all or none, as they build upon each other
        for row in rows or []:
            actor = (row["type"], row["key"])
            if row["state"] is not None:
                states[actor] = row["state"]
            if actor in states and not self.work(row, states, whole):
                del states[actor]
        return len(rows or [])

    @staticmethod
    def granted(row):
        moment = datetime.datetime.fromisoformat(row["expires_at"].replace("Z", "+00:00"))
        return {**row, "expires_ms": round(moment.timestamp() * 1000)}

    def settle(self, kind, row, run):
        return self.record(kind, {"claim": row["claim"], "message": row["message"]}, run)

    def work(self, row, states, whole):
        """False: the further rows of this actor are not ours any more."""
        claim, chance = row["claim"], self.random.random()
        arguments = row["args"]
        if chance < self.settings["late"] and row["expires_ms"] / 1000 - time.time() < 0.2:
            time.sleep(max(0, row["expires_ms"] / 1000 - time.time()) + 0.005 + self.random.random() * 0.05)
        elif chance < 0.10:
            self.settle("release", row, lambda: self.sql("SELECT so_release(?)", claim))
            return False
        elif chance < 0.20:
            longer = self.settle("renew", row, lambda: self.granted(
                {"expires_at": self.sql("SELECT so_renew(?, 800)", claim)})["expires_ms"])
            row["expires_ms"] = longer or row["expires_ms"]
        if row["attempt"] <= arguments.get("f", 0):
            options = self.random.choice(["{}", '{"delay_ms": 0}', '{"delay_ms": 20}'])
            self.settle("fail", row, lambda: self.sql("SELECT so_fail(?, 'broken', ?)", claim, options))
            return False
        if arguments.get("r"):
            details = json.dumps([arguments["s"], arguments["m"]])
            return self.settle("reject", row, lambda: self.sql("SELECT so_reject(?, 'NO', 'refused', ?)", claim,
                                                               details)) is not None
        return self.commit(row, states, whole)

    def commit(self, row, states, whole):
        """Without the effect nothing would tell of what leaves no row."""
        actor = (row["type"], row["key"])
        arguments, state = row["args"], {**states[actor], "n": states[actor]["n"] + 1}
        change = {"state": state} if whole else {"patch": {"n": state["n"]}}
        outcome = json.dumps({**change, "result": [state["n"], arguments["s"], arguments["m"]]})
        with_effect = list(actor) in self.mortals or actor[0] in FORGETFUL or self.random.random() < 0.5
        again = self.random.random() < 0.1

        def run():
            if not with_effect:
                return self.sql("SELECT so_commit(?, ?)", row["claim"], outcome)
            self.sql("BEGIN IMMEDIATE")
            revision = self.sql("SELECT so_commit(?, ?)", row["claim"], outcome)
            now = json.loads(self.sql("SELECT so_snapshot(?, ?)", *actor))
            self.sql("INSERT INTO done(type, key, incarnation, message, sender, number, attempt, n, version, steps)"
                     " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *actor, now["incarnation"], row["message"], arguments["s"],
                     arguments["m"], row["attempt"], now["state"]["n"], now["state"]["v"], now["state"]["steps"])
            self.sql("COMMIT")
            return revision

        revision = self.settle("commit", row, run)
        if revision is not None and again:
            self.settle("commit", row, lambda: self.sql("SELECT so_commit(?, ?)", row["claim"], outcome))
        states[actor] = state
        return revision is not None

    # ---- administration ----------------------------------------------------------------------------------------

    def resume_all(self):
        for actor in self.settings["actors"]:
            self.record("resume", {"actor": actor}, lambda: self.sql("SELECT so_resume(?, ?)", *actor))

    def pause(self):
        actor = self.random.choice(self.settings["actors"])
        self.record("pause", {"actor": actor}, lambda: self.sql("SELECT so_pause(?, ?)", *actor))
        time.sleep(self.random.random() * 0.1)
        self.record("resume", {"actor": actor}, lambda: self.sql("SELECT so_resume(?, ?)", *actor))

    def destroy(self):
        if self.mortals:
            actor = self.random.choice(self.mortals)
            self.record("destroy", {"actor": actor}, lambda: self.sql("SELECT so_destroy(?, ?)", *actor))

    def retry(self):
        message = self.sql("SELECT message FROM solidobj_dead_letters_view WHERE type <> 'T' ORDER BY random() LIMIT 1")
        if message:
            self.record("retry", {"message": message}, lambda: self.sql("SELECT so_retry(?)", message))

    def tick(self):
        self.record("tick", {}, lambda: json.loads(self.sql("SELECT so_tick()")))

    def redefine(self):
        """Other texts and limits that mean the same, so that every connection's cache is wrong again and again."""
        kind, changed = self.random.choice(CHANGING), self.random.randint(0, 3)

        def run():
            self.sql("BEGIN IMMEDIATE")
            version = self.sql("SELECT version FROM versions WHERE type = ?", kind)
            define(self.sql, self.settings, kind, version, changed)
            self.sql("COMMIT")

        self.record("define", {}, run)

    def raise_version(self):
        """The next form of the state, with the step that leads there; sometimes it is taken back."""
        kind = self.random.choice(sorted({kind for kind, _ in self.settings["actors"]}))
        commits = self.random.random() < 0.8

        def run():
            self.sql("BEGIN IMMEDIATE")
            version = self.sql("SELECT version FROM versions WHERE type = ?", kind) + 1
            step = self.random.choice(MIGRATIONS).format(next=version)
            self.sql("SELECT so_define_migration(?, ?, ?)", kind, version - 1, step)
            define(self.sql, self.settings, kind, version)
            self.sql("UPDATE versions SET version = ? WHERE type = ?", version, kind)
            self.sql("COMMIT" if commits else "ROLLBACK")
            return version

        self.record("raise", {"type": kind, "kept": commits}, run)

    def inspect(self):
        """The invariants hold at any moment that a reader may see."""
        self.record("inspect", {}, lambda: list(invariants.check(self.db)))

    def count(self):
        """How many unfinished messages each of those has that may have few."""
        self.record("count", {}, lambda: json.loads(self.sql(
            "SELECT json_group_array(json_array(type, key, messages)) FROM (SELECT type, key, count(*) AS messages"
            " FROM solidobj_mailbox_view WHERE type IN (SELECT value FROM json_each(?)) GROUP BY type, key)",
            json.dumps(LIMITED))))

    def checkpoint(self):
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def admin(self):
        if self.number == 0:
            self.resume_all()  # what the one before us may have left paused
        self.random.choices([self.pause, self.destroy, self.retry, self.tick, self.redefine, self.raise_version,
                             self.inspect, self.count, self.checkpoint], [4, 2, 2, 2, 1, 2, 2, 3, 1])[0]()
        time.sleep(self.random.random() * 0.1)

    def finish(self):
        """A worker of both kinds, until nothing is left."""
        if self.number == 0:
            self.resume_all()
        self.settings = {**self.settings, "late": 0}
        self.record("run", {}, lambda: json.loads(self.sql("SELECT so_run()")))
        while self.worker(wait_ms=0):
            pass
        time.sleep(0.002)
        return None if self.sql("SELECT EXISTS(SELECT 1 FROM solidobj_mailbox_view)") else DONE


def act(path, log_path, settings, name, role, seed, until):
    """A thread's life with its own connection, which it closes and opens now and then."""
    client = Client(path, log_path, settings, name, seed)
    step = getattr(client, role)
    while time.monotonic() < until and step() is not DONE:
        if client.random.random() < 0.01:
            client.db.close()
            client.open()
    client.db.close()


def play(path, logs, settings, name, roles, seed, until):
    """A process's life, a thread for each of its roles: until the moment, or until it is killed."""
    errors = []

    def run(number, role):
        try:
            own = f"{name}.{number}"
            act(path, os.path.join(logs, own), settings, own, role, seed + number, until)
        except BaseException:
            errors.append(sys.exc_info())
            raise

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(roles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not errors
