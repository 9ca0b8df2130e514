#!/usr/bin/env bash
# Builds the release programs and prints what they cost, beside the floor of the same run and the
# budget. Needs root (simulated hosts have device nodes).
#   bench/run.sh [RUNS]      default 20
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

cd "$kgpu_top"
scripts/setup.sh
scripts/build.sh release --all
printf '%s, %s cores\n' "$(uname -sr)" "$(nproc)"
build/release/bench/spine-bench "${1:-20}"
build/release/bench/sample-bench
build/release/bench/policy-bench
build/release/bench/mig-bench
build/release/bench/fleet-bench
build/release/bench/controller-bench
build/release/bench/rules-bench
build/release/bench/explain-bench
build/release/bench/share-bench
build/release/bench/shim-bench
build/release/bench/fnwatch-bench
bench/fn_cold_start "${1:-20}"
bench/port_load
bench/fn_gateway
build/release/bench/agent-bench 11 30
build/release/bench/change-bench 7
build/release/bench/claims-bench
build/release/bench/features-bench
build/release/bench/doctor-bench "${1:-20}"
build/release/bench/labels-bench "${1:-20}"
build/release/bench/metrics-bench
build/release/bench/validate-bench "${1:-20}"
du -bh build/release/bin/kgpu build/release/bin/kgpu-cuda build/release/bin/kgpu-fnwatch build/release/bin/kgpu-probe build/release/bin/kgpu-runtime
