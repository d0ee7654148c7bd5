#!/bin/bash
# The scripts of sql/bench/ run as their comments say, do what they count, and leave no file behind.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1

# fails MESSAGE: what went wrong, and what the script printed
fails() {
  echo "wrong: $1"
  head -n 20 out
  exit 1
}

count() { sqlite3 bench.db "SELECT count(*) FROM solidobj_messages_view WHERE $1"; }

# NAME, rows of its table, messages of a round, of these finished
check() {
  local name=$1 rows=$2 messages=$3 finished=$4 n=200 found left
  # Twice: the second run begins by removing what the first one left.
  for _ in 1 2; do
    sqlite3 -cmd ".load $top/build/solidobj" -cmd 'PRAGMA synchronous = OFF' -cmd ".parameter set :n $n" bench.db \
      <"$top/sql/bench/$name.sql" >out 2>&1 || fails "$name.sql: exit code $?"
    # A way, the number, synchronous, and a rate above zero.
    found=$(grep -cE " +$n +0 +[1-9][0-9]* *$" out)
    [ "$found" = "$rows" ] && [ "$(wc -l <out)" = $((rows + 2)) ] || fails "$name.sql: $found rows of $rows"
    [ "$(count "type LIKE '${name%%_*}Bench'")" = $((messages * n)) ] || fails "$name.sql: messages"
    [ "$(count "type LIKE '${name%%_*}Bench' AND status = 'completed'")" = $((finished * n)) ] || fails "$name.sql: not done"
    left=$(find . -type f ! -name 'bench.db*' ! -name out)
    [ -z "$left" ] || fails "$name.sql: left behind: $left"
  done
}

check send 4 4 0
check call 3 3 3
check claim_commit 3 3 3
check run 3 3 3
[ "$(find "$top/sql/bench" -name '*.sql' | wc -l)" = 4 ] || fails "a script of sql/bench has no check here"
echo "4 passed, 0 failed, 0 skipped"
