#include "src/node/labels/model_affinity.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/doc/json_texts.h"

namespace kgpu::labels {
namespace {

namespace json = boost::json;

constexpr size_t kMaxLabelName = 63;
constexpr int64_t kMostWeight = 100;
constexpr int64_t kWeightStep = 10;

// Kubernetes refuses longer names, so no node has such a label.
bool HasModelLabel(std::string_view model) {
  const std::string label = ModelLabel(model, "memory");
  return label.size() - label.find('/') - 1 <= kMaxLabelName;
}

}  // namespace

std::string ModelLabel(std::string_view model, std::string_view what) {
  return fmt::format("{}{}.{}", kModelLabelPrefix, model, what);
}

std::vector<std::string> ProductsOf(std::string_view model) {
  std::vector<std::string> products;
  for (const char* maker : {"", "NVIDIA-", "Tesla-"}) {
    for (const char* end : {"", "-SHARED"}) {
      products.push_back(fmt::format("{}{}{}", maker, model, end));
    }
  }
  return products;
}

json::object LabelRule(std::string_view key, std::string_view op,
                       const std::vector<std::string>& values) {
  json::object rule = {{"key", doc::View(key)}, {"operator", doc::View(op)}};
  if (!values.empty()) {
    rule["values"] = doc::Texts(values);
  }
  return rule;
}

json::object AtLeastRule(std::string_view key, int64_t least) {
  return LabelRule(key, "Gt", {std::to_string(least - 1)});
}

json::object WithoutModelRule(std::string_view model) {
  return LabelRule(ModelLabel(model, "count"), "DoesNotExist");
}

std::vector<json::array> ModelTerms(std::string_view model, int64_t memory_mib) {
  std::vector<json::array> terms;
  const auto add = [&](json::array rules, std::string_view memory_label) {
    if (memory_mib > 0) {
      rules.push_back(AtLeastRule(memory_label, memory_mib));
    }
    terms.push_back(std::move(rules));
  };
  if (model.empty()) {
    add({}, kMemoryLabel);
    return terms;
  }
  if (HasModelLabel(model)) {
    add({LabelRule(ModelLabel(model, "count"), "Exists")}, ModelLabel(model, "memory"));
  }
  add({LabelRule(kProductLabel, "In", ProductsOf(model))}, kMemoryLabel);
  return terms;
}

json::object RequiredTerm(json::array expressions) {
  return {{"matchExpressions", std::move(expressions)}};
}

json::object PreferredTerm(json::array expressions, size_t position) {
  const auto weight =
      std::max<int64_t>(1, kMostWeight - kWeightStep * static_cast<int64_t>(position));
  return {{"weight", weight}, {"preference", {{"matchExpressions", std::move(expressions)}}}};
}

json::object NodeAffinity(json::array required, json::array preferred) {
  json::object affinity;
  if (!required.empty()) {
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", std::move(required)}};
  }
  if (!preferred.empty()) {
    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = std::move(preferred);
  }
  return affinity.empty() ? json::object() : json::object{{"nodeAffinity", std::move(affinity)}};
}

}  // namespace kgpu::labels
