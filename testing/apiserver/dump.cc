#include "testing/apiserver/dump.h"

#include <boost/json.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

json::value Sorted(const json::value& value) {
  if (const json::array* list = value.if_array()) {
    json::array sorted;
    for (const json::value& item : *list) {
      sorted.push_back(Sorted(item));
    }
    return sorted;
  }
  const json::object* map = value.if_object();
  if (map == nullptr) {
    return value;
  }
  std::set<std::string> keys;
  for (const auto& [key, field] : *map) {
    keys.emplace(key);
  }
  json::object sorted;
  for (const std::string& key : keys) {
    sorted[key] = Sorted(map->at(key));
  }
  return sorted;
}

void DropCounts(json::object& object) {
  json::value* metadata = object.if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) {
    return;
  }
  json::object& fields = metadata->get_object();
  fields.erase("resourceVersion");
  fields.erase("generation");
  json::value* managers = fields.if_contains("managedFields");
  if (managers == nullptr || !managers->is_array()) {
    return;
  }
  for (json::value& manager : managers->get_array()) {
    manager.as_object().erase("time");
  }
}

}  // namespace

std::string DumpText(const ServerState& state) {
  std::set<std::string> storages;
  for (const Resource* resource : state.resources.All()) {
    storages.insert(resource->StorageName());
  }
  storages.erase("events");
  std::string text;
  for (const std::string& storage : storages) {
    for (const auto& [key, stored] : state.store.All(storage)) {
      json::object object = stored->object();
      DropCounts(object);
      text += fmt::format("{} {}/{} {}\n", storage, key.name_space, key.name,
                          json::serialize(Sorted(object)));
    }
  }
  return text;
}

}  // namespace kgpu::apiserver
