#include "src/node/object/seen_node.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/time_text.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

const json::object* ObjectAt(const json::value& value,
                             std::initializer_list<std::string_view> path) {
  const json::value* found = kube::FindField(value, path);
  return found == nullptr ? nullptr : found->if_object();
}

const json::array* ArrayAt(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = kube::FindField(value, path);
  return found == nullptr ? nullptr : found->if_array();
}

std::string Text(const json::value& object, std::string_view key) {
  return std::string(kube::TextField(object, {key}));
}

std::map<std::string, std::string> TextsAt(const json::value& node,
                                           std::initializer_list<std::string_view> path) {
  std::map<std::string, std::string> texts;
  if (const json::object* object = ObjectAt(node, path)) {
    for (const auto& [key, value] : *object) {
      if (value.is_string()) {
        texts.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  return texts;
}

Quantities ExtendedAt(const json::value& node, std::initializer_list<std::string_view> path) {
  Quantities all = TextsAt(node, path);
  std::erase_if(all, [](const auto& entry) { return entry.first.find('/') == std::string::npos; });
  return all;
}

// `fields` is fieldsV1: {"f:metadata": {"f:labels": {"f:KEY": {}}}}.
void AddOwned(const json::value& fields, std::string_view map, std::string_view manager,
              bool is_ours, SeenKeys& keys) {
  const json::object* owned = ObjectAt(fields, {"f:metadata", map});
  if (owned == nullptr) {
    return;
  }
  for (const auto& [field, ignored] : *owned) {
    const std::string_view name(field);
    if (!name.starts_with("f:")) {
      continue;
    }
    const std::string key(name.substr(2));
    if (is_ours) {
      keys.ours.insert(key);
    } else {
      keys.others[key].insert(std::string(manager));
    }
  }
}

void ReadManagers(const json::value& node, SeenNode& seen) {
  const json::array* entries = ArrayAt(node, {"metadata", "managedFields"});
  if (entries == nullptr) {
    return;
  }
  for (const json::value& entry : *entries) {
    const json::value* fields = kube::FindField(entry, {"fieldsV1"});
    if (fields == nullptr || !kube::TextField(entry, {"subresource"}).empty()) {
      continue;
    }
    const std::string_view manager = kube::TextField(entry, {"manager"});
    const bool is_ours =
        manager == kManager && kube::TextField(entry, {"operation"}) == std::string_view("Apply");
    AddOwned(*fields, "f:labels", manager, is_ours, seen.labels);
    AddOwned(*fields, "f:annotations", manager, is_ours, seen.annotations);
  }
}

std::vector<SeenTaint> ReadTaints(const json::value& node) {
  std::vector<SeenTaint> taints;
  if (const json::array* list = ArrayAt(node, {"spec", "taints"})) {
    for (const json::value& taint : *list) {
      taints.push_back({{Text(taint, "key"), Text(taint, "value"), Text(taint, "effect")},
                        json::serialize(taint)});
    }
  }
  return taints;
}

std::optional<SeenCondition> ReadCondition(const json::value& node, std::string_view type) {
  const json::array* conditions = ArrayAt(node, {"status", "conditions"});
  if (conditions == nullptr) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(*conditions, [type](const json::value& condition) {
    return kube::TextField(condition, {"type"}) == type;
  });
  if (found == conditions->end()) {
    return std::nullopt;
  }
  SeenCondition condition{Text(*found, "status"), Text(*found, "reason"), Text(*found, "message")};
  condition.since = ParseTime(kube::TextField(*found, {"lastTransitionTime"})).value_or(WallTime{});
  return condition;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

StatusOr<SeenNode> ReadNode(const json::value& node) {
  SeenNode seen;
  seen.name = std::string(kube::NameOf(node));
  if (seen.name.empty()) {
    return InvalidArgument("the API server's answer is not a Node object: it has no metadata.name");
  }
  seen.uid = std::string(kube::TextField(node, {"metadata", "uid"}));
  seen.version = std::string(kube::VersionOf(node));
  seen.labels.values = TextsAt(node, {"metadata", "labels"});
  seen.annotations.values = TextsAt(node, {"metadata", "annotations"});
  ReadManagers(node, seen);
  seen.taints = ReadTaints(node);
  seen.capacity = ExtendedAt(node, {"status", "capacity"});
  seen.allocatable = ExtendedAt(node, {"status", "allocatable"});
  seen.gpu_ready = ReadCondition(node, kConditionType);
  seen.gpu_healthy = ReadCondition(node, kHealthConditionType);
  seen.gpu_configured = ReadCondition(node, kConfigConditionType);
  return seen;
}

bool IsLater(std::string_view a, std::string_view b) {
  if (!IsNumber(a) || !IsNumber(b)) {
    return a != b;
  }
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

}  // namespace kgpu::node
