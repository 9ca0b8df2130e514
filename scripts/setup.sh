#!/usr/bin/env bash
# Installs what is missing to build, demonstrate and test kgpu on Debian 12.
#   scripts/setup.sh            to build, and for the demo
#   scripts/setup.sh --test     and the programs that tests run: container engines, kubectl, shells,
#                               curl, jq, rpm, Go, Node.js, Ruby; on a host with systemd the engines' packages
#                               start their services. Prometheus and docker-registry are only unpacked,
#                               into build: nobody wants their services
#   scripts/setup.sh --slow     what builds kgpu, and debootstrap for the tests of scripts/test.sh --slow
#   scripts/setup.sh --ci       with --test's, and what .ci/run needs besides: clang 19, git, shellcheck,
#                               and the language of the last runtime: Java
# Idempotent and quick when nothing is missing. Never changes apt's sources.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

packages=(
  # build
  g++ cmake ninja-build pkg-config ccache mold python3
  libabsl-dev libfmt-dev libyaml-cpp-dev libtomlplusplus-dev libcli11-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libboost1.81-dev libboost-json1.81-dev libboost-container1.81-dev zlib1g-dev
  libzstd-dev
  libssl-dev libc-ares-dev libre2-dev libnghttp2-dev libsqlite3-dev
  # tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev binutils
  # what the demo and the image run
  buildah busybox-static podman runc
)
# Completion scripts are tested in the shells they are for; the documentation runs curl and jq; rpm
# builds and installs the .rpm; jsonschema checks GpuPolicies against their definition; functions are
# written in Go, Node.js and Ruby; redis-tools has the Redis server, without a service, for the queue of calls;
# Chromium opens the page, driven by Python through websocket, with letters of its four languages; tmux is the
# screen of kgpu top.
tests=(containerd crun docker.io iproute2 uidmap fish zsh curl jq rpm python3-jsonschema
  golang-go nodejs ruby redis-tools chromium-headless-shell python3-websocket fonts-noto-cjk tmux)
# A kubectl of another origin would be in the package's way, and does as well.
[ -x /usr/bin/kubectl ] || tests+=(kubernetes-client)
case ${1:-} in
  '') ;;
  --slow) packages+=(debootstrap) ;;
  --test) packages+=("${tests[@]}") ;;
  --ci)
    packages+=("${tests[@]}" clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev git shellcheck
      default-jdk-headless libprotobuf-java)
    ;;
  *) die "usage: scripts/setup.sh [--test | --slow | --ci]" ;;
esac

# Programs of the archive, without installing them: as an installed package, each would run at once, and
# with every boot. $1: the package, which is unpacked into build/$1; then the programs.
unpack_service() {
  local package=$1 top=$kgpu_top/build/$1 program is_installed=true
  shift
  for program in "$@"; do [ -x "/usr/bin/$program" ] || is_installed=false; done
  if $is_installed || [ -x "$top/usr/bin/$1" ]; then return; fi
  step "unpacking $package into build/$package"
  rm -rf "$top.new"
  mkdir -p "$top.new"
  (
    cd "$top.new"
    apt-get download -q -o APT::Sandbox::User=root "$package" >&2 || {
      as_root apt-get update -q >&2
      apt-get download -q -o APT::Sandbox::User=root "$package" >&2
    }
    dpkg-deb -x "$package"_*.deb .
    rm -f "$package"_*.deb
  )
  rm -rf "$top"
  mv "$top.new" "$top"
}
if [ "${1:---slow}" != --slow ]; then
  unpack_service prometheus prometheus promtool
  unpack_service docker-registry docker-registry
fi

# Packages that dpkg does not know at all are not in its answer: they are missing too.
# shellcheck disable=SC2016  # dpkg-query expands it, not the shell
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

. /etc/os-release
[ "${ID:-} ${VERSION_ID:-}" = "debian 12" ] ||
  step "this is ${PRETTY_NAME:-an unknown system}, not Debian 12: package names may differ"
step "installing ${missing[*]}"
as_root apt-get update -q >&2
# Not exported: sudo drops the variables of its caller.
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
