"""The invariants that hold after every test, from where the conformance suite keeps them."""
import os
import re

SOURCE = os.path.join(os.path.dirname(__file__), "..", "conformance", "invariants.c")


def invariants():
    """[(rule, SQL that gives the rows that break it)]"""
    with open(SOURCE) as file:
        table = re.search(r"invariants\[\] = \{(.*?)\n\};", file.read(), re.S).group(1)
    found = []
    for entry in re.finditer(r"\{((?:\s*\"[^\"]*\"\s*,?)+)\}", table):
        rule, sql = re.match(r"\s*\"([^\"]*)\",(.*)", entry.group(1), re.S).groups()
        sql = "".join(re.findall(r"\"([^\"]*)\"", sql))
        found.append((rule, re.sub(r"@(\w+)", r"solidobj_\1_view", sql)))
    if len(found) < 10 or len(found) != table.count("{\""):
        raise ValueError(f"{len(found)} invariants were understood in {SOURCE}")
    return found


def check(db):
    """What is wrong with a database at this moment."""
    for (line,) in db.execute("PRAGMA integrity_check").fetchall():
        if line != "ok":
            yield f"integrity_check: {line}"
    for rule, sql in invariants():
        for row in db.execute(sql).fetchmany(3):
            yield f"invariant \"{rule}\" is broken by {row[0]}"
