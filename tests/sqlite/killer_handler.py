#!/usr/bin/python3
"""
C06: a handler that kills its process, by an application-defined function. Its attempts are counted although nobody
reported them, it ends as a dead letter with a reason, and its actor and all others go on.
"""
import os
import signal

from fixture import Database, answer, call, check, start


def worker(database):
    c = database.connect()
    c.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
    call(c, "SELECT so_run()")


def main():
    database = Database()
    c = database.connect()
    c.create_function("die", 0, lambda: 0)
    call(c, "SELECT so_install()")
    call(c, """SELECT so_define_actor('T', '{"max_attempts": 3}')""")
    call(c, "SELECT so_define_operation('T', 'kill', 'SELECT die() AS result')")
    call(c, "SELECT so_define_operation('T', 'note', 'SELECT so_set(''noted'', :attempt) AS result')")
    before = call(c, "SELECT so_send('T', '1', 'note')")
    killer = call(c, "SELECT so_send('T', '1', 'kill')")
    behind = call(c, "SELECT so_send('T', '1', 'note')")
    other = call(c, "SELECT so_send('T', '2', 'note')")
    c.close()
    deaths = 0
    for _ in range(10):
        _, status = os.waitpid(start(worker, database), 0)
        if not os.WIFSIGNALED(status):
            break
        deaths += 1
    c = database.connect()
    check(deaths == 3, f"{deaths} workers died of a message with 3 attempts")
    status = answer(c, "SELECT so_status(?)", killer)
    check(status["status"] == "dead" and status["attempts"] == 3 and "died" in status["error"], f"the killer: {status}")
    for message in (before, behind, other):
        status = answer(c, "SELECT so_status(?)", message)
        check(status["status"] == "completed", f"an innocent message: {status}")
        check(status["attempts"] == 1, f"an innocent message was charged: {status}")
    check(call(c, "SELECT count(*) FROM solidobj_dead_letters_view") == 1, "dead letters")
    print(f"{deaths} deaths, then a dead letter")
    c.close()
    database.close()


main()
