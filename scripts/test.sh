#!/usr/bin/env bash
# Sets up, builds and runs every test. Ends with "N passed, N failed, N skipped"; exits non-zero
# when a test failed or none ran.
#   scripts/test.sh [ctest arguments …]     e.g. scripts/test.sh -R LdCache
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cd "$kgpu_top"
scripts/setup.sh
scripts/build.sh release --all
exec scripts/run_tests.sh release "$@"
