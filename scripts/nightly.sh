#!/usr/bin/env bash
# Everything that .ci/run has no time for, some six hours on two cores: run it each night, and before
# a release.
#   scripts/nightly.sh            all stages; a failure does not stop those after it
#   KGPU_FUZZ_SECONDS=60          how long each fuzz target runs
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh
# shellcheck source=scripts/stages.sh
. scripts/stages.sh
trap print_stages EXIT

failed=0
try() { stage "$@" || failed=1; }

stage 3 "set up" scripts/setup.sh --ci
stage 1 "packages of other suites" tests/engines/fetch_suites.sh
try 1 "format, layers, words, shell" scripts/check_texts.sh
# All tests of the optimised build, one process each, and the benchmarks, which must compile.
try 40 "every test, release" scripts/test.sh
try 4 "build: benchmarks" scripts/build.sh release --all
try 15 "build: unit tests, fuzz targets, ASan+UBSan" scripts/build.sh asan unit-tests fuzzers
try 6 "test: unit tests, ASan+UBSan" scripts/run_tests.sh asan -LE slow
# Also the tests whose threads are those of the test alone.
cmake --preset tsan -DKGPU_TSAN_ALL=ON >/dev/null
try 25 "build: all unit tests, TSan" scripts/build.sh tsan unit-tests
try 15 "test: all unit tests, TSan" scripts/run_tests.sh tsan -LE slow
cmake --preset tsan -DKGPU_TSAN_ALL=OFF >/dev/null
try 100 "fuzz" scripts/fuzz.sh "${KGPU_FUZZ_SECONDS:-60}"
try 60 "clang-tidy of every source" tools/tidy --all
try 30 "every source alone" tools/compile_alone --all
try 130 "slow tests" scripts/test.sh --slow
# Claims: more than 500 kills, at any moment of a preparation or an end.
try 15 "kills" env KGPU_KILL_ROUNDS=100 scripts/run_tests.sh release --repeat until-fail:2 \
  -R 'ClaimsTest.AKilledAgentGoesOn|AKillLeavesNoMigDevice'
# A new seed each night; a failure prints it, and what to run again.
try 70 "soak: an hour" env KGPU_SOAK_SEED=random KGPU_SOAK_SECONDS=3600 build/release/tests/soak_test
try 70 "soak: functions, an hour" env KGPU_SOAK_SEED=random KGPU_SOAK_SECONDS=3600 \
  build/release/tests/soak_functions_test
try 15 "soak: 1,000 simulated days" env KGPU_SOAK_SEED=random KGPU_SOAK_DAYS=1000 \
  build/release/tests/soak_days_test
exit "$failed"
