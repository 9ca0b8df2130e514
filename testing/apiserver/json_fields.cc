#include "testing/apiserver/json_fields.h"

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::apiserver {

namespace json = boost::json;

namespace {

template <typename Names>
const json::value* Follow(const json::object& object, const Names& names) {
  const json::object* current = &object;
  const json::value* found = nullptr;
  for (const std::string_view name : names) {
    if (name.empty()) {
      continue;  // a dotted path may begin with a dot
    }
    if (current == nullptr) {
      return nullptr;
    }
    found = current->if_contains(doc::View(name));
    current = found == nullptr ? nullptr : found->if_object();
  }
  return found;
}

}  // namespace

const json::value* FieldAt(const json::object& object, Path path) {
  return Follow(object, path);
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
  json::value& value = object[doc::View(name)];
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
  return Follow(object, Split(path, '.'));
}

}  // namespace kgpu::apiserver
