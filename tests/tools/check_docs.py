#!/usr/bin/python3
"""Runs what the documents tell people to type and compares it with what they show.

Use: check_docs.py FILE.md...

A document runs from top to bottom in an empty directory of its own, against build/. An HTML comment before a
fenced block says what the block is:

    <!-- file: NAME -->        the reader saves it under this name
    <!-- run: COMMAND -->      the block is COMMAND's standard input (`sh -e` for a shell block)
    <!-- run, fails: ... -->   the same; COMMAND must not succeed
    <!-- run, node: ... -->    the same; only where there is Node 20 or newer and better-sqlite3 can be installed
    <!-- prints -->            what the last `run` printed, both its outputs
    <!-- not run: REASON -->   an illustration

Every block of sh, sql, python or js needs one of them. In what is shown, `…` stands for anything within a line, a line
that is `…` alone for any lines, and a time such as 2026-12-01T09:00:00.000Z for any time. Relative links must lead to a file
and, where they name one, to a heading. The last line counts: one test for each command and one for each document's links.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
CACHE = os.path.join(BUILD, "docs")
SECONDS = 300
TYPED = {"sh", "sql", "python", "js"}

MARKER = re.compile(r"<!-- (file|run|prints|not run)((?:, \w+)*)(?:: (.*?))? -->$")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


class Fault(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """Yields (line, kind, words, value, language, content) for each fenced block; kind is None without a marker."""
    marker, fence, content, language, start = None, False, [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if fence and line.strip() == "```":
            kind, words, value = marker or (None, set(), None)
            yield start, kind, words, value, language, "".join(part + "\n" for part in content)
            marker, fence = None, False
        elif fence:
            content.append(line)
        elif line.startswith("```"):
            fence, content, language, start = True, [], line[3:].strip(), number
        elif line.startswith("<!-- "):
            found = MARKER.match(line)
            if not found:
                raise Fault(f"line {number}: not a marker: {line}")
            marker = (found[1], set(re.findall(r"\w+", found[2])), found[3])
        elif line.strip():
            if marker:
                raise Fault(f"line {number}: a marker without its block")
    if fence or marker:
        raise Fault("an open block at the end")


def pattern(shown):
    """The regular expression of what a document shows."""
    parts = []
    for line in shown.splitlines():
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
            continue
        pieces = re.split(f"({TIME.pattern}|…)", line.rstrip())
        parts.append("".join("[^\n]*?" if piece == "…" else TIME.pattern if TIME.fullmatch(piece) else re.escape(piece)
                             for piece in pieces) + r"[ \t]*\n")
    return re.compile("".join(parts))


def headings(text):
    """The anchors of a document, as web views of repositories make them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for title in re.findall(r"^#+ (.*)$", text, flags=re.M):
        yield re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def check_links(path):
    text = read(path)
    for target, anchor in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(file):
            raise Fault(f"a link leads nowhere: {target}")
        if anchor and anchor not in set(headings(read(file))):
            raise Fault(f"a link leads to no heading: {target}#{anchor}")


def some(printed):
    """The beginning of what was printed: enough to see what went wrong."""
    lines = printed.splitlines(keepends=True)
    return "".join(lines[:20]) + ("…\n" if len(lines) > 20 else "")


class Node:
    """Whether the Node parts can run; asked once, at the first of them. node_modules is kept below build/."""

    def __init__(self):
        self.asked = False
        self.missing = None

    def why_not(self, environment):
        if not self.asked:
            self.asked = True
            self.missing = self.look(environment)
        return self.missing

    @staticmethod
    def look(environment):
        if not shutil.which("node") or not shutil.which("npm"):
            return "there is no node and npm here"
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(version[1:].split(".")[0]) < 20:
            return f"node {version} is older than 20"
        if os.path.isdir(os.path.join(CACHE, "node", "node_modules")):
            return None
        try:
            asked = subprocess.run(["npm", "view", "better-sqlite3@12", "version"], capture_output=True, env=environment,
                                   timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "npm gets no answer from its registry"
        return None if asked.returncode == 0 else "npm cannot reach its registry"

    @staticmethod
    def bring(directory):
        """Puts the kept packages where `npm install` will look for them."""
        kept = os.path.join(CACHE, "node")
        if os.path.isdir(kept):
            shutil.copytree(kept, directory, symlinks=True, dirs_exist_ok=True)

    @staticmethod
    def keep(directory):
        kept = os.path.join(CACHE, "node")
        if os.path.isdir(os.path.join(directory, "node_modules")) and not os.path.isdir(kept):
            os.makedirs(kept)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(directory, name), kept)
            shutil.copytree(os.path.join(directory, "node_modules"), os.path.join(kept, "node_modules"), symlinks=True)


class Document:
    def __init__(self, path, node):
        self.path, self.node = path, node
        self.passed = self.failed = self.skipped = 0

    def fail(self, line, reason):
        self.failed += 1
        print(f"{self.path}:{line}: {reason}")

    def skip(self, line, reason):
        self.skipped += 1
        print(f"{self.path}:{line}: skipped: {reason}")

    def check(self):
        try:
            check_links(self.path)
            self.passed += 1
        except Fault as fault:
            self.fail(1, fault)
        directory = tempfile.mkdtemp(prefix="docs.", dir=BUILD)
        try:
            self.run(directory)
        except Fault as fault:
            self.fail(1, fault)
        finally:
            shutil.rmtree(directory)

    def run(self, directory):
        environment = dict(
            os.environ,
            HOME=directory,  # no start-up file of the shell's changes what is printed
            PATH="/usr/bin:/bin:" + os.environ["PATH"] + ":" + BUILD,  # Debian's python3 before any other
            LD_LIBRARY_PATH=BUILD,  # instead of `make install`
            LIBRARY_PATH=BUILD,  # the same for who links
            npm_config_userconfig=os.path.join(os.path.expanduser("~"), ".npmrc"),
            npm_config_cache=os.path.join(CACHE, "npm"),
            npm_config_prefer_offline="true",
            npm_config_update_notifier="false",
        )
        last = None  # line, what it printed; None while nothing ran
        for line, kind, words, value, language, content in blocks(read(self.path)):
            if kind is None:
                if language in TYPED:
                    self.fail(line, f"a block of {language} without a marker")
            elif kind == "file":
                with open(os.path.join(directory, value), "w", encoding="utf-8") as file:
                    file.write(content)
            elif kind == "run":
                last = self.run_block(line, words, value, content, directory, environment)
            elif kind == "prints" and last:
                self.compare(line, content, last)

    def run_block(self, line, words, command, content, directory, environment):
        """What the command printed, or None if it did not do what it should. Counts it."""
        if "node" in words:
            reason = self.node.why_not(environment)
            if reason:
                self.skip(line, reason)
                return None
            if not os.path.isdir(os.path.join(directory, "node_modules")):
                self.node.bring(directory)
        try:
            done = subprocess.run(["/bin/bash", "-c", command], input=content, cwd=directory, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            self.fail(line, f"`{command}` did not end within {SECONDS} s")
            return None
        if (done.returncode != 0) != ("fails" in words):
            self.fail(line, f"`{command}` ended with {done.returncode} and printed:\n{some(done.stdout)}")
            return None
        if "node" in words:
            self.node.keep(directory)
        self.passed += 1
        return done.stdout

    def compare(self, line, shown, printed):
        if not pattern(shown).fullmatch(printed):
            self.passed -= 1  # its command had counted as passed
            self.fail(line, f"the document shows\n{shown}but it printed\n{some(printed)}")


def main():
    os.makedirs(CACHE, exist_ok=True)
    node = Node()
    documents = [Document(path, node) for path in sys.argv[1:]]
    for document in documents:
        document.check()
    passed, failed, skipped = (sum(getattr(d, name) for d in documents) for name in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
