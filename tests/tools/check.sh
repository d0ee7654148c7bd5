#!/bin/bash
# `make check` and its parts: runs the steps of the table below, one after the other, and sums them up.
# Use: check.sh all|quick|format|static|unit|conformance|docs|…      (a set or a step)
#      check.sh --step NAME                                          (inner use: one step in this process)
#
# A step's output goes to build/log/NAME.log and is shown when it fails. A step that counts tests itself ends its
# output with "N passed, N failed, N skipped" (`sum`; `any`: there may be none); any other step is one test (`one`), and
# exit code 77 means skipped. A step that outlives its seconds, or leaves a process running, has failed. The last line
# is the sum of all steps. What a step prints after "note: " is shown in any case.
set -u
cd "$(dirname "$0")/../.." || exit 1

# name, in which sets, how it counts (see above), seconds it may take
steps='
format              all,quick              one      60
static              all                    one     400
build               all,quick,second,docs  one     180
build-clang         all                    one     180
unit                all,quick,second       sum     120
embedded            all,quick,second       sum      60
selftest            all,quick,second       one      60
conformance         all,quick,second       sum     180
unit-sanitized      all                    sum     240
conform-alone       all                    sum     180
conform-sanitized   all                    sum     240
scripts             all,quick,second       any     300
fuzz                all                    sum     180
memory              all                    one      60
fault               all                    sum     240
fault-sanitized     all                    sum     240
fault-short         quick                  sum      60
torture             all,second             sum     150
bench-smoke         all,quick              one      60
install             all,second             one      60
docs                all,second             sum     420
root                all,unstable           one    1500
unstable            all                    sum     600
'

log_directory=build/log
script_seconds=120

# ---- the steps -------------------------------------------------------------------------------------------------

build() { make -s -j"$(nproc)" "$@"; }

sources() { find common sqlite_ext tests -name '*.[ch]' | sort; }

step_format() { sources | xargs clang-format --dry-run -Werror; }

step_static() {
  build generated &&
    sources | grep '\.c$' | xargs -P "$(nproc)" -n 1 sh -c 'clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE \
      -Icommon -Isqlite_ext -Itests/bench -Itests/conformance -Ibuild/gen' clang-tidy
}

step_build() { build all; }

step_build-clang() { build CC=clang BUILD=build/clang all unit; }

step_unit() { build unit && each_program build/unit/test_*; }

step_embedded() { build all embedded && each_program build/embedded/test_*; }

# Wrong expectations and broken histories must be noticed; the suite and the torture below mean nothing otherwise.
step_selftest() { build conformance-selftest && tests/torture/selftest.py && tests/tools/check_suite.py; }

step_conformance() { build all build/conformance && build/conformance; }

# Where connections cannot wake each other and a turn's attempt is on record as a claim: without the doorbell, in memory.
step_conform-alone() {
  local status=0 database passed=0 failed=0 skipped=0 p f s
  build all build/conformance || return 1
  for database in 'sqlite:?doorbell=none' sqlite::memory:; do
    echo "== $database"
    build/conformance --db "$database" >"$log_directory/alone.out" || status=1
    grep -v '^[0-9]* passed' "$log_directory/alone.out"
    read -r p _ f _ s _ < <(tail -n 1 "$log_directory/alone.out")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  return "$status"
}

# Once more with every address and every undefined operation watched.
sanitized() { build BUILD=build/sanitized SANITIZE=address,undefined CFLAGS='-O1 -g' "$@"; }

step_unit-sanitized() {
  build all && sanitized unit embedded && each_program build/sanitized/unit/test_* build/sanitized/embedded/test_*
}

step_conform-sanitized() {
  sanitized build/sanitized/solidobj.so build/sanitized/conformance &&
    build/sanitized/conformance --extension build/sanitized/solidobj.so
}

step_scripts() {
  build all
  shopt -s nullglob
  each_program tests/scripts/*.sh tests/sqlite/*.sh tests/sqlite/*.py
}

# The corpora, and a short search; longer: make fuzz SECONDS=600.
step_fuzz() { tests/tools/fuzz.sh 45; }

# A tenth of the calls of `make memory`.
step_memory() { build all build/memory && build/memory 100000; }

# Some chances, from a random one on; each of them: make fault.
step_fault() { build all build/fault && tests/fault/allocator.sh && build/fault; }

step_fault-short() { build all build/fault && build/fault --thin 8; }

step_fault-sanitized() {
  sanitized build/sanitized/solidobj.so build/sanitized/fault &&
    build/sanitized/fault --extension build/sanitized/solidobj.so --thin 8
}

step_torture() { build all && tests/torture/torture.py --seconds 45; }

step_bench-smoke() {
  build all || return 1
  local directory
  directory=$(mktemp -d build/smoke.XXXXXX) || return 1
  build/solidobj-bench matrix --db "sqlite:$directory/bench.db" --durability wal-normal --shapes warm-hot,cold-many \
    --topologies one-process --concurrency 4 --operations 50 --warmup 5 --repetitions 1 --json "$directory/out.json" &&
    /usr/bin/python3 tests/tools/check_matrix.py "$directory/out.json"
  local status=$?
  rm -rf "$directory"
  return "$status"
}

step_install() { build all && tests/tools/check_install.sh; }

step_docs() { build all static && /usr/bin/python3 tests/tools/check_docs.py README.md docs/*.md; }

# The second generation: a newer compiler, a newer SQLite, in a system of their own that is made once.
step_root() { tests/tools/root.sh make && tests/tools/check_root.sh; }

step_unstable() {
  tests/tools/root.sh run sh -c 'echo "note: SQLite $(sqlite3 --version | cut -d " " -f 1), $(gcc --version | head -n 1)" &&
    exec tests/tools/check.sh second'
}

# Runs each program within script_seconds and adds up: cmocka's counts or a "N passed, …" line of its own where it
# prints one, else one test per program.
each_program() {
  local program status output passed=0 failed=0 skipped=0 p f s
  output=$(mktemp) || return 1
  for program in "$@"; do
    [ -x "$program" ] || continue # what the others share
    echo "== $program"
    timeout -k 5 "$script_seconds" "$program" >"$output" 2>&1 </dev/null
    status=$?
    cat "$output"
    read -r p f s < <(counts "$status" either "$output")
    [ "$f" = 0 ] || echo "== $program: exit code $status, $f failed"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  done
  rm -f "$output"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}

# ---- counting --------------------------------------------------------------------------------------------------

# counts STATUS one|sum|any|either FILE: prints "passed failed skipped". A sum of nothing is a failure, but for `any`.
counts() {
  local status=$1 how=$2 file=$3 p=0 f=0 s=0 counted=0 line
  if [ "$how" != one ]; then
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$file" | tail -n 1)
    if [ -n "$line" ]; then
      read -r p _ f _ s _ <<<"$line"
    else
      p=$(cmocka_count PASSED "$file") f=$(cmocka_count FAILED "$file") s=$(cmocka_count SKIPPED "$file")
    fi
    counted=$((p + f + s))
  fi
  case "$how,$counted,$status" in
  one,0,0 | either,0,0) p=1 ;;
  one,0,77 | either,0,77) s=1 ;;
  sum,0,*) f=1 ;;                             # it tested nothing
  *,0) ;;                                     # it counted, and nothing else is wrong
  *) [ "$f" != 0 ] || f=1 ;;                  # it broke off
  esac
  echo "$p $f $s"
}

# cmocka 2 says the group's name before the count.
cmocka_count() { sed -n "s/^\[ *$1 *\] \(.*: \)\{0,1\}\([0-9]*\) test(s).*/\2/p" "$2" | awk '{ n += $1 } END { print n + 0 }'; }

# ---- running a step --------------------------------------------------------------------------------------------

# The processes of a session, without zombies.
session_members() {
  local stat line state session
  for stat in /proc/[0-9]*/stat; do
    { read -r line <"$stat"; } 2>/dev/null || continue # it ended meanwhile
    read -r state _ _ session _ <<<"${line##*) }"
    [ "$session" = "$1" ] && [ "$state" != Z ] && echo "${line%% *}"
  done
}

end_session() {
  local pid
  for pid in $(session_members "$1"); do kill -"$2" "$pid" 2>/dev/null; done
}

running=
interrupted() {
  trap '' INT TERM HUP
  [ -z "$running" ] || { end_session "$running" TERM && sleep 1 && end_session "$running" KILL; }
  exit 130
}

total_passed=0 total_failed=0 total_skipped=0

# Fails when the step did.
run_step() {
  local name=$1 how=$2 seconds=$3 log=$log_directory/$1.log started=$SECONDS status left p f s word
  printf '%-20s' "$name"
  # A session of its own: whatever a step starts can be found and ended, and nothing else.
  setsid timeout -k 5 "$seconds" "$0" --step "$name" >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running"
  status=$?
  [ "$status" != 124 ] || echo "not finished after $seconds s" >>"$log"
  left=$(session_members "$running")
  if [ -n "$left" ]; then
    sleep 1 # it may be about to end
    left=$(session_members "$running")
  fi
  read -r p f s < <(counts "$status" "$how" "$log")
  if [ -n "$left" ]; then
    echo "left running:" >>"$log"
    for pid in $left; do tr '\0' ' ' <"/proc/$pid/cmdline" >>"$log" 2>/dev/null && echo >>"$log"; done
    end_session "$running" TERM
    sleep 1
    end_session "$running" KILL
    f=$((f + 1))
  fi
  running=
  word=ok
  [ "$p" != 0 ] || word=skipped
  [ "$f" = 0 ] || word=FAILED
  printf '%-8s %3d passed %3d failed %3d skipped %4d s\n' "$word" "$p" "$f" "$s" $((SECONDS - started))
  sed -n 's/^note: /    /p' "$log"
  if [ "$f" != 0 ]; then
    echo "---- $log"
    tail -n 60 "$log"
    echo "----"
  elif [ "$s" != 0 ]; then
    grep -i skip "$log" | grep -vE '[0-9]+ passed' | sed 's/^/    /' | head -n 10
  fi
  total_passed=$((total_passed + p)) total_failed=$((total_failed + f)) total_skipped=$((total_skipped + s))
  [ "$f" = 0 ]
}

if [ "${1:-}" = --step ]; then
  "step_$2"
  exit
fi

trap interrupted INT TERM HUP
mkdir -p "$log_directory"
wanted=${1:-all}
found=0
while read -r name sets how seconds; do
  [ -n "$name" ] || continue
  case ",$name,$sets," in
  *",$wanted,"*)
    found=1
    if ! run_step "$name" "$how" "$seconds" && [ "$name" = build ]; then
      echo "nothing else is run, because the build failed"
      break
    fi
    ;;
  esac
done <<<"$steps"
[ "$found" = 1 ] || {
  echo "check.sh: no step or set is called '$wanted'" >&2
  exit 2
}
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" = 0 ]
