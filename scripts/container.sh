# Sourced: starts real containers (podman, runc) that read CDI specs from a folder of ours, without
# touching the machine's own containers, images or CDI folders. Needs root.
# shellcheck shell=bash

# make_rootfs DIR [PROGRAM …]: a small root file system: busybox, the C library of this machine and
# the programs given (in /usr/bin). Debian-like: its loader searches /usr/lib/<multiarch>.
make_rootfs() {
  local root=$1 file target
  shift
  mkdir -p "$root"/{bin,usr/bin,lib64,proc,sys,dev,tmp,etc,run}
  cp /bin/busybox "$root/bin/busybox"
  for name in sh ls cat md5sum env grep sleep stat; do ln -sf busybox "$root/bin/$name"; done
  for file in "$@"; do cp "$file" "$root/usr/bin/"; done
  # The loader and the libraries that kgpu-probe and NVIDIA's library name in DT_NEEDED.
  for file in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
    target=$(ldconfig -p | sed -n "s|.*${file//./\\.} (libc6,[^)]*) => ||p" | head -n1)
    mkdir -p "$root$(dirname "$target")"
    cp -L "$target" "$root$target"
  done
  file=$(readelf -l /bin/ls | sed -n 's|.*interpreter: \(.*\)\]|\1|p')
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
}

# podman_with_cdi WORK CDI_DIR PODMAN_ARGUMENTS …
# In a mount namespace of its own, where /run/cdi is CDI_DIR and /etc/cdi is empty; with a storage of
# its own in WORK.
podman_with_cdi() {
  mkdir -p "$1/podman"
  # shellcheck disable=SC2016  # the inner shell expands them
  unshare --mount --propagation private sh -c '
    work=$1 cdi=$2; shift 2
    if [ ! -d /run/cdi ]; then mkdir "$work/podman/run" 2>/dev/null; mount --bind "$work/podman/run" /run; mkdir -p /run/cdi; fi
    mount --bind "$cdi" /run/cdi
    if [ -d /etc/cdi ]; then mount -t tmpfs tmpfs /etc/cdi; fi
    exec podman --root "$work/podman/root" --runroot "$work/podman/runroot" \
      --tmpdir "$work/podman/tmp" --cgroup-manager cgroupfs --runtime runc \
      --events-backend none "$@"' _ "$@"
}

# What the machine's limits allow is passed on: podman asks for more than some machines give.
podman_limits=(--rm --network none --ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)"
  --ulimit "nproc=30000:30000")

# run_container WORK CDI_DIR ROOTFS [podman run flags …] -- COMMAND …
run_container() {
  local work=$1 cdi=$2 rootfs=$3 flags=()
  shift 3
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  podman_with_cdi "$work" "$cdi" run "${podman_limits[@]}" "${flags[@]}" --rootfs "$rootfs" "$@"
}

# run_image WORK CDI_DIR OCI_ARCHIVE [podman run flags …] -- [ARGUMENTS …]: the image's own program.
run_image() {
  local work=$1 cdi=$2 archive=$3 flags=()
  shift 3
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  podman_with_cdi "$work" "$cdi" --storage-driver vfs run "${podman_limits[@]}" "${flags[@]}" \
    "oci-archive:$archive" "$@"
}
