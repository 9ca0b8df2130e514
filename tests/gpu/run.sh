#!/usr/bin/env bash
# Checks kgpu against the real driver of this machine. Needs the two programs beside it, nothing
# else; changes nothing on the machine.
#   run.sh [OUT]     keeps every output in OUT (default: a folder out beside this script)
# Ends with "N passed, N failed, N skipped".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out/cdi"
passed=0 failed=0 skipped=0

check() { # NAME COMMAND …: passes when the command succeeds
  local name=$1
  shift
  if "$@" >"$out/$name.log" 2>&1; then
    passed=$((passed + 1)) && echo "ok      $name"
  else
    failed=$((failed + 1)) && echo "FAILED  $name" && sed 's/^/        /' "$out/$name.log"
  fi
}
skip() { skipped=$((skipped + 1)) && echo "skipped $1: $2"; }

uuids_of_kgpu() { sed -n 's/^ *"uuid": "\(GPU-[^"]*\)".*/\1/p' "$out/devices.json" | sort; }
same_uuids_as_nvidia_smi() {
  diff <(nvidia-smi --query-gpu=uuid --format=csv,noheader | sort) <(uuids_of_kgpu)
}
same_memory_as_nvidia_smi() {
  diff <(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | sort -n) \
    <(sed -n 's/^ *"memoryBytes": \([0-9]*\),.*/\1/p' "$out/devices.json" |
      while read -r bytes; do echo $((bytes / 1048576)); done | sort -n)
}
every_uuid_in_the_spec() {
  local uuid
  for uuid in $(uuids_of_kgpu); do grep -q "$uuid" "$out/spec.json" || return 1; done
}

if [ ! -e /proc/driver/nvidia/version ]; then
  skip all "no NVIDIA driver is loaded here"
else
  cat /proc/driver/nvidia/version >"$out/driver-version"
  check devices bash -c "'$here/kgpu' devices --output json >'$out/devices.json'"
  check devices-table "$here/kgpu" devices
  if command -v nvidia-smi >/dev/null; then
    check uuids-as-nvidia-smi same_uuids_as_nvidia_smi
    check memory-as-nvidia-smi same_memory_as_nvidia_smi
  else
    skip nvidia-smi "not on this machine"
  fi
  check cdi-generate bash -c "'$here/kgpu' cdi generate --dry-run >'$out/spec.json'"
  check cdi-names every_uuid_in_the_spec
  check cdi-write "$here/kgpu" cdi generate --output-dir "$out/cdi"
  check cdi-check "$here/kgpu" cdi check --spec-dir "$out/cdi"
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) -gt 0 ]
