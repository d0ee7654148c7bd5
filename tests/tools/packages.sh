#!/bin/sh
# Sees to it that what a target needs is on this machine.
# Use: packages.sh bench|check|root
# Installs what is missing with apt-get where it may (root, or sudo without a password); otherwise prints the one
# line that does it and fails. Says nothing when nothing is missing.
set -eu

program() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }
header() { echo "#include <$1>" | gcc -M -MG -x c - 2>/dev/null | grep -q "/$1"; }
archive() { [ "$(gcc -print-file-name="$1" 2>/dev/null)" != "$1" ]; }
fuzzer() {
  echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n); int LLVMFuzzerTestOneInput(const char *p, unsigned long n)
    { return p && n ? 0 : 0; }' | clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}
both() { header "$1" && archive "$2"; }

# package, what shows that it is there, who needs it
table='
gcc            program gcc                      bench check
binutils       program objcopy                  bench check
libc6-dev      header stdio.h                   bench check
libsqlite3-dev both sqlite3ext.h libsqlite3.so  bench check
libjansson-dev both jansson.h libjansson.a      bench check
libcmocka-dev  header cmocka.h                  check
libpq-dev      header postgresql/libpq-fe.h     check
sqlite3        program sqlite3                  check
clang          program clang                    check
libclang-rt-dev fuzzer -                        check
clang-format   program clang-format             check
clang-tidy     program clang-tidy               check
python3        program /usr/bin/python3         check
debootstrap    program debootstrap              check root
faketime       program faketime                 check
'

wanted=$1
missing=
while read -r package test argument rest; do
  [ -n "$package" ] || continue
  case "$test" in
  both) "$test" "$argument" "${rest%% *}" && continue ;;
  *) "$test" "$argument" && continue ;;
  esac
  case " $rest " in
  *" $wanted "*) missing="$missing $package" ;;
  esac
done <<END
$table
END
[ -n "$missing" ] || exit 0

if ! program apt-get; then
  echo "Missing here, by their Debian names:$missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=
elif program sudo && sudo -n true 2>/dev/null; then
  as_root=sudo
else
  echo "Some packages are missing. Install them and try again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi

echo "Installing:$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
