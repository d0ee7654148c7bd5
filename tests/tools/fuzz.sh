#!/bin/bash
# Replays the fuzzers' corpora (tests/fuzz/corpus/NAME), then fuzzes.
# Use: fuzz.sh SECONDS [DIRECTORY]
# SECONDS are shared among the fuzzers. What reaches new code is kept in DIRECTORY for the next run, or nowhere. The seed is
# printed: FUZZ_SEED=… takes one. An input that finds something is left in build/fuzz/finding-…; it becomes a file of the
# corpus together with the fix.
set -u
cd "$(dirname "$0")/../.." || exit 1

seconds=$1
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
kept=${2:-$(mktemp -d build/found.XXXXXX)} || exit 1
[ $# -gt 1 ] || trap 'rm -rf "$kept"' EXIT

# name, parts of the seconds, longest input
fuzzers='
json     25  2000
names     8   300
options  12  1000
sql      55  2000
'

# A small quarantine: new pages for each allocation cost more than all the rest.
export ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=12
export UBSAN_OPTIONS=print_stacktrace=1

make -s -j"$(nproc)" CC=clang BUILD=build/fuzz SANITIZE=fuzzer-no-link,address,undefined CFLAGS='-O1 -g' fuzzers || exit 1

passed=0 failed=0
# result NAME STATUS LOG LEAST: a fuzzer that ran next to nothing has found nothing.
result() {
  local runs
  runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$3")
  echo "$1: ${runs:-0} runs"
  if [ "$2" = 0 ] && [ "${runs:-0}" -ge "$4" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1: exit code $2, at least $4 runs wanted"
    grep -av '^#[0-9]' "$3" | tail -n 60
  fi
}

echo "seed $seed"
while read -r name parts longest; do
  [ -n "$name" ] || continue
  corpus=tests/fuzz/corpus/$name
  files=$(find "$corpus" -type f | wc -l)
  log=build/fuzz/$name.log
  limits=(-timeout=20 -rss_limit_mb=1024 -artifact_prefix="build/fuzz/finding-$name-")
  mkdir -p "$kept/$name"

  build/fuzz/fuzz_"$name" "${limits[@]}" -runs=0 "$corpus" >"$log" 2>&1 </dev/null
  result "$name, corpus" $? "$log" "$files"

  build/fuzz/fuzz_"$name" "${limits[@]}" -max_len="$longest" -seed="$seed" -dict="$corpus.dict" \
    -max_total_time=$(((seconds * parts + 99) / 100)) "$kept/$name" "$corpus" >"$log" 2>&1 </dev/null
  result "$name" $? "$log" $((files + 100))
done <<<"$fuzzers"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
