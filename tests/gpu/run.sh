#!/usr/bin/env bash
# Checks kgpu against the real driver of this machine and keeps what it said as a recorded host.
# Needs what lies beside it and nothing else; changes nothing on the machine.
#   run.sh [--host-root DIR] [--burn DURATION] [OUT]     default: a folder out beside this script
# DIR is a simulated host, for trying the bundle where no GPU is. README.md says what OUT has then.
# Ends with "N passed, N failed, N skipped"; exit code 0 passed, 1 failed, 77 nothing could be tried.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root='' burn=5s out=$here/out
while [ $# -gt 0 ]; do
  case $1 in
    --host-root) root=${2:?--host-root needs a folder} && shift ;;
    --burn) burn=${2:?--burn needs a duration} && shift ;;
    -*) echo "usage: run.sh [--host-root DIR] [--burn DURATION] [OUT]" >&2 && exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done
flags=()
[ -z "$root" ] || flags=(--host-root "$root")
engine=("${flags[@]}")
[ -z "$root" ] || engine+=(--engine-root /)
mkdir -p "$out"/{log,host,cdi}
out=$(cd "$out" && pwd)
host=$out/host
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# run_check NAME CODES COMMAND …: passes when the command ends with one of the codes. Its standard
# output is kept in $out/log/NAME and, unless $keep is empty, in $host/$keep.
keep=''
run_check() {
  local name=$1 codes=$2 code=0
  shift 2
  "$@" >"$out/log/$name" 2>"$out/log/$name.err" || code=$?
  [ -z "$keep" ] || cp "$out/log/$name" "$host/$keep"
  keep=''
  if [[ " $codes " == *" $code "* ]]; then
    passed=$((passed + 1)) && echo "ok      $name"
  else
    failed=$((failed + 1)) && echo "FAILED  $name (exit code $code)"
    cat "$out/log/$name" "$out/log/$name.err" | tail -n 20 | sed 's/^/        /'
  fi
}
check() { run_check "$1" 0 "${@:2}"; }
skip() { skipped=$((skipped + 1)) && echo "skipped $1: $2"; }
kgpu() { "$here/rootfs/usr/bin/kgpu" "$@"; }

uuids_of_kgpu() { sed -n 's/^ *"uuid": "\(GPU-[^"]*\)".*/\1/p' "$host/devices.json" | sort; }
same_uuids_as_nvidia_smi() {
  diff <(nvidia-smi --query-gpu=uuid --format=csv,noheader | sort) <(uuids_of_kgpu)
}
same_memory_as_nvidia_smi() {
  diff <(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | sort -n) \
    <(sed -n 's/^ *"memoryBytes": \([0-9]*\),.*/\1/p' "$host/devices.json" |
      while read -r bytes; do echo $((bytes / 1048576)); done | sort -n)
}
every_uuid_in_the_spec() {
  local uuid
  for uuid in $(uuids_of_kgpu); do grep -q "$uuid" "$host/cdi.json" || return 1; done
}

inventory() {
  keep=devices.json && check devices kgpu devices --output json "${engine[@]}"
  keep=devices.txt && check devices-table kgpu devices "${engine[@]}"
  if [ -n "$root" ]; then
    skip nvidia-smi "not of a simulated host"
  elif command -v nvidia-smi >/dev/null; then
    check uuids-as-nvidia-smi same_uuids_as_nvidia_smi
    check memory-as-nvidia-smi same_memory_as_nvidia_smi
  else
    skip nvidia-smi "not on this machine"
  fi
}
specs() {
  keep=cdi.json && check cdi-generate kgpu cdi generate --dry-run "${engine[@]}"
  check cdi-names every_uuid_in_the_spec
  check cdi-write kgpu cdi generate --output-dir "$out/cdi" "${engine[@]}"
  check cdi-check kgpu cdi check --spec-dir "$out/cdi" "${engine[@]}"
}
# Findings are no failure of ours: 7, and 9 of doctor's warnings, nor 6: a container without the host.
verbs() {
  keep=doctor.json && run_check doctor '0 6 7 9' kgpu doctor --output json "${flags[@]}"
  keep=doctor.txt && run_check doctor-table '0 6 7 9' kgpu doctor "${flags[@]}"
  keep=labels.seen && check labels kgpu labels "${engine[@]}"
  keep=metrics.txt && check metrics kgpu metrics --once --names kgpu,dcgm,gke "${engine[@]}"
  keep=health.txt && run_check health '0 7' kgpu health "${engine[@]}"
  keep=rules.txt && check health-rules kgpu health rules
  keep=validate.txt && check validate kgpu validate --all-gpus --burn "$burn" "${engine[@]}"
  keep=validate.json && check validate-json kgpu validate --all-gpus --output json "${engine[@]}"
}

# shellcheck source=tests/gpu/slices.sh
. "$here/slices.sh"
# shellcheck source=tests/gpu/mps.sh
. "$here/mps.sh"
# shellcheck source=tests/gpu/containers.sh
. "$here/containers.sh"

if [ ! -e "$root/proc/driver/nvidia/version" ]; then
  skip all "no NVIDIA driver is loaded here"
else
  keep=driver-version && check driver-version cat "$root/proc/driver/nvidia/version"
  inventory
  specs
  verbs
  slices
  mps
  containers
  keep=host.tree && check record "$here/record.sh" "${root:-/}"
fi
tar -C "$out" -cf "$out/host.tar" host log
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] || exit 1
# A machine without a driver proves nothing, and must not look as if it did.
[ "$passed" -gt 0 ] || exit 77
