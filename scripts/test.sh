#!/usr/bin/env bash
# Sets up, builds and runs every test. Ends with "N passed, N failed, N skipped"; exits non-zero
# when a test failed or none ran.
#   scripts/test.sh [ctest arguments …]     e.g. scripts/test.sh -R LdCache
#   scripts/test.sh --programs              only those of the built programs, and of code that
#                                           benchmarks say is hot: .ci/run has the others elsewhere
#   scripts/test.sh --slow                  those that take many minutes, and nothing else
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cd "$kgpu_top"
if [ "${1:-}" = --slow ]; then
  shift
  scripts/setup.sh --slow
  scripts/build.sh release programs controller_test e2e_fn_images_test
  exec scripts/run_tests.sh release -C Slow -L 'driver-install|slow-fleet|fn-images|docs-clean-root' "$@"
fi
scripts/setup.sh --test
tests/engines/fetch_suites.sh ||
  step "packages of other Debian suites were not fetched: tests that need them are skipped"
if [ "${1:-}" = --programs ]; then
  shift
  scripts/build.sh release programs end-to-end-tests hot-tests
  exec scripts/run_tests.sh release -L 'e2e|hot' -E GoldenTraces "$@"
fi
scripts/build.sh release programs unit-tests end-to-end-tests
exec scripts/run_tests.sh release "$@"
