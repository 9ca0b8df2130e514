#include "src/kube/gates/history.h"

#include <algorithm>
#include <array>

namespace kgpu::gates {
namespace {

constexpr GateHistory Needed(GateHistory gate) {
  gate.is_needed = true;
  return gate;
}

// Name, on, locked, gone.
constexpr std::array kGates = {
    GateHistory{"Accelerators", 0, 0, 12},
    GateHistory{"CPUManager", 10, 26, 33},
    GateHistory{"DRAControlPlaneController", 0, 0, 32},
    Needed({"DevicePluginCDIDevices", 29, 31, 34}),
    Needed({"DevicePlugins", 10, 26, 28}),
    GateHistory{"DisableAcceleratorUsageMetrics", 20, 25, 28},
    GateHistory{"DynamicKubeletConfig", 0, 0, 24},  // other components knew it until 1.25
    GateHistory{"DynamicResourceAllocation", 34, 35, 0},
    GateHistory{"ExperimentalCriticalPodAnnotation", 0, 0, 17},
    GateHistory{"HugePages", 10, 14, 17},
    Needed({"KubeletPluginsWatcher", 12, 13, 17}),
    Needed({"KubeletPodResources", 15, 28, 30}),
    GateHistory{"KubeletPodResourcesGetAllocatable", 23, 28, 30},
    GateHistory{"MountPropagation", 10, 12, 15},
    GateHistory{"PodPriority", 11, 14, 19},
    GateHistory{"RuntimeClass", 14, 20, 25},
    GateHistory{"TaintBasedEvictions", 13, 18, 21},
    GateHistory{"TopologyManager", 18, 27, 29},
};

constexpr std::array kFlags = {
    FlagHistory{"--allow-privileged", 15},
    FlagHistory{"--cni-bin-dir", 24},
    FlagHistory{"--cni-cache-dir", 24},
    FlagHistory{"--cni-conf-dir", 24},
    FlagHistory{"--container-runtime", 27},
    FlagHistory{"--docker-endpoint", 24},
    FlagHistory{"--dynamic-config-dir", 24},
    FlagHistory{"--experimental-dockershim-root-directory", 24},
    FlagHistory{"--experimental-nvidia-gpus", 11},
    FlagHistory{"--image-pull-progress-deadline", 24},
    FlagHistory{"--keep-terminated-pod-volumes", 31},
    FlagHistory{"--network-plugin", 24},
    FlagHistory{"--network-plugin-mtu", 24},
    FlagHistory{"--pod-infra-container-image", 35},
};

}  // namespace

std::span<const GateHistory> Gates() {
  return kGates;
}

std::optional<GateHistory> HistoryOf(std::string_view gate) {
  const auto* const found = std::ranges::find(kGates, gate, &GateHistory::name);
  return found == kGates.end() ? std::nullopt : std::optional<GateHistory>(*found);
}

std::span<const FlagHistory> GoneFlags() {
  return kFlags;
}

}  // namespace kgpu::gates
