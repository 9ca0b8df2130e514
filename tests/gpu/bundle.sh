#!/usr/bin/env bash
# Makes a self-contained folder for a bare machine with a real NVIDIA driver: the release programs
# and run.sh. Copy it there and run it; nothing else is needed.
#   tests/gpu/bundle.sh FOLDER
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:?usage: tests/gpu/bundle.sh FOLDER}
"$top/scripts/build.sh"
mkdir -p "$folder"
cp "$top"/build/release/bin/{kgpu,kgpu-cuda,kgpu-probe} "$top/tests/gpu/run.sh" "$folder/"
du -sh "$folder"
