#!/bin/sh
# Runs in a test's container and tells what it got, a line for each thing; report.h reads it.
for node in $(busybox find /dev -type c | busybox grep -E 'nvidia|gdrdrv|infiniband'); do
  echo "node ${node#/dev/}"
done
# By nodes that the image holds: what the device cgroup says, whatever lies in /dev. A GPU that was
# given answers ENXIO, since no driver stands behind it.
for gpu in 0 1 2 3; do
  [ -e "/image-nodes/nvidia$gpu" ] || continue
  error=$(cat "/image-nodes/nvidia$gpu" 2>&1)
  echo "open $gpu ${error##*: }"
done
for name in libcuda.so.1 libnvidia-ml.so.1; do
  echo "library $name $(load-library "$name" 2>/dev/null)"
done
env | while read -r line; do echo "env $line"; done
echo complete
