#!/usr/bin/python3
"""A message that kills its external worker, three times by SIGKILL: it ends as a dead letter, and the next one is handed out."""
# Cases: C06
import os
import signal
import time

from fixture import answer, call, check, start
from places import application, equal, holds

LEASE_MS = 250


def claimer(database, pipe):
    """Claims, says so, and works until it is killed."""
    c = database.connect()
    rows = answer(c, "SELECT so_claim('w', ?)", '{"lease_ms": %d, "batch": 2, "wait_ms": 5000}' % LEASE_MS)
    os.write(pipe, (str(rows[0]["message"]) if rows else "nothing").encode())
    signal.pause()


def main():
    database, c = application()
    crash = call(c, "SELECT so_send('T', '1', 'outside', '{}', '{\"max_attempts\": 3}')")
    follows = call(c, "SELECT so_send('T', '1', 'outside')")
    for attempt in (1, 2, 3):
        reading, writing = os.pipe()
        began = time.monotonic()
        process = start(claimer, database, writing)
        os.close(writing)
        equal(os.read(reading, 20), str(crash).encode(), f"attempt {attempt}: the message that is claimed")
        os.kill(process, signal.SIGKILL)
        check(os.waitpid(process, 0)[1] == signal.SIGKILL, "the worker was not killed")
        os.close(reading)
        check(time.monotonic() - began < 5, f"attempt {attempt}: it was not handed out when the lease ended")
        status = answer(c, "SELECT so_status(?)", crash)
        equal((status["status"], status["attempts"]), ("claimed", attempt), f"attempt {attempt}: the status")
        equal(answer(c, "SELECT so_status(?)", follows)["attempts"], 0, "attempts of the message behind it")
    rows = answer(c, "SELECT so_claim('w', '{\"wait_ms\": 5000}')")
    equal([(row["message"], row["attempt"]) for row in rows], [(follows, 1)], "what is handed out after three deaths")
    (letter,) = answer(c, "SELECT so_dead_letters()")
    equal((letter["message"], letter["attempts"]), (crash, 3), "the dead letter")
    check("lease" in letter["error"], f"its reason does not name the lease: {letter['error']}")
    call(c, "SELECT so_commit(?)", rows[0]["claim"])
    holds(c, "in the end")
    c.close()
    database.close()


main()
