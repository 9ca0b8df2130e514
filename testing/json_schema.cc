#include "testing/json_schema.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>

namespace kgpu {
namespace {

namespace json = boost::json;

std::string Misfit(const json::value& value, const json::object& schema, const std::string& path);

std::string MapMisfit(const json::object& fields, const json::object& schema,
                      const std::string& path) {
  const json::value* properties = schema.if_contains("properties");
  const json::value* others = schema.if_contains("additionalProperties");
  for (const auto& field : fields) {
    const std::string below = path + "." + std::string(field.key());
    const json::value* known =
        properties == nullptr ? nullptr : properties->as_object().if_contains(field.key());
    if (known == nullptr && (others == nullptr || others->is_bool())) {
      return below;
    }
    const json::object& expected = (known == nullptr ? others : known)->as_object();
    if (std::string misfit = Misfit(field.value(), expected, below); !misfit.empty()) {
      return misfit;
    }
  }
  if (const json::value* required = schema.if_contains("required")) {
    for (const json::value& key : required->as_array()) {
      if (!fields.contains(key.as_string())) {
        return path + "." + std::string(key.as_string());
      }
    }
  }
  return "";
}

bool HasType(const json::value& value, const json::object& schema) {
  const json::value* type = schema.if_contains("type");
  if (type == nullptr) {
    return true;
  }
  const json::string& name = type->as_string();
  if (name == "number" && value.is_number()) {
    return true;
  }
  if (name == "integer" && value.is_int64()) {
    return value.as_int64() >= schema.at("minimum").to_number<int64_t>() &&
           value.as_int64() <= schema.at("maximum").to_number<int64_t>();
  }
  return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
         (name == "string" && value.is_string()) || (name == "boolean" && value.is_bool());
}

std::string Misfit(const json::value& value, const json::object& schema, const std::string& path) {
  if (const json::value* choices = schema.if_contains("anyOf")) {
    const bool fits = std::ranges::any_of(choices->as_array(), [&](const json::value& choice) {
      return Misfit(value, choice.as_object(), path).empty();
    });
    return fits ? "" : path;
  }
  const json::value* words = schema.if_contains("enum");
  const json::value* only = schema.if_contains("const");
  if (!HasType(value, schema) || (only != nullptr && *only != value) ||
      (words != nullptr &&
       std::ranges::find(words->as_array(), value) == words->as_array().end())) {
    return path;
  }
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      if (std::string misfit = Misfit(item, schema.at("items").as_object(), path + "[]");
          !misfit.empty()) {
        return misfit;
      }
    }
  }
  return value.is_object() ? MapMisfit(value.as_object(), schema, path) : "";
}

}  // namespace

std::string SchemaMisfit(const json::value& value, const json::object& schema) {
  return Misfit(value, schema, "");
}

}  // namespace kgpu
