// The needs of containers with GPUs, as a pure function of the inventory and the parts of the host.
// docs/how-it-works/cdi.md explains each rule.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/capability.h"
#include "src/container/inject/host_parts.h"
#include "src/container/inject/index.h"
#include "src/gpu/device/snapshot.h"

namespace kgpu::inject {

// One plan for all capabilities; CDI specs and kgpu-runtime take the parts that are wanted.
struct HostPlan {
  InjectionIndex index;
  std::vector<std::string> notes;  // devices left out and why, with the fix
  bool operator==(const HostPlan&) const = default;
};

// A device that a container can request, under one or more names.
struct PlannedDevice {
  std::vector<std::string> names;  // "0", "GPU-…"; "0:1", "MIG-…"; "all"
  std::vector<cdi::DeviceNode> nodes;
  bool operator==(const PlannedDevice&) const = default;
};

// A host's plan for certain capabilities.
struct InjectionPlan {
  std::vector<PlannedDevice> devices;  // GPUs by PCI address, each with its MIG devices, "all"
  std::vector<cdi::DeviceNode> nodes;  // for every container with any of the devices
  std::vector<cdi::Mount> mounts;      // likewise, by depth of the container path, then name
  std::vector<std::string> env;        // likewise
  std::vector<std::string> notes;      // devices left out and why, with the fix
  bool operator==(const InjectionPlan&) const = default;
};

HostPlan PlanHost(const device::Snapshot& snapshot, const HostParts& parts);

InjectionPlan PlanFor(const HostPlan& host, CapabilitySet capabilities);

// The plan as a spec of `kind`, in the lowest version that can express it.
cdi::Spec ToSpec(const InjectionPlan& plan, std::string_view kind);

}  // namespace kgpu::inject
