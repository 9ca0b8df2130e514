#!/usr/bin/env bash
# The checks that read sources only: format, layers, words, shell scripts. Seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.cc' '*.h' | xargs -P2 -n100 clang-format-19 --dry-run -Werror
tools/check_layers
tools/check_words
git ls-files '*.sh' .ci/run | xargs shellcheck -x
