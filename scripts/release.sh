#!/usr/bin/env bash
# Builds what a release consists of, from what lies here and without any network.
#   scripts/release.sh [--output DIR] [--no-image] [--built]      default: build/dist
# --built packs what build/release has, without a look whether it is up to date.
# A tarball, a .deb, an .rpm where rpmbuild is installed, the agent's image as an OCI archive, what
# they contain as SPDX, and checksums. Two builds of one commit give the same files.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

output=$kgpu_top/build/dist with_image=true built=false
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=${2:?--output needs a folder} && shift ;;
    --no-image) with_image=false ;;
    --built) built=true ;;
    *) die "usage: scripts/release.sh [--output DIR] [--no-image] [--built]" ;;
  esac
  shift
done
mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$kgpu_top"
version=$(sed -n 's/^project(kgpu VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
newest=$(sed -n 's/^## \([0-9.]*\)$/\1/p' CHANGELOG.md | head -n1)
[ "$version" = "$newest" ] ||
  die "CHANGELOG.md: the newest version is \"$newest\", but CMakeLists.txt says $version: describe $version there"
machine=$(uname -m)
debian_machine=$(dpkg --print-architecture)
# Every file gets the time of the commit, so that builds can be compared.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

if ! $built; then
  scripts/setup.sh
  scripts/build.sh
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/kgpu-release-XXXXXX")
trap 'rm -rf "$work"' EXIT

# same_times DIR: as of the commit, with the modes that packages have.
same_times() {
  chmod -R u=rwX,go=rX "$1"
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

make_tarball() {
  local name=kgpu-$version-linux-$machine
  step "the tarball"
  DESTDIR=$work/tar cmake --install build/release --prefix /usr/local >/dev/null
  mv "$work/tar/usr/local" "$work/tar/$name"
  same_times "$work/tar/$name"
  tar -C "$work/tar" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" |
    gzip -9n >"$output/$name.tar.gz"
}

# stage_package ROOT: what packages of distributions install.
stage_package() {
  DESTDIR=$1 cmake --install build/release --prefix /usr >/dev/null
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
  local name=kgpu-$version-image-$debian_machine
  step "the image"
  scripts/image.sh --programs "$kgpu_top/build/release/bin" --output "$work/$name.tar" \
    "localhost/kgpu:$version" >/dev/null
  mv "$work/$name.tar" "$output/$name.tar"
}

rm -f "$output"/kgpu-* "$output"/kgpu_* "$output/SHA256SUMS"
make_tarball
make_deb
make_rpm
! $with_image || make_image
tools/sbom "$version" >"$output/kgpu-$version.spdx.json"
(cd "$output" && sha256sum kgpu* >SHA256SUMS)
step "in $output:"
cat "$output/SHA256SUMS"
