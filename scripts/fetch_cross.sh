#!/usr/bin/env bash
# Unpacks what builds kgpu for another machine into build/cross/aarch64: Debian's cross compiler, the
# libraries of that machine as a sysroot, and qemu to start its programs here. Nothing is installed.
#   scripts/fetch_cross.sh        quick when it is all there
set -euo pipefail
# shellcheck source=scripts/unpack.sh
. "$(dirname "$0")/unpack.sh"

suite=bookworm
compiler=(g++-12-aarch64-linux-gnu gcc-12-aarch64-linux-gnu cpp-12-aarch64-linux-gnu
  binutils-aarch64-linux-gnu libgcc-12-dev-arm64-cross libstdc++-12-dev-arm64-cross)
# As scripts/setup.sh installs them for this machine, and what these need to be linked.
libraries=(libabsl-dev libfmt-dev libfmt9 libyaml-cpp-dev libtomlplusplus-dev libcli11-dev
  libgrpc++-dev libgrpc-dev libprotobuf-dev libupb-dev libboost1.81-dev libboost-json1.81-dev
  libboost-container1.81-dev zlib1g-dev libzstd-dev libssl-dev libc-ares-dev libre2-dev libnghttp2-dev
  libsqlite3-dev libc6-dev libc6 linux-libc-dev libgcc-s1)

top=$kgpu_top/build/cross/aarch64
mkdir -p "$top"
exec 9>"$top/lock"
flock 9
unpack "$top/tools" "$suite" "$(dpkg --print-architecture)" "${compiler[@]}"
unpack "$top/sysroot" "$suite" arm64 "${libraries[@]}"
# Debian 12's lacks openat2.
unpack "$top/qemu" trixie "$(dpkg --print-architecture)" qemu-user
find "$top/qemu/usr/bin" -type f ! -name qemu-aarch64 -delete
