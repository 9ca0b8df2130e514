#!/usr/bin/env bash
# tools/check_words refuses what it should: each case is a small tree with one planted word.
#   tests/words_test.sh    prints what went wrong and exits with 1, or nothing
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
# Programs that it needs, and no git.
few=$(mktemp -d)
trap 'rm -rf "$folder" "$few"' EXIT
ln -s "$(command -v env)" "$few/env"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$few/python3"
checker_path=$PATH
failed=0

# expect WHAT FILE LINE TEXT: a file with this line fails with TEXT; an empty TEXT: it passes.
expect() {
  local said status=0
  cp CONTRIBUTING.md "$folder/"
  mkdir -p "$(dirname "$folder/$2")"
  printf '%s\n' "$3" >"$folder/$2"
  said=$(PATH=$checker_path tools/check_words "$folder" 2>&1) || status=$?
  if [ -z "$4" ]; then
    if [ "$status" != 0 ] || [ -n "$said" ]; then
      echo "$1: exit $status, it said: $said"
      failed=1
    fi
  elif [ "$status" = 0 ] || [[ "$said" != *"$4"* ]]; then
    echo "$1: exit $status, it said: $said"
    failed=1
  fi
  rm -rf "${folder:?}"/*
}

# The planted words are put together here, so that this file passes itself.
m="me""nd" d="de""sk" w="we""ll"
expect "plain words" src/a.cc '// Fixes the report.' ""
expect "a word in a comment" src/a.cc "// To $m it." "src/a.cc:1: \"$m\": say fix"
expect "a word in a string" src/a.cc "\"The $m\"" "src/a.cc:1: \"$m\": say fix"
expect "a word in an identifier" src/a.cc "class Health${d^} {};" "\"$d\": say handler"
expect "a word in a snake_case name" src/a.cc "int health_${d}_ = 0;" "\"$d\": say handler"
expect "a word in capitals" notes/a.md "## ${m^^}" "notes/a.md:1: \"$m\""
expect "a word as part of another" notes/a.md "recom${m} a${m}ment ${d}top" ""
expect "a phrase" notes/a.md "The GPU is $w." "\"is $w\": say healthy"
expect "a word that is a part of phrases" notes/a.md "The GPUs work $w." ""
expect "a phrase in a test's name" src/a_test.cc "TEST(A, AGpuIs${w^}) {" "\"is $w\""
expect "a file's name" "src/${d}.cc" "int x;" "src/$d.cc: \"$d\" in the name"
v="ve""rb"
expect "a word of one folder" src/cli/a.cc "CLI::App& $v;" "src/cli/a.cc:1: \"$v\": say command"
expect "the same word elsewhere" src/kube/a.cc "{\"$v\", \"get\"}" ""
expect "inputs of the fuzzers" "fuzz/corpus/x/$d" "$m" ""

checker_path=$few
expect "without git" src/a.cc "// To $m it." "src/a.cc:1"
checker_path=$PATH

printf '# Contributing\n' >"$folder/CONTRIBUTING.md"
if said=$(tools/check_words "$folder") || [[ "$said" != *'no table below "## Words"'* ]]; then
  echo "no table: it said: $said"
  failed=1
fi
exit "$failed"
