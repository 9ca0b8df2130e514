// OpenAPI as JSON, both versions: they differ in where definitions stand and how they are named.
#include <set>

#include <boost/json.hpp>

#include "testing/apiserver/openapi.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr const char* kV2Prefix = "#/definitions/";
constexpr const char* kV3Prefix = "#/components/schemas/";

class Definitions {
 public:
  explicit Definitions(const char* prefix) : prefix_(prefix) {}

  // A schema where it is used: structs by reference.
  json::object Use(const Schema& schema) {
    if (schema.kind == SchemaKind::kStruct && !schema.name.empty()) {
      return Reference(schema);
    }
    return Spell(schema);
  }

  void Define(const Schema& schema) {
    if (!known_.insert(schema.name).second) {
      return;
    }
    definitions_[schema.name] = nullptr;  // keeps its place before those it uses
    json::object spelled = Spell(schema);
    definitions_[schema.name] = std::move(spelled);
  }

  void AddKind(const Resource& resource) {
    Define(*resource.schema);
    json::value& definition = definitions_[resource.schema->name];
    definition.get_object()["x-kubernetes-group-version-kind"] = json::array{
        {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}}};
  }

  json::object Take() { return std::move(definitions_); }

 private:
  json::object Reference(const Schema& schema) {
    Define(schema);
    const std::string target = fmt::format("{}{}", prefix_, schema.name);
    // Version 3 forbids a description beside a reference.
    if (prefix_ == std::string_view(kV3Prefix)) {
      return {{"description", schema.description},
              {"default", json::object()},
              {"allOf", json::array{{{"$ref", target}}}}};
    }
    return {{"$ref", target}, {"description", schema.description}};
  }

  json::object Spell(const Schema& schema) {
    json::object out;
    if (!schema.description.empty()) {
      out["description"] = schema.description;
    }
    switch (schema.kind) {
      case SchemaKind::kAny:
        out["type"] = "object";
        break;
      case SchemaKind::kString:
        out["type"] = "string";
        break;
      case SchemaKind::kInteger:
        out["type"] = "integer";
        break;
      case SchemaKind::kNumber:
        out["type"] = "number";
        break;
      case SchemaKind::kBoolean:
        out["type"] = "boolean";
        break;
      case SchemaKind::kIntOrString:
        out["type"] = "string";
        out["format"] = "int-or-string";
        break;
      case SchemaKind::kStruct:
        SpellStruct(schema, out);
        break;
      case SchemaKind::kMap:
        out["type"] = "object";
        out["additionalProperties"] =
            schema.element == nullptr ? json::object() : Use(*schema.element);
        break;
      case SchemaKind::kList:
        SpellList(schema, out);
        break;
    }
    if (schema.format == "date-time" || schema.format == "byte") {
      out["format"] = schema.format;
    }
    return out;
  }

  void SpellStruct(const Schema& schema, json::object& out) {
    out["type"] = "object";
    json::object properties;
    for (const auto& [name, field] : schema.fields) {
      properties[name] = Use(*field);
    }
    out["properties"] = std::move(properties);
    if (!schema.required.empty()) {
      out["required"] = json::array(schema.required.begin(), schema.required.end());
    }
  }

  void SpellList(const Schema& schema, json::object& out) {
    out["type"] = "array";
    out["items"] = schema.element == nullptr ? json::object() : Use(*schema.element);
    out["x-kubernetes-list-type"] = schema.list_type == ListType::kMap   ? "map"
                                    : schema.list_type == ListType::kSet ? "set"
                                                                         : "atomic";
    json::array keys;
    for (const auto& [key, otherwise] : schema.keys) {
      keys.emplace_back(key);
    }
    if (!keys.empty()) {
      out["x-kubernetes-list-map-keys"] = std::move(keys);
    }
    if (schema.merges) {
      out["x-kubernetes-patch-strategy"] = "merge";
      if (!schema.merge_key.empty()) {
        out["x-kubernetes-patch-merge-key"] = schema.merge_key;
      }
    }
  }

  const char* prefix_;
  std::set<std::string> known_;
  json::object definitions_;
};

std::string PathOf(const Resource& resource) {
  const std::string root = resource.group.empty()
                               ? fmt::format("/api/{}", resource.version)
                               : fmt::format("/apis/{}/{}", resource.group, resource.version);
  return fmt::format("{}{}/{}/{{name}}", root,
                     resource.is_namespaced ? "/namespaces/{namespace}" : "", resource.plural);
}

// The one operation that kubectl looks for, to learn which parameters the server knows.
json::object PatchOperation(const Resource& resource, bool is_v3) {
  json::array parameters;
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"}) {
    json::object parameter = {{"name", name}, {"in", "query"}};
    if (is_v3) {
      parameter["schema"] = {{"type", "string"}};
    } else {
      parameter["type"] = "string";
    }
    parameters.push_back(std::move(parameter));
  }
  return {{"parameters", std::move(parameters)},
          {"responses", {{"200", {{"description", "OK"}}}}},
          {"x-kubernetes-action", "patch"},
          {"x-kubernetes-group-version-kind",
           {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}}}};
}

}  // namespace

json::object OpenApiV2(const ResourceTable& resources) {
  Definitions definitions(kV2Prefix);
  json::object paths;
  for (const Resource* resource : resources.All()) {
    if (resource->schema != nullptr) {
      definitions.AddKind(*resource);
    }
    if (!resource->is_review) {
      paths[PathOf(*resource)] = {{"patch", PatchOperation(*resource, false)}};
    }
  }
  return {{"swagger", "2.0"},
          {"info", {{"title", "Kubernetes"}, {"version", "v1.36.0-stub"}}},
          {"paths", std::move(paths)},
          {"definitions", definitions.Take()}};
}

json::object OpenApiV3Index(const ResourceTable& resources) {
  json::object paths;
  for (const Resource* resource : resources.All()) {
    const std::string path = resource->group.empty()
                                 ? fmt::format("api/{}", resource->version)
                                 : fmt::format("apis/{}", resource->ApiVersion());
    paths[path] = {{"serverRelativeURL", fmt::format("/openapi/v3/{}", path)}};
  }
  return {{"paths", std::move(paths)}};
}

json::object OpenApiV3(const ResourceTable& resources, std::string_view group,
                       std::string_view version) {
  Definitions definitions(kV3Prefix);
  json::object paths;
  for (const Resource* resource : resources.All()) {
    if (resource->group != group || resource->version != version) {
      continue;
    }
    if (resource->schema != nullptr) {
      definitions.AddKind(*resource);
    }
    if (!resource->is_review) {
      paths[PathOf(*resource)] = {{"patch", PatchOperation(*resource, true)}};
    }
  }
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "Kubernetes"}, {"version", "v1.36.0-stub"}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", definitions.Take()}}}};
}

}  // namespace kgpu::apiserver
