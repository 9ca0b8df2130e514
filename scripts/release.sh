#!/usr/bin/env bash
# Builds what a release consists of, from what lies here and without any network.
#   scripts/release.sh [--output DIR] [--built] [--only KIND …] [--machine MACHINE …]
# For each machine (x86_64, aarch64; by default this one): a tarball, a .deb, an .rpm where rpmbuild
# is installed, the agent's image as an OCI archive, and what they contain as SPDX; for all of them,
# checksums. Two builds of one commit give the same files. Another machine's programs are
# cross-built with what scripts/fetch_cross.sh has unpacked.
# --output: default build/dist. --built packs what is built, without a look whether it is up to date.
# --only makes just that kind of file: tarball, deb, rpm, image.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

output=$kgpu_top/build/dist built=false kinds=() machines=()
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=${2:?--output needs a folder} && shift ;;
    --built) built=true ;;
    --only) kinds+=("${2:?--only needs tarball, deb, rpm or image}") && shift ;;
    --machine) machines+=("${2:?--machine needs x86_64 or aarch64}") && shift ;;
    *) die "usage: scripts/release.sh [--output DIR] [--built] [--only KIND …] [--machine MACHINE …]" ;;
  esac
  shift
done
[ ${#kinds[@]} -gt 0 ] || kinds=(tarball deb rpm image)
for kind in "${kinds[@]}"; do
  [[ $kind =~ ^(tarball|deb|rpm|image)$ ]] || die "--only $kind: tarball, deb, rpm and image are known"
done
[ ${#machines[@]} -gt 0 ] || machines=("$(uname -m)")
mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$kgpu_top"
version=$(sed -n 's/^project(kgpu VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
newest=$(sed -n 's/^## \([0-9.]*\)$/\1/p' CHANGELOG.md | head -n1)
[ "$version" = "$newest" ] ||
  die "CHANGELOG.md: the newest version is \"$newest\", but CMakeLists.txt says $version: describe $version there"
# Every file gets the time of the commit, so that builds can be compared.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-release-XXXXXX")
trap 'rm -rf "$work"' EXIT

# same_times DIR: as of the commit, with the modes that packages have.
same_times() {
  chmod -R u=rwX,go=rX "$1"
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# The functions below are for one machine: $machine, $debian_machine, $build (its build folder).

make_tarball() {
  local name=kgpu-$version-linux-$machine
  step "the tarball"
  DESTDIR=$work/tar cmake --install "$build" --prefix /usr/local >/dev/null
  mv "$work/tar/usr/local" "$work/tar/$name"
  same_times "$work/tar/$name"
  tar -C "$work/tar" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" |
    gzip -9n >"$output/$name.tar.gz"
}

# stage_package ROOT: what packages of distributions install.
stage_package() {
  DESTDIR=$1 cmake --install "$build" --prefix /usr >/dev/null
  gzip -9n "$1"/usr/share/man/man1/*.1
}

make_deb() {
  local root=$work/deb file=kgpu_${version}_$debian_machine.deb
  step "the .deb"
  stage_package "$root"
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  gzip -9n "$root/usr/share/doc/kgpu/CHANGELOG.md"
  mv "$root/usr/share/doc/kgpu/CHANGELOG.md.gz" "$root/usr/share/doc/kgpu/changelog.gz"
  mv "$root/usr/share/doc/kgpu/LICENSE" "$root/usr/share/doc/kgpu/copyright"
  mkdir "$root/DEBIAN"
  sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$debian_machine/" \
    -e "s/@SIZE@/$(du -sk "$root/usr" | cut -f1)/" deploy/packages/control >"$root/DEBIAN/control"
  same_times "$root"
  for script in postinst prerm postrm; do
    install -m 755 "deploy/packages/$script" "$root/DEBIAN/$script"
    touch -d "@$SOURCE_DATE_EPOCH" "$root/DEBIAN/$script"
  done
  touch -d "@$SOURCE_DATE_EPOCH" "$root/DEBIAN"
  dpkg-deb --root-owner-group -Zxz -b "$root" "$output/$file" >/dev/null
}

make_rpm() {
  if ! command -v rpmbuild >/dev/null; then
    step "no .rpm: rpmbuild is not installed (apt-get install rpm)"
    return
  fi
  step "the .rpm"
  stage_package "$work/rpm/root"
  same_times "$work/rpm/root"
  rpmbuild -bb --quiet --target "$machine" --define "_topdir $work/rpm" \
    --define "kgpu_version $version" --define "kgpu_root $work/rpm/root" \
    --define "use_source_date_epoch_as_buildtime 1" --define "_buildhost localhost" \
    --define "clamp_mtime_to_source_date_epoch 1" deploy/packages/kgpu.spec
  cp "$work"/rpm/RPMS/*/*.rpm "$output/"
}

make_image() {
  local name=kgpu-$version-image-$debian_machine.tar
  step "the image"
  scripts/image.sh --machine "$machine" --programs "$build/bin" --output "$work/$name" \
    "localhost/kgpu:$version" >/dev/null
  as_root buildah rmi "localhost/kgpu:$version" >/dev/null
  mv "$work/$name" "$output/$name"
}

# release_for MACHINE
release_for() {
  local machine=$1 preset=release debian_machine=amd64 build sources=()
  case $machine in
    x86_64) ;;
    aarch64) debian_machine=arm64 ;;
    *) die "--machine $machine: x86_64 and aarch64 are known" ;;
  esac
  if [ "$machine" != "$(uname -m)" ]; then
    preset=$machine
    sources=(--unpacked "build/cross/$machine")
    [ -d "build/cross/$machine/sysroot" ] ||
      die "build/cross/$machine is missing: run scripts/fetch_cross.sh, which needs the network"
  fi
  build=build/$preset
  $built || scripts/build.sh "$preset"
  step "for $machine"
  for kind in "${kinds[@]}"; do "make_$kind"; done
  tools/sbom "${sources[@]}" "$version" "$machine" >"$output/kgpu-$version-$machine.spdx.json"
  rm -rf "${work:?}"/*
}

$built || scripts/setup.sh
rm -f "$output"/kgpu-* "$output"/kgpu_* "$output/SHA256SUMS"
for machine in "${machines[@]}"; do release_for "$machine"; done
(cd "$output" && sha256sum kgpu* >SHA256SUMS)
step "in $output:"
cat "$output/SHA256SUMS"
