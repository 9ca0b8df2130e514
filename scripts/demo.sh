#!/usr/bin/env bash
# The main job from start to end, on a fresh Debian 12: a host with GPUs, the agent, a kubelet, a pod
# with two GPUs in a real container, a fault and its recovery on the kubelet's stream.
#   scripts/demo.sh             on a simulated host with 8 A100: needs no GPU
#   scripts/demo.sh --real      on this machine's real driver (no fault is injected)
#   scripts/demo.sh --profile NAME   another simulated host (kgpu sim profiles lists them)
# The kubelet is kgpu-sim's: it does what a kubelet does with plugins and pods, without Kubernetes.
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
agent=''
cleanup() {
  "$bin/kgpu-sim" kubelet stop "$work/kubelet" >/dev/null 2>&1 || true
  [ -z "$agent" ] || kill "$agent" 2>/dev/null || true
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
  cdi_dir=/var/run/cdi cdi_seen=$work/host/var/run/cdi
else
  step "1. this machine's own driver"
  create_ms=0
  # Not the machine's own folder: this is a demonstration.
  cdi_dir=$work/cdi cdi_seen=$work/cdi
fi

step "2. the inventory: kgpu devices"
mark=$(date +%s%N)
"$bin/kgpu" devices "${host_flags[@]}" --direct || [ $? = 7 ]
devices_ms=$(milliseconds "$mark")

step "   what it makes of the node: kgpu labels"
mark=$(date +%s%N)
"$bin/kgpu" labels "${host_flags[@]}" >"$work/labels"
labels_ms=$(milliseconds "$mark")
printf '%d labels, of them:\n' "$(wc -l <"$work/labels")"
grep -E '(pci-|kernel-version.full|gpu.product|gpu.count|gpu.memory|cuda.driver-version.full|mig.capable)' \
  "$work/labels" | sed 's/^/  /'

mapfile -t uuids < <("$bin/kgpu" devices "${host_flags[@]}" --direct --output json |
  sed -n 's/^ *"uuid": "\(GPU-[^"]*\)".*/\1/p')
[ ${#uuids[@]} -gt 0 ] || die "this host has no usable GPU: see step 2"
gpus=${#uuids[@]} wanted=$((${#uuids[@]} > 1 ? 2 : 1))
victim=$((gpus > 3 ? 3 : 0))

step "3. the agent and a kubelet, in any order"
cat >"$work/config.yaml" <<END
apiVersion: kgpu.dev/v1
kind: NodeConfig
plugin: {deviceListStrategy: [device-specs, mounts]}
health: {holdDown: 500ms}
END
mkdir "$work/cdi"
mark=$(date +%s%N)
"$bin/kgpu" agent "${host_flags[@]}" --kubelet-dir "$work/kubelet" --run-dir "$work/run" --state-dir "$work/state" \
  --cdi-dir "$cdi_dir" --config "$work/config.yaml" --http-address off 2>"$work/agent.log" &
agent=$!
make_rootfs "$work/rootfs" "$bin/kgpu" "$bin/kgpu-probe"
"$bin/kgpu" sim kubelet start "$work/kubelet" --runtime runc --rootfs "$work/rootfs" \
  --cdi-dir "$cdi_seen"
kubelet() { "$bin/kgpu" sim kubelet "$1" "$work/kubelet" "${@:2}"; }
resource=nvidia.com/gpu
kubelet wait --resource "$resource" --allocatable "$gpus"
register_ms=$(milliseconds "$mark")
"$bin/kgpu" status --run-dir "$work/run"

# run_pod NAME: a pod with GPUs, in a real container; shows what it sees and checks it.
run_pod() {
  mark=$(date +%s%N)
  # shellcheck disable=SC2016  # the container's shell expands them
  kubelet pod "$1" --resource "$resource=$wanted" --restart Never --output json --command '
    echo "device nodes:"; ls -l /dev/nvidia* | sed "s/^/  /"
    echo "driver libraries:"; ls /usr/lib/*-linux-gnu/libcuda.so* /usr/lib/*-linux-gnu/libnvidia-ml.so* | sed "s/^/  /"
    echo "kgpu devices, in the container:"; kgpu devices | sed "s/^/  /"' >"$work/$1.json"
  kubelet wait --pod "$1" --phase Succeeded
  pod_ms=$(milliseconds "$mark")
  kubelet logs "$1" | tee "$work/seen"
  mapfile -t given < <(grep -o '"GPU-[^"]*"' "$work/$1.json" | tr -d '"' | sort -u)
  [ ${#given[@]} = "$wanted" ] || die "the kubelet was given ${#given[@]} GPUs, not $wanted"
  for uuid in "${given[@]}"; do
    grep -q "$uuid" "$work/seen" || die "the container does not see $uuid"
  done
  [ "$(grep -c 'GPU-[0-9a-f]' "$work/seen")" = "$wanted" ] ||
    die "the container sees other GPUs than the $wanted it was given"
}

step "4. a pod with $wanted GPUs: device nodes and mounts, no support from the runtime needed"
run_pod plain
plain_ms=$pod_ms

step "5. another, by CDI: the configuration is edited, nothing restarted"
sed -i 's/\[device-specs, mounts\]/cdi-cri/' "$work/config.yaml"
injection() { "$bin/kgpu" status --run-dir "$work/run" | grep '^injection'; }
for ((tries = 0; tries < 500; ++tries)); do
  case $(injection) in *CdiCri*) break ;; esac
  sleep 0.01
done
case $(injection) in *CdiCri*) ;; *) die "the agent did not take the new configuration" ;; esac
run_pod cdi
cdi_ms=$pod_ms

fault_ms=0 heal_ms=0
if [ -z "$real" ]; then
  step "6. XID 79 (fallen off the bus) on GPU $victim: Unhealthy on the kubelet's stream"
  mark=$(date +%s%N)
  "$bin/kgpu" sim xid "$work/host" "$victim" 79
  kubelet wait --resource "$resource" --allocatable $((gpus - 1))
  fault_ms=$(milliseconds "$mark")
  "$bin/kgpu" status --run-dir "$work/run" | grep -E "^nvidia|Xid" || true
  step "7. healed: Healthy again after a probe and the hold-down"
  mark=$(date +%s%N)
  "$bin/kgpu" sim heal "$work/host" "$victim"
  kubelet wait --resource "$resource" --allocatable "$gpus"
  heal_ms=$(milliseconds "$mark")
  kubelet status
fi

step "summary"
cat <<END
  simulated host created      $create_ms ms
  kgpu devices                $devices_ms ms
  kgpu labels                 $labels_ms ms
  agent and kubelet started, all GPUs counted   $register_ms ms
  pod by nodes and mounts     $plain_ms ms   (saw exactly its $wanted GPUs)
  pod by CDI                  $cdi_ms ms   (saw exactly its $wanted GPUs)
  fault to unhealthy          $fault_ms ms   (the commands included)
  heal to healthy             $heal_ms ms   (a hold-down of 500 ms included)
  whole demo after the build  $(milliseconds) ms
END
