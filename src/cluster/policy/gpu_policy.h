// GpuPolicy: an admin's settings for groups of nodes, validated. All defaults are here.
// docs/reference/gpu-policy.md; deploy/chart/crds/gpupolicies.yaml is the schema.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/policy/label_selector.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/status.h"

namespace kgpu::policy {

inline constexpr kube::Resource kGpuPolicies{"kgpu.dev", "v1alpha1", "gpupolicies"};
inline constexpr std::string_view kApiVersion = "kgpu.dev/v1alpha1";
inline constexpr std::string_view kKind = "GpuPolicy";
inline constexpr size_t kMaxGroups = 100;

// A number of nodes, or a percentage of a group.
struct Amount {
  uint32_t number = 0;
  bool is_percent = false;
  bool operator==(const Amount&) const = default;

  // Of `total` nodes; a part of a node counts as a whole one only with `rounds_up`.
  size_t Of(size_t total, bool rounds_up) const;
};

// Whether the controller counts the resource as GPUs: those of nvidia.com/ and kgpu.dev/.
bool IsGpuResource(std::string_view name);

enum class DriverSource : uint8_t {
  kHost,       // the host's own: kgpu only reports what does not fit
  kPackage,    // `kgpu driver install` on the host
  kContainer,  // the driver DaemonSet
};

std::string_view NameOf(DriverSource source);

struct Driver {
  DriverSource from = DriverSource::kHost;
  std::string branch{};   // "550"
  std::string version{};  // "550.54.15"; more exact than a branch
  bool operator==(const Driver&) const = default;

  // The more exact of version and branch; empty: any driver.
  const std::string& target() const { return version.empty() ? branch : version; }
};

// Whether a driver of version `version` is `target`: equal, or of that branch.
bool IsDriver(std::string_view version, std::string_view target);

struct Gate {
  std::optional<bool> condition{};
  std::optional<bool> taint{};
  bool operator==(const Gate&) const = default;
};

struct Group {
  std::string name{};
  LabelSelector nodes{};
  Driver driver{};
  std::string config{};  // a NodeConfig in YAML with `gate` in it, as the agent reads it; or empty
  LabelMap labels{};     // set on the nodes
  bool operator==(const Group&) const = default;
};

struct Upgrade {
  Amount max_unavailable{.number = 1};
  Amount failure_budget{.number = 0};  // nodes that may fail; more of them stop the upgrade
  bool is_paused = false;              // no further node starts
  bool is_aborted = false;             // nodes whose driver was not touched yet return
  uint32_t attempts = 2;               // to install, per node
  std::chrono::seconds job_wait{3'600};
  std::chrono::seconds eviction_limit{1'800};
  std::chrono::seconds install_limit{3'600};  // per attempt
  std::chrono::seconds validation_limit{900};
  bool evicts_unmanaged = false;  // also pods that nobody creates again
  bool operator==(const Upgrade&) const = default;
};

struct Quarantine {
  bool is_enabled = false;
  std::vector<std::string> reasons{};  // of GPUHealthy; empty: any
  Amount max_nodes{.number = 1};
  bool operator==(const Quarantine&) const = default;
};

struct GpuPolicy {
  std::string name{};
  std::string uid{};
  std::string version{};  // metadata.resourceVersion
  int64_t generation = 0;
  std::vector<Group> groups{};  // a node belongs to the first one that matches it
  Upgrade upgrade{};
  Quarantine quarantine{};
  // Fields of a newer version of the API, which were ignored: "spec.upgrade.window".
  std::vector<std::string> unknown_fields{};
  bool operator==(const GpuPolicy&) const = default;
};

// An object of the API server. Unknown fields are noted, so that a newer API can be served. Errors:
// InvalidArgument: all of the object's errors, one per line, each "spec.groups[0].name: …".
StatusOr<GpuPolicy> ReadGpuPolicy(const boost::json::value& object);

// A file in YAML or JSON, by its suffix. The same; also unknown fields are errors.
StatusOr<GpuPolicy> ParseGpuPolicy(std::string_view text, std::string_view file);

}  // namespace kgpu::policy
