# Sourced by run.sh: memory slices on the driver, by the library that containers get. The bundle's
# reads the slots from the folder in which a program starts, so that nothing of the machine changes.
# shellcheck shell=bash
# $work, $out, $here, $root, $host, $engine, check, skip, kgpu and uuids_of_kgpu are run.sh's.
# shellcheck disable=SC2154,SC2034

# In the slice: 1 GiB of the first GPU, of which each context counts 320 MiB.
in_slice() { (cd "$work/slice" && LD_PRELOAD="$here/libkgpu-share-test.so" on_gpu "$@"); }
# The same GPU without a limit.
on_gpu() {
  local -x CUDA_VISIBLE_DEVICES=$slice_gpu
  [ -z "$slice_driver" ] || local -x LD_LIBRARY_PATH=$slice_driver
  "$@"
}
make_slice() {
  mkdir -p "$work/slice/kgpu-slots/0"
  printf 'version 1\ndevice %s\nmemory %s\ncontext %s\n' "$slice_gpu" $((1024 << 20)) $((320 << 20)) \
    >"$work/slice/kgpu-slots/0/limits"
  : >"$work/slice/kgpu-slots/0/ledger"
}

# The steps of tests/share/client.cc print a line each: its name, and the driver's result.
steps() { # EXPECTED STEP …: exactly these lines
  local expected=$1
  shift
  in_slice "$here/share_client" dlsym init ctx "$@" >"$work/slice/out"
  diff <(printf 'init 0\nctx 0\n%s\n' "$expected") "$work/slice/out"
}
# 704 MiB are left beside a context.
is_stopped() { steps "$1 2"$'\n'"$1 0"$'\n'"$1 2" "$1:706" "$1:600" "$1:200"; }
is_given_back() { steps $'alloc 0\nfree 0\nalloc 0' alloc:600 free alloc:600; }
dies_and_leaves_nothing() {
  ! in_slice "$here/share_client" dlsym init ctx alloc:600 kill >/dev/null && steps 'alloc 0' alloc:600
}
# One limit for all programs of a container: two contexts and 300 MiB leave 84.
is_shared_by_programs() {
  local line='' code=0 client
  mkfifo "$work/slice/in" "$work/slice/held"
  in_slice "$here/share_client" dlsym init ctx alloc:300 hold <"$work/slice/in" >"$work/slice/held" &
  client=$!
  exec 8>"$work/slice/in" 9<"$work/slice/held"
  while read -r line <&9 && [ "$line" != held ]; do :; done
  # For people: what the driver counts for the client, its context included.
  kgpu metrics --once "${engine[@]}" | grep ^kgpu_process_memory_used
  steps $'alloc 2\nalloc 0' alloc:100 alloc:60 || code=$?
  exec 8>&-
  wait "$client"
  exec 9<&-
  rm "$work/slice/in" "$work/slice/held"
  [ "$line" = held ] && return "$code"
}
is_not_limited_outside() {
  on_gpu "$here/share_client" dlsym init ctx alloc:1200 | diff <(printf 'init 0\nctx 0\nalloc 0\n') -
}
nvml_shows_the_slice() {
  in_slice nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | grep -x 1024
}
# What a graph allocates is taken when it is launched.
graphs_are_stopped() { steps $'graph 2\ngraph 0\nlaunch 0\nalloc 2' graph:706 graph:600 launch alloc:200; }
# LOG [FLAG …]: tests the GPU in the slice, whose helper gets nothing of our environment.
validate_in_slice() {
  local log=$1
  shift
  printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$here/libkgpu-share-test.so" "$here/rootfs/usr/bin/kgpu-cuda" \
    >"$work/slice/helper"
  chmod +x "$work/slice/helper"
  : >"$work/slice/kgpu-slots/0/ledger"
  (cd "$work/slice" && "$here/rootfs/usr/bin/kgpu" validate --gpu "$slice_gpu" --burn "$burn" \
    --cuda-helper "$work/slice/helper" "$@" "${engine[@]}") | tee "$log" &&
    [ -s "$work/slice/kgpu-slots/0/ledger" ] # the helper has found the library
}
computes_rightly() { validate_in_slice "$work/slice/limited.log"; }
# Work in a second, with a limit of memory alone and with a quarter of the time, too. Without the
# agent, that is fixed.
speed_of() { sed -n 's|^Burn, single precision *\([0-9.]*\) TFLOP/s.*|\1|p' "$1"; }
has_a_quarter() {
  local bare limited shared
  kgpu validate --gpu "$slice_gpu" --burn "$burn" --no-bandwidth "${engine[@]}" >"$work/slice/bare.log"
  echo 'compute 25' >>"$work/slice/kgpu-slots/0/limits"
  validate_in_slice "$work/slice/shared.log" --no-bandwidth >/dev/null
  bare=$(speed_of "$work/slice/bare.log") limited=$(speed_of "$work/slice/limited.log")
  shared=$(speed_of "$work/slice/shared.log")
  awk -v bare="$bare" -v limited="$limited" -v shared="$shared" 'BEGIN {
    printf "TFLOP/s: %s; with a limit of memory %s, ratio %.2f; with a quarter of the time %s, ratio %.2f\n",
      bare, limited, limited / bare, shared, shared / bare
    exit shared / bare > 0.15 && shared / bare < 0.4 ? 0 : 1 }'
}
# Nanoseconds of CPU time of calls, with the limit and without, and their ratio.
costs() {
  on_gpu "$here/share-client" >"$work/slice/bare" && in_slice "$here/share-client" >"$work/slice/limited" &&
    awk 'NR == FNR { bare[$1] = $2; next }
      { printf "%s %s ns, %s ns without a limit, ratio %.2f\n", $1, $2, bare[$1], $2 / bare[$1] }' \
      "$work/slice/bare" "$work/slice/limited"
}

slices() {
  slice_gpu=$(uuids_of_kgpu | head -n 1) slice_driver=''
  if [ ! -x "$here/share_client" ]; then
    skip slices "the bundle was made without the programs of the tests"
    return
  fi
  if [ -n "$root" ]; then
    slice_driver=$(dirname "$(find "$root/usr" -name libcuda.so.1 | head -n 1)")
  fi
  make_slice
  if ! is_not_limited_outside >"$out/log/slices.why" 2>&1; then
    skip slices "the first GPU has no 1,200 MiB free, or is in MIG mode"
    return
  fi
  slice_is_free=yes # for mps.sh
  check slice-sees steps 'info 0 free=704 total=1024 device=1024' info
  local family
  for family in alloc pitch managed array array3d mipmap create async; do
    check "slice-stops-$family" is_stopped "$family"
  done
  check slice-stops-graphs graphs_are_stopped
  check slice-gives-back is_given_back
  check slice-after-kill dies_and_leaves_nothing
  check slice-of-all-programs is_shared_by_programs
  check slice-validate computes_rightly
  if [ -n "$root" ]; then
    skip slice-costs "a simulated driver takes no time of a GPU"
  else
    check slice-costs costs
    check slice-compute has_a_quarter
    if command -v nvidia-smi >/dev/null; then check slice-nvidia-smi nvml_shows_the_slice; fi
  fi
}
