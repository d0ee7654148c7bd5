"""What a round left behind: the calls that its processes recorded, and what the database holds in the end."""
import json
import os
from dataclasses import dataclass, field

NEVER = float("inf")


@dataclass
class Call:
    process: str
    number: int
    kind: str
    arguments: dict
    begin: int  # us
    begin_wall: int  # ms, the clock that leases follow
    end: float = NEVER
    end_wall: float = NEVER
    outcome: str = None  # "ok", "error"; None: its process died in it
    answer: object = None

    @property
    def offers(self):
        return self.arguments.get("offers", [])

    def __str__(self):
        return f"{self.kind} {self.number} of {self.process}"


@dataclass
class Message:
    message: int
    actor: tuple
    operation: str
    status: str
    attempts: int
    turn: int = None
    result: list = None  # [n, sender, number]
    error: str = None
    identity: tuple = None  # (sender, number)
    incarnation: int = None
    replacement: int = None


@dataclass
class Done:
    """A row that a handler (or an external worker, in the transaction of its commit) wrote; in the order of commits."""
    actor: tuple
    incarnation: int
    message: int
    identity: tuple
    attempt: int
    n: int
    version: int  # of the state's form
    steps: int  # migrations since the first turn
    wanted: int = None  # the version that the handler was written for; None: an external worker


@dataclass
class Start:
    """A handler began; what came of it, if it was not rolled back, is in the database."""
    at: int  # us
    actor: tuple
    message: int
    attempt: int
    identity: tuple
    version: int  # the one that the handler was written for


@dataclass
class History:
    settings: dict
    calls: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    messages: dict = field(default_factory=dict)
    done: list = field(default_factory=list)
    actors: dict = field(default_factory=dict)  # actor: (incarnation, turns, state)
    disturbances: int = 0  # processes that run turns and were killed or stopped


def load_log(history, path):
    process = os.path.basename(path)
    open_calls = {}
    with open(path) as file:
        for line in file:
            if not line.endswith("\n"):
                break  # killed in the middle of it
            at, wall, what, *rest = json.loads(line)
            if what == "begin":
                call = Call(process, *rest, at, wall)
                for about in [call.arguments, *call.offers]:
                    if "actor" in about:
                        about["actor"] = tuple(about["actor"])
                open_calls[rest[0]] = call
                history.calls.append(call)
            elif what == "end":
                call = open_calls.pop(rest[0])
                call.end, call.end_wall, call.outcome, call.answer = at, wall, rest[1], rest[2]
            else:
                actor, message, attempt, identity, version = rest
                history.starts.append(Start(at, tuple(actor), message, attempt, tuple(identity), version))


def identity_of(status, result, error, args):
    """Where a finished message carries its (sender, number): see clients.py."""
    if status == "completed":
        return tuple(json.loads(result)[1:])
    if status == "rejected":
        return tuple(json.loads(error)["details"])
    if status == "dead":
        args = json.loads(args)
        return args["s"], args["m"]
    return None


def load_database(history, db):
    rows = db.execute("""SELECT v.message, v.type, v.key, v.operation, v.status, v.attempts, v.turn, v.result, v.error,
                                d.args, v.incarnation, v.replacement
                         FROM solidobj_messages_view v LEFT JOIN solidobj_dead_letters_view d ON d.message = v.message""")
    for row in rows.fetchall():
        message, kind, key, operation, status, attempts, turn, result, error, args, incarnation, replacement = row
        history.messages[message] = Message(message, (kind, key), operation, status, attempts, turn,
                                            json.loads(result) if result else None, error,
                                            identity_of(status, result, error, args), incarnation,
                                            replacement)
    for kind, key, incarnation, message, sender, number, *rest in db.execute(
            "SELECT type, key, incarnation, message, sender, number, attempt, n, version, steps, wanted FROM done"
            " ORDER BY id").fetchall():
        history.done.append(Done((kind, key), incarnation, message, (sender, number), *rest))
    for kind, key, incarnation, turns, snapshot in db.execute(
            "SELECT type, key, incarnation, turns, so_snapshot(type, key) FROM solidobj_actors_view").fetchall():
        history.actors[kind, key] = (incarnation, turns, json.loads(snapshot)["state"])


def load(directory, db, settings, disturbances):
    history = History(settings, disturbances=disturbances)
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        load_log(history, entry.path)
    load_database(history, db)
    return history
