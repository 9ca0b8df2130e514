// What became of the feature gates and flags that guides for GPUs tell people to set. Pure.
// Versions are minor versions of Kubernetes 1; 0: not so far.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace kgpu::gates {

// Source: kubernetes.io, "Feature Gates" and "Feature Gates (removed)", and pkg/features in
// Kubernetes' source, which alone says what is locked.
struct GateHistory {
  std::string_view name;
  unsigned on = 0;         // from here on it is on where nobody sets it
  unsigned locked = 0;     // from here on it cannot be off: set to false, nothing starts
  unsigned gone = 0;       // from here on the kubelet does not start when it is set
  bool is_needed = false;  // switched off, GPUs do not reach pods
};
// In the order of names.
std::span<const GateHistory> Gates();
// Nothing for gates that have nothing to do with GPUs.
std::optional<GateHistory> HistoryOf(std::string_view gate);

// Source: the sections on the kubelet in Kubernetes' changelogs.
struct FlagHistory {
  std::string_view flag;  // "--container-runtime"
  unsigned gone = 0;      // from here on the kubelet does not start with it
};
// In the order of names.
std::span<const FlagHistory> GoneFlags();

}  // namespace kgpu::gates
