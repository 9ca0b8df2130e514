#!/usr/bin/env bash
# tools/run_docs accepts what is right and refuses what is wrong: each case is a page of its own.
#   tests/docs/run_docs_test.sh    prints what went wrong and exits with 1; 77: it cannot run here
# shellcheck disable=SC2016  # what stands in the pages is for other shells
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
failed=0

# page LINE …: the page of this case. ~~~ stands for the mark of a code block.
page() {
  printf '%s\n' '# Page' '<!-- host: none -->' "$@" | sed 's/^~~~/```/' >"$folder/page.md"
}

# expect WHAT CODE TEXT [FLAG …]: the runner exits with CODE and says TEXT.
expect() {
  local what=$1 code=$2 text=$3 said status=0
  shift 3
  said=$(tools/run_docs --bin "$folder/bin" "$@" "$folder/page.md" 2>&1) || status=$?
  if [ "$status" = 77 ]; then
    echo "$said"
    exit 77
  fi
  if [ "$status" != "$code" ] || [[ "$said" != *"$text"* ]]; then
    echo "$what: exit $status, it said: $said"
    failed=1
  fi
}

page '~~~console' '$ echo one; echo 2' 'one' '2' '~~~'
expect "right output" 0 "1 commands run, 0 blocks not run, 0 outputs rewritten, 0 problems"

page '~~~console' '$ echo one; echo 2' 'one' '3' '~~~'
expect "wrong output" 1 "tools/run_docs --update rewrites what the page shows"

page '~~~console' '$ echo one; echo 2' 'one' '~~~'
expect "output with a line too few" 1 "+2"

page '~~~console' '$ seq 9; echo took 12 ms' '1' '…' '9' 'took … ms' '~~~'
expect "output with gaps" 0 "0 problems"

page '~~~console' '$ seq 9' '1' '…' '8' '~~~'
expect "a gap does not hide the last line" 1 "1 problems"

page '~~~sh' 'true' 'ls /no-such-folder' '~~~'
expect "a command that fails" 1 "exits 2, the page says 0"

page '~~~sh' 'ls /no-such-folder   # exits 2: it does not exist' '~~~'
expect "a command that fails as the page says" 0 "0 problems"

page '~~~sh' 'true   # exits 7' '~~~'
expect "a command that should fail" 1 "exits 0, the page says 7"

page '~~~sh' 'false | true' '~~~'
expect "a pipe that breaks at its start" 1 "exits 1, the page says 0"

page '<!-- not run: needs a person -->' '~~~sh' 'false' '~~~' '~~~sh' 'true' '~~~'
expect "a block that is not run" 0 "1 commands run, 1 blocks not run"

page '<!-- needs: no-such-program -->' '~~~sh' 'false' '~~~'
expect "a program that is missing" 0 "not run: needs no-such-program"

page '<!-- before' 'value=5' '-->' '~~~console' '$ echo $value' '5' '~~~'
expect "hidden preparations" 0 "1 commands run"

page '<!-- before' 'false' '-->' '~~~sh' 'true' '~~~'
expect "preparations that fail" 1 "preparing: false: exit code 1"

page '<!-- output of: echo "| a |" -->' '' '| a |' '' 'more'
expect "a table that a command prints" 0 "1 commands run"

page '<!-- output of: echo "| a |" -->' '| b |'
expect "a table that is stale" 1 "-| b |"

page '<!-- output of: echo a: 1 -->' '~~~yaml' 'a: 2' '~~~' '~~~sh' 'false' '~~~'
expect "a block that is stale, and the one behind it" 1 "2 problems"

page '~~~sh' 'exit 3' '~~~'
expect "a command that ends the shell" 1 "it ended the shell"

page '~~~' '$ echo 1' '~~~'
expect "a command in a block without a type" 1 "must be"

page 'See [there](nowhere.md).'
expect "a dead link" 1 "page.md:3: the link to nowhere.md leads nowhere"

page 'See [there](#no-heading).'
expect "a dead anchor" 1 "has no heading for #no-heading"

page 'See [there](#a-heading-of-it) and `[no](link)`.' '## A heading, of it'
expect "a live anchor" 0 "0 problems"

# Its own mistakes are no reason to skip: there is no such folder to mount.
page '~~~sh' 'true' '~~~'
status=0
said=$(tools/run_docs --bin "$folder/none/bin" "$folder/page.md" 2>&1) || status=$?
if [ "$status" != 1 ] || [[ "$said" != *"cannot make the copy of this machine"* ]]; then
  echo "a copy that cannot be made: exit $status, it said: $said"
  failed=1
fi

# A machine that forbids mounts is one. An older setpriv may not know the option.
if setpriv --bounding-set=-sys_admin true 2>/dev/null; then
  status=0
  said=$(setpriv --bounding-set=-sys_admin tools/run_docs --bin "$folder/bin" "$folder/page.md" 2>&1) ||
    status=$?
  if [ "$status" != 77 ]; then
    echo "a machine without mounts: exit $status, it said: $said"
    failed=1
  fi
fi

# A host that cannot be created leaves neither a folder nor a shell.
mkdir "$folder/tmp"
printf '%s\n' '# Page' '<!-- host: no-such-profile -->' '```sh' 'true' '```' >"$folder/page.md"
if said=$(TMPDIR=$folder/tmp tools/run_docs --bin "$folder/bin" "$folder/page.md" 2>&1) ||
  [[ "$said" != *"preparing: kgpu sim create"* ]] || [ -n "$(ls "$folder/tmp")" ]; then
  echo "a host that cannot be created: left $(ls "$folder/tmp"); it said: $said"
  failed=1
fi

# Translations have what the English page has, in their language. translated LINE …: the page in Korean; the other
# two languages have the English page's marks, too.
pages=("$folder/page.md" "$folder/page.ko.md" "$folder/page.zh.md" "$folder/page.ja.md")
bar() { printf '%s' '[한국어](page.ko.md) · [简体中文](page.zh.md) · [日本語](page.ja.md) · [English](page.md)' | sed "s/ · \[[^]]*\](page$1)//; s/^\[[^]]*\](page$1) · //"; }
translated() {
  page "$(bar .md)" '' 'Run it, see [there](other.md):' '~~~console' '$ echo one' 'one' '~~~' '## End' '- It is `done`.'
  : >"$folder/other.md"
  printf '%s\n' '# 页' '<!-- host: none -->' "$(bar .zh.md)" '' '运行，参见[这里](other.md)：' '```console' '$ echo one' 'one' '```' \
    '## 结束' '- `done` 完成。' >"$folder/page.zh.md"
  printf '%s\n' '# ページ' '<!-- host: none -->' "$(bar .ja.md)" '' '[こちら](other.md)を見て実行します:' '```console' '$ echo one' 'one' '```' \
    '## 終わり' '- `done` です。' >"$folder/page.ja.md"
  printf '%s\n' '# 쪽' '<!-- host: none -->' "$(bar .ko.md)" '' "$@" | sed 's/^~~~/```/' >"$folder/page.ko.md"
}

# expect_translated WHAT CODE TEXT [FLAG …]: as expect, for the page in all languages.
expect_translated() {
  local what=$1 code=$2 text=$3 said status=0
  shift 3
  said=$(tools/run_docs --bin "$folder/bin" "$@" "${pages[@]}" 2>&1) || status=$?
  if [ "$status" != "$code" ] || [[ "$said" != *"$text"* ]]; then
    echo "$what: exit $status, it said: $said"
    failed=1
  fi
}

korean=('[여기](other.md)를 보고 실행합니다:' '~~~console' '$ echo one' 'one' '~~~' '## 끝' '- `done` 입니다.')
translated "${korean[@]}"
expect_translated "a good translation" 0 " 0 problems"
translated "${korean[@]/'$ echo one'/'$ echo two'}"
expect_translated "another command" 1 "page.ko.md:7: this block of code differs" --links
expect_translated "an update of translations" 0 " 0 problems" --update
translated "${korean[@]:0:5}"
expect_translated "a heading that is missing" 1 "page.ko.md:10: has 1 headings, rows and items, the English page 3" --links
translated "${korean[@]/여기/}" 'See also the other page.'
expect_translated "English lines" 1 "page.ko.md:12: a line that is not in 한국어" --links
translated "${korean[@]}" '또한 see the other page for more about it 합니다.'
expect_translated "an English sentence" 1 "English in a page in 한국어: see the other page" --links
translated "${korean[@]/other.md/page.md}"
expect_translated "another link" 1 "lacks the link other.md of the English page" --links
translated "${korean[@]/done/gone}"
expect_translated "another name in code" 1 'has the code `gone`' --links
translated "${korean[@]/끝/終わり}"
expect_translated "another script" 1 "letters of another language in a page in 한국어" --links
translated "${korean[@]}"
printf '%s\n' '一行です。' '二行です。' >>"$folder/page.ja.md"
expect_translated "a paragraph of two lines" 1 "page.ja.md:13: joins the paragraph above" --links
translated "${korean[@]}"
rm "$folder/page.ja.md"
pages=("${pages[@]:0:3}")
expect_translated "a language that is missing" 1 "page.ja.md is missing" --links
rm "$folder"/page.*.md "$folder/other.md"

# Without git the project's files are listed by their folders.
mkdir "$folder/few"
ln -s "$(command -v env)" "$(command -v bash)" "$folder/few/"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$folder/few/python3"
if ! said=$(PATH=$folder/few tools/run_docs --links 2>&1); then
  echo "without git: it said: $said"
  failed=1
fi

# Files that texts name exist.
mkdir -p "$folder/src/a"
touch "$folder/src/a/b.cc"
printf '%s\n' 'See <b>src/a/b.cc</b>, src/a/*_test.cc, src/<x>.cc and docs/cri/config.md.' 'Not src/a/c.cc.' >"$folder/src/a/d.md"
said=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 -c '
import pathlib, sys
from docs import pages
top = pathlib.Path(sys.argv[1])
print(*pages.bad_mentions(top / "src/a/d.md", top), sep="\n")' "$folder")
if [ "$said" != "src/a/d.md:2: there is no src/a/c.cc" ]; then
  echo "a file that does not exist: it said: $said"
  failed=1
fi

# Texts of C++ sources, as tools/troubleshooting reads them.
said=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 -c '
from docs import cpp_texts
parts = cpp_texts.tokens("""void F(int a) { if (a) { x.Add("a" " \\"b\\"", {fmt::format("rm {} {{}}", Word(a)), "# c" + d, e}); } }""")
for arguments in cpp_texts.calls(cpp_texts.bodies(parts)["F"], "Add"):
    print(cpp_texts.literal(arguments[0]), *cpp_texts.texts_of_list(arguments[1]), sep="|")')
if [ "$said" != 'a "b"|rm … {}|# c…' ]; then
  echo "texts of a source: it said: $said"
  failed=1
fi

mark=/etc/kgpu-docs-test-$$
page '~~~sh' "touch $mark /var/lib/${mark##*/} /run/${mark##*/}" '~~~'
expect "writing to the machine" 0 "1 commands run"
for file in "$mark" "/var/lib/${mark##*/}" "/run/${mark##*/}"; do
  if [ -e "$file" ]; then
    echo "a page wrote $file on the machine itself"
    rm -f "$file"
    failed=1
  fi
done

page '~~~console' '$ echo now; seq 5; echo "took 7 ms"' 'then' '…' '4' 'took … ms' '~~~' 'The end.'
expect "an update" 0 "1 outputs rewritten" --update
expect "after the update" 0 "0 problems"
if ! grep -q '^took … ms$' "$folder/page.md" || ! grep -q '^The end.$' "$folder/page.md"; then
  echo "an update lost what it should keep:"
  cat "$folder/page.md"
  failed=1
fi
exit "$failed"
