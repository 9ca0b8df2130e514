// CustomResourceDefinitions: their schemas and versions as resources.
#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

std::vector<std::string> Texts(const json::array& list) {
  std::vector<std::string> texts;
  for (const json::value& item : list) {
    texts.push_back(PlainText(&item));
  }
  return texts;
}

std::optional<double> Number(const json::object& from, std::string_view name) {
  const json::value* value = FieldAt(from, {name});
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>())
                                                : std::nullopt;
}

std::optional<size_t> Size(const json::object& from, std::string_view name) {
  const int64_t number = NumberAt(from, {name}, -1);
  return number < 0 ? std::nullopt : std::optional(static_cast<size_t>(number));
}

// Turns openAPIV3Schema into ours.
class StructuralSchema {
 public:
  StructuralSchema(SchemaSet& set, const SchemaSet& builtin) : set_(set), builtin_(builtin) {}

  const Schema* Root(const json::object& from, std::string_view name) {
    Schema& root = Read(from);
    root.name = name;
    AddField(root, "apiVersion", "string");
    AddField(root, "kind", "string");
    std::erase_if(root.fields, [](const auto& field) { return field.first == "metadata"; });
    root.fields.emplace_back("metadata",
                             builtin_.Find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    return &root;
  }

 private:
  void AddField(Schema& root, std::string_view name, std::string_view type) {
    if (root.Field(name) == nullptr) {
      root.fields.emplace_back(name, &Read({{"type", type}}));
    }
  }

  Schema& Read(const json::object& from) {
    Schema& schema = set_.Make();
    schema.kind = KindOf(from);
    schema.format = TextAt(from, {"format"});
    schema.description = TextAt(from, {"description"});
    schema.is_nullable = FlagAt(from, {"nullable"});
    schema.is_open = FlagAt(from, {"x-kubernetes-preserve-unknown-fields"});
    schema.is_atomic = TextAt(from, {"x-kubernetes-map-type"}) == "atomic";
    schema.required = Texts(ItemsAt(from, {"required"}));
    schema.allowed = Texts(ItemsAt(from, {"enum"}));
    schema.minimum = Number(from, "minimum");
    schema.maximum = Number(from, "maximum");
    schema.min_length = Size(from, "minLength");
    schema.max_length = Size(from, "maxLength");
    schema.min_items = Size(from, "minItems");
    schema.max_items = Size(from, "maxItems");
    schema.pattern = TextAt(from, {"pattern"});
    if (const json::value* value = FieldAt(from, {"default"}); value != nullptr) {
      schema.default_json = json::serialize(*value);
    }
    ReadChildren(from, schema);
    return schema;
  }

  static SchemaKind KindOf(const json::object& from) {
    const std::string_view type = TextAt(from, {"type"});
    if (FlagAt(from, {"x-kubernetes-int-or-string"})) {
      return SchemaKind::kIntOrString;
    }
    if (type == "object") {
      const bool is_map = FieldAt(from, {"additionalProperties"}) != nullptr;
      const bool is_any = FieldAt(from, {"properties"}) == nullptr &&
                          FlagAt(from, {"x-kubernetes-preserve-unknown-fields"});
      return is_any ? SchemaKind::kAny : is_map ? SchemaKind::kMap : SchemaKind::kStruct;
    }
    static const std::map<std::string_view, SchemaKind> kKinds = {{"string", SchemaKind::kString},
                                                                  {"integer", SchemaKind::kInteger},
                                                                  {"number", SchemaKind::kNumber},
                                                                  {"boolean", SchemaKind::kBoolean},
                                                                  {"array", SchemaKind::kList}};
    const auto found = kKinds.find(type);
    return found == kKinds.end() ? SchemaKind::kAny : found->second;
  }

  void ReadChildren(const json::object& from, Schema& schema) {
    if (const json::object* properties = ObjectAt(from, {"properties"}); properties != nullptr) {
      for (const auto& [name, property] : *properties) {
        if (property.is_object()) {
          schema.fields.emplace_back(name, &Read(property.get_object()));
        }
      }
    }
    const std::string_view inner =
        schema.kind == SchemaKind::kList ? "items" : "additionalProperties";
    if (const json::object* element = ObjectAt(from, {inner}); element != nullptr) {
      schema.element = &Read(*element);
    }
    const std::string_view type = TextAt(from, {"x-kubernetes-list-type"});
    schema.list_type = type == "set"   ? ListType::kSet
                       : type == "map" ? ListType::kMap
                                       : ListType::kAtomic;
    for (const std::string& key : Texts(ItemsAt(from, {"x-kubernetes-list-map-keys"}))) {
      schema.keys.emplace_back(key, KeyDefault(schema.element, key));
    }
  }

  static std::optional<std::string> KeyDefault(const Schema* element, std::string_view key) {
    const Schema* field = element == nullptr ? nullptr : element->Field(key);
    if (field == nullptr || field->default_json.empty()) {
      return std::nullopt;
    }
    const json::value value = json::parse(field->default_json);
    return PlainText(&value);
  }

  SchemaSet& set_;
  const SchemaSet& builtin_;
};

std::vector<Column> ColumnsOf(const json::object& version) {
  std::vector<Column> columns;
  for (const json::value& item : ItemsAt(version, {"additionalPrinterColumns"})) {
    if (const json::object* column = item.if_object(); column != nullptr) {
      columns.push_back({.name = std::string(TextAt(*column, {"name"})),
                         .type = std::string(TextAt(*column, {"type"})),
                         .description = std::string(TextAt(*column, {"description"})),
                         .json_path = std::string(TextAt(*column, {"jsonPath"})),
                         .priority = static_cast<int>(NumberAt(*column, {"priority"}, 0))});
    }
  }
  return columns;
}

// "com.example.v1.Widget" of the group example.com.
std::string DefinitionName(const Resource& resource) {
  std::string name;
  const std::vector<std::string_view> parts = Split(resource.group, '.');
  for (size_t i = parts.size(); i > 0; --i) {
    name += parts[i - 1];
    name += '.';
  }
  return fmt::format("{}{}.{}", name, resource.version, resource.kind);
}

void ReadVersion(const json::object& version, const SchemaSet& builtin, Resource& resource) {
  resource.version = TextAt(version, {"name"});
  resource.has_status = FieldAt(version, {"subresources", "status"}) != nullptr;
  resource.columns = ColumnsOf(version);
  for (const json::value& item : ItemsAt(version, {"selectableFields"})) {
    if (const json::object* field = item.if_object(); field != nullptr) {
      const std::string_view path = TextAt(*field, {"jsonPath"});
      resource.selectable.emplace_back(path.starts_with('.') ? path.substr(1) : path);
    }
  }
  if (const json::object* schema = ObjectAt(version, {"schema", "openAPIV3Schema"});
      schema != nullptr) {
    const auto set = std::make_shared<SchemaSet>();
    resource.schema = StructuralSchema(*set, builtin).Root(*schema, DefinitionName(resource));
    resource.schema_owner = set;
  }
}

}  // namespace

std::vector<Resource> CustomResources(const json::object& crd, const SchemaSet& builtin) {
  Resource base{.group = std::string(TextAt(crd, {"spec", "group"})),
                .plural = std::string(TextAt(crd, {"spec", "names", "plural"})),
                .singular = std::string(TextAt(crd, {"spec", "names", "singular"})),
                .kind = std::string(TextAt(crd, {"spec", "names", "kind"})),
                .short_names = Texts(ItemsAt(crd, {"spec", "names", "shortNames"})),
                .categories = Texts(ItemsAt(crd, {"spec", "names", "categories"})),
                .is_namespaced = TextAt(crd, {"spec", "scope"}) == "Namespaced",
                .has_generation = true,
                .is_custom = true,
                .needs_version_to_update = true};
  if (base.singular.empty()) {
    base.singular = ToLower(base.kind);
  }
  std::vector<Resource> resources;
  for (const json::value& item : ItemsAt(crd, {"spec", "versions"})) {
    if (const json::object* version = item.if_object();
        version != nullptr && FlagAt(*version, {"served"})) {
      ReadVersion(*version, builtin, resources.emplace_back(base));
    }
  }
  return resources;
}

}  // namespace kgpu::apiserver
