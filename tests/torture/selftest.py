#!/usr/bin/python3
"""The checker can fail: a sound history passes, and each of these doctored ones is reported by the rule it breaks."""
import copy
import sys

import checker
from history import Call, Done, History, Message, Start

C, X, M, N, F = ("C", "0"), ("X", "1"), ("C", "mortal"), ("N", "2"), ("F", "3")


class Book:
    """Writes a sound history, call by call."""

    def __init__(self):
        self.history = History({"max_attempts": 4, "doorbell": True, "limits": {"F": 1}, "forgetful": ["N"]})
        self.now = 0
        self.numbers = {}
        self.counters = {}
        self.versions = {}  # of the types that were raised
        self.births = {}  # actor: version

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
            version = self.versions.get(actor[0], 1)
            steps = version - self.births.setdefault(actor, version)
            self.history.actors[actor] = (incarnation, turn, {"n": turn, "v": version, "steps": steps})
        known = None if status == "cancelled" else identity
        self.history.messages[message] = Message(message, actor, operation, status, attempts, turn, result, None, known,
                                                 incarnation, **more)
        if operation == "step" and status in ("completed", "rejected"):
            self.start(message, actor, identity, attempts)
        if status == "completed" and (operation == "step" or actor == N):
            self.history.done.append(Done(actor, incarnation, message, identity, attempts, turn, version, steps,
                                          version if operation == "step" else None))
        return result

    def start(self, message, actor, identity, attempt=1):
        version = self.versions.get(actor[0], 1)
        self.history.starts.append(Start(self.now + 1, actor, message, attempt, identity, version))

    def forgotten(self, *arguments, **more):
        """A message that leaves no row."""
        result = self.message(*arguments, **more)
        del self.history.messages[arguments[0]]
        return result

    def raise_version(self, kind):
        self.versions[kind] = self.versions.get(kind, 1) + 1
        self.call("a1", "raise", {"type": kind, "kept": True}, "ok", self.versions[kind])


def row(message, expires_ms, actor=X, identity=("s1", 6)):
    return {"claim": f"c{message}", "message": message, "type": actor[0], "key": actor[1], "attempt": 1,
            "args": {"s": identity[0], "m": identity[1]}, "state": {"n": 0, "v": 1, "steps": 0}, "expires_ms": expires_ms}


def without_history(b):
    b.call("s3", "send", {"offers": [b.offer(1, N)]}, "ok", [20])
    b.forgotten(20, N, ("s3", 1))
    b.call("s3", "send", {"offers": [b.offer(2, N, options={"keep_result": True})]}, "ok", [21])
    b.message(21, N, ("s3", 2))
    b.call("s3", "send", {"offers": [b.offer(3, N, behaviour={"r": 1})]}, "ok", [22])
    b.forgotten(22, N, ("s3", 3), "rejected")
    b.call("s3", "send", {"offers": [b.offer(4, N, options={"delay_ms": 5})]}, "ok", [23])
    b.call("s3", "cancel", {"message": 23}, "ok", 1)
    b.call("s3", "send", {"offers": [b.offer(5, N, "out")]}, "ok", [24])
    b.call("w3", "claim", {}, "ok", [row(24, b.now + 1000, N, ("s3", 5))])
    b.call("w3", "commit", {"claim": "c24", "message": 24}, "ok", 1)
    b.call("w3", "commit", {"claim": "c24", "message": 24}, "error", "SO_LOST_CLAIM")
    b.forgotten(24, N, ("s3", 5), operation="out")
    b.call("s3", "status", {"message": 20}, "ok", "gone")
    b.call("s3", "wait", {"message": 24}, "ok", [3, "s3", 5])
    b.call("s3", "wait", {"message": 20}, "error", "SO_UNKNOWN_MESSAGE")
    b.call("s3", "transaction", {"offers": [b.offer(6, N), b.offer(7, N, behaviour={"r": 1})]}, None)
    b.forgotten(25, N, ("s3", 6))
    b.forgotten(26, N, ("s3", 7), "rejected")
    b.call("c3", "call", {"offers": [b.offer(1, N)]}, "ok", [b.forgotten(27, N, ("c3", 1))])


def full_mailbox(b):
    b.call("s4", "send", {"offers": [b.offer(1, F)]}, "ok", [30])
    b.call("s5", "send", {"offers": [b.offer(1, F)]}, "error", checker.FULL)
    b.call("s5", "transaction", {"offers": [b.offer(2, C), b.offer(3, F)]}, "ok", [31, checker.FULL])
    b.call("a1", "count", {}, "ok", [["F", "3", 1]])
    b.message(31, C, ("s5", 2))
    b.message(30, F, ("s4", 1))
    b.call("c4", "call", {"offers": [b.offer(1, F)]}, "ok", [b.message(32, F, ("c4", 1))])
    b.call("c4", "call", {"offers": [b.offer(2, C, behaviour={"t": "3", "tt": "F"})]}, "ok",
           [b.message(33, C, ("c4", 2))])
    b.message(34, F, ("m33", 0))


def living(b):
    b.call("s6", "send", {"offers": [b.offer(1, C, options={"if_exists": True})]}, "ok", [35])
    b.message(35, C, ("s6", 1))
    b.call("s6", "send", {"offers": [b.offer(2, checker.NOBODY, options={"if_exists": True})]}, "ok", [None])
    b.call("s6", "send", {"offers": [b.offer(3, C, options={"incarnation": 1})]}, "ok", [36])
    b.message(36, C, ("s6", 3))
    b.call("c6", "call", {"offers": [b.offer(1, C, behaviour={"t": "nobody", "o": {"if_exists": True}})]}, "ok",
           [b.message(37, C, ("c6", 1))])


def raised(b):
    b.call("c7", "query", {"actor": F}, "ok", [3, 1, 0, 1])
    b.raise_version("F")
    b.call("c7", "query", {"actor": F}, "ok", [3, 2, 1, 2])
    b.call("c7", "call", {"offers": [b.offer(1, F)]}, "ok", [b.message(38, F, ("c7", 1))])


def tried_twice(b):
    """By two processes: the log of the second one is loaded before that of the first."""
    b.call("s8", "send", {"offers": [b.offer(1, F, behaviour={"f": 1})]}, "ok", [50])
    first = Start(b.now + 6, F, 50, 1, ("s8", 1), b.versions["F"])
    for number in (1, 2):
        b.call("c8", "call", {"offers": [b.offer(number, C)]}, "ok", [b.message(50 + number, C, ("c8", number))])
    b.call("s9", "send", {"offers": [b.offer(1, F)]}, "error", checker.FULL)
    b.message(50, F, ("s8", 1), attempts=2)
    b.history.starts.append(first)


def id_again(b):
    """A call that was rolled back leaves its id to a message of the same actor, which no handler runs."""
    b.start(53, F, ("c9", 1))
    b.call("c9", "calls", {"offers": [b.offer(1, F, kept=False)]}, "ok", [[4, "c9", 1]])
    b.call("s8", "send", {"offers": [b.offer(2, F, "out")]}, "ok", [53])
    for number in (1, 2):
        b.call("c10", "call", {"offers": [b.offer(number, C)]}, "ok", [b.message(53 + number, C, ("c10", number))])
    b.call("s9", "send", {"offers": [b.offer(2, F)]}, "error", checker.FULL)
    b.call("w8", "claim", {}, "ok", [row(53, b.now + 1000, F, ("s8", 2)) | {
        "state": {"n": 3, "v": b.versions["F"], "steps": 1}}])
    b.call("w8", "commit", {"claim": "c53", "message": 53}, "ok", 4)
    b.message(53, F, ("s8", 2), operation="out")


def told_before_a_call(b):
    """A call runs what waits, which tells its own actor: that runs after the call, with a lower id."""
    b.call("s11", "send", {"offers": [b.offer(1, C, behaviour={"t": "0", "tt": "C"})]}, "ok", [56])
    call = b.call("c11", "call", {"offers": [b.offer(1, C)]}, "ok")
    b.message(56, C, ("s11", 1))
    call.answer = [b.message(58, C, ("c11", 1))]
    b.message(57, C, ("m56", 0))


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
    without_history(b)
    full_mailbox(b)
    living(b)
    raised(b)
    tried_twice(b)
    id_again(b)
    told_before_a_call(b)
    b.call("c1", "call", {"offers": [b.offer(2, M)]}, "ok", [b.message(15, M, ("c1", 2))])
    del b.history.messages[15], b.counters[M]
    b.call("a1", "destroy", {"actor": M}, "ok", 1)
    b.call("c1", "call", {"offers": [b.offer(3, M)]}, "ok", [b.message(16, M, ("c1", 3))])
    b.call("s6", "send", {"offers": [b.offer(4, M, options={"incarnation": 15})]}, "error", checker.GONE)
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
        history.messages.pop(number, None)
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
    history.starts.append(Start(find_call(history, "pause").end + 1, C, 8, 1, ("c2", 1), 1))


def brought_back(history):
    history.done[-2].incarnation, history.done[-2].n = 16, 2


def offering(process, number):
    """The call that made this offer."""
    return lambda history: next(call for call in history.calls if call.process == process
                                and any(offer["number"] == number for offer in call.offers))


def change_offer(process, number, **values):
    def doctor(history):
        for offer in offering(process, number)(history).offers:
            if offer["number"] == number:
                offer.update(values)
    return doctor


def effect(number):
    return lambda history: next(row for row in history.done if row.message == number)


def put_back(number, actor, identity, turn):
    def doctor(history):
        history.messages[number] = Message(number, actor, "step", "completed", 1, turn, [turn, *identity], None, identity,
                                           effect(number)(history).incarnation)
    return doctor


def took_in_too_many(history):
    call = offering("s5", 1)(history)
    call.outcome, call.answer = "ok", [40]
    history.messages[40] = Message(40, F, "step", "cancelled", 0)
    history.calls.append(Call("s5", 9, "cancel", {"message": 40}, 10000, 10000, 10001, 10001, "ok", 1))


def add_call(kind, arguments, outcome, answer, begin=10000, process="s9"):
    return lambda history: history.calls.append(
        Call(process, 99, kind, copy.deepcopy(arguments), begin, begin, begin + 1, begin + 1, outcome, answer))


def add_start(number, actor, identity, attempt, version=1):
    return lambda history: history.starts.append(Start(10000, actor, number, attempt, identity, version))


def add_told(history):
    history.messages[40] = Message(40, ("T", "nobody"), "step", "completed", 1, 1, [1, "m37", 0], None, ("m37", 0), 40)


def one_offer(number, actor, **options):
    return {"offers": [Book().offer(number, actor, options=options)]}


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
    ("the counter is wrong", "counters", lambda h: h.actors[C][2].update(n=6)),
    ("a row of an incarnation that is gone", "counters", set_to(message(16), incarnation=15)),
    ("an effect is lost", "effects", lambda h: h.done.pop(1)),
    ("effects in the wrong order", "effects", lambda h: h.done.insert(0, h.done.pop(1))),
    ("a rejected turn took effect", "effects", lambda h: h.done.append(Done(C, 1, 9, ("s1", 3), 1, 8, 1, 0, 1))),
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
    ("an attempt was not counted", "attempts", add_start(8, C, ("c2", 1), 2)),
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
    ("without history: a turn is lost", "lost", lose(20)),
    ("without history: a rejected message never began", "lost", lambda h: h.starts.__setitem__(
        slice(None), [start for start in h.starts if start.message != 22])),
    ("without history: a cancelled message is lost", "lost", set_to(call("cancel", 1), answer=0)),
    ("without history: half of a transaction is there", "halves", lose(25)),
    ("without history: what was rolled back took effect", "undone", change_offer("s3", 1, kept=False)),
    ("without history: a turn took effect twice", "doubled", lambda h: h.done.append(copy.deepcopy(effect(20)(h)))),
    ("without history: a turn that nobody sent", "known", set_to(effect(20), identity=("s9", 1))),
    ("without history: an id is another message's", "ids", set_to(offering("s3", 1), answer=[99])),
    ("without history: a waiter got a wrong result", "results", set_to(call("wait", 1), answer=[2, "s3", 5])),
    ("without history: a call got a wrong result", "results", set_to(offering("c3", 1), answer=[[4, "c3", 1]])),
    ("without history: a turn's number is missing", "counters", set_to(effect(27), n=9)),
    ("without history: the count is wrong", "counters", lambda h: h.actors.update({N: (20, 9, h.actors[N][2])})),
    ("without history: turns are swapped", "order", lambda h: (
        set_to(effect(20), n=2)(h), set_to(message(21), turn=1)(h))),
    ("without history: a turn that was to be rejected", "ends", change_offer("s3", 1, behaviour={"r": 1})),
    ("without history: an attempt was not counted", "attempts", add_start(20, N, ("s3", 1), 2)),
    ("without history: an innocent message was charged", "attempts", set_to(effect(20), attempt=2)),
    ("without history: an accepted commit is lost", "settled", lose(24)),
    ("without history: a cancelled message took effect", "cancelled", lambda h: h.done.append(
        Done(N, 20, 23, ("s3", 4), 1, 6, 1, 0, 1))),
    ("a message that was over began again", "over", add_start(3, C, ("s2", 1), 1)),
    ("a message that is gone began again", "over", add_start(20, N, ("s3", 1), 1)),
    ("a message that is gone was claimed", "over", add_call("claim", {}, "ok", [row(20, 20000, N, ("s3", 1))])),
    ("a row is left where there is no history", "histories", put_back(20, N, ("s3", 1), 1)),
    ("a result that was to be kept is gone", "histories", lambda h: h.messages.pop(21)),
    ("what was refused is there", "undone", lambda h: h.messages.update(
        {40: Message(40, F, "step", "cancelled", 0, identity=("s5", 3))})),
    ("a full mailbox took a message in", "limits", took_in_too_many),
    ("a mailbox was seen with too many", "limits", set_to(call("count"), answer=[["F", "3", 2]])),
    ("an empty mailbox refused a message", "limits", add_call("send", one_offer(1, F), "error", checker.FULL)),
    ("a part was refused by an empty mailbox", "limits", add_call("transaction", one_offer(1, F), "ok", [checker.FULL])),
    ("a mailbox was full that has no limit", "limits", add_call("send", one_offer(1, C), "error", checker.FULL)),
    ("what a turn told a small mailbox is lost", "told", lose(34)),
    ("a turn told somebody who never lived", "told", add_told),
    ("a message for a living actor founded one", "addressed", change_offer("c1", 3, options={"if_exists": True})),
    ("a living actor was passed by", "addressed", set_to(offering("s6", 1), answer=[None])),
    ("somebody who never lived was sent to", "addressed", set_to(offering("s6", 2), answer=[40])),
    ("a message ran in another incarnation", "addressed", change_offer("s6", 3, options={"incarnation": 2})),
    ("an incarnation that is gone was sent to", "addressed", set_to(offering("s6", 4), outcome="ok", answer=[40])),
    ("an incarnation that never lived was sent to", "addressed", change_offer(
        "s6", 3, options={"incarnation": checker.NO_INCARNATION})),
    ("an incarnation that lives was refused", "addressed", add_call(
        "send", one_offer(1, C, incarnation=1), "error", checker.GONE)),
    ("a handler of an earlier version ran", "migrated", add_start(38, F, ("c7", 1), 1)),
    ("a handler of a version to come ran", "migrated", add_start(38, F, ("c7", 1), 1, 3)),
    ("a handler was given a state of an earlier version", "migrated", set_to(effect(38), version=1, steps=0)),
    ("a step was made twice", "migrated", set_to(effect(38), steps=2)),
    ("a new actor's state was migrated", "migrated", set_to(effect(30), steps=1)),
    ("a state was stored without its step", "migrated", lambda h: h.actors[F][2].update(steps=0)),
    ("a claim gave a state of an earlier version", "migrated", lambda h: h.calls.append(Call(
        "w9", 1, "claim", {}, 10000, 10000, 10001, 10001, "ok", [row(38, 20000, F, ("c7", 1))]))),
    ("a query saw a state of an earlier version", "migrated", set_to(call("query", 1), answer=[3, 1, 0, 2])),
    ("a query missed a turn", "queries", set_to(call("query"), answer=[1, 1, 0, 1])),
    ("a query saw a turn that never was", "queries", set_to(call("query"), answer=[9, 1, 0, 1])),
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
