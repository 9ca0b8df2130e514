#include "src/cluster/controller/config_map.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>

#include "src/cluster/fleet/node_facts.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/doc/doc.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using policy::LabelOperator;

constexpr kube::Resource kConfigMaps{"", "v1", "configmaps"};
constexpr std::array<std::string_view, 4> kOperators = {"In", "NotIn", "Exists", "DoesNotExist"};

json::object SelectorJson(const policy::LabelSelector& selector) {
  json::object object;
  if (!selector.labels.empty()) {
    json::object labels;
    for (const auto& [key, value] : selector.labels) {
      labels[key] = value;
    }
    object["matchLabels"] = std::move(labels);
  }
  json::array terms;
  for (const policy::LabelTerm& term : selector.terms) {
    json::object one = {{"key", term.key},
                        {"operator", kOperators.at(static_cast<size_t>(term.op))}};
    if (!term.values.empty()) {
      one["values"] = json::array(term.values.begin(), term.values.end());
    }
    terms.push_back(std::move(one));
  }
  if (!terms.empty()) {
    object["matchExpressions"] = std::move(terms);
  }
  return object;
}

// Exactly this data. Keys of others are removed by name: an apply would leave them, and agents
// would read them.
kube::ApiRequest WriteRequest(const json::value& current, const std::string& path,
                              const std::string& space, json::object data) {
  json::object metadata = {{"name", kConfigMapName},
                           {"namespace", space},
                           {"labels",
                            {{fleet::kNameLabel, "kgpu-controller"},
                             {"app.kubernetes.io/part-of", "kgpu"},
                             {"app.kubernetes.io/managed-by", fleet::kManager}}}};
  const kube::WriteOptions options{.field_manager = std::string(fleet::kManager)};
  if (current.is_null()) {
    const json::value object = {{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", std::move(metadata)},
                                {"data", std::move(data)}};
    // Cannot fail: the object has what an apply needs.
    auto request = kube::ApplyRequest(path, object, true, options);
    return request.ok() ? *std::move(request) : kube::ApiRequest{};
  }
  if (const json::value* before = kube::FindField(current, {"data"});
      before != nullptr && before->is_object()) {
    for (const auto& [key, value] : before->get_object()) {
      if (!data.contains(key)) {
        data[key] = nullptr;
      }
    }
  }
  metadata["resourceVersion"] = kube::VersionOf(current);
  return kube::PatchRequest(path, kube::PatchType::kMerge,
                            {{"metadata", std::move(metadata)}, {"data", std::move(data)}},
                            options);
}

}  // namespace

json::object ConfigMapData(const Model& model) {
  json::object data;
  json::array selectors;
  for (const auto& [name, entry] : model.policies()) {
    if (!entry.policy) {
      continue;
    }
    for (const policy::Group& group : entry.policy->groups) {
      if (group.config.empty()) {
        continue;
      }
      const std::string config = fmt::format("{}.{}", name, group.name);
      data[config + ".yaml"] = group.config;
      selectors.push_back({{"config", config}, {"nodeSelector", SelectorJson(group.nodes)}});
    }
  }
  if (!selectors.empty()) {
    data["selectors.yaml"] = doc::Print(selectors, doc::Format::kYaml);
  }
  return data;
}

void AddConfigMap(const Model& model, const std::string& space, std::vector<Work>& work) {
  if (std::ranges::any_of(model.policies(), [](const auto& one) { return !one.second.policy; })) {
    return;
  }
  json::object data = ConfigMapData(model);
  const json::value* current = kube::FindField(model.config_map(), {"data"});
  const std::string path = kConfigMaps.Object(space, kConfigMapName);
  const std::string key = fmt::format("configmap/{}", kConfigMapName);
  if (data.empty()) {
    const bool is_ours =
        kube::TextField(model.config_map(),
                        {"metadata", "labels", "app.kubernetes.io/managed-by"}) == fleet::kManager;
    if (is_ours) {
      work.push_back(
          {.key = key,
           .what = "delete the groups' configurations",
           .order = Work::Order::kClean,
           .request = kube::DeleteRequest(path, {.uid = std::string(kube::TextField(
                                                     model.config_map(), {"metadata", "uid"}))}),
           .may_exist = true});
    }
    return;
  }
  if (current != nullptr && current->is_object() && current->get_object() == data) {
    return;
  }
  work.push_back({.key = key,
                  .what = "write the groups' configurations",
                  .order = Work::Order::kLabel,
                  .request = WriteRequest(model.config_map(), path, space, std::move(data))});
}

}  // namespace kgpu::controller
