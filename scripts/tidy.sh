#!/usr/bin/env bash
# clang-tidy 19 with the project's rules. A file takes 10 to 20 s, so the default is what changed.
#   scripts/tidy.sh             sources changed since $KGPU_TIDY_BASE, or in the last commit
#   scripts/tidy.sh --all       every source (half an hour on 2 cores)
#   scripts/tidy.sh FILE …
# Files whose text, headers and settings are as at their last clean run are not read again.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cd "$kgpu_top"
sources=('src/*.cc' 'testing/*.cc' 'tests/*.cc' 'bench/*.cc')
case ${1:-} in
  '')
    base=${KGPU_TIDY_BASE:-HEAD~1}
    git rev-parse --verify --quiet "$base" >/dev/null || base=$(git hash-object -t tree /dev/null)
    mapfile -t files < <(git diff --name-only --diff-filter=AM "$base" -- "${sources[@]}")
    ;;
  --all) mapfile -t files < <(git ls-files "${sources[@]}") ;;
  *) files=("$@") ;;
esac
[ ${#files[@]} -gt 0 ] || exit 0

# Only the compile commands and the headers that the build generates are needed.
[ -f build/tidy/build.ninja ] || cmake --preset tidy >/dev/null
cmake --build build/tidy --target generated >/dev/null
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kgpu-tidy
mkdir -p "$cache"
# One key for all headers and settings: simple, and headers change seldom.
common=$(git ls-files '*.h' .clang-tidy 'cmake/*' '*CMakeLists.txt' | xargs cat | sha256sum)
step "clang-tidy over ${#files[@]} files"
check() {
  local key
  key=$(printf '%s %s ' "$2" "$1" | cat - "$1" | sha256sum | cut -c1-64)
  [ -e "$3/$key" ] && return 0
  clang-tidy-19 -p build/tidy --quiet --warnings-as-errors='*' "$1" 2>/dev/null && : >"$3/$key"
}
export -f check
# shellcheck disable=SC2016  # the inner shell expands them
printf '%s\0' "${files[@]}" | xargs -0 -P2 -I{} bash -c 'check "$1" "$2" "$3"' _ {} "$common" "$cache" >&2
