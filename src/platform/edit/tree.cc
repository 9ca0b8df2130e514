#include "src/platform/edit/tree.h"

#include <boost/json.hpp>

namespace kgpu::edit {
namespace {

namespace json = boost::json;

void DropEmpty(json::value& tree, const Key& key) {
  for (size_t count = key.size(); count > 0; --count) {
    const Key way(key.begin(), key.begin() + static_cast<ptrdiff_t>(count));
    const json::value* value = FindIn(tree, way);
    if (value != nullptr && value->is_object() && value->get_object().empty()) {
      EraseIn(tree, way);
    }
  }
}

}  // namespace

const json::value* FindIn(const json::value& tree, const Key& key) {
  const json::value* value = &tree;
  for (const std::string& name : key) {
    const json::object* object = value->if_object();
    value = object == nullptr ? nullptr : object->if_contains(name);
    if (value == nullptr) {
      return nullptr;
    }
  }
  return value;
}

json::value* FindIn(json::value& tree, const Key& key) {
  return const_cast<json::value*>(FindIn(static_cast<const json::value&>(tree), key));
}

void SetIn(json::value& tree, const Key& key, const json::value& value) {
  json::value* at = &tree;
  for (const std::string& name : key) {
    if (!at->is_object()) {
      return;
    }
    at = &at->get_object().emplace(name, json::object()).first->value();
  }
  *at = value;
}

void EraseIn(json::value& tree, const Key& key) {
  if (key.empty()) {
    return;
  }
  json::value* parent = FindIn(tree, Key(key.begin(), key.end() - 1));
  if (parent != nullptr && parent->is_object()) {
    parent->get_object().erase(key.back());
  }
}

bool SaySame(const json::value& a, const json::value& b, const Key& key) {
  if (a == b) {
    return true;
  }
  json::value left = a;
  json::value right = b;
  DropEmpty(left, key);
  DropEmpty(right, key);
  return left == right;
}

}  // namespace kgpu::edit
