#!/usr/bin/env bash
# GPU functions from start to end, on a fresh Debian 12: a host with GPUs, `kgpu fn up`, and for each
# runtime init, build, deploy and call in real containers; at last a function that computes on a GPU.
#   scripts/demo_functions.sh                      C++ and Python, on a simulated host with 8 A100
#   scripts/demo_functions.sh --runtime NAME       another one, may be repeated: cpp, go, java, nodejs, python3, ruby
# Base images are made of Debian's packages, which are fetched: C++ takes half a minute, Go and Java
# longer. Needs root: device nodes and containers do. Leaves nothing behind but the build.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

runtimes=()
while [ $# -gt 0 ]; do
  case $1 in
    --runtime) runtimes+=("${2:?--runtime needs a name}") && shift ;;
    *) die "usage: scripts/demo_functions.sh [--runtime NAME]…" ;;
  esac
  shift
done
[ ${#runtimes[@]} -gt 0 ] || runtimes=(cpp python3)
[ "$(id -u)" = 0 ] || die "the demo makes device nodes and starts containers: run it as root"

cd "$kgpu_top"
scripts/setup.sh
# Base images come from apt's sources; images of Debian often lack its lists.
apt-cache show libstdc++6 >/dev/null 2>&1 || apt-get update -q >&2
scripts/build.sh
kgpu=$kgpu_top/build/release/bin/kgpu
milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }

work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-functions-XXXXXX")
host=$work/host
# Images and containers of this demo alone; the first two are for podman and buildah.
storage=(--root="$work/storage" --runroot="$work/runroot")
engine=("${storage[@]}" --tmpdir="$work/tmp" --runtime=runc --cgroup-manager=cgroupfs --events-backend=none)
flags() { printf -- '--engine-flag=%s\n' "$@"; }
mapfile -t build_flags < <(flags "${storage[@]}")
mapfile -t up_flags < <(flags "${engine[@]}")
cleanup() {
  "$kgpu" fn down --purge --host-root "$host" >/dev/null 2>&1 || true
  "$kgpu" sim delete "$host" >/dev/null 2>&1 || true
  podman "${engine[@]}" rm --all --force >/dev/null 2>&1 || true
  umount "$work"/storage/* 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
fn() { "$kgpu" fn "$@" --host-root "$host"; }
# Builds take no host: they only make images.
build() { "$kgpu" fn build -f "$1" "${build_flags[@]}"; }

step "1. a simulated host with 8 A100, the agent and the function service"
"$kgpu" sim create "$host" --profile 8xA100-SXM4-80GB
fn up "${up_flags[@]}"

cd "$work"
head -c 10000 /dev/urandom >input
number=1
for runtime in "${runtimes[@]}"; do
  number=$((number + 1))
  step "$number. $runtime: init, build, deploy, call"
  name=hello-$runtime wanted=$((number == 2 ? 2 : 1)) # eight GPUs suffice for all six runtimes
  "$kgpu" fn init "$name" -r "$runtime" --gpus "$wanted"
  build "$name/config.yaml"
  mark=$(date +%s%N)
  fn deploy -f "$name/config.yaml"
  deploy_ms=$(milliseconds "$mark")
  echo hi | fn call "$name"
  fn call "$name" <input >output
  cmp input output || die "$name did not return its input byte for byte"
  mark=$(date +%s%N)
  echo hi | fn call "$name" >/dev/null
  printf '  deployed and running after %s ms; a call, the command included: %s ms\n' \
    "$deploy_ms" "$(milliseconds "$mark")"
  gpus=$(fn info "$name" | grep -c '^ *- GPU-' || true)
  [ "$gpus" = "$wanted" ] || die "$name has $gpus GPUs, not the $wanted of its file"
done

number=$((number + 1))
step "$number. a function that adds two vectors on a GPU"
cp -r "$kgpu_top/docs/examples/functions" examples
build examples/vector-add.yaml
fn deploy -f examples/vector-add.yaml
printf '1 2 3\n10 20 30\n' | fn call vector-add | tee sum
[ "$(cat sum)" = "11 22 33" ] || die "the GPU computed $(cat sum), not 11 22 33"

step "what runs, and who has which GPU"
fn list
"$kgpu" devices --host-root "$host"
fn usage

step "the GPUs are free again once a function is deleted"
for runtime in "${runtimes[@]}"; do fn delete "hello-$runtime"; done
fn delete vector-add
fn list
