// How much of the GPUs each pod has at one moment: a pure function of what is measured.
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
  const pools::Assignment& assignment;  // knows into how many slots a device is shared
};

// What a pod has now: Amounts of one second.
using Rates = std::map<PodName, Amounts>;

// Handed out: what the kubelet says. Pods that share a claim have an equal part each. A MIG device
// counts by its part of the GPU's compute slices. Busy: of a GPU that one pod has, the GPU's
// utilisation; of one that pods share, the utilisation of each pod's processes; of a MIG device the
// share of time that GPM tells. What the driver does not report is counted as unreported: clients
// of MPS, MIG before Hopper or shared. Memory: of each pod's processes, wherever they are; where
// the driver does not report it by process, the device's, if one pod has it.
Rates RatesOf(const MeterInput& input);

}  // namespace kgpu::usage
