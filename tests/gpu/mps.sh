# Sourced by run.sh: a GPU that is shared by MPS, with the agent and the driver's own daemon. All
# that they write is in $work, and in a mount namespace of their own.
# shellcheck shell=bash
# $work, $out, $here, $root, $host, $engine, check, skip and slice_gpu are run.sh's or slices.sh's.
# shellcheck disable=SC2154

# The agent is never asked more than 300 times whether its daemon answers: half a minute.
mps_in_a_namespace() {
  mkdir -p "$work/mps/kubelet"
  printf 'apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- devices: {uuid: %s}\n  share: {by: mps, replicas: 2}\n' \
    "$slice_gpu" >"$work/mps/config.yaml"
  # shellcheck disable=SC2016  # the inner shell expands them
  here=$here work=$work/mps gpu=$slice_gpu control=$mps_control unshare --mount --propagation private bash -c '
    mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && mkdir /dev/shm/kgpu-mps &&
      mount --bind /dev/shm/kgpu-mps /dev/shm || exit 1
    kgpu=$here/rootfs/usr/bin/kgpu
    "$kgpu" agent --run-dir "$work/run" --state-dir "$work/state" --kubelet-dir "$work/kubelet" --cdi-dir /run/cdi \
      --config "$work/config.yaml" --http-address off --share-library "$here/libkgpu-share-test.so" "$@" &
    agent=$!
    export CUDA_MPS_PIPE_DIRECTORY=$work/run/mps/$gpu/pipe
    ask() { echo "$1" | "$control"; }
    for ((tries = 0; tries < 300; ++tries)); do
      "$kgpu" status --run-dir "$work/run" --output json | grep -q "\"healthy\": true" && break
      sleep 0.1
    done
    "$kgpu" status --run-dir "$work/run"
    echo "threads: $(ask get_default_active_thread_percentage)"
    "$kgpu" validate --gpu "$gpu" --no-bandwidth "$@"
    validated=$?
    server=$(ask get_server_list)
    echo "server: $server $(ask "get_server_status $server")"
    kill "$agent"
    wait "$agent"
    ask quit
    [ "$tries" -lt 300 ] && [ "$validated" = 0 ] && [ "$server" -gt 0 ]
    ' _ "${engine[@]}"
}

mps() {
  mps_control=$(command -v nvidia-cuda-mps-control)
  # Its links are those of the simulated host.
  [ -z "$root" ] || mps_control=$(find "$root/usr" -type f -name nvidia-cuda-mps-control | head -n 1)
  if [ "$(id -u)" != 0 ]; then
    skip mps "it needs root"
  elif [ ! -x "$mps_control" ]; then
    skip mps "nvidia-cuda-mps-control is not on this machine"
  elif [ "$(sed -n 's/^ *"computeCapability": "\([0-9]*\).*/\1/p' "$host/devices.json" | head -n 1)" -lt 7 ]; then
    skip mps "the first GPU is older than Volta"
  elif [ -z "${slice_is_free:-}" ]; then
    skip mps "the first GPU is in use, or in MIG mode"
  else
    check mps mps_in_a_namespace
  fi
}
