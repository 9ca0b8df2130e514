# shellcheck shell=bash
# An older driver, put into the same Debian by hand, gives way to Debian's newest and comes back.
# debian.sh reads this in, with its $root, $work, $kernel and functions; $root is as it was afterwards.
: "${root:?}" "${work:?}" "${kernel:?}"
cp -ax "$root" "$work/plain"
old=nvidia-tesla-470
sed 's/ main$/ contrib non-free/' "$root/etc/apt/sources.list" \
  >"$root/etc/apt/sources.list.d/by-hand.list"
begun=$SECONDS
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
{
  inside apt-get update -q
  inside apt-get -y -q --no-install-recommends install "linux-headers-$kernel" \
    "$old-kernel-dkms" "lib$old-cuda1" "$old-smi"
  inside apt-get clean
} >>"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail "$old could not be installed by apt"; }
rm "$root/usr/sbin/policy-rc.d"
say "$old installed by apt in $((SECONDS - begun)) s"
# It is built again on the way back, and apt takes it for asked for by hand then, as a whole.
other_bytes="$other_bytes|^./var/lib/apt/extended_states |^./var/lib/dkms/.*/log/make.log "
snapshot before
install_and_look
! inside modinfo -k "$kernel" "$old" >/dev/null 2>&1 || fail "$old is still there"
begun=$SECONDS
driver remove --yes >"$work/remove" 2>&1 || { cat "$work/remove"; fail "kgpu driver remove"; }
say "removed in $((SECONDS - begun)) s"
say "modinfo: $(inside modinfo -k "$kernel" -F version "$old") for $kernel is back"
same_as_before back
say "the older driver is here as it was before"

umount "$root/proc" "$root/sys"
rm -rf --one-file-system "$root"
mv "$work/plain" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
