# Sourced by run.sh: the GPUs in real containers, by the engines that are there and by the runc of
# the bundle. All that they write is in $work, and in mount namespaces of their own.
# shellcheck shell=bash
# $work, $out, $here, $root, $engine, check, skip and kgpu are run.sh's.
# shellcheck disable=SC2154

# No ampersand: sed writes it.
proof='set -e; kgpu devices; kgpu validate --all-gpus --no-bandwidth'
proves() { # NAME: the log of a container that proved every GPU
  grep -q 'Test PASSED' "$out/log/$1" && ! grep -q 'Test FAILED' "$out/log/$1"
}

podman_container() { run_container "$work" "$out/cdi" "$work/rootfs" "$@"; }

with_podman() {
  if ! command -v podman >/dev/null || ! command -v runc >/dev/null; then
    skip container-podman "podman with runc is not on this machine"
  elif ! podman_container -- sh -c true 2>"$out/log/container-podman.why" >&2; then
    skip container-podman "podman starts no container here: $(tail -n 1 "$out/log/container-podman.why")"
  else
    check container-podman podman_container --device kgpu.dev/gpu=all -- sh -c "$proof"
    check container-podman-proof proves container-podman
  fi
}

# The bundle's runc behind kgpu-runtime: what docker and containerd do on hosts without CDI.
make_oci_bundle() { # ARGUMENTS as JSON, MOUNT as JSON with a comma behind it, or nothing
  mkdir -p "$work/oci" && rm -f "$work/oci/config.json"
  LD_LIBRARY_PATH=$here/lib "$here/runc" spec --bundle "$work/oci" &&
    sed -i -e 's/"terminal": true/"terminal": false/' -e "s|\"path\": \"rootfs\"|\"path\": \"$work/rootfs\"|" \
      -e 's/"readonly": true/"readonly": false/' -e "s|^\([[:space:]]*\)\"sh\"\$|\1$1|" \
      -e "s|\"mounts\": \[|\"mounts\": [ $2|" "$work/oci/config.json"
}
# Where kgpu cdi generate has written for engines that read no CDI: below the host's root, which is
# covered by a file system in memory where it is this machine's.
runc_container() {
  # shellcheck disable=SC2016  # the inner shell expands them
  here=$here work=$work host=$root unshare --mount --propagation private sh -c '
    [ -n "$host" ] || mount -t tmpfs tmpfs /run || exit 1
    "$here/rootfs/usr/bin/kgpu" cdi generate "$@" || exit 1
    mkdir -p "$work/root/run" "$work/root/etc/kgpu"
    cp -r "$host/run/kgpu" "$work/root/run/"
    printf "{\"runtimes\": [\"%s/runc\"], \"auditLog\": \"\"}\n" "$here" >"$work/root/etc/kgpu/runtime.json"
    export LD_LIBRARY_PATH=$here/lib
    exec "$here/kgpu-runtime" --kgpu-root "$work/root" --root "$work/state" run --bundle "$work/oci" kgpu-gpu
    ' _ "${engine[@]}"
}
with_runc() {
  if [ ! -x "$here/runc" ]; then
    skip container-runc "the bundle was made without runc"
  elif ! { make_oci_bundle '"sh", "-c", "true"' '' &&
    LD_LIBRARY_PATH=$here/lib "$here/runc" --root "$work/state" run --bundle "$work/oci" kgpu-plain; } \
    >"$out/log/container-runc.why" 2>&1; then
    skip container-runc "runc starts no container here: $(tail -n 1 "$out/log/container-runc.why")"
  else
    make_oci_bundle "\"sh\", \"-c\", \"$proof\"" '{"destination": "/var/run/nvidia-container-devices/all", "type": "bind", "source": "/dev/null", "options": ["rbind"]},'
    check container-runc runc_container
    check container-runc-proof proves container-runc
  fi
}

containers() {
  if [ "$(id -u)" != 0 ]; then
    skip containers "they need root"
    return
  fi
  # shellcheck source=scripts/container.sh
  . "$here/container.sh"
  cp -r "$here/rootfs" "$work/rootfs"
  with_podman
  with_runc
}
