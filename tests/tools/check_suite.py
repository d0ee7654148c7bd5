#!/usr/bin/python3
"""The suite leaves nothing out: it calls every function, meets every error code, and every test that tests/CASES.md names
exists. A code that SQLite cannot produce has its reason here."""
import glob
import re
import sys

# Not the product's codes: they never leave the engine under these names.
INNER = {"SO_OK", "SO_ENGINE", "SO_NOMEM", "SO_CAUTION", "SO_UNDONE"}
SUITE = sorted(glob.glob("tests/conformance/suite/*.test"))
CASES = "tests/CASES.md"
ELSEWHERE = {"C08", "C09", "C13", "C21"}  # functions to come, and another database's


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    faults = []
    functions = re.findall(r'^ *\{"(so_[a-z_]+)"', read("common/so_functions.c"), re.M)
    codes = set(re.findall(r'\{"(SO_[A-Z_]+)"', read("common/so_error.c"))) - INNER
    if len(functions) < 40 or len(codes) < 20 or len(SUITE) < 20:
        faults.append(f"too little was read: {len(functions)} functions, {len(codes)} codes, {len(SUITE)} files")

    steps, expected, names = "", "", {}
    for path in SUITE:
        for line in read(path).splitlines():
            if line.startswith("test "):
                names.setdefault(path, set()).add(line[5:].strip())
            elif line.strip().startswith("! "):
                expected += line + "\n"
            elif not line.startswith(("#", "rule ", "only ", "beside ")):
                steps += line + "\n"
    faults += [f"{name}: the suite never calls it" for name in functions if not re.search(rf"\b{name}\(", steps)]
    faults += [f"{code}: the suite never expects it" for code in sorted(codes) if not re.search(rf"\b{code}\b", expected)]

    # In CASES.md a test is `file` or `file: name of the test`; files without a directory are the suite's.
    text = read(CASES)
    named = re.findall(r"`([\w/]+\.(?:test|py|c|sh))(?:: ([^`]+))?`", text)
    rows = set(re.findall(r"^\| (C\d\d) ", text, re.M))
    faults += [f"{CASES}: no row for {case}" for case in (f"C{n:02}" for n in range(1, 29)) if case not in rows]
    faults += [f"{CASES}: the row of {row[:3]} names no test" for row in re.findall(r"^\| (C\d\d .*)$", text, re.M)
               if "`" not in row and row[:3] not in ELSEWHERE]
    if len(named) < 50:
        faults.append(f"{CASES}: only {len(named)} tests are named")
    for file, name in named:
        path = file if "/" in file else f"tests/conformance/suite/{file}"
        if not glob.glob(path):
            faults.append(f"{CASES}: there is no {path}")
        elif name and file.endswith(".test") and name not in names.get(path, ()):
            faults.append(f"{CASES}: {path} has no test '{name}'")
        elif name and not file.endswith(".test") and not re.search(rf"\b{re.escape(name)}\(", read(path)):
            faults.append(f"{CASES}: {path} has no function '{name}'")
    for path in sorted(glob.glob("tests/sqlite/*.py")):
        for case in re.findall(r"C\d\d", "".join(re.findall(r"^# Cases:(.*)$", read(path), re.M))):
            row = re.search(rf"^\| {case} .*$", text, re.M)
            if row and path not in row.group(0):
                faults.append(f"{CASES}: the row of {case} does not name {path}")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(functions)} functions, {len(codes)} codes, {len(named)} tests of {len(rows)} cases")


main()
