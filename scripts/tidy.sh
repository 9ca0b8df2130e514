#!/usr/bin/env bash
# clang-tidy 19 with the project's rules. A file takes 10 to 20 s, so the default is what changed.
#   scripts/tidy.sh             sources changed since $KGPU_TIDY_BASE, or in the last commit
#   scripts/tidy.sh --all       every source (half an hour on 2 cores)
#   scripts/tidy.sh FILE …
# Files whose text, project headers and settings are as at their last clean run are not read again.
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
# What every source shares: the rules and the compiler's options.
common=$(git ls-files .clang-tidy 'cmake/*' '*CMakeLists.txt' | xargs cat | sha256sum | cut -c1-64)
step "clang-tidy over ${#files[@]} files"
# check PREFIX HASH FILE: the file PREFIX-HASH remembers a clean run.
check() {
  [ -e "$1-$2" ] && return 0
  clang-tidy-19 -p build/tidy --quiet --warnings-as-errors='*' "$3" 2>/dev/null && : >"$1-$2"
}
export -f check
# shellcheck disable=SC2016  # the inner shell expands them
tools/source_texts.py -0 "${files[@]}" |
  xargs -0 -P2 -n2 bash -c 'check "$1" "$2" "$3"' _ "$cache/$common" >&2
