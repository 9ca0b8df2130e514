#!/usr/bin/env bash
# The main job from start to end, on a fresh Debian 12: a host with GPUs, its inventory, its CDI
# spec, a real container with two GPUs, a fault and its recovery.
#   scripts/demo.sh             on a simulated host with 8 A100: needs no GPU
#   scripts/demo.sh --real      on this machine's real driver (no fault is injected)
#   scripts/demo.sh --profile NAME   another simulated host (kgpu sim profiles lists them)
# Needs root: device nodes and containers do. Leaves nothing behind but the build.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=scripts/container.sh
. "$(dirname "$0")/container.sh"

profile=8xA100-SXM4-80GB real=''
while [ $# -gt 0 ]; do
  case $1 in
    --real) real=yes ;;
    --profile) profile=${2:?--profile needs a name} && shift ;;
    *) die "usage: scripts/demo.sh [--real | --profile NAME]" ;;
  esac
  shift
done
[ "$(id -u)" = 0 ] || die "the demo makes device nodes and starts containers: run it as root"

cd "$kgpu_top"
scripts/setup.sh
scripts/build.sh
bin=$kgpu_top/build/release/bin
started=$(date +%s%N)
milliseconds() { echo $((($(date +%s%N) - ${1:-$started}) / 1000000)); }

work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-demo-XXXXXX")
watcher=''
cleanup() {
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  [ -n "$real" ] || "$bin/kgpu-sim" delete "$work/host" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

host_flags=()
if [ -z "$real" ]; then
  step "1. a simulated host with profile $profile"
  mark=$(date +%s%N)
  "$bin/kgpu" sim create "$work/host" --profile "$profile"
  create_ms=$(milliseconds "$mark")
  host_flags=(--host-root "$work/host" --engine-root /)
else
  step "1. this machine's own driver"
  create_ms=0
fi

step "2. the inventory: kgpu devices"
mark=$(date +%s%N)
"$bin/kgpu" devices "${host_flags[@]}" || [ $? = 7 ]
devices_ms=$(milliseconds "$mark")

step "3. the CDI spec: kgpu cdi generate"
mkdir "$work/cdi"
mark=$(date +%s%N)
"$bin/kgpu" cdi generate "${host_flags[@]}" --output-dir "$work/cdi"
cdi_ms=$(milliseconds "$mark")
"$bin/kgpu" cdi check "${host_flags[@]}" --spec-dir "$work/cdi"

step "4. a real container with two GPUs (podman, runc)"
# The indices the host has: the first and the last, or the only one.
mapfile -t uuids < <("$bin/kgpu" devices "${host_flags[@]}" --output json |
  sed -n 's/^ *"uuid": "\(GPU-[^"]*\)".*/\1/p')
[ ${#uuids[@]} -gt 0 ] || die "this host has no usable GPU: see step 2"
wanted=("${uuids[0]}")
[ ${#uuids[@]} = 1 ] || wanted+=("${uuids[-1]}")
make_rootfs "$work/rootfs" "$bin/kgpu" "$bin/kgpu-probe"
device_flags=()
for uuid in "${wanted[@]}"; do device_flags+=(--device "kgpu.dev/gpu=$uuid"); done
mark=$(date +%s%N)
# shellcheck disable=SC2016  # the container's shell expands them
run_container "$work" "$work/cdi" "$work/rootfs" "${device_flags[@]}" -- sh -c '
  echo "device nodes:"; ls -l /dev/nvidia* | sed "s/^/  /"
  echo "driver libraries:"; ls /usr/lib/*-linux-gnu/libcuda.so* /usr/lib/*-linux-gnu/libnvidia-ml.so* | sed "s/^/  /"
  echo "kgpu devices, in the container:"; kgpu devices | sed "s/^/  /"' | tee "$work/seen"
container_ms=$(milliseconds "$mark")
for uuid in "${wanted[@]}"; do
  grep -q "$uuid" "$work/seen" || die "the container does not see $uuid"
done
[ "$(grep -c 'GPU-[0-9a-f]' "$work/seen")" = ${#wanted[@]} ] ||
  die "the container sees other GPUs than the ${#wanted[@]} it was given"

fault_ms=0 heal_ms=0
if [ -z "$real" ]; then
  victim=$((${#uuids[@]} > 3 ? 3 : 0))
  step "5. XID 79 (fallen off the bus) on GPU $victim, seen by kgpu devices --watch"
  "$bin/kgpu" devices "${host_flags[@]}" --watch --hold-down 500ms >"$work/watch" &
  watcher=$!
  # wait_for PATTERN: until the watch has printed it, 10 s at most.
  wait_for() {
    local tries
    for ((tries = 0; tries < 1000; ++tries)); do
      grep -q "$1" "$work/watch" && return 0
      sleep 0.01
    done
    cat "$work/watch" >&2
    die "the inventory did not show: $1"
  }
  wait_for "^GPU "
  mark=$(date +%s%N)
  "$bin/kgpu" sim xid "$work/host" "$victim" 79
  wait_for "GPU $victim .*Unhealthy"
  fault_ms=$(milliseconds "$mark")
  grep "GPU $victim .*Unhealthy" "$work/watch" | sed 's/^/  /'
  step "6. healed"
  mark=$(date +%s%N)
  "$bin/kgpu" sim heal "$work/host" "$victim"
  wait_for "GPU $victim .*: Healthy"
  heal_ms=$(milliseconds "$mark")
  grep "GPU $victim .*: Healthy" "$work/watch" | tail -n 1 | sed 's/^/  /'
fi

step "summary"
cat <<END
  simulated host created      $create_ms ms
  kgpu devices                $devices_ms ms
  kgpu cdi generate           $cdi_ms ms
  container, start to end     $container_ms ms   (saw exactly ${#wanted[@]} GPUs: ${wanted[*]})
  fault to unhealthy          $fault_ms ms   (the injecting command included)
  heal to healthy             $heal_ms ms   (a hold-down of 500 ms included)
  whole demo after the build  $(milliseconds) ms
END
