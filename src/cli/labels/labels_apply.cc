#include "src/cli/labels/labels_apply.h"

#include <boost/json.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/cli/base/progress.h"
#include "src/cli/node/node_change.h"
#include "src/kube/api/json.h"
#include "src/node/labels/node_feature.h"
#include "src/node/labels/rules.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/owners.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// The items of a list; none if the answer has no items.
json::array ItemsOf(const json::value& list) {
  const json::value* items = kube::FindField(list, {"items"});
  return items != nullptr && items->is_array() ? items->get_array() : json::array();
}

StatusOr<std::vector<node::SeenPod>> ReadPodsOf(NodeApi& api, const std::string& node) {
  const Progress progress("asking the API server");
  return api.ReadPods(node);
}

}  // namespace

StatusOr<labels::ClusterLabels> ReadClusterLabels(NodeApi& api, const std::string& node) {
  const Progress progress("asking the API server");
  labels::ClusterLabels found;
  const std::string path = fmt::format("/apis/{}", labels::kNfdGroupVersion);
  const auto rules = api.Send({.path = path + "/nodefeaturerules"});
  if (rules.status().code() == StatusCode::kNotFound) {
    return found;
  }
  RETURN_IF_ERROR(rules.status());
  for (const json::value& object : ItemsOf(*rules)) {
    ASSIGN_OR_RETURN(labels::RuleObject rule, labels::ReadRuleObject(object));
    found.rules.push_back(std::move(rule.rules));
  }
  const std::string selector = fmt::format("{}={}", labels::kNodeNameLabel, node);
  ASSIGN_OR_RETURN(const json::value features, api.Send({.path = path + "/nodefeatures",
                                                         .query = {{"labelSelector", selector}}}));
  for (const json::value& object : ItemsOf(features)) {
    ASSIGN_OR_RETURN(labels::NodeFeature feature, labels::ReadNodeFeature(object));
    found.features.push_back(std::move(feature));
  }
  labels::SortNodeFeatures(found.features, "");
  return found;
}

StatusOr<ExitCode> ApplyClaims(const NodeOptions& options, NodeApi& api, const std::string& node,
                               const labels::NodeClaims& claims) {
  const StatusOr<std::vector<node::SeenPod>> pods = ReadPodsOf(api, node);
  return ChangeNode(options, [&](const node::SeenNode& seen) -> StatusOr<node::EditPlan> {
    node::Evidence evidence{.node = &seen};
    if (pods.ok()) {
      evidence.pods = *pods;
    }
    node::NodePlan plan =
        node::PlanNode(seen, {.claims = claims}, node::FindOwners(evidence), RealClock().WallNow());
    node::EditPlan step;
    step.changes = std::move(plan.changes);
    for (const node::Skipped& skipped : plan.skipped) {
      step.notes.push_back(fmt::format("{} {} left unchanged: owned by {}", skipped.kind,
                                       skipped.key, skipped.owner));
    }
    if (!plan.writes.empty()) {
      step.request = std::move(plan.writes.front().request);
    }
    return step;
  });
}

}  // namespace kgpu::cli
