#!/usr/bin/python3
"""The same work from the sqlite3 shell, Python, a C program and Node's two drivers, all at once on one file."""
# Cases: C15
import os
import shutil
import sqlite3
import subprocess
import sys

from fixture import LIBRARY, Database, call, check
from places import define, equal, holds, refused

HERE = os.path.dirname(os.path.abspath(__file__))
NODE_HOME = os.path.join("build", "docs", "node")  # where the documents' check keeps its packages
CALLS = 25
TEXT = "Grüße, 猫, \U0001f408 it's \"so\""
EXPECTED = ["1", TEXT, "SO_REJECTED: NO: never.", "1", '{"big":9007199254740993,"ok":true}']


def shell(path, key):
    """In three steps, as a person would: what one answers is typed into the next."""
    def ask(text):
        done = subprocess.run(["sqlite3", "-cmd", ".timeout 20000", "-cmd", f".load {LIBRARY}", path], input=text,
                              capture_output=True, text=True, check=False)
        return done.stdout.splitlines(), done.stderr

    quoted = TEXT.replace("'", "''")
    ask("SELECT so_call('T', 'shared', 'count');\n" * CALLS)
    ask(f"BEGIN IMMEDIATE; SELECT so_call('T', '{key}', 'count'); ROLLBACK;")
    ask(f"BEGIN IMMEDIATE; SELECT so_call('T', '{key}', 'count'); "
        f"SELECT so_call('T', '{key}', 'note', json_object('text', '{quoted}')); COMMIT;")
    lines, _ = ask(f"SELECT so_snapshot('T', '{key}') ->> '$.state.n'; SELECT text FROM note WHERE key = '{key}';")
    _, error = ask(f"SELECT so_call('T', '{key}', 'refuse');")
    lines.append(error[error.index("SO_"):].split(" Hint:")[0])
    (message, claim), _ = ask(f"SELECT so_send('T', '{key}', '{key}', '{{\"big\": 9007199254740993}}');"
                              f"SELECT so_claim('c', '{{\"operations\": [\"{key}\"]}}') ->> '$[0].claim';")
    more, _ = ask(f"SELECT so_commit('{claim}', '{{\"result\": {{\"big\": 9007199254740993, \"ok\": true}}}}'); SELECT so_result({message});")
    return lines + more


def python(path, key):
    """With the module's own transactions: an INSERT begins one, calls are a part of it."""
    c = sqlite3.connect(path, timeout=20)
    c.enable_load_extension(True)
    c.load_extension(LIBRARY)
    for _ in range(CALLS):
        call(c, "SELECT so_call('T', 'shared', 'count')")
    check(not c.in_transaction, "a call began a transaction of the module's")
    c.execute("INSERT INTO note(key, text) VALUES (?, 'gone')", (key,))
    call(c, "SELECT so_call('T', ?, 'count')", key)
    c.rollback()
    with c:
        c.execute("INSERT INTO note(key, text) VALUES ('python', 'x')")
        call(c, "SELECT so_call('T', ?, 'count')", key)
        c.execute("DELETE FROM note WHERE key = 'python'")
        call(c, "SELECT so_call('T', ?, 'note', json_object('text', ?))", key, TEXT)
    lines = [str(call(c, "SELECT so_snapshot('T', ?) ->> '$.state.n'", key)), call(c, "SELECT text FROM note WHERE key = ?", key)]
    try:
        call(c, "SELECT so_call('T', ?, 'refuse')", key)
    except sqlite3.OperationalError as error:
        lines.append(str(error).split(" Hint:", maxsplit=1)[0])
    message = call(c, "SELECT so_send('T', ?, ?, '{\"big\": 9007199254740993}')", key, key)
    claim = call(c, "SELECT so_claim('c', json_object('operations', json_array(?))) ->> '$[0].claim'", key)
    lines.append(str(call(c, "SELECT so_commit(?, ?)", claim, '{"result": {"big": 9007199254740993, "ok": true}}')))
    lines.append(call(c, "SELECT so_result(?)", float(message)))
    c.close()
    return lines


def node_drivers():
    """The drivers that can run here, and why others cannot."""
    if not shutil.which("node"):
        print("Node: skipped, it is not here")
        return []
    found = []
    if not os.path.isdir(os.path.join(NODE_HOME, "node_modules")) and shutil.which("npm"):
        os.makedirs(NODE_HOME, exist_ok=True)
        try:
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--cache",
                            os.path.abspath("build/docs/npm"), "better-sqlite3@12"],
                           cwd=NODE_HOME, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            print("npm: no answer within a minute")
    loads = subprocess.run(["node", "-e", "new (require('better-sqlite3'))(':memory:')"], cwd=NODE_HOME, capture_output=True, check=False) \
        if os.path.isdir(NODE_HOME) else None
    if loads is not None and loads.returncode == 0:
        found.append("better-sqlite3")
    else:
        shutil.rmtree(NODE_HOME, ignore_errors=True)
        print("better-sqlite3: skipped, it cannot be installed")
    if subprocess.run(["node", "-e", "require('node:sqlite').DatabaseSync.prototype.loadExtension.name"],
                      capture_output=True, check=False).returncode == 0:
        found.append("node:sqlite")
    else:
        print("node:sqlite: skipped, this Node does not have it")
    return found


def main():
    database = Database()
    c = database.connect()
    define(c)
    program = os.path.join(database.directory, "client")
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, os.path.join(HERE, "client.c"), "-lsqlite3"], check=True)
    library = os.path.abspath(LIBRARY if LIBRARY.endswith(".so") else LIBRARY + ".so")
    commands = {"C": [program]}
    for driver in node_drivers():
        commands[driver] = ["node", os.path.join(HERE, "client.mjs"), driver]
    keys = {name: name.replace(":", "-") for name in (*commands, "shell", "python")}
    for key in keys.values():
        call(c, "SELECT so_define_operation('T', ?, NULL)", key)
    running = {name: subprocess.Popen(command + [database.path, library, keys[name], str(CALLS), TEXT], stdout=subprocess.PIPE, text=True,
                                      env=dict(os.environ, NODE_HOME=os.path.abspath(NODE_HOME), NODE_NO_WARNINGS="1"))
               for name, command in commands.items()}
    answers = {"shell": shell(database.path, keys["shell"]), "python": python(database.path, keys["python"])}
    for name, process in running.items():
        output, _ = process.communicate(timeout=60)
        equal(process.returncode, 0, f"{name}: exit code")
        answers[name] = output.splitlines()
    for name, lines in answers.items():
        equal(lines, EXPECTED, name)
    equal(call(c, "SELECT so_snapshot('T', 'shared') ->> '$.state.n'"), CALLS * len(answers), "calls of all of them")
    equal(call(c, "SELECT count(*) FROM note"), len(answers), "rows of the application's")
    refused(c, "SELECT so_call('T', 'shared', 'refuse')", "SO_REJECTED")
    holds(c, "in the end")
    print(f"clients: {', '.join(sorted(answers))}")
    c.close()
    database.close()
    sys.stdout.flush()


main()
