#!/usr/bin/env bash
# Unpacks packages of other Debian suites into build/engines/SUITE: newer container engines, for the
# tests that need engines which read CDI, and an older C library, for the test that programs start
# with it. Nothing is installed.
#   tests/engines/fetch_suites.sh        quick when it is all there
set -euo pipefail
# shellcheck source=scripts/unpack.sh
. "$(dirname "$0")/../../scripts/unpack.sh"

# Suite and packages. The newer programs need glibc 2.34, which Debian 12 has.
suites=("trixie containerd docker.io docker-cli" "forky containerd" "bullseye libc6")
top=$kgpu_top/build/engines

mkdir -p "$top"
exec 9>"$top/lock"
flock 9
for line in "${suites[@]}"; do
  read -r suite packages <<<"$line"
  # shellcheck disable=SC2086  # a list of words
  unpack "$top/$suite" "$suite" "$(dpkg --print-architecture)" $packages
done
