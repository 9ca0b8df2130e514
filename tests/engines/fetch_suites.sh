#!/usr/bin/env bash
# Unpacks packages of other Debian suites into build/engines/SUITE: newer container engines, for the
# tests that need engines which read CDI; an older C library, for the test that programs start with it;
# Go with CEL and the models of the Kubernetes API, which check the chart. Nothing is installed, apt's own state and sources stay as they are: the archive is the one
# this machine installs from, asked for another suite.
#   tests/engines/fetch_suites.sh        quick when it is all there
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"

# Suite and packages. The newer programs need glibc 2.34, which Debian 12 has.
# What the chart's tests need is 60 MB to download, and 445 MB unpacked.
chart=(golang-1.24-go golang-1.24-src golang-github-google-cel-go-dev golang-github-antlr-antlr4-dev
  golang-github-stoewer-go-strcase-dev golang-golang-x-exp-dev golang-golang-x-text-dev
  golang-google-genproto-dev golang-google-protobuf-dev python3-kubernetes)
suites=("trixie containerd docker.io docker-cli ${chart[*]}" "forky containerd" "bullseye libc6")
top=$kgpu_top/build/engines
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Where this machine gets Debian from.
archive() {
  # shellcheck disable=SC2016  # apt expands it, not the shell
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' | head -n1
}

# private_apt SUITE COMMAND …: apt with lists, cache and sources below build/engines alone.
private_apt() {
  local state=$top/apt/$1 command=$2
  shift 2
  "$command" -o "Dir::State=$state" -o "Dir::State::lists=$state/lists" \
    -o "Dir::State::status=/dev/null" -o "Dir::Cache=$state/cache" \
    -o "Dir::Etc::SourceList=$state/sources.list" -o "Dir::Etc::SourceParts=/dev/null" \
    -o APT::Sandbox::User=root "$@"
}

# fetch SUITE PACKAGE …
fetch() {
  local suite=$1 uri
  local state=$top/apt/$suite
  shift
  uri=$(archive)
  [ -n "$uri" ] || die "apt knows no Debian archive here: run apt-get update"
  rm -rf "$top/$suite.new"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$top/$suite.new"
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite" >"$state/sources.list"
  private_apt "$suite" apt-get update -q >&2
  (
    cd "$top/$suite.new"
    private_apt "$suite" apt-get download -q "$@" >&2
    for package in *.deb; do dpkg-deb -x "$package" .; done
    rm -f ./*.deb
    printf '%s\n' "$*" >packages
  )
  rm -rf "${top:?}/$suite"
  mv "$top/$suite.new" "$top/$suite"
}

mkdir -p "$top"
exec 9>"$top/lock"
flock 9
for line in "${suites[@]}"; do
  read -r suite packages <<<"$line"
  [ "$(cat "$top/$suite/packages" 2>/dev/null)" != "$packages" ] || continue
  step "unpacking $packages of Debian $suite into build/engines/$suite"
  # shellcheck disable=SC2086  # a list of words
  fetch "$suite" $packages
done
rm -rf "$top/apt"
