#!/usr/bin/env bash
# Unpacks packages of other Debian suites into build/engines/SUITE: newer container engines, for the
# tests that need engines which read CDI; an older C library, for the test that programs start with
# it; Go with CEL and the models of the Kubernetes API, which check the chart. Nothing is installed.
#   tests/engines/fetch_suites.sh        quick when it is all there
set -euo pipefail
# shellcheck source=scripts/unpack.sh
. "$(dirname "$0")/../../scripts/unpack.sh"

# Suite and packages. The newer programs need glibc 2.34, which Debian 12 has.
# What the chart's tests need is 60 MB to download, and 445 MB unpacked.
chart=(golang-1.24-go golang-1.24-src golang-github-google-cel-go-dev golang-github-antlr-antlr4-dev
  golang-github-stoewer-go-strcase-dev golang-golang-x-exp-dev golang-golang-x-text-dev
  golang-google-genproto-dev golang-google-protobuf-dev python3-kubernetes)
suites=("trixie containerd docker.io docker-cli ${chart[*]}" "forky containerd" "bullseye libc6")
top=$kgpu_top/build/engines

mkdir -p "$top"
exec 9>"$top/lock"
flock 9
for line in "${suites[@]}"; do
  read -r suite packages <<<"$line"
  # shellcheck disable=SC2086  # a list of words
  unpack "$top/$suite" "$suite" "$(dpkg --print-architecture)" $packages
done
