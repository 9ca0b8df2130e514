#include "src/kube/api/object_cache.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/kube/api/json.h"

namespace kgpu::kube {

namespace json = boost::json;

std::string KeyOf(const json::value& object) {
  std::string key(NamespaceOf(object));
  if (!key.empty()) {
    key += '/';
  }
  return key += NameOf(object);
}

size_t MemoryOf(const json::value& value) {
  size_t bytes = sizeof(json::value);
  if (const json::string* text = value.if_string()) {
    bytes += text->capacity();
  } else if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      bytes += MemoryOf(item);
    }
  } else if (const json::object* fields = value.if_object()) {
    for (const auto& field : *fields) {
      // A key has its own memory, and a place in the table.
      bytes += field.key().size() + sizeof(json::key_value_pair) - sizeof(json::value) +
               MemoryOf(field.value());
    }
  }
  return bytes;
}

void ObjectCache::Forget(const ObjectPtr& object) {
  bytes_ -= MemoryOf(*object);
}

std::vector<ObjectCache::Change> ObjectCache::Put(json::value object) {
  ObjectPtr& kept = objects_[KeyOf(object)];
  Change change;
  if (kept) {
    const bool is_same_one =
        TextField(*kept, {"metadata", "uid"}) == TextField(object, {"metadata", "uid"});
    if (is_same_one && !VersionOf(object).empty() && VersionOf(*kept) == VersionOf(object)) {
      return {};
    }
    change.gone = is_same_one ? nullptr : kept;
    Forget(kept);
  }
  kept = std::make_shared<const json::value>(std::move(object));
  bytes_ += MemoryOf(*kept);
  change.changed = kept;
  return {std::move(change)};
}

std::vector<ObjectCache::Change> ObjectCache::Remove(const json::value& object) {
  auto node = objects_.extract(KeyOf(object));
  if (node.empty()) {
    return {};
  }
  Forget(node.mapped());
  return {Change{.gone = std::move(node.mapped()), .changed = nullptr}};
}

std::vector<ObjectCache::Change> ObjectCache::Replace(std::vector<json::value> objects) {
  std::map<std::string, ObjectPtr> before = objects_;
  std::vector<Change> changes;
  for (json::value& object : objects) {
    before.erase(KeyOf(object));
    std::vector<Change> put = Put(std::move(object));
    changes.insert(changes.end(), put.begin(), put.end());
  }
  for (const auto& [key, object] : before) {
    objects_.erase(key);
    Forget(object);
    changes.push_back({.gone = object, .changed = nullptr});
  }
  return changes;
}

}  // namespace kgpu::kube
