#!/usr/bin/env bash
# Debian 12's own driver on a Debian 12 in a folder: installed, its modules compiled for Debian's
# kernel, verified, and removed until nothing is left of it; then in the place of an older driver by
# kgpu, and of one by apt, which comes back; then brought to a host by a container.
#   tests/driver/debian.sh build/release/bin/kgpu
# The tree is made by debootstrap of the archive that this machine installs from. With
# KGPU_DEBIAN_TREE=FOLDER it is kept there and taken from there by the next run.
set -euo pipefail

# Mounts of a namespace of our own go with it, however this ends.
if [ "${KGPU_IN_NAMESPACE:-}" != 1 ]; then
  [ "$(id -u)" = 0 ] || { echo "SKIPPED: a chroot takes root"; exit 77; }
  KGPU_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi
kgpu=$(realpath "${1:?usage: tests/driver/debian.sh KGPU}")
command -v debootstrap >/dev/null || { echo "SKIPPED: no debootstrap is here"; exit 77; }

work=$(mktemp -d)
root=$work/root
cleanup() {
  umount "$root/proc" "$root/sys" "$root/etc/modprobe.d/mounted.conf" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  say "FAILED: $*"
  exit 1
}
# A program of the tree, with nothing of our environment.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
    chroot "$root" "$@"
}

# What the file list leaves out: logs, what package managers keep to be quick, and the backup that
# each tool makes of the file it writes ("passwd-", "status-old"); and the folder, emptied again, in
# which kgpu notes what it does.
left_out='^./(proc|sys|tmp|run|var/log|var/cache|var/lib/apt/lists)/|^./etc/(passwd|shadow|group|gshadow)- |^./var/lib/dpkg/[a-z]*-old |^./var/lib/kgpu d '
# Files that are there before and after with other bytes: an initial RAM disk has the time in it,
# users of packages stay when these go, so that nobody else gets their numbers, and dpkg writes its
# packages in no certain order: they are compared as it lists them.
other_bytes='^./boot/initrd.img-|^./etc/(passwd|shadow|group|gshadow) |^./var/lib/dpkg/status '

list_tree() {
  (cd "$root" && find . -xdev -printf '%p %y %m %U %G %l\n') | grep -Ev "$left_out" | sort
}
sum_tree() {
  (cd "$root" && find . -xdev -type f -print0 | xargs -0 sha256sum) |
    awk '{ print $2, $1 }' | grep -Ev "$left_out|$other_bytes" | sort
}
list_packages() {
  # shellcheck disable=SC2016  # dpkg-query expands these
  inside dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package} ${Version}\n' | sort
}
snapshot() {
  list_tree >"$work/$1.list"
  sum_tree >"$work/$1.sums"
  list_packages >"$work/$1.packages"
}
same_as_before() {
  snapshot "$1"
  diff "$work/before.list" "$work/$1.list" || fail "$1: the list of files is not as before"
  diff "$work/before.packages" "$work/$1.packages" || fail "$1: packages are not as before"
  diff "$work/before.sums" "$work/$1.sums" || fail "$1: files are not as before"
}

# "URI suite" of each source of this machine that is Debian 12's, whatever file names it.
sources() {
  # shellcheck disable=SC2016  # apt-get expands these
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
    awk '$2 ~ /^bookworm/ && $3 == "main" { print $1, $2 }' | sort -u
}

make_tree() {
  local archive
  archive=$(sources | awk '$2 == "bookworm" { print $1; exit }')
  [ -n "$archive" ] || { echo "SKIPPED: no source of this machine has Debian 12"; exit 77; }
  debootstrap --variant=minbase bookworm "$root" "$archive" >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log"; echo "SKIPPED: the archive is not reached"; exit 77; }
  sources | while read -r uri suite; do echo "deb $uri $suite main"; done \
    >"$root/etc/apt/sources.list"
  inside mount -t proc proc /proc
  {
    inside apt-get update -q
    inside apt-get -y -q --no-install-recommends dist-upgrade
    inside apt-get -y -q --no-install-recommends install linux-image-amd64
    inside apt-get clean
  } >>"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail "the tree could not be made"; }
  umount "$root/proc"
}

if [ -d "${KGPU_DEBIAN_TREE:-}" ]; then
  cp -a "$KGPU_DEBIAN_TREE" "$root"
else
  make_tree
  [ -z "${KGPU_DEBIAN_TREE:-}" ] || cp -a "$root" "$KGPU_DEBIAN_TREE"
fi
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
kernel=$(cd "$root/lib/modules" && echo [0-9]*)
say "Debian $(cat "$root/etc/debian_version") with kernel $kernel is in $root"
snapshot before

driver() {
  local verb=$1
  shift
  "$kgpu" driver "$verb" --host-root "$root" "$@"
}

# The open modules want firmware of a version that the archive has replaced.
status=0
driver install --yes --gpu ampere --module open >"$work/open" 2>&1 || status=$?
[ "$status" != 0 ] || fail "the open modules were installed: the archive has fixed them"
grep -q firmware-nvidia-gsp "$work/open" || { cat "$work/open"; fail "the reason is not told"; }
same_as_before open
say "the open modules were refused with exit code $status: $(grep -m1 firmware-nvidia-gsp "$work/open")"

install_and_look() {
  local begun=$SECONDS
  driver install --yes --gpu ampere "$@" >"$work/install" 2>&1 ||
    { cat "$work/install"; fail "kgpu driver install"; }
  say "installed in $((SECONDS - begun)) s"
  version=$(inside modinfo -k "$kernel" -F version nvidia-current)
  case $version in
    [0-9]*.[0-9]*) say "modinfo: nvidia-current $version for $kernel" ;;
    *) fail "modinfo tells no version: $version" ;;
  esac
  # Into files first: a grep that has seen enough would end the program before it with a signal.
  for module in nvidia-current nvidia-current-uvm nvidia-current-modeset; do
    inside modinfo -k "$kernel" -F vermagic "$module" >"$work/vermagic" || fail "$module is not there"
    grep -q "^$kernel " "$work/vermagic" || fail "$module was not built for $kernel"
  done
  inside dkms status -k "$kernel" >"$work/dkms"
  grep -q installed "$work/dkms" || fail "DKMS has not installed the modules"
  inside ldconfig -p >"$work/linker"
  for library in libcuda.so.1 libnvidia-ml.so.1; do
    grep -q "$library" "$work/linker" || fail "the dynamic linker does not find $library"
  done
  driver verify >"$work/verify" 2>&1 || { cat "$work/verify"; fail "kgpu driver verify"; }
  sed 's/^/        /' "$work/verify"
  [ ! -e "$root/usr/sbin/policy-rc.d" ] || fail "policy-rc.d is left behind"
}

install_and_look
begun=$SECONDS
driver remove --yes >"$work/remove" 2>&1 || { cat "$work/remove"; fail "kgpu driver remove"; }
say "removed in $((SECONDS - begun)) s"
same_as_before removed
! driver verify >/dev/null 2>&1 || fail "kgpu driver verify finds a driver that is gone"
say "the tree is as it was before"

# shellcheck source=tests/driver/own.sh
. "$(dirname "$0")/own.sh"
# shellcheck source=tests/driver/upgrade.sh
. "$(dirname "$0")/upgrade.sh"
# shellcheck source=tests/driver/container.sh
. "$(dirname "$0")/container.sh"
