// How much of the GPUs each pod has at one moment: a pure function of measurements.
#pragma once

#include <map>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/node/usage/ledger.h"

namespace kgpu::usage {

struct MeterInput {
  const device::Snapshot& snapshot;
  const device::SampleSet& samples;
  const pods::PodMap& pods;
  const pools::Assignment& assignment;  // knows how many slots share a device
};

// What a pod has now: the amounts of one second.
using Rates = std::map<PodName, Amounts>;

// Allocated: according to the kubelet. Pods that share a claim get an equal part each. A MIG device
// counts by its part of the GPU's compute slices. Busy: for a GPU that one pod has, the GPU's
// utilisation; for a shared one, the utilisation of each pod's processes; for a MIG device, GPM's
// share of time. What the driver does not report counts as unreported: MPS clients, MIG before
// Hopper or shared. Memory: of each pod's processes, wherever they are; if the driver does not
// report it by process, the device's, if one pod has it.
Rates RatesOf(const MeterInput& input);

}  // namespace kgpu::usage
