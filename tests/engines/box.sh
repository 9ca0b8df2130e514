#!/bin/sh
# box.sh WORK COMMAND …: runs COMMAND where /run and /var/log are folders of WORK, and /etc is the
# machine's with the files of WORK/etc added; what is written there is gone afterwards. To be called
# in mount and process namespaces of its own.
set -eu
work=$1
shift
mkdir -p "$work/run" "$work/log" "$work/etc" "$work/scratch"
mount --bind "$work/run" /run
mount --bind "$work/log" /var/log
# An upper layer needs a file system that is no overlay itself.
mount -t tmpfs tmpfs "$work/scratch"
mkdir "$work/scratch/upper" "$work/scratch/work"
mount -t overlay overlay \
  -o "lowerdir=/etc,upperdir=$work/scratch/upper,workdir=$work/scratch/work" /etc
for folder in /etc/cdi /etc/kgpu /etc/docker /etc/containerd; do
  [ ! -d "$folder" ] || mount -t tmpfs tmpfs "$folder"
done
cp -a "$work/etc/." /etc/
exec "$@"
