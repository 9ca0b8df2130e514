#!/bin/sh
# as_aarch64.sh CROSS COMMAND …: runs COMMAND where the kernel starts programs for 64-bit Arm with the
# qemu that lies in CROSS, and the loader finds that machine's C library. To be called in user and
# mount namespaces of its own: this machine learns nothing of it. 77: the kernel cannot (it needs 6.7).
set -eu
cross=$1
shift
mount -t overlay overlay -o "lowerdir=/usr/lib:$cross/sysroot/lib" /usr/lib || exit 77
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 77
# Name, offset of the magic number, that of an ELF file for this machine, its mask, the program, and
# that it is opened now. Source: the kernel's Documentation/admin-guide/binfmt-misc.rst.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":aarch64:M::$magic:$mask:$cross/qemu/usr/bin/qemu-aarch64:F" \
  >/proc/sys/fs/binfmt_misc/register || exit 77
exec "$@"
