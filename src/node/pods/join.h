// Who uses what: combines the kubelet's, the runtime's, /proc's and the driver's information.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/node/pods/cgroup.h"
#include "src/node/pods/container_index.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/sys/root.h"

namespace kgpu::pods {

// A process that the driver reports.
struct SeenProcess {
  uint32_t pid = 0;
  std::set<std::string> devices;  // UUIDs of the GPUs and MIG devices it uses
  // nullopt: not visible, because it has ended or /proc shows another PID namespace.
  std::optional<std::vector<CgroupPlace>> places;
};

// By pid; without their places.
std::vector<SeenProcess> ListedProcesses(const device::SampleSet& samples);
// The same with their places, from /proc below `host`. Those of our own pod have none: what the
// agent runs, such as servers of MPS, is the host's, and no user of a GPU. May wait for a kernel
// lock.
std::vector<SeenProcess> WithPlaces(std::vector<SeenProcess> processes, const sys::Root& host);

struct JoinInput {
  const std::vector<DeviceUse>& uses;
  const ContainerIndex& index;
  const std::vector<SeenProcess>& processes;
};

// What to ask the runtime about: names of pods and containers, opaque.
std::set<std::string> UnknownTo(const JoinInput& input);

// If two pods are listed with the same device id, the one whose containers run counts: kubelets
// before 1.34 list pods that have ended. A process in an unknown container belongs to the only
// container that has its device, if there is exactly one; a process of the host belongs to nobody.
PodMap Join(const JoinInput& input);

}  // namespace kgpu::pods
