#!/bin/sh
# `make bench`: build, measure the quick matrix on a new SQLite file, leave nothing behind.
# The file lives below build/, on the disk of the work tree: a temporary directory is often memory, and
# a commit to memory measures nothing.
set -eu
cd "$(dirname "$0")/../.."
make -s -j"$(nproc)" all

directory=$(mktemp -d build/bench.XXXXXX)
bench=
clean_up() {
  [ -z "$bench" ] || kill "$bench" 2>/dev/null || true
  [ -z "$bench" ] || wait "$bench" 2>/dev/null || true
  rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In the background, so that the shell takes a signal at once and not after the run.
build/solidobj-bench matrix --db "sqlite:$directory/bench.db" --quick &
bench=$!
status=0
wait "$bench" || status=$?
bench=
exit "$status"
