#!/usr/bin/env bash
# Makes a self-contained folder for a bare machine with a real NVIDIA driver: the release programs,
# a small root file system for containers, this machine's runc, and run.sh. Copy it there and run
# it; nothing else is needed.
#   tests/gpu/bundle.sh [--programs DIR] FOLDER     with DIR, nothing is built
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
bin=$top/build/release/bin
if [ "${1:-}" = --programs ]; then
  bin=${2:?--programs needs a folder}
  shift 2
else
  "$top/scripts/build.sh" release programs share_client share-client kgpu-share-test
fi
folder=${1:?usage: tests/gpu/bundle.sh [--programs DIR] FOLDER}
# shellcheck source=scripts/container.sh
. "$top/scripts/container.sh"

mkdir -p "$folder/lib"
cp "$bin"/kgpu-runtime "$folder/"
# What uses memory in each way, and the library that stops it.
cp "$bin"/../tests/share/share_client "$bin"/../bench/share-client "$bin"/../lib/libkgpu-share-test.so "$folder/"
cp "$top"/tests/gpu/{run.sh,containers.sh,mps.sh,record.sh,slices.sh,README.md} "$top/scripts/container.sh" "$folder/"
make_rootfs "$folder/rootfs" "$bin"/{kgpu,kgpu-cuda,kgpu-probe}
if runc=$(command -v runc); then
  cp "$runc" "$folder/runc"
  for library in $(ldd "$runc" | sed -n 's|.*=> \(/[^ ]*libseccomp[^ ]*\) .*|\1|p'); do
    cp -L "$library" "$folder/lib/"
  done
fi
du -sh "$folder"
