#!/usr/bin/env bash
# What scripts/release.sh makes of build/release. Prints what is wrong and exits with 1; 77: skipped.
#   tests/release/release_test.sh same | deb | old-glibc
set -euo pipefail
cd "$(dirname "$0")/../.."
export SOURCE_DATE_EPOCH=1700000000
work=$(mktemp -d)
agent=
cleanup() {
  [ -z "$agent" ] || kill "$agent" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  printf '%s\n' "$*"
  exit 1
}
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
release() { scripts/release.sh --built --no-image --output "$1" >/dev/null 2>"$work/log" || fail "$(<"$work/log")"; }
version=$(sed -n 's/^project(kgpu VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

# Two builds give the same files, and the checksums are those of the files.
same() {
  release "$work/a"
  release "$work/b"
  diff -r "$work/a" "$work/b" || fail "two builds differ"
  (cd "$work/a" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
  python3 - "$work/a/kgpu-$version.spdx.json" <<'PY' || fail "the SBOM is incomplete"
import json, sys
document = json.load(open(sys.argv[1]))
names = {package["SPDXID"] for package in document["packages"]}
linked = [row for row in document["relationships"] if row["relationshipType"] == "STATIC_LINK"]
assert document["spdxVersion"] == "SPDX-2.3" and len(linked) >= 10
assert all(row["relatedSpdxElement"] in names for row in linked)
assert all(package["versionInfo"] for package in document["packages"])
PY
}

# files ROOT: every file, without dpkg's own state.
files() { (cd "$1" && find . -path ./var/lib/dpkg -prune -o -printf '%y %m %p %l\n' | sort); }

# Installed by dpkg into a root of its own, with its scripts run there: the agent starts as its unit
# says, node up finds it, and a purge leaves nothing.
deb() {
  [ "$(id -u)" = 0 ] || skip "needs root, to change into another root"
  local root=$work/root line command
  release "$work/out"
  mkdir -p "$root"/{bin,usr/bin,etc,proc,sys,dev,tmp,run,lib64} "$root"/var/lib/dpkg/{info,updates,triggers} \
    "$root"/var/lib/kubelet/device-plugins "$root"/var/log "$root/var/run"
  : >"$root/var/lib/dpkg/status"
  cp /bin/busybox "$root/bin/busybox"
  for name in sh rm; do ln -s busybox "$root/bin/$name"; done
  # Where systemd would be: what it is asked is noted.
  mkdir -p "$root/run/systemd/system"
  # shellcheck disable=SC2016  # the script expands it
  printf '#!/bin/sh\necho "$@" >>/tmp/asked\n' >"$root/usr/bin/systemctl"
  chmod +x "$root/usr/bin/systemctl"
  mknod -m 666 "$root/dev/null" c 1 3 || skip "device nodes cannot be made here"
  local library
  for library in libc.so.6 libdl.so.2 libpthread.so.0; do
    line=$(ldconfig -p | sed -n "s|.*${library//./\\.} (libc6,[^)]*) => ||p" | head -n1)
    mkdir -p "$root$(dirname "$line")"
    cp -L "$line" "$root$line"
  done
  line=$(readelf -l build/release/bin/kgpu-probe | sed -n 's|.*interpreter: \(.*\)\]|\1|p')
  mkdir -p "$root$(dirname "$line")"
  cp -L "$line" "$root$line"
  files "$root" >"$work/before"

  dpkg --root="$root" --log=/dev/null --force-depends -i "$work"/out/kgpu_*.deb \
    >"$work/log" 2>&1 || fail "$(<"$work/log")"
  for name in kgpu kgpu-probe kgpu-cuda kgpu-runtime; do
    [ -x "$root/usr/bin/$name" ] || fail "usr/bin/$name is missing"
  done
  for name in man/man1/kgpu-agent.1.gz bash-completion/completions/kgpu zsh/vendor-completions/_kgpu \
    fish/vendor_completions.d/kgpu.fish kgpu/manifests/kgpu-agent.yaml doc/kgpu/changelog.gz; do
    [ -s "$root/usr/share/$name" ] || fail "usr/share/$name is missing"
  done
  command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/kgpu-agent.service")
  [ "$command" = "/usr/bin/kgpu agent" ] || fail "the unit starts \"$command\""
  # Programs look at themselves in /proc. It is mounted in a namespace that ends with the shell.
  unshare --mount true || skip "needs mount namespaces"
  # shellcheck disable=SC2016  # the inner shell expands them
  local inside=(unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' _ "$root")
  # shellcheck disable=SC2086  # a command line
  "${inside[@]}" $command 2>"$work/agent.log" &
  agent=$!
  for _ in $(seq 200); do
    [ ! -S "$root/run/kgpu/agent.sock" ] || break
    kill -0 "$agent" 2>/dev/null || fail "the agent ended: $(<"$work/agent.log")"
    read -r -t 0.05 <> <(:) || true
  done
  "${inside[@]}" /usr/bin/kgpu status >"$work/status" || [ $? = 7 ] || fail "$(<"$work/status")"
  "${inside[@]}" /usr/bin/kgpu node up --dry-run --skip host,driver,engine,validate >"$work/up" 2>&1 ||
    fail "node up: $(<"$work/up")"
  grep -q '^agent  *ready' "$work/up" || fail "node up does not find the agent: $(<"$work/up")"
  kill "$agent"
  wait "$agent" || fail "the agent's exit: $?"
  agent=

  dpkg --root="$root" --log=/dev/null --purge kgpu >"$work/log" 2>&1 ||
    fail "$(<"$work/log")"
  grep -qx 'disable --now kgpu-agent.service' "$root/tmp/asked" || fail "the removal stops no agent"
  rm -rf "$root/run/kgpu" "$root/tmp/asked"  # the first is systemd's to remove
  files "$root" >"$work/after"
  diff "$work/before" "$work/after" || fail "the purge leaves these"
}

# The tarball's programs start with the C library of Debian 11.
old_glibc() {
  [ "$(id -u)" = 0 ] || skip "needs root, to change into another root"
  local root=build/engines/bullseye said
  [ -e "$root/packages" ] || skip "no Debian 11 here: run tests/engines/fetch_suites.sh"
  release "$work/out"
  cp -a "$root" "$work/old"
  mkdir -p "$work/old/usr/local"
  tar -C "$work/old/usr/local" --strip-components=1 -xf "$work"/out/kgpu-*-linux-*.tar.gz
  for name in kgpu kgpu-probe kgpu-cuda; do
    said=$(chroot "$work/old" "/usr/local/bin/$name" --version 2>&1) || fail "$name: $said"
    [ "$said" = "$name $version" ] || fail "$name says \"$said\""
  done
  # It opens a library and looks a function up.
  said=$(chroot "$work/old" /usr/local/bin/kgpu-cuda --cuda-library libm.so.6 <<<ptx 2>&1 || true)
  [[ $said == *cuInit* ]] || fail "kgpu-cuda with a library that is not CUDA says: $said"
}

case ${1:-} in
  same) same ;;
  deb) deb ;;
  old-glibc) old_glibc ;;
  *) fail "usage: tests/release/release_test.sh same | deb | old-glibc" ;;
esac
