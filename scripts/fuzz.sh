#!/usr/bin/env bash
# Builds the fuzz targets with clang 19 and runs each for a number of seconds from its corpus.
#   scripts/fuzz.sh [SECONDS [TARGET …]]     default: 5 seconds of every target
# KGPU_FUZZ_SEED=N tries the same inputs each time, as .ci/run does: it must not flake.
# New inputs go to build/fuzz-found/<target>/; a crash leaves crash-* there and fails the run.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

seconds=${1:-5}
shift || true
cd "$kgpu_top"
scripts/build.sh asan fuzzers
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for program in build/asan/fuzz/*_fuzzer; do
    targets+=("$(basename "$program" _fuzzer)")
  done
fi
# Freed memory that ASan keeps back would count as ours.
export ASAN_OPTIONS=quarantine_size_mb=16
for target in "${targets[@]}"; do
  step "fuzzing $target for $seconds s"
  found=build/fuzz-found/$target
  mkdir -p "$found"
  "build/asan/fuzz/${target}_fuzzer" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 \
    ${KGPU_FUZZ_SEED:+-seed="$KGPU_FUZZ_SEED"} -malloc_limit_mb=256 -print_final_stats=0 -verbosity=0 -artifact_prefix="$found/" \
    "$found" "fuzz/corpus/$target" >&2
done
