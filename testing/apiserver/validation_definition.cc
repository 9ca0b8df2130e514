// Rules of CustomResourceDefinitions: names, versions, and that their schemas are structural.
#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

// Keywords that a structural schema must not have.
constexpr const char* kForbidden[] = {"$ref", "definitions", "patternProperties", "dependencies",
                                      "id"};

void CheckStructural(const json::object& schema, const std::string& path,
                     std::vector<Cause>& causes) {
  for (const char* name : kForbidden) {
    if (schema.contains(name)) {
      causes.push_back(ForbiddenChange(fmt::format("{}.{}", path, name), "not in this place"));
    }
  }
  if (FlagAt(schema, {"uniqueItems"})) {
    causes.push_back(ForbiddenChange(fmt::format("{}.uniqueItems", path), "may not be true"));
  }
  if (schema.contains("properties") && schema.contains("additionalProperties")) {
    causes.push_back(
        ForbiddenChange(fmt::format("{}.additionalProperties", path), "excludes properties"));
  }
  if (TextAt(schema, {"type"}).empty() && !FlagAt(schema, {"x-kubernetes-int-or-string"}) &&
      !FlagAt(schema, {"x-kubernetes-preserve-unknown-fields"})) {
    causes.push_back(RequiredValue(fmt::format("{}.type", path), "must not be empty"));
  }
  if (const json::object* properties = ObjectAt(schema, {"properties"}); properties != nullptr) {
    for (const auto& [key, property] : *properties) {
      if (property.is_object()) {
        CheckStructural(
            property.get_object(),
            fmt::format("{}.properties[{}]", path, std::string_view(key.data(), key.size())),
            causes);
      }
    }
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (const json::object* element = ObjectAt(schema, {inner}); element != nullptr) {
      CheckStructural(*element, fmt::format("{}.{}", path, inner), causes);
    }
  }
}

}  // namespace

void ValidateDefinition(const json::object& crd, std::vector<Cause>& causes) {
  const std::string wanted = fmt::format("{}.{}", TextAt(crd, {"spec", "names", "plural"}),
                                         TextAt(crd, {"spec", "group"}));
  if (TextAt(crd, {"metadata", "name"}) != wanted) {
    causes.push_back(
        InvalidValue("metadata.name", TextAt(crd, {"metadata", "name"}),
                     fmt::format("must be spec.names.plural+\".\"+spec.group: {}", wanted)));
  }
  for (const char* field : {"plural", "kind"}) {
    if (TextAt(crd, {"spec", "names", field}).empty()) {
      causes.push_back(RequiredValue(fmt::format("spec.names.{}", field), ""));
    }
  }
  const std::string_view scope = TextAt(crd, {"spec", "scope"});
  if (scope != "Namespaced" && scope != "Cluster") {
    causes.push_back(UnsupportedValue("spec.scope", scope, {"Cluster", "Namespaced"}));
  }
  int64_t kept = 0;
  const json::array& versions = ItemsAt(crd, {"spec", "versions"});
  for (size_t i = 0; i < versions.size(); ++i) {
    const json::object none;
    const json::object& version = versions[i].is_object() ? versions[i].get_object() : none;
    kept += FlagAt(version, {"storage"}) ? 1 : 0;
    if (TextAt(version, {"name"}).empty()) {
      causes.push_back(RequiredValue(fmt::format("spec.versions[{}].name", i), ""));
    }
    const std::string path = fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    const json::object* schema = ObjectAt(version, {"schema", "openAPIV3Schema"});
    if (schema == nullptr) {
      causes.push_back(RequiredValue(path, "schemas are required"));
      continue;
    }
    if (TextAt(*schema, {"type"}) != "object") {
      causes.push_back(InvalidValue(fmt::format("{}.type", path), TextAt(*schema, {"type"}),
                                    "must be object at the root"));
    }
    CheckStructural(*schema, path, causes);
  }
  if (kept != 1) {
    causes.push_back(InvalidValue("spec.versions", std::to_string(kept),
                                  "must have exactly one version marked as storage version"));
  }
}

}  // namespace kgpu::apiserver
