// Nodes and pods as the controller knows them: a few fields of each, since it follows all of a
// cluster's. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
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
  // GPUs by their resource, of which the pod holds so many as the scheduler reserves: what its
  // containers request together, or an init container alone.
  std::map<std::string, uint64_t, std::less<>> gpus{};
  uint64_t claims = 0;  // of dynamic resource allocation; may be for anything
  bool is_ready = false;
  bool ends_by_itself = false;  // restartPolicy is not Always
  bool is_mirror = false;       // a static pod of the kubelet
  bool is_terminating = false;
  int exit_code = 0;  // of its first container that failed
  // Why the kubelet did not even start it: "UnexpectedAdmissionError"; empty: it did.
  std::string rejection{};
  std::string rejection_message{};

  bool HasEnded() const { return phase == "Succeeded" || phase == "Failed"; }
  bool IsJob() const { return owner == PodOwner::kJob || ends_by_itself; }
  // One of ours, which installs a driver or validates GPUs.
  bool IsOwn() const { return !role.empty() && role != "driver"; }
  // A pod of a user that holds GPUs, and that an eviction removes.
  bool HoldsGpus() const {
    return (!gpus.empty() || claims > 0) && role.empty() && !HasEnded() && !is_mirror &&
           owner != PodOwner::kDaemonSet;
  }
  // The kubelet refused to give it its GPUs, of which it requested more than one: where they are
  // shared, that may be the reason. It reports nothing but the text of the device plugin.
  bool MayHaveOnlyOne(std::string_view resource) const {
    const auto found = gpus.find(resource);
    return rejection == "UnexpectedAdmissionError" && found != gpus.end() && found->second > 1;
  }
  // Why it failed: "pod kgpu-validate-1 ended with code 7: read its log".
  std::string WhyFailed() const;
  // GPUs that it holds now.
  uint64_t GpusOf(std::string_view resource) const {
    const auto found = gpus.find(resource);
    return found == gpus.end() || HasEnded() ? 0 : found->second;
  }
};

// The node's GPUs, of its resource, that no pod of others holds; pods that an eviction leaves hold
// theirs, too.
uint64_t FreeGpus(const NodeFacts& node, std::span<const PodFacts> pods);
// The pod of ours that holds some of them, since it has not ended yet; null: there is none.
const PodFacts* OwnHolder(const NodeFacts& node, std::span<const PodFacts> pods);

// Pods that use GPUs, by an extended resource or a claim, and those that kgpu runs on nodes.
bool IsRelevantPod(const boost::json::value& pod);
void TrimPod(boost::json::value& pod);
// Of a trimmed pod.
PodFacts ReadPod(const boost::json::value& pod);

}  // namespace kgpu::fleet
