// What the agent and the cluster report about this node, read from their answers.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::doctor {
namespace {

namespace json = boost::json;

// The items of a list; empty if there is no such list.
std::span<const json::value> ListOf(const json::value& object,
                                    std::initializer_list<std::string_view> path) {
  const json::value* list = kube::FindField(object, path);
  if (list == nullptr || !list->is_array()) {
    return {};
  }
  return {list->get_array().data(), list->get_array().size()};
}

bool IsTrue(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* value = kube::FindField(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

uint64_t CountOf(const json::value& object, std::string_view key) {
  const json::value* value = kube::FindField(object, {key});
  boost::system::error_code error;
  const auto number = value == nullptr ? 0 : value->to_number<uint64_t>(error);
  return error ? 0 : number;
}

void ReadDevices(const json::value& resource, AgentFacts& facts) {
  for (const json::value& device : ListOf(resource, {"devices"})) {
    const std::string uuid(kube::TextField(device, {"device"}));
    const bool is_new = facts.devices.insert(uuid).second;
    if (is_new && !IsTrue(device, {"healthy"})) {
      facts.unhealthy.push_back(fmt::format("{} {}: {}", uuid, kube::TextField(device, {"reason"}),
                                            kube::TextField(device, {"message"})));
    }
  }
}

std::vector<Toleration> TolerationsOf(const json::value& set) {
  std::vector<Toleration> tolerations;
  for (const json::value& item : ListOf(set, {"spec", "template", "spec", "tolerations"})) {
    tolerations.push_back({.key = std::string(kube::TextField(item, {"key"})),
                           .op = std::string(kube::TextField(item, {"operator"})),
                           .value = std::string(kube::TextField(item, {"value"})),
                           .effect = std::string(kube::TextField(item, {"effect"}))});
  }
  return tolerations;
}

bool IsMet(const Toleration& toleration, const labels::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) {
    return false;
  }
  if (toleration.op == "Exists") {
    return toleration.key.empty() || toleration.key == taint.key;
  }
  return toleration.key == taint.key && toleration.value == taint.value;
}

}  // namespace

StatusOr<AgentFacts> ParseAgentStatus(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value tree, kube::ParseObject(text, "the agent's status"));
  AgentFacts facts;
  facts.is_ready = IsTrue(tree, {"ready"});
  facts.obstacle = kube::TextField(tree, {"obstacle"});
  facts.plugin_owner = kube::TextField(tree, {"pluginOwner"});
  facts.unassigned = ListOf(tree, {"unassigned"}).size();
  for (const json::value& resource : ListOf(tree, {"resources"})) {
    facts.resources.push_back({.name = std::string(kube::TextField(resource, {"name"})),
                               .capacity = CountOf(resource, "capacity"),
                               .allocatable = CountOf(resource, "allocatable"),
                               .state = std::string(kube::TextField(resource, {"state"})),
                               .reason = std::string(kube::TextField(resource, {"reason"}))});
    ReadDevices(resource, facts);
  }
  return facts;
}

Status ReadAgentHealth(std::string_view text, AgentFacts& facts) {
  ASSIGN_OR_RETURN(const json::value tree, kube::ParseObject(text, "the agent's health"));
  for (const json::value& gpu : ListOf(tree, {"gpus"})) {
    for (const json::value& fault : ListOf(gpu, {"faults"})) {
      const std::string_view detail = kube::TextField(fault, {"detail"});
      facts.faults.push_back({.gpu = std::string(kube::TextField(gpu, {"uuid"})),
                              .rule = std::string(kube::TextField(fault, {"rule"})),
                              .text = fmt::format("{}{}{}", kube::TextField(fault, {"message"}),
                                                  detail.empty() ? "" : " ", detail),
                              .is_unhealthy = IsTrue(fault, {"unhealthy"})});
    }
  }
  return OkStatus();
}

bool Tolerates(const std::vector<Toleration>& tolerations, const labels::Taint& taint) {
  return std::ranges::any_of(
      tolerations, [&taint](const Toleration& toleration) { return IsMet(toleration, taint); });
}

std::vector<AgentSet> ReadAgentSets(const json::value& list) {
  std::vector<AgentSet> sets;
  for (const json::value& item : ListOf(list, {"items"})) {
    sets.push_back({.name = fmt::format("{}/{}", kube::NamespaceOf(item), kube::NameOf(item)),
                    .tolerations = TolerationsOf(item)});
  }
  return sets;
}

}  // namespace kgpu::doctor
