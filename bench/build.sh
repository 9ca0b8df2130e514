#!/usr/bin/env bash
# What a build from scratch costs, without a compiler cache: CPU minutes of each module, the most
# expensive units and headers, and the totals beside their budgets.
#   bench/build.sh               the programs, then the tests and benchmarks (half an hour)
#   bench/build.sh --headers     also which headers cost most, asked of clang 19 (ten minutes more)
# The machine should do nothing else. Builds in build/bench-build, which goes afterwards.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

headers=0
case ${1:-} in
  '') ;;
  --headers) headers=1 ;;
  *) die "usage: bench/build.sh [--headers]" ;;
esac
cd "$kgpu_top"
folder=build/bench-build
rm -rf "$folder"
mkdir -p "$folder"
trap 'rm -rf "$kgpu_top/$folder"' EXIT
launcher="$kgpu_top/bench/cpu_time;$kgpu_top/$folder"

# build TITLE TARGET: builds the target; how many seconds passed stands in $folder/TITLE.wall.
build() {
  step "building $1"
  local started=$SECONDS
  cmake --build "$folder" --target "$2" >"$folder/$1.out" || {
    tail -n 40 "$folder/$1.out" >&2
    exit 1
  }
  echo "$((SECONDS - started))" >"$folder/$1.wall"
}
cmake --preset release -B "$folder" -DKGPU_CCACHE= \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher/compile.log" \
  -DCMAKE_CXX_LINKER_LAUNCHER="$launcher/link.log" >/dev/null
build programs programs
cp "$folder/compile.log" "$folder/programs.compile"
cp "$folder/link.log" "$folder/programs.link"
build all all
if [ "$headers" = 1 ]; then
  step "asking clang what each header costs"
  cmake --preset release -B "$folder/clang" -DCMAKE_CXX_COMPILER=clang++-19 -DKGPU_CCACHE= \
    -DCMAKE_CXX_FLAGS=-ftime-trace >/dev/null
  # Time spent in headers is the compiler's front half; its trace is written with the object.
  cmake --build "$folder/clang" --target programs >/dev/null || true
fi
bench/build_report "$folder"
