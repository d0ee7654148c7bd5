#!/usr/bin/python3
"""Waiting for a moment: a lock over the due time, a worker that stood still, steps of the clock, no busy loop."""
# Cases: C19, C03
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import fixture
from fixture import answer, call, check, start
from places import application, equal, holds, refused


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def runner(database, pipe, options):
    """Runs one turn; says how long it took and how much processor time, in ms."""
    c = database.connect()
    c.execute("PRAGMA busy_timeout = 10000")
    call(c, "SELECT so_version()")
    os.write(pipe, b"r")
    before, started = cpu(), time.monotonic()
    done = answer(c, "SELECT so_run(?)", options)["turns"]
    os.write(pipe, b"%d %d %d" % (done, (time.monotonic() - started) * 1000, (cpu() - before) * 1000))


def claimer(database, pipe, options):
    """The same for a worker outside, and what it may claim."""
    c = database.connect()
    os.write(pipe, b"r")
    before, started = cpu(), time.monotonic()
    rows = answer(c, "SELECT so_claim('w', ?)", options)
    os.write(pipe, b"%d %d %d" % (len(rows), (time.monotonic() - started) * 1000, (cpu() - before) * 1000))


class Waiter:
    def __init__(self, database, options='{"wait_ms": 8000, "max_turns": 1}', function=runner):
        self.reading, writing = os.pipe()
        self.process = start(function, database, writing, options)
        os.close(writing)
        equal(os.read(self.reading, 1), b"r", "a waiter's start")

    def end(self):
        """(turns, milliseconds, processor milliseconds)"""
        equal(os.waitpid(self.process, 0)[1], 0, "a waiter's end")
        done, waited, used = (int(part) for part in os.read(self.reading, 99).split())
        os.close(self.reading)
        return done, waited, used


def lock_over_the_due_time(database, c):
    """(a) due in 0.5 s; a writer holds the lock from 0.4 to 1 s. With a doorbell and without one."""
    message = call(c, "SELECT so_send('T', 'due', 'count', NULL, '{\"delay_ms\": 500}')")
    waiter = Waiter(database)
    writer = database.connect()
    time.sleep(0.4)
    writer.execute("BEGIN IMMEDIATE")
    time.sleep(0.6)
    equal(answer(c, "SELECT so_status(?)", message)["status"], "waiting", "the message while the lock is held")
    equal(call(c, "SELECT so_next_due()"), 0, "what is overdue is due now")
    writer.execute("ROLLBACK")
    done, waited, used = waiter.end()
    equal(done, 1, "turns")
    check(700 < waited < 2000, f"it ran after {waited} ms")
    check(used < 300, f"{used} ms of processor time in {waited} ms: a busy loop")
    writer.close()


def to_the_millisecond(c):
    """(b) due exactly now is due; one that became due while nothing ran is run by the first who looks."""
    now = call(c, "SELECT so_test_clock(0)")
    call(c, "SELECT so_send('T', 'exact', 'count', NULL, ?)", '{"at": %d}' % (now + 60000))
    equal(answer(c, "SELECT so_run()")["turns"], 0, "before its time")
    left = call(c, "SELECT so_next_due()")
    check(59000 < left <= 60000, f"due in {left} ms")
    call(c, "SELECT so_test_clock(?)", left)
    equal(answer(c, "SELECT so_run()")["turns"], 1, "at its time")
    call(c, "SELECT so_send('T', 'exact', 'count', NULL, ?)", '{"at": %d}' % (now + 120000))
    call(c, "SELECT so_test_clock(36000000)")
    equal(call(c, "SELECT so_next_due()"), 0, "ten hours late")
    equal(answer(c, "SELECT so_run()")["turns"], 1, "ten hours late")
    equal(call(c, "SELECT so_next_due()"), None, "nothing waits")


def in_its_millisecond(c):
    """Due now is due, not a millisecond later: where the clock stands still around a call, so does what the call says."""
    hits = 0
    for n in range(200):
        due = call(c, "SELECT so_test_clock(0)") + 3
        call(c, "SELECT so_send('T', ?, 'outside', NULL, ?)", f"ms{n}", '{"at": %d}' % due)
        brought, now = 0, 0
        while now <= due:
            before = call(c, "SELECT so_test_clock(0)")
            left = call(c, "SELECT so_next_due()")
            brought += answer(c, "SELECT so_tick()")["delayed"]
            now = call(c, "SELECT so_test_clock(0)")
            if before == now == due:
                equal((left, brought), (0, 1), "so_next_due, and what so_tick brought, in the millisecond when it is due")
                hits += 1
            elif now < due:
                equal(brought, 0, "what so_tick brought before it was due")
        (row,) = answer(c, "SELECT so_claim('w')")
        call(c, "SELECT so_commit(?)", row["claim"])
        if hits == 5:
            return
    check(hits > 0, "no call was within the millisecond")


def holder(database, pipe):
    """Claims, is stopped, and tries to renew, commit and fail afterwards."""
    c = database.connect()
    claim = answer(c, """SELECT so_claim('w', '{"lease_ms": 300}')""")[0]["claim"]
    os.write(pipe, b"c")
    time.sleep(0.2)  # the stop comes in here, and lasts beyond the lease
    for text in ("so_renew(?)", "so_commit(?, '{\"state\": {\"late\": 1}}')", "so_fail(?, 'late')", "so_release(?)", "so_reject(?, 'NO')"):
        refused(c, f"SELECT {text}", "SO_LOST_CLAIM", claim)


def stood_still(database, c):
    """(c) SIGSTOP beyond the lease: somebody else finishes, the one that wakes up has lost."""
    message = call(c, "SELECT so_send('T', 'still', 'outside')")
    reading, writing = os.pipe()
    process = start(holder, database, writing)
    os.read(reading, 1)
    os.kill(process, signal.SIGSTOP)
    rows = answer(c, """SELECT so_claim('w', '{"wait_ms": 3000}')""")
    equal([(row["message"], row["attempt"]) for row in rows], [(message, 2)], "the claim after the lease")
    call(c, "SELECT so_commit(?, '{\"state\": {\"late\": 0}}')", rows[0]["claim"])
    os.kill(process, signal.SIGCONT)
    equal(os.waitpid(process, 0)[1], 0, "the one that was stopped")
    equal(answer(c, "SELECT so_snapshot('T', 'still')")["state"], {"late": 0}, "the state")
    equal(answer(c, "SELECT so_status(?)", message)["attempts"], 2, "attempts")
    os.close(reading)
    os.close(writing)


def stopped_with_the_gate(database, c):
    """A process that is stopped in the middle of its writing holds up the others for as long as SQLite's lock, not longer."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import fixture, sqlite3\n"
            "c = sqlite3.connect(sys.argv[2], isolation_level=None, timeout=10); c.enable_load_extension(True)\n"
            "c.load_extension(fixture.LIBRARY); print('ready', flush=True)\n"
            "while True: c.execute(\"SELECT so_call('T', 'stops', 'count')\").fetchall()\n")
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), database.path],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        # Whether it holds the lock is SQLite's to say; if not, nobody waits for it.
        free = database.connect()
        free.execute("PRAGMA busy_timeout = 0")
        try:
            free.execute("BEGIN IMMEDIATE")
            free.execute("ROLLBACK")
            started = time.monotonic()
            call(c, "SELECT so_call('T', 'goes', 'count')")
            check(time.monotonic() - started < 2, f"{time.monotonic() - started} s for a call beside a process that stands still")
        except Exception as error:
            check("locked" in str(error), f"{error}")
        free.close()
        process.kill()
        process.wait()
        process.stdout.close()
        call(c, "SELECT so_call('T', 'goes', 'count')")


def clock_steps(database, c):
    """(d) The clock goes an hour back or forth while workers wait and hold leases."""
    for step in (-3600000, 3600000):
        call(c, "SELECT so_send('T', ?, 'outside')", f"leased{step}")
        claim = answer(c, "SELECT so_claim('w')")[0]["claim"]
        call(c, "SELECT so_send('T', 'back-off', 'count', NULL, '{\"delay_ms\": 7200000}')")
        waiter = Waiter(database)
        call(c, "SELECT so_test_clock(?)", step)
        time.sleep(0.1)
        call(c, "SELECT so_send('T', 'step', 'count')")
        done, waited, used = waiter.end()
        equal(done, 1, f"{step}: turns")
        check(waited < 1000, f"{step}: new work was taken after {waited} ms")
        check(used < 300, f"{step}: {used} ms of processor time")
        due = call(c, "SELECT so_next_due()")
        check(due is None or due >= 0, f"{step}: due in {due} ms")
        if step < 0:
            # A step back makes leases longer by as much; their holders are not disturbed.
            call(c, "SELECT so_commit(?)", claim)
        else:
            # A step forward ends the lease; the fence holds whoever is there.
            refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
            again = answer(c, "SELECT so_claim('w')")[0]
            refused(c, "SELECT so_commit(?)", "SO_LOST_CLAIM", claim)
            call(c, "SELECT so_commit(?)", again["claim"])
    call(c, "SELECT so_test_clock(7300000)")
    call(c, "SELECT so_run()")


def real_clock_steps(database, c):
    """The same with the clock of the system itself, for a process whose clock runs an hour late or early."""
    library = next((path for path in ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
                                      "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1") if os.path.exists(path)), None)
    if library is None or shutil.which("sqlite3") is None:
        print("clocks of other processes: skipped, libfaketime is not here")
        return
    for offset, milliseconds in (("-1h", -3600000), ("+1h", 3600000)):
        done = subprocess.run(
            ["sqlite3", "-bail", "-cmd", ".timeout 5000", "-cmd", f".load {fixture.LIBRARY}", database.path],
            input="SELECT so_test_clock(0); SELECT so_send('T', 'faked', 'count'); SELECT so_run('{\"wait_ms\": 200}') ->> 'completed';",
            env=dict(os.environ, LD_PRELOAD=library, FAKETIME=offset, DONT_FAKE_MONOTONIC="1"), capture_output=True, text=True, check=False)
        equal((done.returncode, done.stdout.split()[-1:]), (0, ["1"]), f"{offset}: {done.stderr}")
        apart = int(done.stdout.split()[0]) - call(c, "SELECT so_test_clock(0)") - milliseconds
        check(abs(apart) < 60000, f"{offset}: the other process's clock was not that: {apart} ms")


def no_busy_loop(database, c):
    """(e) Heads that are blocked, paused, stuck or overdue: nothing is due, and waiting takes hardly any processor time."""
    call(c, "SELECT so_define_actor('B', '{\"retry_base_ms\": 3600000, \"retry_cap_ms\": 3600000}')")
    call(c, "SELECT so_define_operation('B', 'break', 'SELECT abs(-9223372036854775808)')")
    call(c, "SELECT so_define_operation('B', 'fine', 'SELECT 1 AS result')")
    call(c, "SELECT so_define_operation('B', 'outside', NULL)")
    for operation in ("break", "fine", "fine"):
        call(c, "SELECT so_send('B', 'blocked', ?)", operation)
    for operation in ("outside", "fine"):
        call(c, "SELECT so_send('B', 'external', ?)", operation)
    call(c, "SELECT so_run()")
    # Overdue, and nobody may start it: before and after somebody sorted it, and where it was delayed or tried before.
    call(c, "SELECT so_define_operation('B', 'lost', 'SELECT 1 AS result')")
    for key in ("paused", "paused outside"):
        operation = "outside" if key.endswith("outside") else "fine"
        call(c, "SELECT so_pause('B', ?)", key)
        call(c, "SELECT so_send('B', ?, ?, NULL, '{\"delay_ms\": 1000}')", key, operation)
        call(c, "SELECT so_send('B', ?, ?)", key, operation)
    call(c, "SELECT so_send('B', 'stuck', 'lost', NULL, '{\"delay_ms\": 1000}')")
    call(c, "SELECT so_send('B', 'paused in back-off', 'break')")
    call(c, "SELECT so_run()")
    call(c, "SELECT so_pause('B', 'paused in back-off')")
    call(c, "SELECT so_define_operation('B', 'lost', 'SELECT 1 AS result', '{\"query\": true}')")
    call(c, "SELECT so_test_clock(5000)")
    held = answer(c, """SELECT so_claim('w', '{"max": 9, "lease_ms": 3600000}')""")
    equal([row["key"] for row in held], ["external"], "what could be claimed")
    for doorbell in (True, False):
        if not doorbell:
            os.remove(database.path + "-solidobj")
            os.mkdir(database.path + "-solidobj")
        call(c, "SELECT so_send('B', 'paused', 'fine')")
        call(c, "SELECT so_pause('B', ?)", f"just paused {doorbell}")
        call(c, "SELECT so_send('B', ?, 'fine')", f"just paused {doorbell}")
        check(call(c, "SELECT so_next_due()") > 1000000, "so_next_due says that a message of a paused actor is due")
        for function in (runner, claimer):
            where = f"{function.__name__}, doorbell: {doorbell}"
            done, waited, used = Waiter(database, '{"wait_ms": 1200}', function).end()
            equal(done, 0, f"{where}: turns or claims")
            check(1150 < waited < 3000, f"{where}: it waited {waited} ms")
            check(used < 400, f"{where}: {used} ms of processor time in {waited} ms")
        check(call(c, "SELECT so_next_due('[\"B\"]')") > 1000000, "so_next_due says that something is due")
    call(c, "SELECT so_release(?)", held[0]["claim"])
    os.rmdir(database.path + "-solidobj")


def main():
    database, c = application()
    call(c, "SELECT so_install('{\"test\": true}')")
    lock_over_the_due_time(database, c)
    to_the_millisecond(c)
    in_its_millisecond(c)
    stood_still(database, c)
    stopped_with_the_gate(database, c)
    clock_steps(database, c)
    real_clock_steps(database, c)
    holds(c, "after the steps")
    no_busy_loop(database, c)
    holds(c, "in the end")
    c.close()
    database.close()


main()
