# shellcheck shell=bash
# A driver that kgpu itself installed gives way to a newer one by kgpu; rollback installs it again.
# debian.sh reads this in, with its $root and functions; $root is as it was afterwards.
: "${root:?}" "${work:?}"
snapshot before
begun=$SECONDS
driver install --yes --gpu kepler >"$work/own" 2>&1 ||
  { cat "$work/own"; fail "kgpu driver install --gpu kepler"; }
say "470 installed by kgpu in $((SECONDS - begun)) s"
install_and_look --branch 535
driver status | grep -q 'kgpu driver rollback installs driver 470 again' ||
  fail "kgpu driver status does not report what was replaced"
begun=$SECONDS
driver rollback --yes >"$work/rollback" 2>&1 || { cat "$work/rollback"; fail "kgpu driver rollback"; }
say "470 installed again in $((SECONDS - begun)) s"
begun=$SECONDS
driver remove --yes >"$work/remove" 2>&1 || { cat "$work/remove"; fail "kgpu driver remove"; }
say "removed in $((SECONDS - begun)) s"
same_as_before own
say "the tree is as it was before kgpu's drivers"
