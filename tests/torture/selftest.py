#!/usr/bin/python3
"""The checker can fail: a sound history passes, and each of these doctored ones is reported by the rule it breaks."""
import copy
import sys

import checker
from history import Call, Done, History, Message

C, X, M = ("C", "0"), ("X", "1"), ("C", "mortal")


class Book:
    """Writes a sound history, call by call."""

    def __init__(self):
        self.history = History({"max_attempts": 4, "doorbell": True})
        self.now = 0
        self.numbers = {}
        self.counters = {}

    def call(self, process, kind, arguments, outcome, answer=None):
        self.now += 10
        number = self.numbers[process] = self.numbers.get(process, 0) + 1
        ended = (self.now + 5, self.now + 5) if outcome else (checker.NEVER, checker.NEVER)
        call = Call(process, number, kind, arguments, self.now, self.now, *ended, outcome, answer)
        self.history.calls.append(call)
        return call

    def offer(self, number, actor, operation="step", kept=True, behaviour=None, options=None):
        return {"number": number, "actor": actor, "operation": operation, "kept": kept, "behaviour": behaviour or {},
                "options": options or {}}

    def message(self, message, actor, identity, status="completed", operation="step", attempts=1, **more):
        turn = result = incarnation = None
        if status == "completed":
            incarnation, turn = self.counters.get(actor, (message, 0))
            turn += 1
            self.counters[actor] = (incarnation, turn)
            result = [turn, *identity]
            self.history.actors[actor] = (incarnation, turn, turn)
        known = None if status == "cancelled" else identity
        self.history.messages[message] = Message(message, actor, operation, status, attempts, turn, result, None, known,
                                                 incarnation, **more)
        if status == "completed" and operation == "step":
            self.history.done.append(Done(actor, incarnation, message, identity, attempts, turn))
            self.history.starts.append((self.now + 1, actor, message, attempts))
        return result


def row(message, expires_ms):
    return {"claim": f"c{message}", "message": message, "type": "X", "key": "1", "attempt": 1, "expires_ms": expires_ms}


def sound():
    b = Book()
    b.call("s1", "send", {"offers": [b.offer(1, C)]}, "ok", [1])
    b.call("s1", "send", {"offers": [b.offer(2, C, behaviour={"t": "a"})]}, "ok", [2])
    b.call("s2", "transaction", {"offers": [b.offer(1, C), b.offer(2, C, kept=False)]}, "ok", [3, None])
    b.call("s2", "transaction", {"offers": [b.offer(3, C), b.offer(4, C)]}, None)
    for message, identity in ((1, ("s1", 1)), (2, ("s1", 2)), (3, ("s2", 1)), (4, ("s2", 3)), (5, ("s2", 4))):
        b.message(message, C, identity)
    b.message(6, ("T", "a"), ("m2", 0))
    b.call("c1", "call", {"offers": [b.offer(1, C)]}, "ok", [b.message(7, C, ("c1", 1))])
    b.call("c2", "call", {"offers": [b.offer(1, C)]}, "ok", [b.message(8, C, ("c2", 1))])
    b.call("c2", "call", {"offers": [b.offer(2, C)]}, "error", "SO_BLOCKED")
    b.call("s1", "send", {"offers": [b.offer(3, C, behaviour={"r": 1})]}, "ok", [9])
    b.message(9, C, ("s1", 3), "rejected")
    b.call("s1", "send", {"offers": [b.offer(4, C, behaviour={"f": 4})]}, "ok", [10])
    b.message(10, C, ("s1", 4), "dead", attempts=4, replacement=11)
    b.call("a1", "retry", {"message": 10}, "ok", 11)
    b.message(11, C, ("s1", 4), "dead", attempts=4)
    b.call("s1", "send", {"offers": [b.offer(5, C, options={"delay_ms": 5})]}, "ok", [12])
    b.call("s1", "cancel", {"message": 12}, "ok", 1)
    b.message(12, C, ("s1", 5), "cancelled", attempts=0)
    b.call("s1", "status", {"message": 3}, "ok", "completed")
    b.call("c1", "wait", {"message": 3}, "ok", [3, "s2", 1])
    b.call("s1", "keyed", {"number": 1, "function": "send"}, "ok", 13)
    b.call("s2", "keyed", {"number": 1, "function": "call"}, "ok", b.message(13, ("C", "keyed"), ("keyed", 1)))
    b.call("s1", "send", {"offers": [b.offer(6, X, "out")]}, "ok", [14])
    b.call("w1", "claim", {}, "ok", [row(14, b.now + 1000)])
    b.call("w1", "commit", {"claim": "c14", "message": 14}, "ok", 1)
    b.message(14, X, ("s1", 6), operation="out")
    b.call("a1", "inspect", {}, "ok", [])
    b.call("a1", "pause", {"actor": C}, "ok", 1)
    b.call("a1", "resume", {"actor": C}, "ok", 1)
    b.call("c1", "call", {"offers": [b.offer(2, M)]}, "ok", [b.message(15, M, ("c1", 2))])
    del b.history.messages[15], b.counters[M]
    b.call("a1", "destroy", {"actor": M}, "ok", 1)
    b.call("c1", "call", {"offers": [b.offer(3, M)]}, "ok", [b.message(16, M, ("c1", 3))])
    return b.history


def find_call(history, kind, place=0):
    return [call for call in history.calls if call.kind == kind][place]


def swap_turns(history, one, other):
    """As if the database had run them the other way round."""
    first, second = history.messages[one], history.messages[other]
    first.turn, second.turn = second.turn, first.turn
    first.result[0], second.result[0] = first.turn, second.turn
    rows = {row.message: row for row in history.done}
    rows[one].n, rows[other].n = first.turn, second.turn
    history.done.sort(key=lambda row: row.n if row.actor == C else 0)
    for call in history.calls:
        for place, offer in enumerate(call.offers):
            for message in (first, second):
                if (call.process, offer["number"]) == message.identity and call.kind == "call":
                    call.answer[place] = list(message.result)


def set_to(find, **values):
    """Doctors what find(history) gives."""
    def doctor(history):
        for name, value in values.items():
            setattr(find(history), name, value)
    return doctor


def message(number):
    return lambda history: history.messages[number]


def call(kind, place=0):
    return lambda history: find_call(history, kind, place)


def lose(number):
    def doctor(history):
        del history.messages[number]
        history.done[:] = [row for row in history.done if row.message != number]
    return doctor


def double(history):
    history.messages[50] = copy.deepcopy(history.messages[7])
    history.messages[50].message = 50


def late_commit(history):
    find_call(history, "claim").answer[0]["expires_ms"] = find_call(history, "commit").begin_wall - 1


def second_holder(history):
    claim = copy.deepcopy(find_call(history, "claim"))
    claim.process, claim.answer[0]["claim"] = "w2", "other"
    history.calls.append(claim)


def repeated_commit(history):
    again = copy.deepcopy(find_call(history, "commit"))
    again.answer = 2
    history.calls.append(again)


def start_in_pause(history):
    history.starts.append((find_call(history, "pause").end + 1, C, 8, 1))


def brought_back(history):
    history.done[-2].incarnation, history.done[-2].n = 16, 2


# What a doctor does, by whom it has to be reported.
DOCTORED = [
    ("a message is left", "finished", set_to(message(8), status="waiting")),
    ("an acknowledged message is lost", "lost", lose(1)),
    ("a call's turn is lost", "lost", lose(8)),
    ("an answered call is on record as rejected", "lost", set_to(message(8), status="rejected")),
    ("a send that was rolled back ran", "undone", lambda h: find_call(h, "transaction").offers[0].update(kept=False)),
    ("a call that failed left a turn", "undone", set_to(call("call"), outcome="error", answer="SO_BLOCKED")),
    ("half of a transaction is there", "halves", lose(5)),
    ("a message is there twice", "doubled", double),
    ("a turn took effect twice", "doubled", lambda h: h.done.append(copy.deepcopy(h.done[3]))),
    ("a message that nobody sent", "known", set_to(message(8), identity=("s9", 1))),
    ("a message of another actor", "known", set_to(message(8), actor=X)),
    ("a told message that nobody told", "known", set_to(message(6), identity=("m3", 0))),
    ("what a turn told is lost", "told", lose(6)),
    ("ids are swapped", "ids", set_to(call("transaction"), answer=[4, None])),
    ("a call got another turn's result", "results", set_to(call("call"), answer=[[5, "c1", 1]])),
    ("a call got another call's result", "results", set_to(call("call"), answer=[[7, "c2", 1]])),
    ("a waiter got a wrong result", "results", set_to(call("wait"), answer=[4, "s2", 1])),
    ("one key, two messages", "keys", set_to(call("keyed"), answer=14)),
    ("a message that was sent is gone", "statuses", set_to(call("status"), answer="gone")),
    ("a completed message was dead before", "statuses", set_to(call("status"), answer="dead")),
    ("a turn's number is missing", "counters", set_to(message(8), turn=9)),
    ("the counter is wrong", "counters", lambda h: h.actors.update({C: (1, 7, 6)})),
    ("a row of an incarnation that is gone", "counters", set_to(message(16), incarnation=15)),
    ("an effect is lost", "effects", lambda h: h.done.pop(1)),
    ("effects in the wrong order", "effects", lambda h: h.done.insert(0, h.done.pop(1))),
    ("a rejected turn took effect", "effects", lambda h: h.done.append(Done(C, 1, 9, ("s1", 3), 1, 8))),
    ("one sender's turns are swapped", "order", lambda h: swap_turns(h, 1, 2)),
    ("calls are swapped that did not overlap", "order", lambda h: swap_turns(h, 7, 8)),
    ("a message that was waited for ran after a later call", "waits", lambda h: (
        h.calls.insert(4, Call("c9", 1, "wait", {"message": 7}, 41, 41, 42, 42, "ok", [6, "c1", 1])), swap_turns(h, 7, 8))),
    ("a rejected message was not to be", "ends", set_to(message(8), status="rejected")),
    ("a message that was to be rejected completed", "ends", set_to(message(9), status="completed", turn=8,
                                                                   result=[8, "s1", 3], incarnation=1)),
    ("a dead letter has attempts left", "ends", set_to(message(10), attempts=2)),
    ("a message had too many attempts", "ends", set_to(message(11), attempts=5)),
    ("an innocent message was charged", "attempts", set_to(message(8), attempts=2)),
    ("an attempt was not counted", "attempts", lambda h: h.starts.append((0, C, 8, 2))),
    ("a late commit was accepted", "leases", late_commit),
    ("a commit in time was refused", "leases", set_to(call("commit"), outcome="error", answer="SO_LOST_CLAIM")),
    ("a message has two holders", "leases", second_holder),
    ("a commit answered something else when repeated", "leases", repeated_commit),
    ("an accepted commit is not on record", "settled", set_to(message(14), status="rejected")),
    ("a cancelled message completed", "cancelled", set_to(message(12), status="completed", turn=8, result=[8, "s1", 5],
                                                         incarnation=1)),
    ("a message is cancelled by nobody", "cancelled", set_to(call("cancel"), answer=0)),
    ("a second replacement", "retried", set_to(call("retry"), answer=12)),
    ("a replacement that nobody asked for", "retried", set_to(message(9), status="dead", replacement=12)),
    ("a turn of a paused actor", "paused", start_in_pause),
    ("a message that was destroyed is there", "destroyed", lambda h: h.messages.update(
        {15: Message(15, M, "step", "completed", 1, 2, [2, "c1", 2], None, ("c1", 2), 16)})),
    ("a message from before ran in the next incarnation", "destroyed", brought_back),
    ("an invariant was broken for a moment", "inspections", set_to(call("inspect"), answer=["a message is known twice"])),
    ("an error without a reason", "errors", set_to(call("send"), outcome="error", answer="database is locked")),
]


def main():
    findings = checker.check(sound())
    problems = [f"the sound history: {finding}" for finding in findings]
    for what, rule, doctor in DOCTORED:
        history = sound()
        doctor(history)
        reported = {found for found, _ in checker.check(history)}
        if rule not in reported:
            problems.append(f"{what}: not reported by '{rule}', but by {sorted(reported) or 'none'}")
    for rule in checker.RULES:
        if rule.__name__ not in {name for _, name, _ in DOCTORED}:
            problems.append(f"nothing shows that the rule '{rule.__name__}' can fail")
    print("\n".join(problems))
    print(f"{len(DOCTORED) + 1 - len(problems)} passed, {len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
