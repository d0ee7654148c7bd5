#!/usr/bin/python3
"""SELECT so_send(…) over 1,000 rows is whole at every moment for other connections, also when its process is killed in the middle."""
# Cases: C22
import os
import random
import signal
import time

from fixture import call, check, start
from places import application, broken_rules, equal, holds

ROUNDS = 40
KILLED = 6
# In autocommit each row commits by itself; as a part of a statement that writes, all or none.
ALONE = "SELECT so_send('T', 'a' || (id % 5), 'count') FROM users"
WHOLE = "INSERT INTO sent SELECT so_send('T', 'w' || (id % 5), 'count') FROM users"


def sender(database, sql):
    connection = database.connect()
    connection.execute(sql).fetchall()


def main():
    random.seed(22)
    database, c = application()
    c.execute("CREATE TABLE sent(id)")
    c.execute("CREATE TABLE users(id INTEGER PRIMARY KEY)")
    c.execute("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000) INSERT INTO users SELECT n FROM r")
    looks = killed = 0
    for number in range(ROUNDS):
        if killed == KILLED:
            break
        sql = (ALONE, WHOLE)[number % 2]
        before = call(c, "SELECT count(*) FROM solidobj_messages_view")
        process = start(sender, database, sql)
        end = time.monotonic() + (random.uniform(0.004, 0.03) if number >= 2 else 20)
        done = (0, 0)
        while done[0] == 0 and time.monotonic() < end:
            broken = broken_rules(c)
            check(not broken, f"while it runs: {broken}")
            ids = c.execute("SELECT min(message), max(message), count(*) FROM solidobj_messages_view").fetchone()
            check(ids[0] is None or ids[1] - ids[0] + 1 == ids[2], f"an id is skipped: {ids}")
            looks += 1
            done = os.waitpid(process, os.WNOHANG)
        if done[0] == 0:
            os.kill(process, signal.SIGKILL)
            done = os.waitpid(process, 0)
        more = call(c, "SELECT count(*) FROM solidobj_messages_view") - before
        sent = call(c, "SELECT count(*) FROM sent")
        killed += 0 < more < 1000 or (sql == WHOLE and done[1] != 0)
        if number < 2:
            equal((done[1], more), (0, 1000), f"{sql}: its end, and messages")
        if sql == WHOLE:
            check(more in (0, 1000), f"{more} messages of one statement")
            equal(sent, more, "rows of one statement")
            c.execute("DELETE FROM sent")
        holds(c, "after a kill")
        call(c, "SELECT so_send('T', 'next', 'count')")
    check(looks > 20, f"only {looks} looks")
    check(killed > 1, f"only {killed} were killed in the middle")
    turns = call(c, "SELECT so_run() ->> 'completed'")
    equal(turns, call(c, "SELECT count(*) FROM solidobj_messages_view"), "turns and messages")
    holds(c, "in the end")
    c.close()
    database.close()


main()
