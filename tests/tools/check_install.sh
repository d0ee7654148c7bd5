#!/bin/bash
# `make install` puts the library where SELECT load_extension('solidobj') finds it, and `make uninstall` takes all away.
# Works in a staged tree, with a loader's list of its own, so that it needs no rights and changes nothing outside.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d "$PWD/build/install.XXXXXX")
trap 'rm -rf "$stage"' EXIT
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)

make -s install DESTDIR="$stage"
lib=$stage/usr/local/lib

# ldconfig must list the library under the name that SQLite asks the loader for.
echo "$lib" >"$stage/ld.so.conf"
"$ldconfig" -i -f "$stage/ld.so.conf" -C "$stage/ld.so.cache"
"$ldconfig" -C "$stage/ld.so.cache" -p | grep -q "^[[:space:]]*solidobj\.so .*=> $lib/" || {
  echo "ldconfig does not list solidobj.so"
  exit 1
}

# SQLite must find it by the bare name and the entry point by the file's name.
cd "$stage"
LD_LIBRARY_PATH=$lib sqlite3 :memory: "SELECT load_extension('solidobj'); SELECT so_version();"
"$stage/usr/local/bin/solidobj-bench" --help >/dev/null

# Neither Jansson nor anything else of ours may be visible to the program that loads the library, and the library
# may bring no database of its own.
exported=$(objdump -T "$lib/solidobj.so" | awk '$4 ~ /^\./ || $3 ~ /^\./ { print $NF }' | sort -u)
[ "$exported" = sqlite3_solidobj_init ] || {
  echo "exported: $exported"
  exit 1
}
if objdump -p "$lib/solidobj.so" | grep -E 'NEEDED.*(sqlite|jansson)'; then
  exit 1
fi

cd - >/dev/null
make -s uninstall DESTDIR="$stage"
left=$(find "$stage/usr" -type f -o -type l)
[ -z "$left" ] || {
  echo "left after uninstall: $left"
  exit 1
}
