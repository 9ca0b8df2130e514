#!/usr/bin/env bash
# The quick starts from their own pages, in a Debian 12 that has nothing but the packages that the pages name: whoever
# follows a page has what this machine happens to have, or not.
#   tests/docs/clean_root.sh BUILD    its programs are in BUILD/bin; prints the seconds of each page
# The tree is made by debootstrap of the archive that this machine installs from. 77: it cannot be made here.
set -euo pipefail
if [ "${KGPU_IN_NAMESPACE:-}" != 1 ]; then
  [ "$(id -u)" = 0 ] || { echo "SKIPPED: a chroot takes root"; exit 77; }
  KGPU_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi
build=$(realpath "${1:?usage: tests/docs/clean_root.sh BUILD}")
cd "$(dirname "$0")/../.."
command -v debootstrap >/dev/null || { echo "SKIPPED: no debootstrap is here"; exit 77; }

work=$(mktemp -d)
root=$work/root
cleanup() {
  umount "$root/proc" "$root/repository/build/release" "$root" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

# shellcheck disable=SC2016  # apt-get expands these
archive=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
  awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
[ -n "$archive" ] || { echo "SKIPPED: no source of this machine has Debian 12"; exit 77; }
# What runs the pages, then what the pages name.
packages=python3-minimal,libpython3-stdlib,iproute2,kmod,curl,jq,kubernetes-client
mkdir "$root"
debootstrap --variant=minbase --include="$packages" bookworm "$root" "$archive" >"$work/log" 2>&1 ||
  { tail -n 3 "$work/log"; echo "SKIPPED: the archive is not reached"; exit 77; }

# A tree whose root is a mount can have namespaces of its own.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mkdir -p "$root/repository"
git ls-files -z docs tools tests/docs deploy README.md | tar -c --null -T - | tar -x -C "$root/repository"
mkdir -p "$root/repository/build/release"
mount --bind "$build" "$root/repository/build/release"

failed=0
for page in docs/getting-started/what-you-did-by-hand.md docs/getting-started/from/*.md docs/getting-started/simulated-host.md; do
  case $page in *.ko.md | *.zh.md | *.ja.md) continue ;; esac
  begin=$SECONDS
  if env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$root" \
    /repository/tools/run_docs "/repository/$page" >"$work/said" 2>&1 &&
    ! grep -qE 'not run: needs (curl|jq|kubectl)' "$work/said"; then
    echo "$page: $((SECONDS - begin)) s: $(tail -n 1 "$work/said")"
  else
    echo "$page: FAILED"
    cat "$work/said"
    failed=1
  fi
done
[ "$failed" = 0 ]
