#!/bin/bash
# What tests/tools/root.sh promises about the machine that it works on: nothing stays mounted or running, what is mounted
# where it takes something away is left alone, and who may not make the root is told how. Needs a root made before.
set -u
cd "$(dirname "$0")/../.." || exit 1
tool=$PWD/tests/tools/root.sh
directory=$(mktemp -d) || exit 1
trap 'rm -rf --one-file-system "$directory"' EXIT
chmod 755 "$directory"

wrong() {
  echo "wrong: $*"
  exit 1
}

# The processes whose command line has these words.
running() {
  local file
  for file in /proc/[0-9]*/cmdline; do
    tr '\0' ' ' 2>/dev/null <"$file" | grep -F -- "$1"
  done 2>/dev/null
}

# A command sees the source without build/, cannot change the root, and its failure is known.
"$tool" run test -f Makefile || wrong "the source is not there"
"$tool" run test ! -e build || wrong "build/ was copied"
"$tool" run touch /usr/trace 2>/dev/null && wrong "a command can change the root"
"$tool" run sh -c 'exit 7'
[ $? = 7 ] || wrong "a command's exit code is lost"

# However it ends, its processes and its mounts end with it.
for signal in TERM KILL; do
  mark=61.$$$RANDOM
  "$tool" run sh -c "sleep $mark & echo started; sleep $mark" >"$directory/$signal" 2>/dev/null &
  process=$!
  for _ in {1..200}; do
    [ -s "$directory/$signal" ] && break
    sleep 0.1
  done
  [ -s "$directory/$signal" ] || wrong "the command did not start"
  [ -n "$(running "sleep $mark")" ] || wrong "the command does not run"
  kill -"$signal" "$process"
  wait "$process" 2>/dev/null
  for _ in {1..50}; do
    [ -n "$(running "$mark")" ] || break
    sleep 0.1
  done
  [ -z "$(running "$mark")" ] || wrong "after $signal this went on running: $(running "$mark")"
done
grep -F " $("$tool" make)/" /proc/mounts && wrong "something is still mounted"

# Taking a half-made root away does not reach through a mount.
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$directory/elsewhere" "$directory/cache/debian-unstable.half/proc"
  echo kept >"$directory/elsewhere/file"
  # shellcheck disable=SC2016 # its own arguments
  SOLIDOBJ_CACHE=$directory/cache unshare --mount sh -c \
    'mount --bind "$1/elsewhere" "$1/cache/debian-unstable.half/proc" && "$2" remove' sh "$directory" "$tool" ||
    wrong "a root with a mount in it cannot be removed"
  [ -f "$directory/elsewhere/file" ] || wrong "removing reached through a mount"
  [ ! -e "$directory/cache/debian-unstable.half" ] || wrong "the half-made root is still there"

  SOLIDOBJ_CACHE=$directory/none setpriv --reuid 65534 --regid 65534 --clear-groups "$tool" make 2>"$directory/out" &&
    wrong "a root was made without rights"
  grep -q 'Run once:  sudo ' "$directory/out" || wrong "no line to run: $(cat "$directory/out")"
fi
exit 0
