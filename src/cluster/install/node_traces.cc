#include "src/cluster/install/node_traces.h"

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/node/object/edits.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

constexpr int kMaxSteps = 30;  // per node, conflicts included
constexpr std::string_view kOwnPrefix = "kgpu.dev/";
constexpr std::chrono::milliseconds kTraceTime{30'000};

// One manager's entry of metadata.managedFields.
struct ManagedEntry {
  std::string manager;
  std::string subresource;
  bool is_apply = false;
  const json::value* fields = nullptr;  // fieldsV1
};

// Our programs; what a person set with a command is theirs.
bool IsOurManager(std::string_view manager) {
  return manager == node::kManager ||
         (manager.starts_with("kgpu-") && manager != node::kVerbManager);
}

std::vector<ManagedEntry> EntriesOf(const json::value& node) {
  std::vector<ManagedEntry> entries;
  const json::value* list = kube::FindField(node, {"metadata", "managedFields"});
  for (size_t i = 0; list != nullptr && list->is_array() && i < list->get_array().size(); ++i) {
    const json::value& item = list->get_array()[i];
    if (IsOurManager(kube::TextField(item, {"manager"}))) {
      entries.push_back({.manager = std::string(kube::TextField(item, {"manager"})),
                         .subresource = std::string(kube::TextField(item, {"subresource"})),
                         .is_apply = kube::TextField(item, {"operation"}) == "Apply",
                         .fields = kube::FindField(item, {"fieldsV1"})});
    }
  }
  return entries;
}

// Whether the entry owns anything: an empty apply leaves none of it.
bool OwnsSomething(const ManagedEntry& entry) {
  return entry.fields != nullptr && entry.fields->is_object() &&
         !entry.fields->get_object().empty();
}

// An apply without fields takes away all that its manager has applied.
StatusOr<TracePlan> ReleaseOf(const json::value& node, const ManagedEntry& entry) {
  const std::string path = kube::kNodes.Object("", kube::NameOf(node), entry.subresource);
  ASSIGN_OR_RETURN(
      kube::ApiRequest request,
      kube::ApplyRequest(
          path,
          json::object{{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata",
                        {{"name", json::string(kube::NameOf(node))},
                         {"uid", json::string(kube::TextField(node, {"metadata", "uid"}))}}}},
          true, {.field_manager = entry.manager}));
  return TracePlan{
      .has_more = true,
      .request = std::move(request),
      .changes = {fmt::format("fields - {}{}{}", entry.manager,
                              entry.subresource.empty() ? "" : " ", entry.subresource)}};
}

// Keys of ours that a program has patched in.
std::optional<TracePlan> PatchedKeys(const json::value& node) {
  json::object metadata;
  TracePlan plan{.has_more = true};
  for (const ManagedEntry& entry : EntriesOf(node)) {
    for (const auto& [map, title] :
         {std::pair("labels", "label"), std::pair("annotations", "annotation")}) {
      const json::value* owned =
          entry.fields == nullptr
              ? nullptr
              : kube::FindField(*entry.fields, {"f:metadata", fmt::format("f:{}", map)});
      for (const auto& [field, value] :
           owned != nullptr && owned->is_object() ? owned->get_object() : json::object()) {
        const std::string_view key =
            std::string_view(field).substr(field.starts_with("f:") ? 2 : 0);
        if (key.starts_with(kOwnPrefix) &&
            kube::FindField(node, {"metadata", map, key}) != nullptr) {
          if (!metadata.contains(map)) {
            metadata[map] = json::object();
          }
          metadata[map].as_object()[std::string(key)] = nullptr;
          plan.changes.push_back(fmt::format("{} - {}", title, key));
        }
      }
    }
  }
  if (metadata.empty()) {
    return std::nullopt;
  }
  metadata["resourceVersion"] = json::string(kube::VersionOf(node));
  plan.request = kube::PatchRequest(
      kube::kNodes.Object("", kube::NameOf(node)), kube::PatchType::kMerge,
      json::object{{"metadata", std::move(metadata)}}, {.field_manager = "kgpu-cluster"});
  return plan;
}

// Taints with our prefix; the list is written as a whole, on the version that was read.
std::optional<TracePlan> OwnTaints(const json::value& node) {
  const json::value* taints = kube::FindField(node, {"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) {
    return std::nullopt;
  }
  json::array rest;
  TracePlan plan{.has_more = true};
  for (const json::value& taint : taints->get_array()) {
    if (kube::TextField(taint, {"key"}).starts_with(kOwnPrefix)) {
      plan.changes.push_back(fmt::format("taint - {}:{}", kube::TextField(taint, {"key"}),
                                         kube::TextField(taint, {"effect"})));
    } else {
      rest.push_back(taint);
    }
  }
  if (plan.changes.empty()) {
    return std::nullopt;
  }
  plan.request = kube::PatchRequest(
      kube::kNodes.Object("", kube::NameOf(node)), kube::PatchType::kMerge,
      json::object{{"metadata", {{"resourceVersion", json::string(kube::VersionOf(node))}}},
                   {"spec", {{"taints", rest.empty() ? json::value() : json::value(rest)}}}},
      {.field_manager = "kgpu-cluster"});
  return plan;
}

// A cordon of the controller's upgrade that was not finished.
std::optional<TracePlan> OwnCordon(const json::value& node) {
  const json::value* is_cordoned = kube::FindField(node, {"spec", "unschedulable"});
  const std::vector<ManagedEntry> entries = EntriesOf(node);
  const bool is_ours = std::ranges::any_of(entries, [](const ManagedEntry& entry) {
    return entry.fields != nullptr &&
           kube::FindField(*entry.fields, {"f:spec", "f:unschedulable"}) != nullptr;
  });
  if (is_cordoned == nullptr || !is_ours) {
    return std::nullopt;
  }
  return TracePlan{
      .has_more = true,
      .request = kube::PatchRequest(
          kube::kNodes.Object("", kube::NameOf(node)), kube::PatchType::kMerge,
          json::object{{"metadata", {{"resourceVersion", json::string(kube::VersionOf(node))}}},
                       {"spec", {{"unschedulable", nullptr}}}},
          {.field_manager = "kgpu-cluster"}),
      .changes = {"cordon - of an unfinished driver upgrade"}};
}

ClearedNode ClearOne(kube::BlockingClient& client, json::value node, bool is_dry_run) {
  ClearedNode cleared{.name = std::string(kube::NameOf(node))};
  for (int step = 0;; ++step) {
    StatusOr<TracePlan> plan = PlanTraces(node);
    if (!plan.ok() || !plan->has_more) {
      cleared.status = plan.status();
      return cleared;
    }
    for (const std::string& change : plan->changes) {
      // A plan names everything that is left.
      if (std::ranges::find(cleared.changes, change) == cleared.changes.end()) {
        cleared.changes.push_back(change);
      }
    }
    if (is_dry_run) {
      return cleared;
    }
    if (step == kMaxSteps) {
      cleared.status = Unavailable("node {}: changed concurrently: try again", cleared.name);
      return cleared;
    }
    StatusOr<json::value> answer = kube::SendUntilReached(client, plan->request, kTraceTime);
    const StatusCode code = answer.status().code();
    if (code == StatusCode::kAborted || code == StatusCode::kInvalidArgument) {
      answer = kube::SendUntilReached(client, {.path = kube::kNodes.Object("", cleared.name)},
                                      kTraceTime);
    }
    if (code == StatusCode::kNotFound || answer.status().code() == StatusCode::kNotFound) {
      return cleared;  // with its node
    }
    if (!answer.ok()) {
      cleared.status = answer.status();
      return cleared;
    }
    node = *std::move(answer);
  }
}

}  // namespace

StatusOr<TracePlan> PlanTraces(const json::value& node) {
  ASSIGN_OR_RETURN(const node::SeenNode seen, node::ReadNode(node));
  node::EditPlan known = node::PlanClear(seen);
  if (known.request) {
    return TracePlan{.has_more = true,
                     .request = *std::move(known.request),
                     .changes = std::move(known.changes)};
  }
  for (const ManagedEntry& entry : EntriesOf(node)) {
    if (entry.is_apply && OwnsSomething(entry)) {
      return ReleaseOf(node, entry);
    }
  }
  if (std::optional<TracePlan> plan = PatchedKeys(node)) {
    return *std::move(plan);
  }
  if (std::optional<TracePlan> plan = OwnTaints(node)) {
    return *std::move(plan);
  }
  if (std::optional<TracePlan> plan = OwnCordon(node)) {
    return *std::move(plan);
  }
  return TracePlan{};
}

StatusOr<std::vector<ClearedNode>> ClearTraces(kube::BlockingClient& client,
                                               const ClearTracesOptions& options) {
  std::vector<ClearedNode> cleared;
  RETURN_IF_ERROR(
      kube::ForEachObject(client, kube::kNodes.Collection(), "", [&](json::value&& node) {
        ClearedNode one = ClearOne(client, std::move(node), options.is_dry_run);
        if (one.changes.empty() && one.status.ok()) {
          return;
        }
        if (options.on_node) {
          options.on_node(one);
        }
        cleared.push_back(std::move(one));
      }));
  return cleared;
}

}  // namespace kgpu::install
