// Checks that a schema alone decides.
#include <algorithm>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/pattern/pattern.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

std::string_view SchemaText(json::string_view text) {
  return {text.data(), text.size()};
}

std::string Below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

bool HasType(const json::value& value, const Schema& schema) {
  switch (schema.kind) {
    case SchemaKind::kAny:
      return true;
    case SchemaKind::kString:
      // A quantity may also be written as a number.
      return value.is_string() || (schema.format == "quantity" && value.is_number());
    case SchemaKind::kInteger:
      return value.is_int64() || value.is_uint64();
    case SchemaKind::kNumber:
      return value.is_number();
    case SchemaKind::kBoolean:
      return value.is_bool();
    case SchemaKind::kIntOrString:
      return value.is_int64() || value.is_uint64() || value.is_string();
    case SchemaKind::kStruct:
    case SchemaKind::kMap:
      return value.is_object();
    case SchemaKind::kList:
      return value.is_array();
  }
  return true;
}

std::string_view TypeName(const Schema& schema) {
  switch (schema.kind) {
    case SchemaKind::kString:
      return "string";
    case SchemaKind::kInteger:
      return "integer";
    case SchemaKind::kNumber:
      return "number";
    case SchemaKind::kBoolean:
      return "boolean";
    case SchemaKind::kIntOrString:
      return "integer or string";
    case SchemaKind::kList:
      return "array";
    default:
      return "object";
  }
}

const Schema* ChildOf(const Schema& schema, json::string_view name) {
  return schema.kind == SchemaKind::kMap ? schema.element : schema.Field(SchemaText(name));
}

// Calls `use(value, schema, path)` for each value that has a schema, from the outside in, until it
// returns false; children of a value of the wrong type are left out.
template <typename Use>
bool Walk(const json::value& value, const Schema& schema, const std::string& path, const Use& use) {
  if (!use(value, schema, path)) {
    return false;
  }
  if (value.is_object() && schema.kind != SchemaKind::kAny) {
    return std::ranges::all_of(value.get_object(), [&](const auto& field) {
      const Schema* child = ChildOf(schema, field.key());
      return child == nullptr ||
             Walk(field.value(), *child, Below(path, SchemaText(field.key())), use);
    });
  }
  if (value.is_array() && schema.element != nullptr) {
    for (size_t i = 0; i < value.get_array().size(); ++i) {
      if (!Walk(value.get_array()[i], *schema.element, fmt::format("{}[{}]", path, i), use)) {
        return false;
      }
    }
  }
  return true;
}

void CheckNumber(const json::value& value, const Schema& schema, const std::string& path,
                 std::vector<Cause>& causes) {
  const double number = value.to_number<double>();
  const std::string text = PlainText(&value);
  if (schema.minimum && number < *schema.minimum) {
    causes.push_back(InvalidValue(
        path, text, fmt::format("should be greater than or equal to {}", *schema.minimum)));
  }
  if (schema.maximum && number > *schema.maximum) {
    causes.push_back(InvalidValue(
        path, text, fmt::format("should be less than or equal to {}", *schema.maximum)));
  }
}

// Of a text or a list.
void CheckSize(const json::value& value, const Schema& schema, const std::string& path,
               std::vector<Cause>& causes) {
  const bool is_list = value.is_array();
  const size_t size = is_list ? value.get_array().size() : value.get_string().size();
  const auto& least = is_list ? schema.min_items : schema.min_length;
  const auto& most = is_list ? schema.max_items : schema.max_length;
  if (least && size < *least) {
    causes.push_back(
        InvalidValue(path, PlainText(&value), fmt::format("should have at least {}", *least)));
  }
  if (most && size > *most) {
    causes.push_back({.reason = is_list ? "FieldValueTooMany" : "FieldValueTooLong",
                      .message = fmt::format("Too long: may not be more than {}", *most),
                      .field = path});
  }
}

void CheckPattern(const json::value& value, const Schema& schema, const std::string& path,
                  std::vector<Cause>& causes) {
  if (schema.pattern.empty() || !value.is_string()) {
    return;
  }
  const auto pattern = Pattern::Compile(schema.pattern);
  if (!pattern.ok() || !pattern->Matches(std::string_view(value.get_string()))) {
    causes.push_back(
        InvalidValue(path, PlainText(&value),
                     fmt::format("{} in body should match '{}'", path, schema.pattern)));
  }
}

void CheckBounds(const json::value& value, const Schema& schema, const std::string& path,
                 std::vector<Cause>& causes) {
  const std::string text = PlainText(&value);
  if (!schema.allowed.empty() && std::ranges::find(schema.allowed, text) == schema.allowed.end()) {
    causes.push_back(UnsupportedValue(path, text, schema.allowed));
  }
  if (value.is_number()) {
    CheckNumber(value, schema, path, causes);
  }
  if (value.is_array() || value.is_string()) {
    CheckSize(value, schema, path, causes);
  }
  CheckPattern(value, schema, path, causes);
  for (const std::string& name : schema.required) {
    if (value.is_object() && !value.get_object().contains(name)) {
      causes.push_back(RequiredValue(Below(path, name), ""));
    }
  }
}

void FillDefaults(json::object& object, const Schema& schema) {
  for (const auto& [name, field] : schema.fields) {
    if (!field->default_json.empty() && !object.contains(name)) {
      object[name] = json::parse(field->default_json);
    }
  }
}

void AddDefaultsBelow(json::value& value, const Schema& schema) {
  if (json::array* list = value.if_array(); list != nullptr && schema.element != nullptr) {
    for (json::value& item : *list) {
      AddDefaultsBelow(item, *schema.element);
    }
  } else if (value.is_object() && schema.kind != SchemaKind::kAny) {
    AddDefaults(value.get_object(), schema);
  }
}

void PruneValue(json::value& value, const Schema& schema) {
  if (json::array* list = value.if_array(); list != nullptr) {
    for (json::value& item : *list) {
      if (schema.element != nullptr) {
        PruneValue(item, *schema.element);
      }
    }
    return;
  }
  if (value.is_object() && schema.kind != SchemaKind::kAny) {
    PruneAndDefault(value.get_object(), schema);
  }
}

}  // namespace

Status CheckTypes(const json::object& object, const Resource& resource) {
  if (resource.schema == nullptr || resource.is_custom) {
    return OkStatus();
  }
  Status problem = OkStatus();
  Walk(object, *resource.schema, "",
       [&](const json::value& value, const Schema& schema, const std::string& path) {
         if (value.is_null() || HasType(value, schema)) {
           return true;
         }
         problem = BadRequest(
             fmt::format("{} in version \"{}\" cannot be handled as a {}: {} must "
                         "be of type {}",
                         resource.kind, resource.version, resource.kind, path, TypeName(schema)));
         return false;
       });
  return problem;
}

std::vector<std::string> UnknownFields(const json::object& object, const Resource& resource) {
  std::vector<std::string> unknown;
  if (resource.schema == nullptr) {
    return unknown;
  }
  Walk(object, *resource.schema, "",
       [&](const json::value& value, const Schema& schema, const std::string& path) {
         if (schema.kind == SchemaKind::kStruct && !schema.is_open && value.is_object()) {
           for (const auto& [name, child] : value.get_object()) {
             if (schema.Field(SchemaText(name)) == nullptr) {
               unknown.push_back(Below(path, SchemaText(name)));
             }
           }
         }
         return true;
       });
  return unknown;
}

void AddDefaults(json::object& object, const Schema& schema) {
  FillDefaults(object, schema);
  for (auto& field : object) {
    if (const Schema* child = ChildOf(schema, field.key()); child != nullptr) {
      AddDefaultsBelow(field.value(), *child);
    }
  }
}

void PruneAndDefault(json::object& object, const Schema& schema) {
  FillDefaults(object, schema);
  for (auto field = object.begin(); field != object.end();) {
    const Schema* child = ChildOf(schema, field->key());
    if (child == nullptr && schema.kind == SchemaKind::kStruct && !schema.is_open) {
      field = object.stable_erase(field);
      continue;
    }
    if (child != nullptr) {
      PruneValue(field->value(), *child);
    }
    ++field;
  }
}

std::vector<Cause> ValidateBySchema(const json::object& object, const Schema& schema) {
  std::vector<Cause> causes;
  Walk(object, schema, "",
       [&](const json::value& value, const Schema& its, const std::string& path) {
         if (path.starts_with("metadata")) {
           return true;
         }
         if (value.is_null() ? !its.is_nullable : !HasType(value, its)) {
           causes.push_back({.reason = "FieldValueTypeInvalid",
                             .message = fmt::format("Invalid value: {}: must be of type {}",
                                                    json::serialize(value), TypeName(its)),
                             .field = path});
           return true;
         }
         CheckBounds(value, its, path, causes);
         return true;
       });
  return causes;
}

}  // namespace kgpu::apiserver
