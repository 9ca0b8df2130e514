// The history of the kubelet's feature gates and flags that GPU guides tell people to set. Pure
// functions. Versions are minor versions of Kubernetes 1; 0 means that it has not happened yet.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace kgpu::gates {

// Source: kubernetes.io, "Feature Gates" and "Feature Gates (removed)", and pkg/features in the
// Kubernetes source, which alone says what is locked.
struct GateHistory {
  std::string_view name;
  unsigned on = 0;         // from here on it is on by default
  unsigned locked = 0;     // from here on nothing starts if it is set to false
  unsigned gone = 0;       // from here on the kubelet does not start if it is set
  bool is_needed = false;  // if it is off, GPUs do not reach pods
};
// Sorted by name.
std::span<const GateHistory> Gates();
// Nothing for gates that do not concern GPUs.
std::optional<GateHistory> HistoryOf(std::string_view gate);

// Source: the kubelet sections of the Kubernetes changelogs.
struct FlagHistory {
  std::string_view flag;  // "--container-runtime"
  unsigned gone = 0;      // from here on the kubelet does not start with it
};
// Sorted by name.
std::span<const FlagHistory> GoneFlags();

}  // namespace kgpu::gates
