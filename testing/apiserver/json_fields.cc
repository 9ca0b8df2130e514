#include "testing/apiserver/json_fields.h"

#include "src/platform/base/strings.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

// Boost's string_view is not std's.
json::string_view Boost(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

const json::value* FieldAt(const json::object& object, Path path) {
  const json::object* current = &object;
  const json::value* found = nullptr;
  for (const std::string_view name : path) {
    if (current == nullptr) {
      return nullptr;
    }
    found = current->if_contains(Boost(name));
    current = found == nullptr ? nullptr : found->if_object();
  }
  return found;
}

std::string_view TextAt(const json::object& object, Path path) {
  const json::value* value = FieldAt(object, path);
  if (value == nullptr || !value->is_string()) {
    return "";
  }
  const json::string& text = value->get_string();
  return {text.data(), text.size()};
}

int64_t NumberAt(const json::object& object, Path path, int64_t otherwise) {
  const json::value* value = FieldAt(object, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

bool FlagAt(const json::object& object, Path path) {
  const json::value* value = FieldAt(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::object* ObjectAt(const json::object& object, Path path) {
  const json::value* value = FieldAt(object, path);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* ListAt(const json::object& object, Path path) {
  const json::value* value = FieldAt(object, path);
  return value == nullptr ? nullptr : value->if_array();
}

const json::array& ItemsAt(const json::object& object, Path path) {
  static const json::array kNone;
  const json::array* list = ListAt(object, path);
  return list == nullptr ? kNone : *list;
}

json::object& MakeObject(json::object& object, std::string_view name) {
  json::value& value = object[Boost(name)];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

std::string PlainText(const json::value* value) {
  if (value == nullptr || value->is_null()) {
    return "";
  }
  if (const json::string* text = value->if_string(); text != nullptr) {
    return {text->data(), text->size()};
  }
  return json::serialize(*value);
}

const json::value* FieldAtDots(const json::object& object, std::string_view path) {
  const json::object* current = &object;
  const json::value* found = nullptr;
  for (const std::string_view name : Split(path, '.')) {
    if (name.empty()) {
      continue;  // a path may begin with a dot
    }
    if (current == nullptr) {
      return nullptr;
    }
    found = current->if_contains(Boost(name));
    current = found == nullptr ? nullptr : found->if_object();
  }
  return found;
}

}  // namespace kgpu::apiserver
