# shellcheck shell=bash
# The same Debian, its kernel taken off, as the image of an init container: what
# `kgpu driver install --container` leaves on a host, which is a folder here. debian.sh reads this
# in, with its $kgpu, $root, $work, $kernel and functions.
: "${kgpu:?}" "${root:?}" "${work:?}" "${kernel:?}"
host=$work/host
mkdir -p "$host"/{dev,etc,proc/sys/kernel,run,sys,var/lib}
: >"$host/proc/modules"
driver_root=$host/var/lib/kgpu/driver-root
# Capabilities that deploy/driver/kgpu-driver.yaml gives, and no other.
rights=$(sed -n '/drop: \[ALL\]/,/volumeMounts/s/^ *- \([A-Z_][A-Z_]*\).*/+\L\1/p' \
  "$(dirname "$0")/../../deploy/driver/kgpu-driver.yaml" | paste -sd ,)
# In what is given: our own environment, or one without a network. Modules are not loaded, as no
# kernel runs the folder.
container() {
  "$@" setpriv --bounding-set "-all,$rights" "$kgpu" driver install --container \
    --container-root "$root" --host-root "$host" --gpu ampere --yes
}
# The host with that kernel, and each container with the root that its image has.
boot() {
  echo "$1" >"$host/proc/sys/kernel/osrelease"
  rm -rf "$host/run/nvidia"
  umount "$root/proc" "$root/sys" "$root/etc/modprobe.d/mounted.conf" 2>/dev/null || true
  rm -rf --one-file-system "$root"
  cp -a "$work/image" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  # As a ConfigMap is.
  mkdir -p "$root/etc/modprobe.d"
  : >"$work/options"
  : >"$root/etc/modprobe.d/mounted.conf"
  mount --bind "$work/options" "$root/etc/modprobe.d/mounted.conf"
}
loadable() {
  chroot "$driver_root" modinfo -k "$1" -F vermagic nvidia-current >"$work/vermagic" ||
    fail "no module for $1 is in the folder"
  grep -q "^$1 " "$work/vermagic" || fail "the module in the folder was not built for $1"
}

{
  inside apt-get -y -q --no-install-recommends install kmod
  inside apt-get -y -q purge 'linux-image-*'
  inside apt-get -y -q autoremove --purge
  inside apt-get clean
} >"$work/image.log" 2>&1 || { tail -n 20 "$work/image.log"; fail "the image could not be made"; }
umount "$root/proc" "$root/sys"
rm -rf "$root/var/lib/kgpu"
cp -a "$root" "$work/image"
say "the image has $(du -sm "$work/image" | cut -f1) MiB"

boot "$kernel"
other=$(inside apt-cache search --names-only '^linux-headers-6\.1\.[0-9.]*-[0-9]*-amd64$' |
  sed 's/^linux-headers-\([^ ]*\) .*/\1/' | grep -vx "$kernel" | sort -V | tail -n 1)
begun=$SECONDS
container env >"$work/container" 2>&1 || { cat "$work/container"; fail "kgpu driver install --container"; }
say "installed from a container in $((SECONDS - begun)) s: $(du -sm "$driver_root" | cut -f1) MiB"
sed 's/^/        /' "$work/container"
! grep -q "DKMS says" "$work/container" || fail "the folder has a DKMS, which cannot run there"
[ "$(readlink "$host/run/nvidia/driver")" = ../../var/lib/kgpu/driver-root ] ||
  fail "the link does not lead to the folder"
loadable "$kernel"
chroot "$driver_root" ldconfig -p >"$work/linker"
grep -q libcuda.so.1 "$work/linker" || fail "the folder's dynamic linker does not find libcuda.so.1"
[ ! -e "$driver_root/etc/modprobe.d/mounted.conf" ] || fail "a mounted file is in the folder"
[ -z "$(find "$driver_root" -type f -perm /6000)" ] || fail "programs of other rights are there"
[ ! -e "$driver_root/usr/src/linux-headers-$kernel" ] || fail "headers are in the folder"

# A restart: a new container, nothing in /run. No archive is reached: there are no sources, and no
# network either.
boot "$kernel"
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
stamp=$(stat -c %i-%Y "$driver_root/kgpu-driver.json")
begun=$(date +%s%3N)
container unshare --net >"$work/again" 2>&1 || { cat "$work/again"; fail "the second container"; }
say "the second container took $(($(date +%s%3N) - begun)) ms, without a network"
grep -q "was built before" "$work/again" || { cat "$work/again"; fail "it was built again"; }
[ "$stamp" = "$(stat -c %i-%Y "$driver_root/kgpu-driver.json")" ] || fail "the folder is another one"
[ -e "$host/run/nvidia/driver/usr/bin/nvidia-modprobe" ] || fail "the link was not made again"

# An older kernel of the same archive, if it has one, and back.
if [ -n "$other" ]; then
  boot "$other"
  begun=$SECONDS
  container env >"$work/other" 2>&1 || { cat "$work/other"; fail "kernel $other"; }
  grep -q "is installed in" "$work/other" || fail "nothing was built for kernel $other"
  loadable "$other"
  say "built for kernel $other in $((SECONDS - begun)) s"
  boot "$kernel"
  container unshare --net >"$work/back" 2>&1 || { cat "$work/back"; fail "back to $kernel"; }
  grep -q "was built before" "$work/back" || fail "kernel $kernel was built for again"
  loadable "$kernel"
  say "the modules of $kernel were kept"
fi
