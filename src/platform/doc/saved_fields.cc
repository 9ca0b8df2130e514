#include "src/platform/doc/saved_fields.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "src/platform/doc/json_texts.h"

namespace kgpu::doc {

namespace json = boost::json;

std::string_view SavedFields::Text(std::string_view key) const {
  const json::value* value = object_->if_contains(View(key));
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

bool SavedFields::Flag(std::string_view key) const {
  const json::value* value = object_->if_contains(View(key));
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<uint64_t> SavedFields::Number(std::string_view key, uint64_t max) const {
  const json::value* value = object_->if_contains(View(key));
  if (value == nullptr) {
    return std::nullopt;
  }
  json::error_code error;
  const auto number = value->to_number<uint64_t>(error);
  return error || number > max ? std::nullopt : std::optional(number);
}

std::optional<uint32_t> SavedFields::Small(std::string_view key) const {
  const auto number = Number(key, UINT32_MAX);
  return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
}

std::vector<SavedFields> SavedFields::List(std::string_view key) const {
  const json::value* value = object_->if_contains(View(key));
  const json::array* array = value == nullptr ? nullptr : value->if_array();
  std::vector<SavedFields> list;
  if (array != nullptr) {
    for (const json::value& item : *array) {
      if (const json::object* object = item.if_object()) {
        list.emplace_back(*object);
      }
    }
  }
  return list;
}

}  // namespace kgpu::doc
