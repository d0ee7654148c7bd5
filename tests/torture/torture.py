#!/usr/bin/python3
"""
Crash and concurrency: many clients and workers on few actors, killed and stopped at random moments, in rounds with
varied settings. After each round everything is run to its end, and the checker proves from what the clients recorded
and what the database holds that all went by the rules.

    torture.py [--seconds N | --minutes N] [--seed N] [--round-seconds N] [--rounds N] [--directory PATH]

Prints a line a round. Stops at the first finding, keeps that round's files, and prints the seed.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass

import checker
import clients
import history
import invariants

ROLES = ["sender"] * 3 + ["caller"] * 3 + ["runner"] * 2 + ["worker"] * 3 + ["admin"]
RUNS_TURNS = ("caller", "runner", "finish")
STUCK_SECONDS = 60
LEAST_TURNS = 20  # a round with fewer proves nothing
MEMORY = "/dev/shm"  # a commit that waits for no disk makes other races likely

# The first rounds of every run, so that a short one has seen each of these; then come random ones.
SETTINGS = [
    {"journal": "wal", "synchronous": "NORMAL", "doorbell": True, "kills": True, "disk": True, "types": "CXNF"},
    {"journal": "delete", "synchronous": "NORMAL", "doorbell": True, "kills": True, "disk": False, "types": "NF"},
    {"journal": "wal", "synchronous": "FULL", "doorbell": False, "kills": True, "disk": False, "types": "CXF"},
    {"journal": "wal", "synchronous": "OFF", "doorbell": True, "kills": False, "disk": True, "types": "FN"},
    {"journal": "delete", "synchronous": "FULL", "doorbell": False, "kills": True, "disk": True, "types": "XN"},
    {"journal": "wal", "synchronous": "FULL", "doorbell": True, "kills": True, "disk": True, "types": "CX"},
]
TYPES = ["CX", "CCX", "C", "X", "N", "F", "CN", "XF", "NF", "CXNF"]


def settings_of(number, chance):
    if number < len(SETTINGS):
        settings = dict(SETTINGS[number])
    else:
        settings = {"journal": chance.choice(["wal", "wal", "delete"]),
                    "synchronous": chance.choice(["OFF", "NORMAL", "FULL"]),
                    "doorbell": chance.random() < 0.7, "kills": chance.random() < 0.8, "disk": chance.random() < 0.5,
                    "types": chance.choice(TYPES)}
    settings["actors"] = [(kind, str(key)) for key, kind in enumerate(settings["types"] * chance.randint(1, 2))]
    roomy = [actor for actor in settings["actors"] if actor[0] not in clients.LIMITED]
    candidates = roomy if roomy and chance.random() < 0.7 else settings["actors"]  # more can be known of who lives on
    mortals = min(chance.choice([0, 1, 2]), len(candidates)) if number else 2
    settings["mortals"] = chance.sample(candidates, mortals)  # who may be destroyed
    settings["limits"] = {kind: chance.choice([1, 3, 8]) for kind in clients.LIMITED}  # max_mailbox
    settings["forgetful"] = clients.FORGETFUL
    settings["threads"] = chance.choice([0, 0.3])  # how many processes have two
    settings["late"] = chance.choice([0.02, 0.08])
    settings["suicide"] = chance.choice([0, 0.003]) if settings["kills"] else 0
    settings["max_attempts"] = clients.MAX_ATTEMPTS
    return settings


def describe(settings):
    actors = " ".join(kind + key for kind, key in settings["actors"])
    return (f"{settings['journal']}/{settings['synchronous']}, {'disk' if settings['disk'] else 'memory'}, "
            f"{'' if settings['doorbell'] else 'no '}doorbell, "
            f"{'kills' if settings['kills'] else 'no kills'}, {actors}, "
            f"{len(settings['mortals'])} mortal{', threads' if settings['threads'] else ''}")


@dataclass
class Process:
    name: str
    role: str
    runs_turns: int  # threads that do
    stopped_until: float = 0


class Round:
    """One database in a directory of its own, and the processes on it."""

    def __init__(self, directory, number, seed, seconds):
        self.chance = random.Random(seed)
        self.settings = settings_of(number, self.chance)
        os.makedirs(directory, exist_ok=True)
        in_memory = not self.settings["disk"] and os.access(MEMORY, os.W_OK)
        self.directory = tempfile.mkdtemp(prefix=f"seed-{seed}.", dir=MEMORY if in_memory else directory)
        self.path = os.path.join(self.directory, "torture.db")
        self.logs = os.path.join(self.directory, "logs")
        self.seconds = seconds
        self.processes = {}
        self.started = 0
        self.kills = 0
        self.stops = 0
        self.disturbances = 0
        self.findings = []
        os.makedirs(self.logs)
        clients.install(self.path, self.settings)

    def find(self, rule, text):
        self.findings.append((rule, text))

    def start(self, role, until):
        self.started += 1
        name = f"{role[0]}{self.started}"
        seed = self.chance.randrange(1 << 30)
        roles = [role]
        if role in ROLES and self.chance.random() < self.settings["threads"]:
            roles.append(self.chance.choice(ROLES[:-1]))
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.dup2(os.open(os.path.join(self.directory, "errors"), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
                code = 0 if clients.play(self.path, self.logs, self.settings, name, roles, seed, until) else 1
            except Exception:  # whatever it is, the parent's code must not go on here
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(code)
        self.processes[process] = Process(name, role, sum(role in RUNS_TURNS for role in roles))

    def ended(self, process, status, expected):
        """Takes note of an end; `expected`: we killed it, or its time is over."""
        entry = self.processes.pop(process)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.kills += 1
            self.disturbances += entry.runs_turns
        elif os.WIFSIGNALED(status) or os.WEXITSTATUS(status) or not expected:
            self.find("process", f"{entry.name} ended by itself, status {status}; see the file errors")
        return entry

    def reap(self, expected):
        """Who died by a handler's doing; gives their roles."""
        roles = []
        for process in list(self.processes):
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                roles.append(self.ended(process, status, expected).role)
        return roles

    def disturb(self, until):
        process = self.chance.choice(list(self.processes))
        entry = self.processes[process]
        if self.chance.random() < 0.8:
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            self.ended(process, status, True)
            self.start(entry.role, until)
        elif not entry.stopped_until:
            os.kill(process, signal.SIGSTOP)
            self.stops += 1
            self.disturbances += entry.runs_turns
            entry.stopped_until = time.monotonic() + self.chance.random() * 0.8

    def wake_stopped(self, everybody=False):
        for process, entry in self.processes.items():
            if entry.stopped_until and (everybody or time.monotonic() > entry.stopped_until):
                os.kill(process, signal.SIGCONT)
                entry.stopped_until = 0

    def play(self):
        until = time.monotonic() + self.seconds
        for role in ROLES:
            self.start(role, until)
        while time.monotonic() < until and not self.findings:
            time.sleep(self.chance.random() * 0.15)
            self.wake_stopped()
            for role in self.reap(time.monotonic() >= until):
                self.start(role, until)
            if self.settings["kills"] and self.processes:
                self.disturb(until)
        self.wake_stopped(everybody=True)
        if self.settings["kills"] and self.chance.random() < 0.5:
            self.kill_all()
        end = time.monotonic() + STUCK_SECONDS
        while self.processes and time.monotonic() < end:
            self.reap(True)
            time.sleep(0.005)
        if self.processes:
            self.find("process", f"{[entry.name for entry in self.processes.values()]} never end")
        self.kill_all()

    def kill_all(self):
        for process in list(self.processes):
            os.kill(process, signal.SIGKILL)
        for process in list(self.processes):
            _, status = os.waitpid(process, 0)
            self.ended(process, status, True)

    def finish(self):
        """Runs what is left; a handler may kill who does."""
        until = time.monotonic() + STUCK_SECONDS
        done = False
        while not done and not self.findings and time.monotonic() < until:
            kills = self.kills
            self.start("finish", until)
            while self.processes:
                self.reap(True)
                time.sleep(0.005)
            done = self.kills == kills
        if time.monotonic() >= until:
            self.find("finish", f"messages stay in the mailbox for {STUCK_SECONDS} s")

    def inspect(self, moment):
        db = clients.connect(self.path, self.settings)
        for text in invariants.check(db):
            self.find(moment, text)
        db.close()

    def keep(self):
        """The database as the last kill left it, before anybody opens it again."""
        os.mkdir(os.path.join(self.directory, "killed"))
        for entry in os.scandir(self.directory):
            if entry.name.startswith("torture.db") and entry.is_file():
                shutil.copy(entry.path, os.path.join(self.directory, "killed", entry.name))

    def verify(self):
        self.keep()
        self.inspect("after the kills")
        if self.findings:
            return None
        self.finish()
        self.inspect("in the end")
        db = clients.connect(self.path, self.settings)
        found = history.load(self.logs, db, self.settings, self.disturbances)
        db.close()
        self.findings += checker.check(found)
        return found

    def run(self):
        """The history, None if it did not come to that."""
        try:
            self.play()
        finally:
            self.kill_all()
        return None if self.findings else self.verify()


def summary(found):
    calls = len(found.calls)
    completed = sum(message.status == "completed" for message in found.messages.values())
    cancelled = sum(message.status == "cancelled" for message in found.messages.values())
    dead = sum(message.status == "dead" for message in found.messages.values())
    rejected = len(found.messages) - completed - dead - cancelled
    lost = sum(call.answer == "SO_LOST_CLAIM" for call in found.calls)
    unknown = sum(call.outcome is None for call in found.calls)
    return (f"{calls} calls ({unknown} cut off, {lost} lost claims), {len(turns_of(found))} turns, {rejected} rejected, "
            f"{dead} dead, {cancelled} cancelled")


def turns_of(found):
    """Messages that completed, with those that went with their actor."""
    return {number for number, message in found.messages.items() if message.status == "completed"} | {
        row.message for row in found.done}


def rare(found):
    """What a run has to have seen; a rule about something that never happened proves nothing."""
    answers = [answer for call in found.calls for answer in (
        call.answer if call.kind == "transaction" and call.answer else [call.answer])]
    return Counter({
        "forgotten turns": sum(row.message not in found.messages and row.actor[0] in found.settings["forgetful"]
                               for row in found.done),
        "full mailboxes": answers.count(checker.FULL),
        "left out": sum(call.kind == "send" and call.answer == [None] for call in found.calls),
        "incarnations gone": answers.count(checker.GONE),
        "turns of migrated states": sum(row.steps > 0 for row in found.done),
    })


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--rounds", type=int, default=1 << 30)
    parser.add_argument("--round-seconds", type=float, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", default="build/torture")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end and the files go
    seconds = options.minutes * 60 if options.minutes else options.seconds
    end = time.monotonic() + seconds
    calls = turns = kills = number = 0
    seen = Counter()
    while number < options.rounds and (number == 0 or time.monotonic() < end):
        seed = options.seed + number
        begun = time.monotonic()
        one = Round(options.directory, number, seed, options.round_seconds)
        try:
            found = one.run()
        except BaseException:
            shutil.rmtree(one.directory)
            raise
        took = time.monotonic() - begun
        print(f"round {number + 1}, seed {seed}: {describe(one.settings)}: {summary(found) if found else 'no history'}, "
              f"{one.kills} kills, {one.stops} stops, {took:.1f} s", flush=True)
        if found and not one.findings and len(turns_of(found)) < LEAST_TURNS:
            one.find("torture", "too little happened to prove anything")
        if one.findings:
            for rule, text in one.findings:
                print(f"FOUND {rule}: {text[:600]}")
            directory = os.path.join(options.directory, f"seed-{seed}")
            shutil.rmtree(directory, ignore_errors=True)
            shutil.move(one.directory, directory)
            print(f"the files are in {directory} (killed: before they were opened again); once more, "
                  f"with other moments: tests/torture/torture.py --seed {options.seed} --rounds {number + 1}")
            print(f"{number} passed, 1 failed, 0 skipped")
            return 1
        shutil.rmtree(one.directory)
        seen.update(rare(found))
        calls, turns, kills, number = calls + len(found.calls), turns + len(turns_of(found)), kills + one.kills, number + 1
    missing = [what for what, count in seen.items() if count == 0] if number >= len(SETTINGS) else []
    print(", ".join(f"{count} {what}" for what, count in seen.items()))
    if missing:
        print(f"never seen: {', '.join(missing)}; seed {options.seed}")
        print(f"{number} passed, 1 failed, 0 skipped")
        return 1
    print(f"{number} rounds, {calls} calls, {turns} turns, {kills} kills, no finding, seed {options.seed}")
    print(f"{number} passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
