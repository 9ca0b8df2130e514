#!/usr/bin/env bash
# What scripts/release.sh makes of build/release. Prints what is wrong and exits with 1; 77: skipped.
#   tests/release/release_test.sh same | deb | rpm | tarball | image | old-glibc | aarch64 |
#     aarch64-devices
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/release/root.sh
. tests/release/root.sh
export SOURCE_DATE_EPOCH=1700000000
work=$(mktemp -d)
sim=
cleanup() {
  end_agent
  [ -z "$sim" ] || build/release/bin/kgpu-sim delete "$sim" >/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  printf '%s\n' "$*"
  exit 1
}
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
needs_root() { [ "$(id -u)" = 0 ] || skip "needs root, to change into another root"; }
# release DIR FLAG …
release() {
  local output=$1
  shift
  scripts/release.sh --built --output "$output" "$@" >/dev/null 2>"$work/log" || fail "$(<"$work/log")"
}
version=$(sed -n 's/^project(kgpu VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

# Two builds give the same files, and the checksums are those of the files.
same() {
  release "$work/a" --only tarball --only deb --only rpm
  release "$work/b" --only tarball --only deb --only rpm
  diff -r "$work/a" "$work/b" || fail "two builds differ"
  (cd "$work/a" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
  python3 - "$work/a/kgpu-$version-$(uname -m).spdx.json" <<'PY' || fail "the SBOM is incomplete"
import json, sys
document = json.load(open(sys.argv[1]))
names = {package["SPDXID"] for package in document["packages"]}
linked = [row for row in document["relationships"] if row["relationshipType"] == "STATIC_LINK"]
assert document["spdxVersion"] == "SPDX-2.3" and len(linked) >= 10
assert all(row["relatedSpdxElement"] in names for row in linked)
assert all(package["versionInfo"] for package in document["packages"])
PY
}

# Installed by dpkg into a root of its own, with its scripts run there.
deb() {
  needs_root
  local root=$work/root
  release "$work/out" --only deb
  make_root "$root"
  mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
  : >"$root/var/lib/dpkg/status"
  files "$root" >"$work/before"
  dpkg --root="$root" --log=/dev/null --force-depends -i "$work"/out/kgpu_*.deb \
    >"$work/log" 2>&1 || fail "$(<"$work/log")"
  has_files "$root" usr man/man1/kgpu-agent.1.gz zsh/vendor-completions/_kgpu doc/kgpu/changelog.gz
  runs_in "$root" usr
  dpkg --root="$root" --log=/dev/null --purge kgpu >"$work/log" 2>&1 || fail "$(<"$work/log")"
  grep -qx 'disable --now kgpu-agent.service' "$root/tmp/asked" || fail "the removal stops no agent"
  leaves_nothing "$root" "$work/before"
}

# The same by rpm, which has no purge: what the agent remembers is deleted by hand, as the manual says.
rpm_package() {
  needs_root
  command -v rpmbuild >/dev/null || skip "rpmbuild is not installed: run scripts/setup.sh --test"
  local root=$work/root file requires
  release "$work/out" --only rpm
  file=$work/out/kgpu-$version-1.$(uname -m).rpm
  [[ $(rpm -qlp "$file") == *$'/usr/bin/kgpu\n'* ]] || fail "the package lacks /usr/bin/kgpu"
  requires=$(rpm -qp --requires "$file" | grep -v '^rpmlib(' | sort -u)
  [ "$requires" = $'/bin/sh\nglibc >= 2.17' ] || fail "the package requires: $requires"
  make_root "$root"
  # Folders of other packages in such distributions: "filesystem" and "systemd".
  mkdir -p "$root"/var/{lib/rpm,tmp} "$root/usr/lib/systemd/system" \
    "$root"/usr/share/{bash-completion/completions,doc,fish/vendor_completions.d,man/man1,zsh/site-functions}
  files "$root" >"$work/before"
  in_root() { rpm --root "$root" --dbpath /var/lib/rpm --nodeps "$@" >"$work/log" 2>&1 || fail "$(<"$work/log")"; }
  in_root -i "$file"
  has_files "$root" usr man/man1/kgpu-agent.1.gz zsh/site-functions/_kgpu doc/kgpu/CHANGELOG.md
  runs_in "$root" usr
  in_root -e kgpu
  grep -qx 'disable --now kgpu-agent.service' "$root/tmp/asked" || fail "the removal stops no agent"
  rm -rf "$root/var/lib/kgpu"
  leaves_nothing "$root" "$work/before"
}

# Unpacked below /usr/local, and removed with the commands of docs/reference/releases.md.
tarball() {
  needs_root
  local root=$work/root file name
  release "$work/out" --only tarball
  file=$work/out/kgpu-$version-linux-$(uname -m).tar.gz
  make_root "$root"
  files "$root" >"$work/before"
  mkdir -p "$root/usr/local"
  tar -C "$root/usr/local" --strip-components=1 -xf "$file"
  has_files "$root" usr/local man/man1/kgpu-agent.1 zsh/site-functions/_kgpu doc/kgpu/CHANGELOG.md
  runs_in "$root" usr/local
  (
    cd "$root/usr/local"
    tar -tf "$file" | grep -v '/$' | cut -d/ -f2- | xargs -d '\n' rm
  )
  find "$root/usr/local" -depth -type d -empty -delete
  rm -rf "$root/var/lib/kgpu"
  leaves_nothing "$root" "$work/before"
}

# image_digest ARCHIVE: the digest of its manifest.
image_digest() { tar -xOf "$1" ./index.json | python3 -c 'import json, sys; print(json.load(sys.stdin)["manifests"][0]["digest"])'; }

# Two builds have one digest; it is small, has no shell, and its SBOM names all that is in it.
image() {
  needs_root
  command -v buildah >/dev/null || skip "buildah is not installed: run scripts/setup.sh"
  local name archive size
  name=kgpu-$version-image-$(dpkg --print-architecture).tar
  release "$work/a" --only image
  release "$work/b" --only image
  [ "$(image_digest "$work/a/$name")" = "$(image_digest "$work/b/$name")" ] ||
    fail "two builds have different digests"
  cmp "$work/a/$name" "$work/b/$name" || fail "two archives of one image differ"
  archive=$work/a/$name
  size=$(stat -c %s "$archive")
  [ "$size" -le $((40 << 20)) ] || fail "the image has $size bytes, more than 40 MiB"
  python3 - "$archive" "$work/a/kgpu-$version-$(uname -m).spdx.json" <<'PY' || fail "see above"
import io, json, subprocess, sys, tarfile
archive = tarfile.open(sys.argv[1])
def blob(digest):
    return archive.extractfile("./blobs/" + digest.replace(":", "/")).read()
index = json.load(archive.extractfile("./index.json"))
manifest = json.loads(blob(index["manifests"][0]["digest"]))
files = [member.name for layer in manifest["layers"]
         for member in tarfile.open(fileobj=io.BytesIO(blob(layer["digest"]))) if not member.isdir()]
programs = {"usr/local/bin/" + name for name in ("kgpu", "kgpu-cuda", "kgpu-probe", "kgpu-runtime")}
share = "usr/local/lib/kgpu/libkgpu-share.so"
assert share in files, files
links = {"usr/sbin/chroot", "usr/local/bin/kubectl-kgpu", "usr/local/bin/kubectl_complete-kgpu"}  # to kgpu
libraries = set(files) - programs - links - {share}
assert programs | links <= set(files), files
# A shell would be among these.
for name in libraries:
    owner = subprocess.run(["dpkg", "-S", "/" + name], capture_output=True, text=True)
    if owner.returncode != 0:  # Debian 12's own list may name it without /usr
        owner = subprocess.run(["dpkg", "-S", "/" + name.removeprefix("usr/")], capture_output=True, text=True)
    assert owner.stdout.startswith("libc6:"), f"{name} belongs to {owner.stdout}{owner.stderr}"
document = json.load(open(sys.argv[2]))
packages = {package["SPDXID"]: package for package in document["packages"]}
contents = {packages[row["relatedSpdxElement"]]["name"]: packages[row["relatedSpdxElement"]]["versionInfo"]
            for row in document["relationships"] if row["relationshipType"] == "CONTAINS"}
glibc = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libc6"], capture_output=True, text=True).stdout
assert set(contents) == {"kgpu", "glibc"} and contents["glibc"] == glibc, contents
PY
}

# The tarball's programs start with the C library of Debian 11.
old_glibc() {
  needs_root
  local root=build/engines/bullseye said
  [ -e "$root/packages" ] || skip "no Debian 11 here: run tests/engines/fetch_suites.sh"
  release "$work/out" --only tarball
  cp -a "$root/." "$work/old"
  mkdir -p "$work/old/usr/local"
  tar -C "$work/old/usr/local" --strip-components=1 -xf "$work"/out/kgpu-*-linux-*.tar.gz
  for name in kgpu kgpu-probe kgpu-cuda; do
    said=$(chroot "$work/old" "/usr/local/bin/$name" --version 2>&1) || fail "$name: $said"
    [ "$said" = "$name $version" ] || fail "$name says \"$said\""
  done
  # It opens a library and looks a function up.
  said=$(chroot "$work/old" /usr/local/bin/kgpu-cuda --cuda-library libm.so.6 <<<ptx 2>&1 || true)
  [[ $said == *cuInit* ]] || fail "kgpu-cuda with a library that is not CUDA says: $said"
}

# image_machine ARCHIVE: the architecture in its configuration, and its loader.
image_machine() {
  python3 - "$1" <<'PY'
import io, json, sys, tarfile
archive = tarfile.open(sys.argv[1])
def blob(digest):
    return archive.extractfile("./blobs/" + digest.replace(":", "/")).read()
manifest = json.loads(blob(json.load(archive.extractfile("./index.json"))["manifests"][0]["digest"]))
names = [name for layer in manifest["layers"]
         for name in tarfile.open(fileobj=io.BytesIO(blob(layer["digest"]))).getnames()]
print(json.loads(blob(manifest["config"]["digest"]))["architecture"],
      *(name for name in names if name.split("/")[-1].startswith("ld-linux")))
PY
}

# The cross-built programs are for 64-bit Arm, start, and need nothing newer than the others.
aarch64() {
  local cross=build/cross/aarch64 name said newest
  needs_root
  [ -d "$cross/sysroot" ] || skip "no cross compiler here: run scripts/fetch_cross.sh"
  [ -x build/aarch64/bin/kgpu ] || skip "not built: run scripts/build.sh aarch64"
  release "$work/out" --machine aarch64
  mkdir "$work/root"
  tar -C "$work/root" --strip-components=1 -xf "$work/out/kgpu-$version-linux-aarch64.tar.gz"
  for name in kgpu kgpu-probe kgpu-cuda kgpu-fnwatch kgpu-runtime; do
    readelf -h "$work/root/bin/$name" | grep -q 'Machine: *AArch64' || fail "$name is for another machine"
    newest=$(readelf -V "$work/root/bin/$name" | grep -o 'GLIBC_2\.[0-9.]*' | sort -uV | tail -n1)
    [ "${newest:-GLIBC_2.17}" = GLIBC_2.17 ] || fail "$name needs $newest"
  done
  for name in kgpu kgpu-probe kgpu-cuda; do
    said=$("$cross/qemu/usr/bin/qemu-aarch64" -L "$cross/sysroot" "$work/root/bin/$name" \
      --version 2>&1) || fail "$name: $said"
    [ "$said" = "$name $version" ] || fail "$name says \"$said\""
  done
  [ "$(dpkg-deb -f "$work/out/kgpu_${version}_arm64.deb" Architecture)" = arm64 ] || fail "the .deb is not for arm64"
  [ -s "$work/root/share/man/man1/kgpu-agent.1" ] || fail "the manual pages are missing"
  said=$(image_machine "$work/out/kgpu-$version-image-arm64.tar")
  [ "$said" = "arm64 lib/ld-linux-aarch64.so.1" ] || fail "the image is for $said"
}

# They find the GPUs of a simulated Arm host: kgpu starts kgpu-probe, which loads that host's library.
aarch64_devices() {
  local library=build/aarch64/lib/libnvidia-ml.so.1 host=$work/host code=0
  [ -x build/aarch64/bin/kgpu ] || skip "not built: run scripts/build.sh aarch64"
  [ -e "$library" ] || skip "not built: run scripts/build.sh aarch64 nvidia-ml"
  build/release/bin/kgpu-sim create "$host" --profile 4xT4 --arch aarch64 >/dev/null
  sim=$host
  # kgpu-sim gives a host of another machine only stand-ins.
  cp "$library" "$(find "$host/usr/lib" -name 'libnvidia-ml.so.[0-9]*.*')"
  unshare --user --map-root-user --mount tests/release/as_aarch64.sh "$PWD/build/cross/aarch64" \
    build/aarch64/bin/kgpu devices --host-root "$host" --engine-root / >"$work/devices" 2>&1 || code=$?
  [ "$code" != 77 ] || skip "$(<"$work/devices")"
  [ "$(grep -c 'T4.*Healthy' "$work/devices")" = 4 ] || fail "exit code $code: $(<"$work/devices")"
}

case ${1:-} in
  same) same ;;
  deb) deb ;;
  rpm) rpm_package ;;
  tarball) tarball ;;
  image) image ;;
  old-glibc) old_glibc ;;
  aarch64) aarch64 ;;
  aarch64-devices) aarch64_devices ;;
  *) fail "usage: see the head of $0" ;;
esac
