#!/usr/bin/env bash
# The floor of a function's cold start: `podman run` of the same image with a program that ends at
# once, so that what is left of a start is the watchdog's and the handler's.
#   bench/fn_start_floor.sh IMAGE [RUNS] [podman's global flags …]     RUNS: 20 by default
# Prints the milliseconds of the fastest, the median and the slowest run.
set -euo pipefail

image=${1:?usage: bench/fn_start_floor.sh IMAGE [RUNS] [flags of podman]}
runs=${2:-20}
shift $(($# < 2 ? $# : 2))

start() {
  podman "$@" run --rm --pull=never --network=none --log-driver=none \
    --entrypoint /usr/local/bin/kgpu-fnwatch "$image" --version >/dev/null
}

start "$@" # the first one also reads the image from the disk
for ((i = 0; i < runs; ++i)); do
  before=$(date +%s%N)
  start "$@"
  after=$(date +%s%N)
  echo $(((after - before) / 1000))
done | sort -n | awk '
  { time[NR] = $1 / 1000 }
  END { printf "podman run: min %.1f ms, median %.1f ms, max %.1f ms of %d runs\n",
        time[1], time[int((NR + 1) / 2)], time[NR], NR }'
