#!/usr/bin/env bash
# Builds the fuzz targets with clang 19 and runs each for a number of seconds from its corpus.
#   scripts/fuzz.sh [SECONDS [TARGET …]]     default: 5 seconds of every target
#   scripts/fuzz.sh --smoke                  2,000 inputs for every target, 5 seconds at most, from the
#                                            build of the unit tests: the step of .ci/run
# KGPU_FUZZ_SEED=N tries the same inputs each time, as .ci/run does: it must not flake.
# New inputs go to build/fuzz-found/<target>/; a crash leaves crash-* there and fails the run.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

preset=fuzz limits=() jobs=1
if [ "${1:-}" = --smoke ]; then
  shift
  preset=asan limits=(-runs=2000 -max_total_time=5) jobs=$(nproc)
else
  limits=(-max_total_time="${1:-5}")
  shift || true
fi
cd "$kgpu_top"
scripts/build.sh "$preset" fuzzers
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for program in build/"$preset"/fuzz/*_fuzzer; do
    target=$(basename "$program" _fuzzer)
    # One without seeds is left from a build of older sources.
    [ ! -d "fuzz/corpus/$target" ] || targets+=("$target")
  done
fi
# Freed memory that ASan keeps back would count as ours.
export ASAN_OPTIONS=quarantine_size_mb=16

# fuzz PRESET TARGET LIMIT …: prints what the target printed only if it failed.
fuzz() {
  local preset=$1 target=$2 found=build/fuzz-found/$2 log status=0
  shift 2
  mkdir -p "$found"
  log=$("build/$preset/fuzz/${target}_fuzzer" "$@" -timeout=5 -rss_limit_mb=2048 -malloc_limit_mb=256 \
    ${KGPU_FUZZ_SEED:+-seed="$KGPU_FUZZ_SEED"} -print_final_stats=0 -verbosity=0 -artifact_prefix="$found/" \
    "$found" "fuzz/corpus/$target" 2>&1) || status=$?
  if [ "$status" != 0 ]; then
    printf '%s\n%s failed\n' "$log" "$target" >&2
  fi
  return "$status"
}
export -f fuzz
step "fuzzing ${#targets[@]} targets (${limits[*]})"
# shellcheck disable=SC2016  # the inner shell expands them
printf '%s\0' "${targets[@]}" |
  xargs -0 -P"$jobs" -I{} bash -c 'fuzz "$1" "$2" "${@:3}"' _ "$preset" {} "${limits[@]}"
