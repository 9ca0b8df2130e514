#!/usr/bin/env bash
# clang 19: builds once for the thread-safety analysis, then clang-tidy over every source of ours.
# Files whose text, headers and settings are as at their last clean run are not read again.
#   scripts/tidy.sh [FILE …]
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cd "$kgpu_top"
scripts/build.sh tidy --all
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kgpu-tidy
mkdir -p "$cache"
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'src/*.cc' 'testing/*.cc' 'tests/*.cc' 'bench/*.cc')
fi
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
