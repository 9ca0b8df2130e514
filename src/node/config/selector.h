// Selects devices for a rule. The same language everywhere: pools, exclusions, later functions and
// filters. docs/reference/configuration.md has the reference.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::config {

// ">= 40Gi", "< 24Gi", "= 80Gi".
enum class Comparison { kLess, kLessOrEqual, kEqual, kGreaterOrEqual, kGreater };

struct MemoryBound {
  Comparison comparison = Comparison::kGreaterOrEqual;
  Bytes bytes{};
  bool operator==(const MemoryBound&) const = default;
};

struct ComputeBound {
  Comparison comparison = Comparison::kGreaterOrEqual;
  device::ComputeCapability compute{};
  bool operator==(const ComputeBound&) const = default;
};

// All given fields must match (and); a list matches if one of its elements does (or). A selector
// without fields matches every device. "*" matches any run of characters.
struct Selector {
  std::vector<std::string> models{};  // canonical ids: "A100-SXM4-80GB", "A100-*"; the driver's
                                      // name as an id, "H100-80GB-HBM3", will do as well
  std::vector<std::string> uuids{};   // "GPU-…" or "MIG-…"; a prefix of 8 hex digits or more is
                                      // enough
  std::vector<unsigned> indices{};    // in NVML's order
  std::vector<device::PciBusId> pci{};
  std::vector<unsigned> numa_nodes{};
  std::vector<std::string> mig_profiles{};  // "1g.10gb", "1g.*": MIG devices of that profile only
  std::vector<MemoryBound> memory{};        // all must hold
  std::vector<ComputeBound> compute{};      // all must hold
  bool operator==(const Selector&) const = default;
};

// Whether it selects `gpu` as a whole. A selector with mig_profiles selects no whole GPU.
bool Matches(const Selector& selector, const device::Gpu& gpu);
// Whether it selects `mig`, a device of `gpu`: GPU fields are compared with its parent, memory with
// its own, a uuid with its own or its parent's.
bool Matches(const Selector& selector, const device::Gpu& gpu, const device::MigDevice& mig);

// Whether it selects `mig` as a MIG device, by its profile or its own uuid, and not just as part of
// its GPU.
bool NamesMigDevice(const Selector& selector, const device::Gpu& gpu, const device::MigDevice& mig);

// "model=A100-SXM4-80GB,A100-PCIE-80GB memory>=40Gi", "all": one line, for people.
std::string ToString(const Selector& selector);

}  // namespace kgpu::config
