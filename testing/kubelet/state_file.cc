#include "testing/kubelet/state_file.h"

#include <boost/json.hpp>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/json_fields.h"
#include "testing/kubelet/pod_json.h"

namespace kgpu::kubelet {

namespace json = boost::json;

namespace {

Status ReadAmount(const JsonFields& fields, ResourceAmount& amount) {
  RETURN_IF_ERROR(fields.Require("capacity", amount.capacity));
  return fields.Require("allocatable", amount.allocatable);
}

}  // namespace

std::string PrintNodeState(const NodeState& state) {
  json::array pods;
  for (const Pod& pod : state.pods) {
    pods.push_back(ToJson(pod));
  }
  json::object resources;
  for (const auto& [name, amount] : state.resources) {
    resources.emplace(
        name, json::object{{"capacity", amount.capacity}, {"allocatable", amount.allocatable}});
  }
  return doc::Print(json::object{{"resources", std::move(resources)}, {"pods", std::move(pods)}},
                    doc::Format::kJson);
}

StatusOr<NodeState> ParseNodeState(std::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = text.size()}));
  const JsonFields top(tree, file);
  NodeState state;
  ASSIGN_OR_RETURN(const JsonFields resources, top.Field("resources"));
  RETURN_IF_ERROR(
      resources.ForEachField([&state](const std::string& name, const JsonFields& field) {
        return ReadAmount(field, state.resources[name]);
      }));
  ASSIGN_OR_RETURN(const JsonFields pods, top.Field("pods"));
  RETURN_IF_ERROR(pods.ForEachItem([&state](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(Pod pod, PodFromJson(item.value(), item.where()));
    state.pods.push_back(std::move(pod));
    return OkStatus();
  }));
  return state;
}

}  // namespace kgpu::kubelet
