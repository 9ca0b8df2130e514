// The requests that the controller sends, each with the resource version that it was decided on.
#pragma once

#include <boost/json/fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "src/cluster/controller/work.h"
#include "src/cluster/fleet/quarantine.h"
#include "src/cluster/fleet/upgrade.h"

namespace kgpu::controller {

struct PodSettings {
  std::string space = "kgpu";
  std::string image{};            // kgpu's own
  bool validates = true;          // by a pod, beside the agents' conditions
  std::string service_account{};  // of the pods; empty: the namespace's own
};

// The record, and the node unschedulable.
Work WriteUpgrade(const fleet::NodeFacts& node, const fleet::UpgradeRecord& record);
// No record; schedulable again if the record says that we had cordoned it.
Work FinishUpgrade(const fleet::NodeFacts& node, bool is_cordoned);
// The record, and the taint; nothing: neither.
Work WriteFence(const fleet::NodeFacts& node, const std::optional<fleet::FenceRecord>& record);
// Exactly these labels of ours. Errors end in the policy's status.
Work ApplyLabels(const fleet::NodeFacts& node, std::string_view policy,
                 const policy::LabelMap& labels);
// The policy that set labels on the node, and which; empty: none did.
struct LabelOwner {
  std::string policy{};
  std::vector<std::string> keys{};
};
LabelOwner LabelOwnerOf(const fleet::NodeFacts& node);

Work RunInstaller(const PodSettings& settings, const fleet::NodeFacts& node,
                  const fleet::UpgradeRecord& record, std::string_view name);
Work RunValidation(const PodSettings& settings, const fleet::NodeFacts& node, std::string_view name,
                   uint64_t gpus);
Work DeletePod(const fleet::PodFacts& pod);
Work EvictPod(const fleet::PodFacts& pod);

kube::Event NodeEvent(const fleet::NodeFacts& node, bool is_warning, std::string_view reason,
                      std::string_view action, std::string_view note);
kube::Event PodEvent(const fleet::PodFacts& pod, std::string_view reason, std::string_view action,
                     std::string_view note);

}  // namespace kgpu::controller
