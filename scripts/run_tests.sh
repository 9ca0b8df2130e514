#!/usr/bin/env bash
# Runs the tests of a preset that is built already and sums them up.
#   scripts/run_tests.sh PRESET [ctest arguments …]
# KGPU_TEST_RETRY=1: up to six tests that fail run once more, alone, and are named if they pass.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

preset=${1:?usage: scripts/run_tests.sh PRESET [ctest arguments]}
shift
cd "$kgpu_top"
report=build/$preset/junit.xml
rm -f "$report"
step "testing $preset"
# gRPC's own threads are not instrumented; cmake/tsan.supp says what is left out.
export TSAN_OPTIONS="suppressions=$kgpu_top/cmake/tsan.supp:ignore_noninstrumented_modules=1"
status=0
# Most tests wait for programs: two for each core, and no more than eight at once.
jobs=$(($(nproc) * 2 < 8 ? $(nproc) * 2 : 8))
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j"$jobs" \
  --output-junit "$kgpu_top/$report" "$@" >&2 || status=$?

# The counts of ctest's own report; a report that is missing means that nothing ran.
count() { grep -m1 '<testsuite' "$report" 2>/dev/null -A5 | grep -o "$1=\"[0-9]*\"" | head -n1 | tr -dc 0-9; }
total=$(count tests) failed=$(count failures) skipped=$(count skipped) disabled=$(count disabled)
: "${total:=0}" "${failed:=0}" "${skipped:=0}" "${disabled:=0}"
skipped=$((skipped + disabled))
passed=$((total - failed - skipped))
if [ "${KGPU_TEST_RETRY:-0}" = 1 ] && [ "$failed" -gt 0 ] && [ "$failed" -le 6 ]; then
  step "once more, alone: tests that failed on a machine with other work"
  if ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --rerun-failed "$@" >&2; then
    step "UNSTABLE: these failed once and passed alone:"
    sed -n 's/.*testcase name="\([^"]*\)".*status="fail".*/  \1/p' "$report" >&2
    passed=$((passed + failed)) failed=0 status=0
  fi
fi
if [ "$skipped" -gt 0 ]; then
  step "skipped, with the reason each gave:"
  grep -B0 -A6 'status="notrun"' "$report" | grep -E 'testcase|Skipped|SKIP' | head -n 40 >&2 || true
fi
[ "$passed" -gt 0 ] || status=1
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit "$status"
