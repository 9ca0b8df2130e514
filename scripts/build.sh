#!/usr/bin/env bash
# Builds the release programs into build/release/bin/ (and the simulated driver beside them).
#   scripts/build.sh            the programs
#   scripts/build.sh --all      tests and benchmarks too
#   scripts/build.sh PRESET [--all | TARGET …]   another preset: debug, asan, fuzz, tsan, tidy; aarch64
#                               with what scripts/fetch_cross.sh has unpacked
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

preset=release targets=()
if [ $# -gt 0 ] && [ "$1" != --all ]; then
  preset=$1
  shift
fi
for argument in "$@"; do
  case $argument in
    --all) targets+=(all) ;;
    -*) die "usage: scripts/build.sh [PRESET] [--all | TARGET …]" ;;
    *) targets+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(programs)
cd "$kgpu_top"
started=$SECONDS
# The unpacked compiler's own libraries.
[ "$preset" != aarch64 ] ||
  export LD_LIBRARY_PATH=$kgpu_top/build/cross/aarch64/tools/usr/lib/x86_64-linux-gnu
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
step "building $preset (${targets[*]})"
# ninja's own status line is the progress shown; warnings are errors, so there is no other output.
cmake --build --preset "$preset" --target "${targets[@]}" >&2
# What the shell's children took, by its own count: the second line. Only this shell has it.
times >"build/$preset/times"
minutes=$(awk 'NR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/)
  printf "%.1f", user[1] + kernel[1] + (user[2] + kernel[2]) / 60 }' "build/$preset/times")
step "built in $((SECONDS - started)) s, $minutes CPU minutes: build/$preset/bin/"
# The budget of bench/build.sh, and a fifth.
if [ "$preset ${targets[*]}" = "release programs" ]; then
  budget=15
  if awk -v a="$minutes" -v b="$budget" 'BEGIN { exit !(a > b * 1.2) }'; then
    step "WARNING: the budget is $budget CPU minutes: bench/build.sh shows what takes them"
  fi
fi
