#!/bin/bash
# A second generation to test on: a Debian unstable system in a directory, made once and kept.
# Use: root.sh make             makes it, or installs what is missing in it; prints where it is
#      root.sh run COMMAND ...  the same, then runs COMMAND in it, in a copy of this source tree without build/
#      root.sh remove           takes it away, finished or not
# It is in $SOLIDOBJ_CACHE, by default /var/cache/solidobj. Making it needs root, or sudo that asks for no password; a
# command in it needs root, or a kernel that lets everybody make user namespaces.
#
# Whatever happens in the root happens in namespaces of its own for mounts and processes: nothing stays mounted and
# nothing goes on running when this script ends, however it ends. A command finds the root read-only, but for a /tmp
# (with the source tree), a /run and a /dev/shm that end with it, so that any number of them can run at the same time.
# The root stays as it was made; `remove` is the way to a newer one.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1

# package, what for
packages='
gcc             building
make            building
binutils        building
libc6-dev       building
libsqlite3-dev  SQLite: building
sqlite3         SQLite: the shell, in scripts and documents
libjansson-dev  JSON
libcmocka-dev   unit tests
locales         unit tests: decimal points that are none
python3         scripts and documents
'

cache=$(realpath -m "${SOLIDOBJ_CACHE:-/var/cache/solidobj}") || exit 1
root=$cache/debian-unstable
half=$cache/debian-unstable.half # while it is being made
stamp=$root/etc/solidobj-packages # what was installed from the table
lock=$cache/lock                  # shared: somebody uses the root; exclusive: somebody changes it
lock_seconds=1200

say() { echo "root.sh: $*" >&2; }

fail() {
  say "$@"
  exit 1
}

wanted() { awk 'NF { print $1 }' <<<"$packages"; }

# Those of the table that are not in the root.
missing() { wanted | grep -vxFf "$stamp"; }

complete() { [ -f "$stamp" ] && [ -z "$(missing)" ]; }

# ---- making it -------------------------------------------------------------------------------------------------

# Gives back with the lock taken as a user of a complete root.
reach() {
  if hold && complete; then
    return
  fi
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null ||
      fail "there is no complete Debian unstable root. Run once:  sudo env SOLIDOBJ_CACHE=$cache tests/tools/root.sh make"
    sudo -n env SOLIDOBJ_CACHE="$cache" "$0" make >/dev/null || exit 1
  else
    mkdir -p "$cache" && exec 9>>"$lock" || fail "cannot write to $cache"
    flock -x -w "$lock_seconds" 9 || fail "somebody else has been changing $root for $lock_seconds s"
    complete || { bootstrap && install; } || fail "there is no complete root in $cache"
  fi
  hold && complete || fail "the root in $cache has changed meanwhile"
}

hold() { { exec 9<"$lock"; } 2>/dev/null && flock -s -w "$lock_seconds" 9; }

# The minimal system appears under its name when it is complete; what an interrupted run left is thrown away.
bootstrap() {
  local mirror proxy=
  [ ! -d "$root" ] || return 0
  "$here/tests/tools/packages.sh" root || return 1
  clear_away "$half" || return 1
  # The mirror, and the way to it, that this machine's own packages come from.
  # shellcheck disable=SC2016 # it is apt that puts something in its place
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 'debian/$')
  [ -n "$mirror" ] || fail "apt knows no Debian mirror on this machine"
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  say "making $root, which takes some minutes"
  [ -z "$proxy" ] || export http_proxy=$proxy
  logged bootstrap "$mirror" && mv "$half" "$root"
}

# An interrupted installation is taken up where it ended.
install() {
  local new
  [ -f "$stamp" ] || : >"$stamp" || return 1
  new=$(missing)
  say "installing in $root:" $new
  # shellcheck disable=SC2086 # a list of words
  logged install $new || return 1
  { cat "$stamp" && echo "$new"; } >"$stamp.new" && mv "$stamp.new" "$stamp"
}

# Shows what was printed only when it went wrong.
logged() {
  apart "$@" >"$cache/log" 2>&1 && return
  tail -n 20 "$cache/log" >&2
  return 1
}

clear_away() {
  local at
  while read -r at; do
    say "$at was left mounted"
    umount "$at" || return 1
  done < <(mounts_below "$1" | sort -r)
  [ -z "$(mounts_below "$1")" ] && rm -rf --one-file-system "$1"
}

mounts_below() { awk -v top="$1" '$2 == top || index($2, top "/") == 1 { print $2 }' /proc/self/mounts; }

# ---- in namespaces of its own ----------------------------------------------------------------------------------

# Runs inside_ACTION where it sees no other processes and nobody else sees its mounts. It ends with this script, whatever
# ends that: the first process of a namespace takes all others with it.
apart() {
  local as_root=
  [ "$(id -u)" = 0 ] || as_root=--map-root-user
  SOLIDOBJ_CACHE=$cache setpriv --pdeathsig KILL unshare $as_root --mount --pid --fork --kill-child \
    "$0" --inside "$@" <&0 &
  child=$!
  wait "$child"
}

child=
interrupted() {
  [ -z "$child" ] || kill -KILL "$child" 2>/dev/null
  exit 143
}

mount_all() {
  mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" &&
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" && mount -t tmpfs -o mode=755 tmpfs "$root/run"
}

cleanly() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} "$@"
}

inside_bootstrap() { mount -t proc proc /proc && debootstrap --variant=minbase sid "$half" "$1"; }

# Mirrors may be copies of some age: a list's signature counts, its date does not.
inside_install() {
  mount_all &&
    echo 'Acquire::Check-Valid-Until "false"; APT::Install-Recommends "false";' >"$root/etc/apt/apt.conf.d/solidobj" &&
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/solidobj" &&
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && # no package starts a service
    chmod 755 "$root/usr/sbin/policy-rc.d" &&
    cp -L /etc/resolv.conf "$root/etc/resolv.conf" &&
    cleanly chroot "$root" dpkg --configure -a &&
    cleanly chroot "$root" apt-get update -q &&
    cleanly chroot "$root" apt-get install -q -y --fix-broken "$@" &&
    cleanly chroot "$root" apt-get clean
}

# The root becomes the namespace's own, instead of a chroot, in which no test could make namespaces.
inside_run() {
  mount --rbind "$root" "$root" && mount -o remount,bind,ro "$root" && mount_all && mkdir "$root/tmp/solidobj" &&
    tar -C "$here" --exclude=./build --exclude=./.git -cf - . | tar -C "$root/tmp/solidobj" --no-same-owner -xf - &&
    cd "$root" && pivot_root . mnt ||
    fail "cannot set up $root; that takes the right to mount (in a container, a privileged one)"
  hash -r
  # shellcheck disable=SC2016 # the shell in the root puts it in its place
  cleanly sh -c 'umount -l /mnt && cd /tmp/solidobj && exec "$@"' sh "$@"
}

# ---- what is asked for -----------------------------------------------------------------------------------------

case "$cache" in *[[:space:]]*) fail "not a usable place: $cache" ;; esac
case "${1:-}" in
make | run | remove) trap interrupted INT TERM HUP ;;
esac
case "${1:-}" in
make)
  reach
  echo "$root"
  ;;
run)
  shift
  reach
  apart run "$@"
  ;;
remove)
  [ -d "$cache" ] || exit 0
  exec 9>>"$lock" && flock -x -w "$lock_seconds" 9 || fail "cannot lock $lock"
  clear_away "$half" && clear_away "$root" || fail "something is still mounted in $cache"
  ;;
--inside)
  action=inside_$2
  shift 2
  "$action" "$@"
  ;;
*)
  sed -n '/^# Use:/,/^#  *root.sh remove/s/^# //p' "$0" >&2
  exit 2
  ;;
esac
