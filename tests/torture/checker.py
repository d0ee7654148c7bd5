"""Proves from a history that everything went by the rules. Each rule is a function that yields what is wrong."""
import bisect
import itertools
from collections import defaultdict
from dataclasses import dataclass

NEVER = float("inf")
FINAL = ("completed", "rejected", "dead", "cancelled")

# The errors that a call may answer, whatever its offers are like.
ALLOWED = {
    "call": {"SO_BLOCKED", "SO_TIMEOUT"},
    "try": {"SO_BLOCKED", "SO_TIMEOUT"},
    "calls": {"SO_BLOCKED", "SO_TIMEOUT"},
    "ask": {"SO_TIMEOUT", "SO_REJECTED", "SO_FAILED"},
    "wait": {"SO_TIMEOUT", "SO_REJECTED", "SO_FAILED"},
    "renew": {"SO_LOST_CLAIM"},
    "commit": {"SO_LOST_CLAIM"},
    "fail": {"SO_LOST_CLAIM"},
    "reject": {"SO_LOST_CLAIM"},
    "release": {"SO_LOST_CLAIM"},
}
# … and where the actor may have been destroyed meanwhile, or the dead letter been taken away.
DESTROYED = {"ask": {"SO_DESTROYED", "SO_UNKNOWN_MESSAGE"}, "wait": {"SO_DESTROYED", "SO_UNKNOWN_MESSAGE"},
             "cancel": {"SO_UNKNOWN_MESSAGE"}, "retry": {"SO_UNKNOWN_MESSAGE"}}
CALLS = {"call", "calls", "try"}  # run at once, so nobody retries them
SENDS = ("send", "transaction", "trigger", "insert", "batch")
STORES = (*SENDS, "ask")  # what puts a message into a mailbox
WRITES = ("send", "batch", "trigger", "insert", "call", "commit", "reject")  # take the write lock before they answer
FULL, GONE = REFUSALS = ("SO_MAILBOX_FULL", "SO_DESTROYED")
NOBODY, NO_INCARNATION = ("C", "nobody"), 1 << 40  # see clients.py
SETTLES = ("commit", "fail", "reject", "release", "renew")


@dataclass
class Turn:
    """A completed turn of an incarnation, from the message that is on record or, if that is gone, from its effect."""
    message: int
    n: int
    identity: tuple
    first: bool  # not what so_retry() sent


class View:
    """The history with what several rules look up."""

    def __init__(self, history):
        self.history = history
        self.settings = history.settings
        self.calls = history.calls
        self.messages = history.messages
        self.done = {row.message: row for row in history.done}
        history.starts.sort(key=lambda start: start.at)  # they come log by log
        self.writes = None
        self.effects = {row.identity: row for row in history.done}
        self.tried = {start.identity for start in history.starts}  # also by what was rolled back
        self.replacements = {message.replacement for message in self.messages.values() if message.replacement}
        self.offers = {}  # identity: (call, place in the call, offer)
        self.sent_to = {}  # message: (actor, call), of those whose id was answered
        self.cancels = defaultdict(list)
        self.destroys = defaultdict(list)  # actor: (begin, end; whether it did)
        for call in self.calls:
            self.look_at(call)
        self.found = defaultdict(list)  # identity: messages, without what so_retry() sent
        for message in self.messages.values():
            if message.message not in self.replacements:
                self.found[message.identity].append(message)
        self.turns = defaultdict(list)  # (actor, incarnation): Turn, in their order
        self.collect_turns()

    def look_at(self, call):
        for place, offer in enumerate(call.offers):
            self.offers[call.process, offer["number"]] = (call, place, offer)
            if offer["behaviour"].get("d") and call.outcome != "error":
                self.destroys[offer["actor"]].append((call.begin, NEVER, False))
            if call.kind in STORES and call.outcome == "ok" and call.answer and isinstance(call.answer[place], int):
                self.sent_to[call.answer[place]] = (offer["actor"], call)
                message = self.messages.get(call.answer[place])
                if message and message.status == "cancelled":
                    message.identity = (call.process, offer["number"])
        if call.kind == "claim" and call.outcome == "ok":
            self.tried.update((row["args"]["s"], row["args"]["m"]) for row in call.answer)
        if call.kind == "cancel":
            self.cancels[call.arguments["message"]].append(call)
        if call.kind == "destroy" and call.outcome != "error":
            self.destroys[call.arguments["actor"]].append((call.begin, call.end, call.outcome == "ok"))

    def committed(self, at):
        """A moment by which the transaction was over that was writing at this one: another that began later had written."""
        if self.writes is None:
            self.writes = sorted((call.begin, call.end) for call in self.calls if call.outcome == "ok" and call.kind in WRITES)
            self.written = list(itertools.accumulate((end for _, end in reversed(self.writes)), min))[::-1]
        place = bisect.bisect_right(self.writes, (at, NEVER))
        return self.written[place] if place < len(self.writes) else NEVER

    def collect_turns(self):
        for message in self.messages.values():
            if message.status == "completed":
                incarnation = message.incarnation
                if incarnation is None and message.message in self.done:  # its turn ended its actor
                    incarnation = self.done[message.message].incarnation
                self.turns[message.actor, incarnation].append(
                    Turn(message.message, message.turn, message.identity, message.message not in self.replacements))
        # Of an actor that is gone, or of a message that left no row, only the client's answer tells whether a message was its own or what so_retry() sent for it.
        for row in self.history.done:
            if row.message not in self.messages:
                _, _, call = self.offered(row.identity)
                own = row.message in self.sent_to or (call is not None and call.kind in CALLS)
                if self.forgetful(row.actor) and row.incarnation == self.living(row.actor):  # its dead letters are there
                    own = row.message not in self.replacements
                self.turns[row.actor, row.incarnation].append(Turn(row.message, row.n, row.identity, own))
        for turns in self.turns.values():
            turns.sort(key=lambda turn: turn.n)

    def living(self, actor):
        return self.history.actors.get(actor, (None,))[0]

    def forgetful(self, actor):
        return actor is not None and actor[0] in self.settings["forgetful"]

    def keeps(self, identity):
        """Whether its message stays on record also where there is no history."""
        _, options, call = self.offered(identity)
        return identity[0] == "keyed" or "keep_result" in options or (call is not None and call.kind == "ask")

    def fate(self, identity):
        """What became of an offer: the status on record or, without a row, what it must have been; None: it is nowhere."""
        if self.found.get(identity):
            return self.found[identity][0].status
        if identity in self.effects:
            return "completed"
        call, place, offer = self.offers[identity]
        if not self.forgetful(offer["actor"]) or self.keeps(identity):
            return None
        if offer["behaviour"].get("r") and identity in self.tried:
            return "rejected"
        message = call.answer[place] if call.outcome == "ok" and call.answer else None
        if any(cancel.outcome is None or cancel.answer == 1 for cancel in self.cancels.get(message, ())):
            return "cancelled"
        return None

    def forgotten(self, message):
        """Whether a message that was sent may have left no row because its actor has no history."""
        actor, call = self.sent_to.get(message, (None, None))
        if message in self.done:
            actor, call = self.done[message].actor, None
        if actor is None:  # what so_retry() sent, or the call that sent it was cut off
            return bool(self.settings["forgetful"])
        return self.forgetful(actor)

    def excused(self, actor, since):
        """Whether the actor may have been destroyed after this moment."""
        return any(end > since for _, end, _ in self.destroys.get(actor, ()))

    def excused_message(self, message):
        """The same, for a message that was sent at some time."""
        actor, call = self.sent_to.get(message, (None, None))
        if actor is None and message in self.done:
            actor = self.done[message].actor
        return bool(self.destroys) if actor is None else self.excused(actor, call.begin if call else -1)

    def offered(self, identity):
        """Behaviour, options and call of what a client offered; of what a turn told, and of keyed calls, nothing."""
        call, _, offer = self.offers.get(identity, (None, 0, {"behaviour": {}, "options": {}}))
        return offer["behaviour"], offer["options"], call

    def acknowledged(self, call, place, offer):
        """What has to be there for an offer: None (nothing), or the statuses its message may have."""
        if call.outcome == "ok":
            if not offer["kept"]:
                return None
            if call.kind in SENDS and "if_exists" in offer["options"] and call.answer is None:
                return ()  # a trigger does not tell
            if call.kind in SENDS and call.answer is not None and not isinstance(call.answer[place], int):
                return None  # refused, or left out
            if call.kind in ("call", "calls", "ask"):
                return ("completed",)
            if call.kind == "try":
                return (call.answer[place]["status"],)
            return FINAL
        if call.outcome == "error":
            if call.kind == "ask":
                return {"SO_REJECTED": ("rejected",), "SO_FAILED": ("dead",), "SO_TIMEOUT": FINAL,
                        "SO_DESTROYED": (), "SO_UNKNOWN_MESSAGE": ()}.get(call.answer)
            return None
        return ()  # its process died: there or not


def finished(view):
    for message in view.messages.values():
        if message.status not in FINAL:
            yield f"message {message.message} is {message.status} in the end"


def lost(view):
    """What was acknowledged is there, with the end that was told."""
    for identity, (call, place, offer) in view.offers.items():
        wanted = view.acknowledged(call, place, offer)
        if not wanted:
            continue
        found = view.found.get(identity)
        fate = view.fate(identity)
        if fate is None and not view.excused(offer["actor"], call.begin):
            yield f"{call} was acknowledged, but {identity} is nowhere"
        if found and fate not in wanted:
            yield f"{call} answered {call.answer}, but message {found[0].message} is {found[0].status}: {found[0].error}"


def undone(view):
    """What was rolled back or answered with an error is not there."""
    for identity, (call, place, offer) in view.offers.items():
        if view.acknowledged(call, place, offer) is None or not offer["kept"]:
            if view.found.get(identity) or identity in view.effects:
                yield f"{call} ({call.outcome}, {call.answer}) left {identity} behind"


def halves(view):
    """A transaction whose process died is there as a whole or not at all, but for what could be refused or left out."""
    for call in view.calls:
        kept = [(call.process, offer["number"]) for offer in call.offers if offer["kept"]
                and not offer["options"].keys() & {"if_exists", "incarnation"}
                and not (call.kind == "transaction" and offer["actor"][0] in view.settings["limits"])]
        there = sum(view.fate(identity) is not None for identity in kept)
        if call.outcome is None and there not in (0, len(kept)):
            if not any(view.excused(offer["actor"], call.begin) for offer in call.offers):
                yield f"{call}, whose outcome is unknown, is there by {there} of {len(kept)} parts"


def doubled(view):
    for identity, found in view.found.items():
        if len(found) > 1 and identity is not None:
            yield f"{identity} was offered once and is in messages {[message.message for message in found]}"
    for what in ("message", "identity"):
        seen = set()
        for row in view.history.done:
            if getattr(row, what) in seen:
                yield f"{what} {getattr(row, what)} took effect twice"
            seen.add(getattr(row, what))


def told_by(view, identity):
    """The identity of the turn that told this message; None if there was no such turn."""
    sender = identity[0]
    parent = int(sender[1:]) if sender[:1] == "m" and sender[1:].isdigit() else None
    if parent in view.messages and view.messages[parent].status == "completed":
        return view.messages[parent].identity
    return view.done[parent].identity if parent in view.done else None


def known(view):
    """Every message is one that somebody sent, to that actor; a told one, by a turn that was to tell it."""
    keyed = {call.arguments["number"] for call in view.calls if call.kind == "keyed"}
    there = [(message.message, message.actor, message.operation, message.identity) for message in view.messages.values()]
    there += [(row.message, row.actor, None, row.identity) for row in view.history.done if row.message not in view.messages]
    for message, actor, operation, identity in there:
        if identity is None:
            if view.messages[message].status == "cancelled" and not view.excused(actor, -1):
                yield f"nobody knows of message {message}, which is cancelled"
        elif identity in view.offers:
            offer = view.offers[identity][2]
            if offer["actor"] != actor or operation not in (None, offer["operation"]):
                yield f"message {message} is for {actor}, offered was {offer}"
        elif identity[0] == "keyed":
            if identity[1] not in keyed:
                yield f"nobody sent message {message}, {identity}"
        else:
            behaviour = view.offered(told_by(view, identity))[0]
            if actor != (behaviour.get("tt", "T"), behaviour.get("t")):
                yield f"nobody sent message {message}, {identity} for {actor}"


def told(view):
    """What a turn told was sent with it, and nothing that was for an actor or an incarnation that is not there."""
    for turns in view.turns.values():
        for turn in turns:
            behaviour = view.offered(turn.identity)[0]
            if "t" not in behaviour:
                continue
            there = (f"m{turn.message}", 0) in view.found
            options = behaviour.get("o", {})
            if not options and not there and not view.excused((behaviour.get("tt", "T"), behaviour["t"]), -1):
                yield f"message {turn.message} completed, but what it told is nowhere"
            if there and ("incarnation" in options or (options and behaviour["t"] == "nobody")):
                yield f"message {turn.message} told somebody who never lived"


def ids(view):
    """A message id that a call answered is that offer's message."""
    for identity, (call, place, offer) in view.offers.items():
        if call.kind not in ("send", "transaction", "batch") or call.outcome != "ok" or not offer["kept"]:
            continue
        if not isinstance(call.answer[place], int):
            continue
        message = view.messages.get(call.answer[place]) or view.done.get(call.answer[place])
        if message is None and view.excused(offer["actor"], call.begin):
            continue
        if message is None and view.forgetful(offer["actor"]) and identity not in view.effects:
            continue
        if message is None or message.identity != identity:
            yield f"{call} answered {call.answer[place]} for {identity}, which is {message}"


def results(view):
    """An answer is what is on record for that very message."""
    effects = {row.identity: row.n for row in view.history.done}
    for call in view.calls:
        if call.outcome != "ok":
            continue
        if call.kind == "wait":
            message = view.messages.get(call.arguments["message"])
            if message is None and view.excused_message(call.arguments["message"]):
                continue
            if message is None and view.forgotten(call.arguments["message"]):
                row = view.done.get(call.arguments["message"])
                if row is None or call.answer != [row.n, *row.identity]:
                    yield f"{call} answered {call.answer}, which took effect as {row}"
                continue
            if message is None or message.result != call.answer:
                yield f"{call} answered {call.answer}, on record is {message}"
        if call.kind not in ("call", "calls", "ask", "try"):
            continue
        for answer, offer in zip(call.answer, call.offers):
            if call.kind == "try" and answer["status"] == "completed":
                answer = answer["result"]
            identity = (call.process, offer["number"])
            if isinstance(answer, dict):
                if answer["status"] != "rejected" or tuple(answer["details"]) != identity:
                    yield f"{call} answered {answer}"
                continue
            if tuple(answer[1:]) != identity or effects.get(identity, answer[0]) != answer[0]:
                yield f"{call} answered {answer} for {identity}, which was turn {effects.get(identity)}"
            for message in view.found.get(identity, ()):
                if message.result != answer:
                    yield f"{call} answered {answer}, on record is {message.result}"


def keys(view):
    """What carries the same idempotency key is one message, whoever sent it, and all are told the same."""
    calls = defaultdict(list)
    for call in view.calls:
        if call.kind == "keyed" and call.outcome == "ok":
            calls[call.arguments["number"]].append(call)
    for number, same in calls.items():
        found = view.found.get(("keyed", number))
        if not found:
            yield f"{same[0]} was acknowledged, but its key {number} is nowhere"
            continue
        for call in same:
            right = found[0].message if call.arguments["function"] == "send" else found[0].result
            if call.answer != right:
                yield f"{call} answered {call.answer} for the key {number}, which is {found[0]}"


def statuses(view):
    for call in view.calls:
        if call.kind != "status" or call.outcome != "ok":
            continue
        message = view.messages.get(call.arguments["message"])
        if (message is None or call.answer == "gone") and view.excused_message(call.arguments["message"]):
            continue
        if message is None and view.forgotten(call.arguments["message"]):
            continue
        if message is None or call.answer == "gone":
            yield f"{call} answered {call.answer} for a message that was sent, {message}"
        elif call.answer in FINAL and call.answer != message.status:
            yield f"{call} answered {call.answer}, in the end message {message.message} is {message.status}"


def over(view):
    """What was over did not begin again."""
    ends = {}
    for call in view.calls:
        if call.outcome != "ok":
            continue
        if call.kind == "wait" or (call.kind == "status" and call.answer in (*FINAL, "gone")):
            message = call.arguments["message"]
            ends[message] = min(ends.get(message, NEVER), call.end)
    for start in view.history.starts:
        if start.at > ends.get(start.message, NEVER):
            yield f"{start} after the message was over"
    for call in view.calls:
        if call.kind == "claim" and call.outcome == "ok":
            for row in call.answer:
                if call.begin > ends.get(row["message"], NEVER):
                    yield f"{call} got message {row['message']} after it was over"


def histories(view):
    """Without history there is a row of what has to be kept, and of nothing else that is over."""
    for message in view.messages.values():
        if view.forgetful(message.actor) and message.status != "dead":
            if message.identity is None or not view.keeps(message.identity):
                yield f"message {message.message} left a row: {message}"
    for identity, (call, place, offer) in view.offers.items():
        if view.forgetful(offer["actor"]) and view.keeps(identity) and view.acknowledged(call, place, offer):
            if not view.found.get(identity) and not view.excused(offer["actor"], call.begin):
                yield f"{call} asked to keep {identity}, which is not on record"


def counters(view):
    """Turns are numbered 1, 2, …; the counter in the state followed them; nothing else changed it."""
    for (actor, incarnation), turns in view.turns.items():
        for n, turn in enumerate(turns, 1):
            message = view.messages.get(turn.message)
            if turn.n != n or (message and message.result[0] != n):
                yield f"{actor}, incarnation {incarnation}: turn {n} is {turn}, on record is {message}"
                break
    for actor, (incarnation, turns, state) in view.history.actors.items():
        count = len(view.turns.get((actor, incarnation), ()))
        if (turns, state["n"]) != (count, count):
            yield f"{actor} has {count} turns, but says {turns}, and its state is {state}"
    for message in view.messages.values():
        if message.incarnation and view.living(message.actor) != message.incarnation:
            yield f"message {message.message} belongs to incarnation {message.incarnation} of {message.actor}, which is gone"


def effects(view):
    """What turns wrote into the application's table is what they were, in their order."""
    newest = {}
    for row in view.history.done:
        message = view.messages.get(row.message)
        if message is None and (view.excused(row.actor, -1) or view.forgetful(row.actor)):
            pass
        elif message is None or message.status != "completed":
            yield f"message {row.message} took effect, but is {message}"
        elif (row.actor, row.identity, row.n, row.attempt) != (message.actor, message.identity, message.turn,
                                                               message.attempts):
            yield f"the effect {row} is not that of {message}"
        if newest.get((row.actor, row.incarnation), 0) >= row.n:
            yield f"{row.actor}: turn {row.n} took effect after turn {newest[row.actor, row.incarnation]}"
        newest[row.actor, row.incarnation] = row.n
    for message in view.messages.values():
        if message.status == "completed" and message.operation == "step" and message.message not in view.done:
            yield f"message {message.message} completed, but its effect is nowhere"


def order(view):
    """Messages that were ready at once run by id, each sender's in its order, and none before one that was
    acknowledged before it was sent. What an actor tells itself in a turn that a call runs first was not committed
    when that call's own turn ran: it runs afterwards."""
    ran = {f"m{start.message}": start.at for start in view.history.starts}
    for (actor, _), turns in view.turns.items():
        newest, senders, latest_begin, latest = 0, {}, -1, None
        before = []  # (message, call) of those that ran so far
        for turn in turns:
            _, options, call = view.offered(turn.identity)
            plain = turn.first and "delay_ms" not in options
            sender, number = turn.identity or (None, 0)
            if plain:
                late = turn.message < newest and [
                    message for message, by in before if message > turn.message
                    and not (by and by.kind in CALLS and by.begin <= ran.get(sender, -1) <= by.end)]
                if late:
                    yield f"{actor}: message {turn.message} ran after {max(late)}"
                before.append((turn.message, call))
                if call and number < senders.get(sender, 0):
                    yield f"{actor}: {sender}'s {number} ran after its {senders[sender]}"
                newest = max(newest, turn.message)
                senders[sender] = max(senders.get(sender, 0), number)
            if not call or not turn.first:
                continue
            acknowledged = call.end if call.outcome == "ok" and (plain or call.kind not in SENDS) else NEVER
            if acknowledged < latest_begin:
                yield f"{actor}: {call} was acknowledged before {latest} began, but ran after it"
            if call.begin > latest_begin:
                latest_begin, latest = call.begin, call


def waits(view):
    """A message that was waited for ran before what was sent afterwards."""
    waited = {call.arguments["message"]: call.end for call in view.calls if call.kind == "wait" and call.outcome == "ok"}
    for (actor, _), turns in view.turns.items():
        latest_begin = -1
        for turn in turns:
            call = view.offered(turn.identity)[2] if turn.first else None
            if waited.get(turn.message, NEVER) < latest_begin:
                yield f"{actor}: message {turn.message} was waited for, and ran after a later call"
            latest_begin = max(latest_begin, call.begin if call else -1)


def ends(view):
    """Who was to be rejected was, and nobody else; a dead letter used up its attempts, a failing one failed first."""
    for message in view.messages.values():
        behaviour, options, _ = view.offered(message.identity)
        allowed = options.get("max_attempts", view.settings["max_attempts"])
        failures = max(behaviour.get("f", 0), behaviour.get("k", 0))
        if message.status == "completed" and (behaviour.get("r") or failures >= message.attempts):
            yield f"message {message.message} completed at attempt {message.attempts}, its behaviour is {behaviour}"
        if message.status == "rejected" and not behaviour.get("r"):
            yield f"message {message.message} was rejected: {message.error}"
        if message.status == "dead" and message.attempts != allowed:
            yield f"message {message.message} is dead after {message.attempts} of {allowed} attempts: {message.error}"
        if message.attempts > allowed or (message.attempts < 1 and message.status != "cancelled"):
            yield f"message {message.message} has {message.attempts} of {allowed} attempts"
    for row in view.history.done:
        behaviour, options, _ = view.offered(row.identity)
        allowed = options.get("max_attempts", view.settings["max_attempts"])
        if behaviour.get("r") or not max(behaviour.get("f", 0), behaviour.get("k", 0)) < row.attempt <= allowed:
            yield f"the effect {row} was not to be, its behaviour is {behaviour}"


def attempts(view):
    """No handler starts more often than it may, and an attempt that did not fail cost a process."""
    for start in view.history.starts:
        found = view.messages.get(start.message) or view.done.get(start.message)
        if found and found.actor == start.actor:
            recorded = found.attempt if start.message not in view.messages else found.attempts
            # A cancelled one may have begun in a caller's transaction that was rolled back.
            rolled_back = recorded == start.attempt - 1 and getattr(found, "status", None) == "cancelled"
            if start.attempt > recorded and not rolled_back:
                yield f"attempt {start.attempt} of message {start.message} began, on record are {recorded}"
    ended = [(message.message, message.attempts, message.status in ("completed", "rejected"), message.identity)
             for message in view.messages.values() if message.operation == "step"]
    ended += [(row.message, row.attempt, True, row.identity) for row in view.history.done
              if row.message not in view.messages and row.wanted is not None]
    unexplained = []
    for message, made, succeeded, identity in ended:
        behaviour = view.offered(identity)[0]
        beyond = made - succeeded - min(behaviour.get("f", 0), made)
        if beyond > 0 and "tt" not in behaviour:  # it may have met a full mailbox
            unexplained.append((message, beyond))
    total = sum(beyond for _, beyond in unexplained)
    if total > view.history.disturbances:
        yield f"{total} attempts that nobody failed, with {view.history.disturbances} disturbances: {unexplained}"


class Grant:
    """What one so_claim gave of one actor: rows that share a lease, and what was tried with them, in its order."""

    def __init__(self, claimed):
        self.claimed = claimed
        self.rows = []
        self.calls = []


def grants(view):
    found, by_claim = {}, {}
    for call in view.calls:
        if call.kind == "claim" and call.outcome == "ok":
            for row in call.answer:
                grant = found.setdefault((call.process, call.number, row["type"], row["key"]), Grant(call))
                grant.rows.append(row)
                by_claim[row["claim"]] = grant
        if call.kind in SETTLES:
            by_claim[call.arguments["claim"]].calls.append(call)
    return found.values()


def lease(view, grant, holds):
    """A claim is good until its lease ends, and not a moment longer. Into `holds` goes until when each message was held."""
    expires, settled, given_back, answers = grant.rows[0]["expires_ms"], {}, NEVER, {}
    actor = (grant.rows[0]["type"], grant.rows[0]["key"])
    excused = view.excused(actor, grant.claimed.begin)
    for call in grant.calls:
        accepted, before = call.outcome == "ok", settled.get(call.arguments["message"])
        if accepted and call.begin_wall > expires and before != call.kind:
            yield f"{call} was accepted {call.begin_wall - expires} ms after its lease ended"
        if call.answer == "SO_LOST_CLAIM" and call.end_wall < expires and before is None and given_back == NEVER:
            if not excused:
                yield f"{call} was refused {expires - call.end_wall} ms before its lease ended"
        if accepted and before not in (None, call.kind):
            yield f"{call} was accepted after a {before}"
        first = answers.get(call.arguments["claim"], call.answer)
        unknown = view.forgetful(actor) and call.answer == "SO_LOST_CLAIM"  # nothing tells of the first time
        if before == call.kind and call.answer != first and call.outcome and not (excused or unknown):
            yield f"{call} answered {call.answer}, but {first} the first time"
        if call.kind == "renew":
            expires = call.answer if accepted else expires
        elif accepted or call.outcome is None:
            settled.setdefault(call.arguments["message"], call.kind)
            if accepted:
                answers.setdefault(call.arguments["claim"], call.answer)
            if call.kind in ("fail", "release") or call.outcome is None:
                given_back = min(given_back, call.begin_wall)
    settled_at = {call.arguments["message"]: call.begin_wall for call in reversed(grant.calls)
                  if call.outcome == "ok" and call.kind != "renew"}
    for row in grant.rows:
        until = min(expires, given_back, settled_at.get(row["message"], NEVER))
        took = [call for call in grant.calls if call.outcome == "ok" and call.kind in ("commit", "reject")
                and call.arguments["message"] == row["message"]]
        holds[row["message"]].append((grant.claimed, until, took[0].end_wall if took else NEVER))


def leases(view):
    """… and one message has one holder at a time."""
    holds = defaultdict(list)
    for grant in grants(view):
        yield from lease(view, grant, holds)
    for message, holders in holds.items():
        for (one, until, done), (other, other_until, _) in itertools.permutations(holders, 2):
            if max(one.end_wall, other.end_wall) < min(until, other_until):
                yield f"message {message} was held by {one} and by {other} at the same moment"
            if done < other.begin_wall:
                yield f"message {message} was claimed by {other} after {one} had settled it"
    if not any(call.kind == "claim" and call.outcome is None for call in view.calls):
        for message in view.messages.values():
            if message.operation == "out" and message.status == "completed" and message.message not in holds:
                yield f"message {message.message} completed, but nobody claimed it"


def settled(view):
    """What a worker was told is what became of the message."""
    final = {"commit": "completed", "reject": "rejected"}
    for grant in grants(view):
        actor = (grant.rows[0]["type"], grant.rows[0]["key"])
        excused = view.excused(actor, grant.claimed.begin)
        for call in grant.calls:
            message = view.messages.get(call.arguments["message"])
            answer = call.answer if call.kind == "fail" else final.get(call.kind)
            took_effect = call.arguments["message"] in view.done
            forgotten = view.forgetful(actor) and answer in ("completed", "rejected")
            wrong = message.status != answer if message else not excused
            if message is None and forgotten and took_effect == (answer == "completed"):
                wrong = False
            if call.outcome == "ok" and answer in FINAL and wrong:
                yield f"{call} was accepted ({answer}), on record is {message}"
        for row in grant.rows:
            message = view.messages.get(row["message"])
            if message and message.status == "cancelled" and row["attempt"] == message.attempts + 1:
                continue  # it was given back unbegun
            if message is None and view.forgetful(actor):
                if row["message"] in view.done and row["attempt"] > view.done[row["message"]].attempt:
                    yield f"message {row['message']} was claimed for attempt {row['attempt']} after its last one"
                continue
            if row["attempt"] > message.attempts if message else not excused:
                yield f"message {row['message']} was claimed for attempt {row['attempt']}, on record is {message}"


def cancelled(view):
    """A cancelled message never ran; one is cancelled only if somebody asked for it."""
    for message, calls in view.cancels.items():
        found = view.messages.get(message)
        for call in calls:
            if call.outcome == "ok" and call.answer and found and found.status != "cancelled":
                yield f"{call} cancelled message {message}, which is {found}"
        if any(call.outcome == "ok" and call.answer for call in calls) and message in view.done:
            yield f"message {message} was cancelled and took effect"
    for message in view.messages.values():
        if message.status == "cancelled":
            if not any(call.outcome is None or call.answer for call in view.cancels.get(message.message, ())):
                yield f"message {message.message} is cancelled, but nobody did that"


def retried(view):
    """so_retry answers the same replacement each time, of a dead letter only."""
    for call in view.calls:
        if call.kind == "retry" and call.outcome == "ok":
            message = view.messages.get(call.arguments["message"])
            if message is None and view.destroys:
                continue
            if message is None or message.status != "dead" or message.replacement != call.answer:
                yield f"{call} answered {call.answer} for message {call.arguments['message']}, which is {message}"
    asked = {call.arguments["message"] for call in view.calls if call.kind == "retry" and call.outcome != "error"}
    for message in view.messages.values():
        if message.replacement and message.message not in asked:
            yield f"message {message.message} was replaced by {message.replacement}, but nobody asked for it"


def paused(view):
    """Nothing of a paused actor starts."""
    resumes = defaultdict(list)
    for call in view.calls:
        if call.kind == "resume":
            resumes[call.arguments["actor"]].append(call.begin)
    pauses = defaultdict(list)
    for call in view.calls:
        if call.kind == "pause" and call.outcome == "ok":
            actor = call.arguments["actor"]
            end = min([begin for begin in resumes[actor] if begin > call.begin] or [NEVER])
            end = min([end] + [begin for begin, done, _ in view.destroys.get(actor, ()) if done > call.begin])
            pauses[actor].append((call, end))
    if view.settings["doorbell"]:  # without it a batch is claimed in one transaction and run in the next
        for start in view.history.starts:
            for call, end in pauses.get(start.actor, ()):
                if call.end < start.at < end:
                    yield f"{start} after {call}"
    for grant in grants(view):
        for call, end in pauses.get((grant.rows[0]["type"], grant.rows[0]["key"]), ()):
            if call.end < grant.claimed.begin and grant.claimed.end < end:
                yield f"{grant.claimed} got messages of an actor that {call} had paused"


def destroyed(view):
    """What was there when its actor was destroyed is gone, and nothing late brought it back."""
    for actor, moments in view.destroys.items():
        certain = [(begin, end) for begin, end, did in moments if did]
        for identity, (call, _, offer) in view.offers.items():
            if offer["actor"] != actor or call.outcome != "ok":
                continue
            for begin, _ in certain:
                if call.end < begin and identity in view.found:
                    yield f"{call} was acknowledged before {actor} was destroyed, but {view.found[identity][0]} is there"
        for (of, incarnation), turns in view.turns.items():
            founder = view.offered(turns[0].identity)[2] if of == actor and turns else None
            for turn in turns if founder else ():
                call = view.offered(turn.identity)[2]
                for begin, end in certain:
                    if call and call.outcome == "ok" and call.end < begin and founder.begin > end:
                        yield f"{actor}: {call} from before it was destroyed ran in the later incarnation {incarnation}"


def addressed(view):
    """What is for a living actor, or for one incarnation, reaches only that, and is refused for that reason only."""
    witnesses = defaultdict(list)  # actor: (call, incarnation), of answered calls that ran a turn
    for (actor, incarnation), turns in view.turns.items():
        for turn in turns:
            behaviour, options, call = view.offered(turn.identity)
            if turn.identity and turn.identity[0][:1] == "m":
                options = view.offered(told_by(view, turn.identity))[0].get("o", {}) if turn.first else {}
            if turn.first and turn.n == 1 and options.keys() & {"if_exists", "incarnation"}:
                yield f"{actor}: message {turn.message} was for a living actor, and founded incarnation {incarnation}"
            if turn.first and options.get("incarnation", incarnation) != incarnation:
                yield f"{actor}: message {turn.message} was for incarnation {options['incarnation']}, and ran in {incarnation}"
            if call and call.outcome == "ok" and call.kind in (*CALLS, "ask"):
                witnesses[actor].append((call, incarnation))
    for call, _, offer in view.offers.values():
        yield from address(view, call, offer, witnesses[offer["actor"]])


def address(view, call, offer, witnesses):
    actor, options = offer["actor"], offer["options"]
    if not options.keys() & {"if_exists", "incarnation"}:
        return
    place = call.offers.index(offer)
    answer = call.answer[place] if call.outcome == "ok" and call.answer else call.answer
    went = answer is not None and answer not in REFUSALS and call.outcome == "ok"
    if actor == NOBODY and went:
        yield f"{call} answered {answer} for {actor}, who never lived"
    living = any(witness.end < call.begin and not view.excused(actor, witness.begin) for witness, _ in witnesses)
    if "if_exists" in options and living:
        if (call.kind in ("send", "transaction", "batch") and call.outcome == "ok" and answer is None and offer["kept"]) or (
                call.kind == "ask" and answer == GONE):
            yield f"{call} answered {answer} for {actor}, who lived"
    if "incarnation" in options:
        never = options["incarnation"] == NO_INCARNATION
        if answer == GONE and len(call.offers) == 1 and not never and not view.excused(actor, -1):
            yield f"{call} answered {GONE} for {actor}, whom nobody destroyed"
        dead = [end for begin, end, did in view.destroys.get(actor, ()) if did and end < call.begin and any(
            of == options["incarnation"] and witness.end < begin for witness, of in witnesses)]
        if went and (dead or never) and offer["kept"]:
            yield f"{call} answered {answer} for incarnation {options['incarnation']} of {actor}, which was gone"


class Mailbox:
    """What can be known of the mailbox of an actor that may hold few messages, and was never destroyed."""

    def __init__(self, view, actor):
        self.limit = view.settings["limits"][actor[0]]
        tried = {}  # message: the earliest moment at which it can have been taken out, or begun
        for start in view.history.starts:
            if start.actor == actor:
                tried[start.message] = min(tried.get(start.message, NEVER), start.at)
        for call in view.calls:
            if call.kind == "claim" and call.outcome == "ok":
                for row in call.answer:
                    tried[row["message"]] = min(tried.get(row["message"], NEVER), call.begin)
        for message, calls in view.cancels.items():
            tried[message] = min([tried.get(message, NEVER)] + [call.begin for call in calls if call.outcome != "error"])
        self.inside = []  # (from, to, the call that sent it): at least then it was in there
        for message, (of, call) in view.sent_to.items():
            found = view.messages.get(message)
            if of == actor and found and (message in tried or found.status != "dead"):
                self.inside.append((call.end, tried.get(message, NEVER), call))
        self.stays = []  # (until, the call that sent it; None: unknown): after that it was certainly over
        self.look_at_ends(view, actor)

    def look_at_ends(self, view, actor):
        over = {}  # message: a moment at which it was over
        for start in view.history.starts:
            found = view.messages.get(start.message)  # maybe another one, which got the id of a call that was undone
            own = found and found.actor == actor and found.identity == start.identity
            if own and found.status in ("completed", "rejected"):
                over[start.message] = view.committed(start.at)  # the last of its attempts
        for call in view.calls:
            message = call.arguments.get("message")
            if call.kind in ("commit", "reject") and call.outcome == "ok":
                over[message] = min(over.get(message, NEVER), call.end)
        retries = {call.answer: call for call in reversed(view.calls) if call.kind == "retry" and call.outcome == "ok"}
        ran = NEVER  # when a later one had run
        for message in sorted((message for message in view.messages.values() if message.actor == actor),
                              key=lambda message: -message.message):
            _, options, call = view.offered(message.identity)
            first = message.message not in view.replacements
            end = over.get(message.message, NEVER)
            ran = min(ran, end)
            for cancel in view.cancels.get(message.message, ()):
                end = min(end, cancel.end if cancel.outcome == "ok" and cancel.answer else NEVER)
            if first and "delay_ms" not in options:
                end = min(end, ran)
            if not first or call is None or call.kind in STORES:
                self.stays.append((end, call if first else retries.get(message.message)))

    def crowded(self):
        """(call, messages) where one was taken in beside too many that were there all the time."""
        for _, _, call in self.inside:
            count = sum(begin < call.begin and end > call.end for begin, end, _ in self.inside)
            if count >= self.limit:
                yield call, count

    def most(self, call, own):
        """How many there can have been at most during a call, with its own."""
        return own + sum(end > call.begin and (sent is None or (sent is not call and sent.begin < call.end))
                         for end, sent in self.stays)


def at_once(view, actor):
    """The most calls that were sending to an actor at the same moment."""
    calls = [call for call in view.calls if call.kind in STORES and any(offer["actor"] == actor for offer in call.offers)]
    moments = sorted([(call.begin, 1) for call in calls] + [(call.end, -1) for call in calls])
    return max(itertools.accumulate((more for _, more in moments), initial=0))


def limits(view):
    """No mailbox takes in more than it may, and none is full that cannot be. Senders at the same moment may overshoot."""
    actors = {offer["actor"] for _, _, offer in view.offers.values() if offer["actor"][0] in view.settings["limits"]}
    for call in view.calls:
        if call.kind == "count" and call.outcome == "ok":
            for kind, key, count in call.answer:
                if count > view.settings["limits"][kind] + max(0, at_once(view, (kind, key)) - 1):
                    yield f"{call} saw {count} messages of {kind} {key}"
    mailboxes = {actor: Mailbox(view, actor) for actor in actors if not view.excused(actor, -1)}
    for actor, mailbox in mailboxes.items():
        for call, count in mailbox.crowded():
            yield f"{call} was taken into the mailbox of {actor}, which held {count} messages"
    for call in view.calls:
        answers = call.answer if call.outcome == "ok" and call.answer and call.kind == "transaction" else [
            call.answer] * len(call.offers)
        refusing = {offer["actor"] for offer, answer in zip(call.offers, answers)
                    if answer == FULL and offer["actor"] in actors}
        if FULL in answers and not refusing:
            yield f"{call} met a full mailbox, but sent to {[offer['actor'] for offer in call.offers]}"
        most = {actor: mailboxes[actor].most(call, sum(offer["actor"] == actor for offer in call.offers))
                for actor in refusing if actor in mailboxes}
        if most and most.keys() == refusing and all(most[actor] <= mailboxes[actor].limit for actor in most):
            yield f"{call} met a full mailbox, but there can have been only {most}"


def versions(view):
    """type: (moment, at least this version), (moment, at most this version)"""
    found = defaultdict(lambda: ([(-1, 1)], [(-1, 1)]))
    for call in view.calls:
        if call.kind == "raise" and call.arguments["kept"] and call.outcome != "error":
            least, most = found[call.arguments["type"]]
            most.append((call.begin, 1))
            if call.outcome == "ok":
                least.append((call.end, call.answer))
    return found


def least_version(raises, at):
    return max(version for moment, version in raises[0] if moment < at)


def most_version(raises, at):
    return sum(more for moment, more in raises[1] if moment < at)


def migrated(view):
    """A handler is the one of the type's version and is given a state of that version, which each step made once."""
    raises = versions(view)

    def check_version(what, kind, version, begin, end):
        least, most = least_version(raises[kind], begin), most_version(raises[kind], end)
        if not least <= version <= most:
            yield f"{what} is of version {version}, that of {kind} was {least} to {most}"

    for start in view.history.starts:
        yield from check_version(start, start.actor[0], start.version, start.at, start.at)
    for call in view.calls:
        if call.kind == "claim" and call.outcome == "ok":
            for row in call.answer:
                if row["state"] is not None:
                    yield from check_version(f"{call}: {row}", row["type"], row["state"]["v"], call.begin, call.end)
        if call.kind == "query" and call.outcome == "ok":
            _, version, _, wanted = call.answer
            if version != wanted:
                yield f"{call} saw a state of version {version} by a handler for {wanted}"
            yield from check_version(call, call.arguments["actor"][0], wanted, call.begin, call.end)
    births = {}  # (actor, incarnation): the version that it began with
    for row in view.history.done:
        if row.wanted not in (None, row.version):
            yield f"{row} met a state of version {row.version} by a handler for {row.wanted}"
        birth = births.setdefault((row.actor, row.incarnation), row.version - row.steps)
        if birth != row.version - row.steps or (row.wanted and row.n == 1 and row.steps):
            yield f"{row} has {row.steps} steps behind it, but began with version {birth}"
    for actor, (incarnation, _, state) in view.history.actors.items():
        birth = births.get((actor, incarnation), state["v"] - state["steps"])
        if birth != state["v"] - state["steps"]:
            yield f"{actor}, who began with version {birth}, is {state}"


def queries(view):
    """A query sees the turns that were acknowledged before, and none that were never made."""
    answers = defaultdict(list)
    for identity, (call, place, offer) in view.offers.items():
        if call.kind in (*CALLS, "ask") and call.outcome == "ok" and offer["kept"] and isinstance(call.answer[place], list):
            answers[offer["actor"]].append((call.end, call.answer[place][0]))
    for call in view.calls:
        actor = call.arguments.get("actor")
        if call.kind == "query" and call.outcome == "ok" and not view.excused(actor, -1):
            least = max((n for end, n in answers[actor] if end < call.begin), default=0)
            most = len(view.turns.get((actor, view.living(actor)), ()))
            if not least <= call.answer[0] <= most:
                yield f"{call} saw {call.answer[0]} turns, there were {least} to {most}"


def inspections(view):
    """Who looked while everybody was at work saw the invariants hold."""
    for call in view.calls:
        if call.kind == "inspect" and call.outcome == "ok":
            for problem in call.answer:
                yield f"{call}: {problem}"


def errors(view):
    """No call answers an error that it has no reason for."""
    for call in view.calls:
        if call.outcome != "error":
            continue
        allowed = set(ALLOWED.get(call.arguments["function"] if call.kind == "keyed" else call.kind, ()))
        if call.kind in ("call", "calls", "try"):
            behaviours = [offer["behaviour"] for offer in call.offers]
            if any("r" in behaviour for behaviour in behaviours):
                allowed.add("SO_REJECTED")
            if any("f" in behaviour for behaviour in behaviours):
                allowed.add("SO_FAILED")
            if any("tt" in behaviour for behaviour in behaviours):
                allowed.add("SO_FAILED")
        if view.destroys:
            allowed |= DESTROYED.get(call.kind, set())
        if any(offer["actor"][0] in view.settings["limits"] for offer in call.offers) and call.kind in STORES:
            allowed.add(FULL)
        if any("incarnation" in offer["options"] for offer in call.offers) or (
                call.kind == "ask" and any("if_exists" in offer["options"] for offer in call.offers)):
            allowed.add(GONE)
        if view.settings["limits"] and call.kind == "retry":
            allowed.add(FULL)
        if view.settings["forgetful"] and call.kind in ("wait", "cancel", "retry"):
            if call.kind == "retry" or view.forgotten(call.arguments["message"]):
                allowed.add("SO_UNKNOWN_MESSAGE")
        if call.answer not in allowed:
            yield f"{call} answered {call.answer}"


RULES = (finished, lost, undone, halves, doubled, known, told, ids, results, keys, statuses, over, histories, counters,
         effects, order, waits, ends, attempts, leases, settled, cancelled, retried, paused, destroyed, addressed, limits,
         migrated, queries, inspections, errors)


def check(history):
    """[(rule, what is wrong)], of each rule the first few."""
    view = View(history)
    findings = []
    for rule in RULES:
        for found, text in enumerate(rule(view)):
            if found == 5:
                break
            findings.append((rule.__name__, text))
    return findings
