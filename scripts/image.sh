#!/usr/bin/env bash
# Builds the agent's container image with buildah, from what lies here and without any network.
#   scripts/image.sh [NAME]       default localhost/kgpu:latest
# With --output FILE NAME it is also saved as an OCI archive.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

output=''
if [ "${1:-}" = --output ]; then
  output=${2:?--output needs a file}
  shift 2
fi
name=${1:-localhost/kgpu:latest}
cd "$kgpu_top"
scripts/setup.sh
scripts/build.sh
bin=$kgpu_top/build/release/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-image-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/tmp" "$root/run"
cp "$bin/kgpu" "$bin/kgpu-cuda" "$bin/kgpu-probe" "$bin/kgpu-runtime" "$root/usr/local/bin/"

# The loader, and the libraries that kgpu-probe and NVIDIA's library name in DT_NEEDED, each at the
# place where this machine's loader looks for it.
interpreter=$(readelf -l "$bin/kgpu-probe" | sed -n 's|.*interpreter: \(.*\)\]|\1|p')
mkdir -p "$root$(dirname "$interpreter")"
cp -L "$interpreter" "$root$interpreter"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  file=$(ldconfig -p | sed -n "s|.*${library//./\\.} (libc6,[^)]*) => ||p" | head -n1)
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
done

step "building $name"
cp deploy/image/Containerfile "$work/"
as_root buildah build --isolation chroot --layers=false --timestamp 0 -q -t "$name" \
  -f "$work/Containerfile" "$work" >&2
if [ -n "$output" ]; then
  as_root buildah push -q "$name" "oci-archive:$output" >&2
  step "saved to $output"
fi
printf '%s\n' "$name"
