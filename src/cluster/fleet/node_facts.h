// Nodes and pods as the controller knows them: a few fields of each, since it follows all of a
// cluster's. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "src/cluster/policy/label_selector.h"

namespace kgpu::fleet {

// What the controller writes on nodes.
inline constexpr std::string_view kUpgradeAnnotation = "kgpu.dev/upgrade";
inline constexpr std::string_view kRetryAnnotation = "kgpu.dev/upgrade-retry";  // people set it
inline constexpr std::string_view kQuarantineAnnotation = "kgpu.dev/quarantine";
inline constexpr std::string_view kLabelsAnnotation = "kgpu.dev/policy-labels";
inline constexpr std::string_view kQuarantineTaint = "kgpu.dev/quarantined";
// What agents write on them; docs/reference/controller.md has the whole contract.
inline constexpr std::string_view kDriverLabel = "nvidia.com/cuda.driver-version.full";
inline constexpr std::string_view kPresentLabel = "nvidia.com/gpu.present";
// On the controller's pods.
inline constexpr std::string_view kRoleLabel = "kgpu.dev/role";
inline constexpr std::string_view kNameLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kManager = "kgpu-controller";
inline constexpr std::string_view kDriverName = "kgpu-driver";  // of the driver's DaemonSet

using KeySet = std::set<std::string, std::less<>>;

struct SeenStatus {
  std::string status{};  // "True", "False", "Unknown"; empty: there is no such condition
  std::string reason{};
  std::string message{};
  bool operator==(const SeenStatus&) const = default;
};

struct NodeFacts {
  std::string name{};
  std::string uid{};
  std::string version{};      // resourceVersion
  policy::LabelMap labels{};  // as far as policies look at them or set them
  std::string taints{};       // the list in JSON, with fields that we do not know
  bool is_ready = false;      // the kubelet's condition
  bool is_unschedulable = false;
  bool is_tainted = false;  // by kQuarantineTaint
  bool has_gpus = false;
  std::string driver{};  // version; empty: none is reported
  SeenStatus gpu_ready{};
  SeenStatus gpu_healthy{};
  std::string resource{};  // of its GPUs: "nvidia.com/gpu"
  uint64_t gpus = 0;       // allocatable of it
  std::string upgrade{};   // the annotations
  std::string quarantine{};
  std::string label_keys{};
  bool is_retry_asked = false;
  bool operator==(const NodeFacts&) const = default;
};

// Leaves only what ReadNode needs; of the labels those in `keys`.
void TrimNode(boost::json::value& node, const KeySet& keys);
NodeFacts ReadNode(const boost::json::value& node);

// Whether new pods cannot get this node's GPUs now, for whatever reason.
bool IsUnavailable(const NodeFacts& node);

enum class PodOwner : uint8_t { kNobody, kJob, kDaemonSet, kOther };

struct PodFacts {
  std::string space{};
  std::string name{};
  std::string uid{};
  std::string node{};
  std::string phase{};
  std::string role{};  // of kRoleLabel; "driver" for the driver's DaemonSet; else empty
  PodOwner owner = PodOwner::kNobody;
  uint64_t gpus = 0;
  bool is_ready = false;
  bool ends_by_itself = false;  // restartPolicy is not Always
  bool is_mirror = false;       // a static pod of the kubelet
  bool is_terminating = false;
  int exit_code = 0;  // of its first container that failed

  bool HasEnded() const { return phase == "Succeeded" || phase == "Failed"; }
  bool IsJob() const { return owner == PodOwner::kJob || ends_by_itself; }
  // A pod of a user that holds GPUs, and that an eviction removes.
  bool HoldsGpus() const {
    return gpus > 0 && role.empty() && !HasEnded() && !is_mirror && owner != PodOwner::kDaemonSet;
  }
};

// The node's GPUs that no pod holds; pods that an eviction leaves hold theirs, too.
uint64_t FreeGpus(const NodeFacts& node, std::span<const PodFacts> pods);

// Pods that use GPUs, by an extended resource or a claim, and those that kgpu runs on nodes.
bool IsRelevantPod(const boost::json::value& pod);
void TrimPod(boost::json::value& pod);
// Of a trimmed pod.
PodFacts ReadPod(const boost::json::value& pod);

}  // namespace kgpu::fleet
