# Sourced by release_test.sh: a root file system that has little but what packages need, and the agent
# started in it as its unit says.
# shellcheck shell=bash

agent=
end_agent() { [ -z "$agent" ] || kill "$agent" 2>/dev/null || true; }

# copy_library ROOT FILE: to the same place.
copy_library() {
  mkdir -p "$1$(dirname "$2")"
  cp -L "$2" "$1$2"
}

# make_root ROOT: busybox as the shell that scripts of packages run in, the C library of this machine,
# and in the place of systemd a program that notes what it is asked, in /tmp/asked.
make_root() {
  local root=$1 library name
  mkdir -p "$root"/{bin,usr/bin,etc,proc,sys,dev,tmp,run,lib64} "$root"/var/lib/kubelet/device-plugins \
    "$root/var/log" "$root/var/run" "$root/run/systemd/system"
  cp /bin/busybox "$root/bin/busybox"
  for name in sh rm; do ln -s busybox "$root/bin/$name"; done
  # shellcheck disable=SC2016  # the script expands it
  printf '#!/bin/sh\necho "$@" >>/tmp/asked\n' >"$root/usr/bin/systemctl"
  chmod +x "$root/usr/bin/systemctl"
  mknod -m 666 "$root/dev/null" c 1 3 || skip "device nodes cannot be made here"
  for library in libc.so.6 libdl.so.2 libpthread.so.0; do
    copy_library "$root" "$(ldconfig -p | sed -n "s|.*${library//./\\.} (libc6,[^)]*) => ||p" | head -n1)"
  done
  copy_library "$root" \
    "$(readelf -l build/release/bin/kgpu-probe | sed -n 's|.*interpreter: \(.*\)\]|\1|p')"
}

# files ROOT: every file, without the state of package managers.
files() {
  (cd "$1" && find . \( -path ./var/lib/dpkg -o -path ./var/lib/rpm \) -prune -o \
    -printf '%y %m %p %l\n' | sort)
}

# has_files ROOT PREFIX FILE …: what every kind of package brings, and the given.
has_files() {
  local prefix=$1/$2 name
  shift 2
  for name in kgpu kgpu-probe kgpu-cuda kgpu-fnwatch kgpu-runtime; do
    [ -x "$prefix/bin/$name" ] || fail "$prefix/bin/$name is missing"
  done
  for name in kubectl-kgpu kubectl_complete-kgpu; do
    [ "$(readlink "$prefix/bin/$name")" = kgpu ] || fail "$prefix/bin/$name is no link to kgpu"
  done
  for name in bash-completion/completions/kgpu fish/vendor_completions.d/kgpu.fish \
    kgpu/manifests/kgpu.yaml "$@"; do
    [ -s "$prefix/share/$name" ] || fail "$prefix/share/$name is missing"
  done
}

# runs_in ROOT PREFIX: the agent starts with its unit's command line, answers, and `kgpu node up`
# finds it.
runs_in() {
  local root=$1 prefix=$2 command
  command=$(sed -n 's/^ExecStart=//p' "$root/$prefix/lib/systemd/system/kgpu-agent.service")
  [ "$command" = "/$prefix/bin/kgpu agent" ] || fail "the unit starts \"$command\""
  # Programs look at themselves in /proc. It is mounted in a namespace that ends with the shell.
  unshare --mount true || skip "needs mount namespaces"
  # shellcheck disable=SC2016  # the inner shell expands them
  local inside=(unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' _ "$root")
  # shellcheck disable=SC2086,SC2154  # a command line; who sources this has the folder
  "${inside[@]}" $command 2>"$work/agent.log" &
  agent=$!
  for _ in $(seq 200); do
    [ ! -S "$root/run/kgpu/agent.sock" ] || break
    kill -0 "$agent" 2>/dev/null || fail "the agent ended: $(<"$work/agent.log")"
    read -r -t 0.05 <> <(:) || true
  done
  "${inside[@]}" "/$prefix/bin/kgpu" status >"$work/status" || [ $? = 7 ] || fail "$(<"$work/status")"
  "${inside[@]}" "/$prefix/bin/kgpu" node up --dry-run --skip host,driver,engine,validate \
    >"$work/up" 2>&1 || fail "node up: $(<"$work/up")"
  grep -q '^agent  *ready' "$work/up" || fail "node up does not find the agent: $(<"$work/up")"
  kill "$agent"
  wait "$agent" || fail "the agent's exit: $?"
  agent=
}

# leaves_nothing ROOT BEFORE: what systemd and the test remove is not counted.
leaves_nothing() {
  rm -rf "$1/run/kgpu" "$1/tmp/asked"
  files "$1" >"$work/after"
  diff "$2" "$work/after" || fail "the removal leaves these"
}
