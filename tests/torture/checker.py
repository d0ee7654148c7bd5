"""Proves from a history that everything went by the rules. Each rule is a function that yields what is wrong."""
import itertools
from collections import defaultdict

NEVER = float("inf")
FINAL = ("completed", "rejected", "dead")

# The errors that a call may answer, whatever its offers are like.
ALLOWED = {
    "call": {"SO_BLOCKED", "SO_TIMEOUT"},
    "try": {"SO_BLOCKED", "SO_TIMEOUT"},
    "calls": {"SO_BLOCKED", "SO_TIMEOUT", "SO_INSIDE_TRANSACTION"},
    "ask": {"SO_TIMEOUT", "SO_REJECTED", "SO_FAILED"},
    "wait": {"SO_TIMEOUT", "SO_REJECTED", "SO_FAILED"},
    "renew": {"SO_LOST_CLAIM"},
    "commit": {"SO_LOST_CLAIM"},
    "fail": {"SO_LOST_CLAIM"},
    "reject": {"SO_LOST_CLAIM"},
    "release": {"SO_LOST_CLAIM"},
}
SENDS = ("send", "transaction", "trigger", "insert")
SETTLES = ("commit", "fail", "reject", "release", "renew")


class View:
    """The history with what several rules look up."""

    def __init__(self, history):
        self.history = history
        self.settings = history.settings
        self.calls = history.calls
        self.messages = history.messages
        self.offers = {}  # identity: (call, place in the call, offer)
        for call in self.calls:
            for place, offer in enumerate(call.offers):
                self.offers[call.process, offer["number"]] = (call, place, offer)
        self.found = defaultdict(list)  # identity: messages
        self.turns = defaultdict(list)  # actor: completed messages, by turn
        for message in self.messages.values():
            self.found[message.identity].append(message)
            if message.status == "completed":
                self.turns[message.actor].append(message)
        for turns in self.turns.values():
            turns.sort(key=lambda message: message.turn)

    def offered(self, message):
        """The offer's behaviour, options and call of a message; those of what a turn told are empty."""
        call, _, offer = self.offers.get(message.identity, (None, 0, {"behaviour": {}, "options": {}}))
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
                return {"SO_REJECTED": ("rejected",), "SO_FAILED": ("dead",), "SO_TIMEOUT": FINAL}.get(call.answer)
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
        if not found:
            yield f"{call} was acknowledged, but {identity} is nowhere"
        elif found[0].status not in wanted:
            yield f"{call} answered {call.answer}, but message {found[0].message} is {found[0].status}: {found[0].error}"


def undone(view):
    """What was rolled back or answered with an error is not there."""
    for identity, (call, place, offer) in view.offers.items():
        found = view.found.get(identity)
        if found and (view.acknowledged(call, place, offer) is None or not offer["kept"]):
            yield f"{call} ({call.outcome}, {call.answer}) left message {found[0].message}"


def halves(view):
    """A transaction whose process died is there as a whole or not at all."""
    for call in view.calls:
        kept = [offer for offer in call.offers if offer["kept"]]
        there = sum((call.process, offer["number"]) in view.found for offer in kept)
        if call.outcome is None and there not in (0, len(kept)):
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
    for message in view.messages.values():
        if message.identity is None:
            continue
        sender, _ = message.identity
        if message.identity in view.offers:
            offer = view.offers[message.identity][2]
            if (offer["actor"], offer["operation"]) != (message.actor, message.operation):
                yield f"message {message.message} is for {message.actor}, offered was {offer}"
            continue
        parent = view.messages.get(int(sender[1:])) if sender[:1] == "m" and sender[1:].isdigit() else None
        told = view.offered(parent)[0].get("t") if parent and parent.status == "completed" else None
        if message.actor != ("T", told):
            yield f"nobody sent message {message.message}, {message.identity} for {message.actor}"


def told(view):
    for identity, (_, _, offer) in view.offers.items():
        for message in view.found.get(identity, ()):
            if message.status == "completed" and "t" in offer["behaviour"]:
                if (f"m{message.message}", 0) not in view.found:
                    yield f"message {message.message} completed, but what it told is nowhere"


def ids(view):
    """A message id that a call answered is that offer's message."""
    for identity, (call, place, offer) in view.offers.items():
        if call.kind not in ("send", "transaction") or call.outcome != "ok" or not offer["kept"]:
            continue
        message = view.messages.get(call.answer[place])
        if message is None or message.identity != identity:
            yield f"{call} answered {call.answer[place]} for {identity}, which is {message}"


def results(view):
    """An answer is what is on record for that very message."""
    by_id = view.messages
    for call in view.calls:
        if call.outcome != "ok":
            continue
        if call.kind == "wait":
            message = by_id.get(call.arguments["message"])
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
            if tuple(answer[1:]) != identity:
                yield f"{call} answered {answer} for {identity}"
            for message in view.found.get(identity, ()):
                if message.result != answer:
                    yield f"{call} answered {answer}, on record is {message.result}"


def statuses(view):
    for call in view.calls:
        if call.kind != "status" or call.outcome != "ok":
            continue
        message = view.messages.get(call.arguments["message"])
        if message is None or call.answer == "gone":
            yield f"{call} answered {call.answer} for a message that was sent, {message}"
        elif call.answer in FINAL and call.answer != message.status:
            yield f"{call} answered {call.answer}, in the end message {message.message} is {message.status}"


def counters(view):
    """Turns are numbered 1, 2, …; the counter in the state followed them; nothing else changed it."""
    for actor, turns in view.turns.items():
        for turn, message in enumerate(turns, 1):
            if message.turn != turn or message.result[0] != turn:
                yield f"{actor}: turn {turn} is message {message.message} with number {message.turn}, result {message.result}"
                break
        if view.history.actors.get(actor) != (len(turns), len(turns)):
            yield f"{actor} has {len(turns)} turns, but (turns, counter) {view.history.actors.get(actor)}"


def effects(view):
    """What turns wrote into the application's table is what they were, in their order."""
    wrote = {row.message: row for row in view.history.done}
    newest = {}
    for row in view.history.done:
        message = view.messages.get(row.message)
        if message is None or message.status != "completed":
            yield f"message {row.message} took effect, but is {message}"
            continue
        if (row.actor, row.identity, row.n, row.attempt) != (message.actor, message.identity, message.turn, message.attempts):
            yield f"the effect {row} is not that of {message}"
        if newest.get(row.actor, 0) >= row.n:
            yield f"{row.actor}: turn {row.n} took effect after turn {newest[row.actor]}"
        newest[row.actor] = row.n
    for message in view.messages.values():
        if message.status == "completed" and message.operation == "step" and message.message not in wrote:
            yield f"message {message.message} completed, but its effect is nowhere"


def order(view):
    """Messages that were ready at once run by id, each sender's in its order, and none before one that was
    acknowledged before it was sent."""
    for actor, turns in view.turns.items():
        newest, senders, latest_begin, latest = 0, {}, -1, None
        for message in turns:
            behaviour, options, call = view.offered(message)
            del behaviour
            plain = "delay_ms" not in options
            sender, number = message.identity
            if plain:
                if message.message < newest:
                    yield f"{actor}: message {message.message} ran after {newest}"
                if call and number < senders.get(sender, 0):
                    yield f"{actor}: {sender}'s {number} ran after its {senders[sender]}"
                newest = max(newest, message.message)
                senders[sender] = max(senders.get(sender, 0), number)
            if not call:
                continue
            acknowledged = call.end if call.outcome == "ok" and (plain or call.kind not in SENDS) else NEVER
            if acknowledged < latest_begin:
                yield f"{actor}: {call} was acknowledged before {latest} began, but ran after it"
            if call.begin > latest_begin:
                latest_begin, latest = call.begin, call


def waits(view):
    """A message that was waited for ran before what was sent afterwards."""
    waited = {call.arguments["message"]: call.end for call in view.calls if call.kind == "wait" and call.outcome == "ok"}
    for actor, turns in view.turns.items():
        latest_begin = -1
        for message in turns:
            call = view.offered(message)[2]
            if waited.get(message.message, NEVER) < latest_begin:
                yield f"{actor}: message {message.message} was waited for, and ran after a later call"
            latest_begin = max(latest_begin, call.begin if call else -1)


def ends(view):
    """Who was to be rejected was, and nobody else; a dead letter used up its attempts, a failing one failed first."""
    for message in view.messages.values():
        behaviour, options, _ = view.offered(message)
        allowed = options.get("max_attempts", view.settings["max_attempts"])
        failures = max(behaviour.get("f", 0), behaviour.get("k", 0))
        if message.status == "completed" and (behaviour.get("r") or failures >= message.attempts):
            yield f"message {message.message} completed at attempt {message.attempts}, its behaviour is {behaviour}"
        if message.status == "rejected" and not behaviour.get("r"):
            yield f"message {message.message} was rejected: {message.error}"
        if message.status == "dead" and message.attempts != allowed:
            yield f"message {message.message} is dead after {message.attempts} of {allowed} attempts: {message.error}"
        if message.attempts > allowed or message.attempts < 1:
            yield f"message {message.message} has {message.attempts} of {allowed} attempts"


def attempts(view):
    """No handler starts more often than it may, and an attempt that did not fail cost a process."""
    for message, attempt in view.history.starts:
        if message in view.messages:
            found = view.messages[message]
            if attempt > found.attempts:
                yield f"attempt {attempt} of message {message} began, on record are {found.attempts}"
    unexplained = []
    for message in view.messages.values():
        if message.operation == "step":
            failures = view.offered(message)[0].get("f", 0)
            beyond = message.attempts - (message.status != "dead") - min(failures, message.attempts)
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


def lease(grant, holds):
    """A claim is good until its lease ends, and not a moment longer. Into `holds` goes until when each message was held."""
    expires, settled, given_back = grant.rows[0]["expires_ms"], {}, NEVER
    for call in grant.calls:
        accepted, before = call.outcome == "ok", settled.get(call.arguments["message"])
        if accepted and call.begin_wall > expires and before != call.kind:
            yield f"{call} was accepted {call.begin_wall - expires} ms after its lease ended"
        if call.answer == "SO_LOST_CLAIM" and call.end_wall < expires and before is None and given_back == NEVER:
            yield f"{call} was refused {expires - call.end_wall} ms before its lease ended"
        if accepted and before not in (None, call.kind):
            yield f"{call} was accepted after a {before}"
        if call.kind == "renew":
            expires = call.answer if accepted else expires
        elif accepted or call.outcome is None:
            settled.setdefault(call.arguments["message"], call.kind)
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
        yield from lease(grant, holds)
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
        for call in grant.calls:
            message = view.messages.get(call.arguments["message"])
            told = call.answer if call.kind == "fail" else final.get(call.kind)
            if call.outcome == "ok" and told in FINAL and (message is None or message.status != told):
                yield f"{call} was accepted ({told}), on record is {message}"
        for row in grant.rows:
            message = view.messages.get(row["message"])
            if message is None or row["attempt"] > message.attempts:
                yield f"message {row['message']} was claimed for attempt {row['attempt']}, on record is {message}"


def errors(view):
    """No call answers an error that it has no reason for."""
    for call in view.calls:
        if call.outcome != "error":
            continue
        allowed = set(ALLOWED.get(call.kind, ()))
        if call.kind in ("call", "calls", "try"):
            behaviours = [offer["behaviour"] for offer in call.offers]
            if any("r" in behaviour for behaviour in behaviours):
                allowed.add("SO_REJECTED")
            if any("f" in behaviour for behaviour in behaviours):
                allowed.add("SO_FAILED")
        if call.answer not in allowed:
            yield f"{call} answered {call.answer}"


RULES = (finished, lost, undone, halves, doubled, known, told, ids, results, statuses, counters, effects, order, waits, ends,
         attempts, leases, settled, errors)


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
