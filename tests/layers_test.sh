#!/usr/bin/env bash
# tools/check_layers refuses what it should: each case is a small tree with one fault.
#   tests/layers_test.sh    prints what went wrong and exits with 1, or nothing
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# file PATH INCLUDE …: a source below $folder with these includes.
file() {
  local path=$folder/$1
  shift
  mkdir -p "$(dirname "$path")"
  : >"$path"
  for include in "$@"; do printf '#include "%s"\n' "$include" >>"$path"; done
}

# expect WHAT TEXT: the check fails and says TEXT; an empty TEXT: it passes and says nothing.
expect() {
  local said status=0
  said=$(tools/check_layers "$folder") || status=$?
  if [ -z "$2" ]; then
    if [ "$status" != 0 ] || [ -n "$said" ]; then
      echo "$1: exit $status, it said: $said"
      failed=1
    fi
  elif [ "$status" = 0 ] || [[ "$said" != *"$2"* ]]; then
    echo "$1: exit $status, it said: $said"
    failed=1
  fi
  rm -rf "$folder/src"
}

file src/gpu/device/a.h src/platform/base/b.h src/gpu/nvml/c.h
expect "down and within a layer" ""
file src/platform/base/a.cc src/gpu/nvml/c.h
expect "up" "src/platform/base/a.cc:1: platform (row 0) includes gpu (row 1): arrows point down only"
file src/kube/api/a.cc src/gpu/nvml/c.h
expect "across" "kube (row 1) includes gpu (row 1)"
file src/gpu/device/a.h src/gpu/nvml/c.h
file src/gpu/nvml/c.h src/gpu/device/a.h
expect "a circle" "circle gpu/device → gpu/nvml → gpu/device"
file src/platform/net/http/a.h src/platform/net/tls/c.h
file src/platform/net/tls/c.h src/platform/net/http/a.h
expect "a circle in a group" "circle platform/net/http → platform/net/tls → platform/net/http"
file src/platform/net/http/a.h src/platform/net/tls/c.h
file src/platform/sys/b.h src/platform/net/http/a.h
expect "modules of a group" ""
file src/attic/a.h
expect "a layer in no row" "src/attic is in no row"
file src/gpu/device/a.h testing/golden.h
expect "a product with the simulated world" "a product includes testing/golden.h"
file src/gpu/device/a_test.cc testing/golden.h src/gpu/nvml/c.h
expect "a test with the simulated world" ""
file src/node/loans/a.h src/agent/options.h
expect "a part that knows the agent" "node (row 4) includes agent (row 5): arrows point down only"
file src/agent/a.h src/cmd/kgpu/main.h
expect "a program" "agent (row 5) includes cmd (row 7)"
file src/node/pools/a.cc src/node/sharing/kind.h
file src/node/mps/a.cc src/node/sharing/mps/mps.h
expect "the interface of kinds, and a kind's worker" ""
file src/node/pools/a.cc src/node/sharing/mps/mps.h
expect "a kind" "src/node/pools/a.cc:1: names the kind mps of src/node/sharing"
for branch in 'share.by == &sharing::kMps' 'share.by->traits().name == "mps"' 'FindKind("mps") != by' \
  'dynamic_cast<const sharing::MpsKind*>(share.by)'; do
  file src/node/plugin/a.cc
  echo "if ($branch) {" >>"$folder/src/node/plugin/a.cc"
  expect "a branch on the kind: $branch" "src/node/plugin/a.cc:1: branches on the kind"
done
file src/node/loans/a.cc src/agent/agent.h
expect "a part that knows the agent" "node (row 4) includes agent (row 5): arrows point down only"
for layer in a b c d e f g h i j k l m n o; do mkdir -p "$folder/src/$layer"; done
expect "too many layers" "src: 15 folders, 14 are allowed"
exit "$failed"
