#!/usr/bin/env bash
# Builds a container image with buildah, from what lies here and without any network.
#   scripts/image.sh [--validate] [--output FILE] [--programs DIR] [--machine MACHINE] [NAME]
# The agent's image, localhost/kgpu:latest; with --validate the small one that lets a pod's GPU
# compute, localhost/kgpu-validate:latest. --output also saves it as an OCI archive. --programs
# takes the programs from DIR instead of building them. --machine aarch64 is for 64-bit Arm, with
# the libraries that scripts/fetch_cross.sh has unpacked; it needs --programs.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

output='' bin='' name='' default=localhost/kgpu:latest folder=deploy/image machine=$(uname -m)
programs=(kgpu kgpu-cuda kgpu-probe kgpu-runtime)
while [ $# -gt 0 ]; do
  case $1 in
    --validate)
      folder=deploy/validate default=localhost/kgpu-validate:latest
      programs=(kgpu kgpu-cuda kgpu-probe)
      ;;
    --output) output=$(realpath -m -- "${2:?--output needs a file}") && shift ;;
    --programs) bin=$(realpath -- "${2:?--programs needs a folder}") && shift ;;
    --machine) machine=${2:?--machine needs x86_64 or aarch64} && shift ;;
    -*) die "usage: scripts/image.sh [--validate] [--output FILE] [--programs DIR] [--machine MACHINE] [NAME]" ;;
    *) name=$1 ;;
  esac
  shift
done
name=${name:-$default}
cd "$kgpu_top"
# Folders that everybody may read, and ldconfig also for those who are not root.
umask 022
PATH=$PATH:/usr/sbin:/sbin
if [ -z "$bin" ]; then
  scripts/setup.sh
  scripts/build.sh
  bin=$kgpu_top/build/release/bin
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-image-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/tmp" "$root/run"
for program in "${programs[@]}"; do cp "$bin/$program" "$root/usr/local/bin/"; done
if [ "$folder" = deploy/image ]; then
  # As installed, or as built.
  share=$bin/../lib/kgpu/libkgpu-share.so
  [ -e "$share" ] || share=$bin/../lib/libkgpu-share.so
  mkdir -p "$root/usr/local/lib/kgpu"
  cp "$share" "$root/usr/local/lib/kgpu/"
  # As packages have them: kubectl runs the first as its plugin, the second completes its words.
  for link in kubectl-kgpu kubectl_complete-kgpu; do ln -s kgpu "$root/usr/local/bin/$link"; done
fi
# With --host-root, kgpu runs programs of the host, such as its package manager, by a chroot program.
mkdir -p "$root/usr/sbin"
ln -s ../local/bin/kgpu "$root/usr/sbin/chroot"

# The folder whose libraries are those of the image's machine, and where one lies in it.
case $machine in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) die "--machine $machine: x86_64 and aarch64 are known" ;;
esac
if [ "$machine" = "$(uname -m)" ]; then
  libraries=
  library_path() { ldconfig -p | sed -n "s|.*${1//./\\.} (libc6,[^)]*) => ||p" | head -n1; }
else
  libraries=$kgpu_top/build/cross/$machine/sysroot
  [ -d "$libraries" ] || die "$libraries is missing: run scripts/fetch_cross.sh"
  library_path() { printf '/lib/%s-linux-gnu/%s' "$machine" "$1"; }
fi

# The loader, and the libraries that the helpers and NVIDIA's libraries name in DT_NEEDED, each at
# the place where the machine's loader looks for it.
interpreter=$(readelf -l "$bin/kgpu-probe" | sed -n 's|.*interpreter: \(.*\)\]|\1|p')
mkdir -p "$root$(dirname "$interpreter")"
cp -L "$libraries$interpreter" "$root$interpreter"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  file=$(library_path "$library")
  mkdir -p "$root$(dirname "$file")"
  cp -L "$libraries$file" "$root$file"
done

step "building $name"
cp "$folder/Containerfile" "$work/"
as_root buildah build --arch "$architecture" --isolation chroot --layers=false --timestamp 0 -q -t "$name" \
  -f "$work/Containerfile" "$work" >&2
if [ -n "$output" ]; then
  # buildah's own archive has the times of now.
  as_root buildah push -q "$name" "oci:$work/oci:$name" >&2
  tar -C "$work/oci" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX,u+w -cf "$output" .
  as_root rm -rf "$work/oci"
  step "saved to $output"
fi
printf '%s\n' "$name"
