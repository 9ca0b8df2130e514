#include "src/node/object/node_requests.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

constexpr char kApplyType[] = "application/apply-patch+yaml";
constexpr char kMergeType[] = "application/merge-patch+json";
constexpr char kJsonPatchType[] = "application/json-patch+json";

kube::ApiRequest Patch(std::string path, const char* type, std::string_view manager,
                       const json::value& body) {
  kube::ApiRequest request;
  request.method = "PATCH";
  request.path = std::move(path);
  request.query = {{"fieldManager", std::string(manager)}};
  request.content_type = type;
  request.body = json::serialize(body);
  return request;
}

json::object EditsJson(const KeyEdits& edits) {
  json::object object;
  for (const auto& [key, text] : edits) {
    object[key] = text ? json::value(*text) : json::value(nullptr);
  }
  return object;
}

// With the uid a node that was deleted meanwhile is not made again.
json::object ApplyBody(const SeenNode& node, json::object metadata) {
  metadata["name"] = node.name;
  if (!node.uid.empty()) {
    metadata["uid"] = node.uid;
  }
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}};
}

std::string StatusPath(const SeenNode& node) {
  return kube::kNodes.Object("", node.name, "status");
}

}  // namespace

std::string NodePath(std::string_view name) {
  return kube::kNodes.Object("", name);
}

kube::ApiRequest ApplyKeys(const SeenNode& node, const std::map<std::string, std::string>& labels,
                           const std::map<std::string, std::string>& annotations, bool force) {
  json::object metadata;
  if (!labels.empty()) {
    metadata["labels"] = doc::TextMap(labels);
  }
  if (!annotations.empty()) {
    metadata["annotations"] = doc::TextMap(annotations);
  }
  if (force) {
    metadata["resourceVersion"] = node.version;
  }
  kube::ApiRequest request =
      Patch(NodePath(node.name), kApplyType, kManager, ApplyBody(node, std::move(metadata)));
  request.query.emplace_back("force", force ? "true" : "false");
  return request;
}

kube::ApiRequest ApplyCondition(const SeenNode& node, const ConditionKind& kind,
                                const std::optional<SeenCondition>& condition) {
  json::object body = ApplyBody(node, {});
  json::array conditions;
  if (condition) {
    conditions.push_back(json::object{{"type", json::value(kind.type)},
                                      {"status", condition->status},
                                      {"reason", condition->reason},
                                      {"message", condition->message},
                                      {"lastTransitionTime", FormatTime(condition->since)}});
  }
  json::object status;
  if (!conditions.empty()) {
    status["conditions"] = std::move(conditions);
  }
  body["status"] = std::move(status);
  kube::ApiRequest request = Patch(StatusPath(node), kApplyType, kind.manager, body);
  // The type is ours alone.
  request.query.emplace_back("force", "true");
  return request;
}

kube::ApiRequest PatchTaints(const SeenNode& node, const std::vector<std::string>& taints,
                             std::string_view manager) {
  // The texts are JSON of the server's own, or of TaintJson: put together, not parsed again.
  kube::ApiRequest request = Patch(NodePath(node.name), kMergeType, manager, nullptr);
  request.body = fmt::format(R"({{"metadata":{{"resourceVersion":{}}},"spec":{{"taints":[{}]}}}})",
                             json::serialize(json::value(node.version)), Join(taints, ","));
  return request;
}

kube::ApiRequest PatchResources(const SeenNode& node, const Quantities& set,
                                const std::vector<std::string>& removed) {
  json::array ops;
  for (const auto& [name, quantity] : set) {
    ops.push_back(json::object{{"op", "add"},
                               {"path", kube::JsonPointer({"status", "capacity", name})},
                               {"value", quantity}});
  }
  for (const std::string& name : removed) {
    for (const auto& [field, there] :
         {std::pair("capacity", &node.capacity), std::pair("allocatable", &node.allocatable)}) {
      if (there->contains(name)) {
        ops.push_back(
            json::object{{"op", "remove"}, {"path", kube::JsonPointer({"status", field, name})}});
      }
    }
  }
  return Patch(StatusPath(node), kJsonPatchType, kManager, ops);
}

kube::ApiRequest PatchKeys(const SeenNode& node, const KeyEdits& labels,
                           const KeyEdits& annotations) {
  json::object metadata;
  if (!labels.empty()) {
    metadata["labels"] = EditsJson(labels);
  }
  if (!annotations.empty()) {
    metadata["annotations"] = EditsJson(annotations);
  }
  return Patch(NodePath(node.name), kMergeType, kVerbManager,
               json::object{{"metadata", std::move(metadata)}});
}

std::string TaintJson(const labels::Taint& taint) {
  json::object object{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) {
    object["value"] = taint.value;
  }
  return json::serialize(object);
}

}  // namespace kgpu::node
