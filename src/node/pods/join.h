// Who uses what, out of what the kubelet, the runtime, /proc and the driver each tell.
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

// A process that the driver tells of.
struct SeenProcess {
  uint32_t pid = 0;
  std::set<std::string> devices;  // UUIDs of the GPUs and MIG devices that it is on
  // nullopt: it cannot be seen, because it has ended or /proc shows another PID namespace.
  std::optional<std::vector<CgroupPlace>> places;
};

// By pid; their places are not looked up yet.
std::vector<SeenProcess> ListedProcesses(const device::SampleSet& samples);
// The same with the places that /proc below `host` tells. May wait for a lock of the kernel.
std::vector<SeenProcess> WithPlaces(std::vector<SeenProcess> processes, const sys::Root& host);

struct JoinInput {
  const std::vector<DeviceUse>& uses;
  const ContainerIndex& index;
  const std::vector<SeenProcess>& processes;
};

// What of the input the runtime should be asked about: names of pods and containers, opaque.
std::set<std::string> UnknownTo(const JoinInput& input);

// A device id that two pods are listed with is the one's whose containers run: kubelets before 1.34
// list pods that have ended. A process in a container that nobody can name is of the only container
// that its device was given to, where there is just one; a process of the host is nobody's.
PodMap Join(const JoinInput& input);

}  // namespace kgpu::pods
