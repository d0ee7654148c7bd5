"""Proves from a history that everything went by the rules. Each rule is a function that yields what is wrong."""
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
            if call.outcome == "ok" and call.answer and isinstance(call.answer[place], int):
                self.sent_to[call.answer[place]] = (offer["actor"], call)
                message = self.messages.get(call.answer[place])
                if message and message.status == "cancelled":
                    message.identity = (call.process, offer["number"])
        if call.kind == "cancel":
            self.cancels[call.arguments["message"]].append(call)
        if call.kind == "destroy" and call.outcome != "error":
            self.destroys[call.arguments["actor"]].append((call.begin, call.end, call.outcome == "ok"))

    def collect_turns(self):
        for message in self.messages.values():
            if message.status == "completed":
                incarnation = message.incarnation
                if incarnation is None and message.message in self.done:  # its turn ended its actor
                    incarnation = self.done[message.message].incarnation
                self.turns[message.actor, incarnation].append(
                    Turn(message.message, message.turn, message.identity, message.message not in self.replacements))
        # Of an actor that is gone only the client's answer tells whether a message was its own or what so_retry() sent for it.
        for row in self.history.done:
            if row.message not in self.messages:
                _, _, call = self.offered(row.identity)
                own = row.message in self.sent_to or (call is not None and call.kind in CALLS)
                self.turns[row.actor, row.incarnation].append(Turn(row.message, row.n, row.identity, own))
        for turns in self.turns.values():
            turns.sort(key=lambda turn: turn.n)

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
        if not found and not view.excused(offer["actor"], call.begin):
            yield f"{call} was acknowledged, but {identity} is nowhere"
        if found and found[0].status not in wanted:
            yield f"{call} answered {call.answer}, but message {found[0].message} is {found[0].status}: {found[0].error}"


def undone(view):
    """What was rolled back or answered with an error is not there."""
    effects = {row.identity for row in view.history.done}
    for identity, (call, place, offer) in view.offers.items():
        if view.acknowledged(call, place, offer) is None or not offer["kept"]:
            if view.found.get(identity) or identity in effects:
                yield f"{call} ({call.outcome}, {call.answer}) left {identity} behind"


def halves(view):
    """A transaction whose process died is there as a whole or not at all."""
    effects = {row.identity for row in view.history.done}
    for call in view.calls:
        kept = [(call.process, offer["number"]) for offer in call.offers if offer["kept"]]
        there = sum(identity in view.found or identity in effects for identity in kept)
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


def known(view):
    """Every message is one that somebody sent, to that actor; a told one, by a turn that was to tell it."""
    keyed = {call.arguments["number"] for call in view.calls if call.kind == "keyed"}
    for message in view.messages.values():
        if message.identity is None:
            if message.status == "cancelled" and not view.excused(message.actor, -1):
                yield f"nobody knows of message {message.message}, which is cancelled"
            continue
        sender, number = message.identity
        if message.identity in view.offers:
            offer = view.offers[message.identity][2]
            if (offer["actor"], offer["operation"]) != (message.actor, message.operation):
                yield f"message {message.message} is for {message.actor}, offered was {offer}"
        elif sender == "keyed":
            if number not in keyed:
                yield f"nobody sent message {message.message}, {message.identity}"
        else:
            parent = int(sender[1:]) if sender[:1] == "m" and sender[1:].isdigit() else None
            if parent in view.messages and view.messages[parent].status == "completed":
                told_by = view.messages[parent].identity
            else:
                told_by = view.done[parent].identity if parent in view.done else None
            if message.actor != ("T", view.offered(told_by)[0].get("t")):
                yield f"nobody sent message {message.message}, {message.identity} for {message.actor}"


def told(view):
    """What a turn told was sent with it."""
    for turns in view.turns.values():
        for turn in turns:
            if "t" in view.offered(turn.identity)[0] and (f"m{turn.message}", 0) not in view.found:
                yield f"message {turn.message} completed, but what it told is nowhere"


def ids(view):
    """A message id that a call answered is that offer's message."""
    for identity, (call, place, offer) in view.offers.items():
        if call.kind not in ("send", "transaction", "batch") or call.outcome != "ok" or not offer["kept"]:
            continue
        message = view.messages.get(call.answer[place])
        if message is None and view.excused(offer["actor"], call.begin):
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
        if message is None or call.answer == "gone":
            yield f"{call} answered {call.answer} for a message that was sent, {message}"
        elif call.answer in FINAL and call.answer != message.status:
            yield f"{call} answered {call.answer}, in the end message {message.message} is {message.status}"


def counters(view):
    """Turns are numbered 1, 2, …; the counter in the state followed them; nothing else changed it."""
    for (actor, incarnation), turns in view.turns.items():
        for n, turn in enumerate(turns, 1):
            message = view.messages.get(turn.message)
            if turn.n != n or (message and message.result[0] != n):
                yield f"{actor}, incarnation {incarnation}: turn {n} is {turn}, on record is {message}"
                break
    for actor, (incarnation, turns, n) in view.history.actors.items():
        count = len(view.turns.get((actor, incarnation), ()))
        if (turns, n) != (count, count):
            yield f"{actor} has {count} turns, but says {turns}, and its counter is {n}"
    for message in view.messages.values():
        if message.incarnation and view.history.actors.get(message.actor, (None,))[0] != message.incarnation:
            yield f"message {message.message} belongs to incarnation {message.incarnation} of {message.actor}, which is gone"


def effects(view):
    """What turns wrote into the application's table is what they were, in their order."""
    newest = {}
    for row in view.history.done:
        message = view.messages.get(row.message)
        if message is None and view.excused(row.actor, -1):
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
    acknowledged before it was sent."""
    for (actor, _), turns in view.turns.items():
        newest, senders, latest_begin, latest = 0, {}, -1, None
        for turn in turns:
            _, options, call = view.offered(turn.identity)
            plain = turn.first and "delay_ms" not in options
            sender, number = turn.identity or (None, 0)
            if plain:
                if turn.message < newest:
                    yield f"{actor}: message {turn.message} ran after {newest}"
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


def attempts(view):
    """No handler starts more often than it may, and an attempt that did not fail cost a process."""
    for _, actor, message, attempt in view.history.starts:
        if message in view.messages and view.messages[message].actor == actor:
            found = view.messages[message]
            rolled_back = found.status == "cancelled" and attempt == found.attempts + 1  # in a caller's transaction
            if attempt > found.attempts and not rolled_back:
                yield f"attempt {attempt} of message {message} began, on record are {found.attempts}"
    unexplained = []
    for message in view.messages.values():
        if message.operation == "step":
            failures = view.offered(message.identity)[0].get("f", 0)
            beyond = message.attempts - (message.status in ("completed", "rejected")) - min(failures, message.attempts)
            if beyond > 0:
                unexplained.append((message.message, beyond))
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
    excused = view.excused((grant.rows[0]["type"], grant.rows[0]["key"]), grant.claimed.begin)
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
        if before == call.kind and call.answer != first and call.outcome and not excused:
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
        excused = view.excused((grant.rows[0]["type"], grant.rows[0]["key"]), grant.claimed.begin)
        for call in grant.calls:
            message = view.messages.get(call.arguments["message"])
            answer = call.answer if call.kind == "fail" else final.get(call.kind)
            wrong = message.status != answer if message else not excused
            if call.outcome == "ok" and answer in FINAL and wrong:
                yield f"{call} was accepted ({answer}), on record is {message}"
        for row in grant.rows:
            message = view.messages.get(row["message"])
            if message and message.status == "cancelled" and row["attempt"] == message.attempts + 1:
                continue  # it was given back unbegun
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
        for at, actor, message, attempt in view.history.starts:
            for call, end in pauses.get(actor, ()):
                if call.end < at < end:
                    yield f"attempt {attempt} of message {message} began after {call}"
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
        if view.destroys:
            allowed |= DESTROYED.get(call.kind, set())
        if call.answer not in allowed:
            yield f"{call} answered {call.answer}"


RULES = (finished, lost, undone, halves, doubled, known, told, ids, results, keys, statuses, counters, effects, order, waits,
         ends, attempts, leases, settled, cancelled, retried, paused, destroyed, inspections, errors)


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
