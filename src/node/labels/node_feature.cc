#include "src/node/labels/node_feature.h"

#include <boost/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

namespace json = boost::json;
using Strings = std::map<std::string, std::string>;

bool IsUnpublished(std::string_view feature, std::span<const std::string> patterns) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    return pattern.ends_with('*') ? feature.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : feature == pattern;
  });
}

json::object PrintStrings(const Strings& strings) {
  json::object object;
  object.reserve(strings.size());
  for (const auto& [key, value] : strings) {
    object.emplace(key, value);
  }
  return object;
}

json::value Print(const features::Flags& flags) {
  json::object elements;
  for (const std::string& flag : flags) {
    elements.emplace(flag, json::object());
  }
  return elements;
}

json::value Print(const features::Attributes& attributes) {
  return PrintStrings(attributes);
}

json::value Print(const features::Instances& instances) {
  json::array elements;
  for (const features::Attributes& instance : instances) {
    elements.push_back(json::object{{"attributes", PrintStrings(instance)}});
  }
  return elements;
}

template <typename Map>
json::object PrintKind(const Map& features, std::span<const std::string> unpublished) {
  json::object object;
  for (const auto& [name, elements] : features) {
    if (!IsUnpublished(name, unpublished)) {
      object.emplace(name, json::object{{"elements", Print(elements)}});
    }
  }
  return object;
}

Status MustBe(std::string_view path, std::string_view kind) {
  return InvalidArgument("{} must be {}", Printable(path, 120), kind);
}

// Null for what is not there: an empty map of Go is often left out or null.
StatusOr<const json::object*> ObjectAt(const json::object& parent, std::string_view name,
                                       std::string_view path) {
  const json::value* value = parent.if_contains(name);
  if (value == nullptr || value->is_null()) {
    return nullptr;
  }
  const json::object* object = value->if_object();
  if (object == nullptr) {
    return MustBe(path, "a map");
  }
  return object;
}

Status ReadStrings(const json::object& object, std::string_view path, Strings& strings) {
  for (const auto& field : object) {
    const std::string key(field.key().data(), field.key().size());
    const json::string* text = field.value().if_string();
    if (text == nullptr) {
      return MustBe(fmt::format("{}.{}", path, key), "a string");
    }
    strings.insert_or_assign(key, std::string(text->data(), text->size()));
  }
  return OkStatus();
}

Status Read(const json::value& elements, std::string_view path, features::Flags& flags) {
  const json::object* object = elements.if_object();
  if (object == nullptr) {
    return MustBe(path, "a map");
  }
  for (const auto& field : *object) {
    flags.emplace(field.key().data(), field.key().size());
  }
  return OkStatus();
}

Status Read(const json::value& elements, std::string_view path, features::Attributes& attributes) {
  const json::object* object = elements.if_object();
  return object == nullptr ? MustBe(path, "a map") : ReadStrings(*object, path, attributes);
}

Status Read(const json::value& elements, std::string_view path, features::Instances& instances) {
  const json::array* items = elements.if_array();
  if (items == nullptr) {
    return MustBe(path, "a list");
  }
  for (size_t i = 0; i < items->size(); ++i) {
    const std::string item_path = fmt::format("{}[{}].attributes", path, i);
    const json::object* item = (*items)[i].if_object();
    if (item == nullptr) {
      return MustBe(fmt::format("{}[{}]", path, i), "a map");
    }
    ASSIGN_OR_RETURN(const json::object* attributes, ObjectAt(*item, "attributes", item_path));
    instances.emplace_back();
    if (attributes != nullptr) {
      RETURN_IF_ERROR(ReadStrings(*attributes, item_path, instances.back()));
    }
  }
  return OkStatus();
}

template <typename Map>
Status ReadKind(const json::object& features, std::string_view kind, Map& map) {
  const std::string path = fmt::format("spec.features.{}", kind);
  ASSIGN_OR_RETURN(const json::object* named, ObjectAt(features, kind, path));
  if (named == nullptr) {
    return OkStatus();
  }
  for (const auto& field : *named) {
    const std::string name(field.key().data(), field.key().size());
    const std::string field_path = fmt::format("{}.{}", path, name);
    const json::object* set = field.value().if_object();
    if (set == nullptr) {
      return MustBe(field_path, "a map");
    }
    typename Map::mapped_type& elements = map[name];
    const json::value* held = set->if_contains("elements");
    if (held != nullptr && !held->is_null()) {
      RETURN_IF_ERROR(Read(*held, field_path + ".elements", elements));
    }
  }
  return OkStatus();
}

Status ReadMetadata(const json::object& object, NodeFeature& feature) {
  ASSIGN_OR_RETURN(const json::object* metadata, ObjectAt(object, "metadata", "metadata"));
  if (metadata == nullptr) {
    return InvalidArgument("metadata is missing");
  }
  for (const auto& [name, target] :
       {std::pair("name", &feature.name), std::pair("namespace", &feature.name_space)}) {
    const json::value* value = metadata->if_contains(name);
    if (value != nullptr && value->is_string()) {
      *target = json::value_to<std::string>(*value);
    }
  }
  ASSIGN_OR_RETURN(const json::object* labels, ObjectAt(*metadata, "labels", "metadata.labels"));
  const json::value* node =
      labels == nullptr
          ? nullptr
          : labels->if_contains(json::string_view(kNodeNameLabel.data(), kNodeNameLabel.size()));
  if (node == nullptr || !node->is_string() || node->get_string().empty()) {
    return InvalidArgument("the label {} is missing: it names the node", kNodeNameLabel);
  }
  feature.node = json::value_to<std::string>(*node);
  return OkStatus();
}

Status ReadSpec(const json::object& object, NodeFeature& feature) {
  ASSIGN_OR_RETURN(const json::object* spec, ObjectAt(object, "spec", "spec"));
  if (spec == nullptr) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const json::object* labels, ObjectAt(*spec, "labels", "spec.labels"));
  if (labels != nullptr) {
    RETURN_IF_ERROR(ReadStrings(*labels, "spec.labels", feature.labels));
  }
  ASSIGN_OR_RETURN(const json::object* features, ObjectAt(*spec, "features", "spec.features"));
  if (features == nullptr) {
    return OkStatus();
  }
  RETURN_IF_ERROR(ReadKind(*features, "flags", feature.features.flags));
  RETURN_IF_ERROR(ReadKind(*features, "attributes", feature.features.attributes));
  return ReadKind(*features, "instances", feature.features.instances);
}

}  // namespace

json::value PrintNodeFeature(const NodeFeature& feature, std::span<const std::string> unpublished) {
  json::object metadata{{"name", feature.name}};
  if (!feature.name_space.empty()) {
    metadata.emplace("namespace", feature.name_space);
  }
  metadata.emplace("labels", PrintStrings({{std::string(kNodeNameLabel), feature.node}}));
  // The API wants all three kinds, empty ones too.
  json::object kinds{{"flags", PrintKind(feature.features.flags, unpublished)},
                     {"attributes", PrintKind(feature.features.attributes, unpublished)},
                     {"instances", PrintKind(feature.features.instances, unpublished)}};
  return json::object{{"apiVersion", std::string(kNfdGroupVersion)},
                      {"kind", "NodeFeature"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::object{{"features", std::move(kinds)},
                                            {"labels", PrintStrings(feature.labels)}}}};
}

StatusOr<NodeFeature> ReadNodeFeature(const json::value& object) {
  const json::object* fields = object.if_object();
  if (fields == nullptr) {
    return MustBe("a NodeFeature", "a map");
  }
  NodeFeature feature;
  Status status = ReadMetadata(*fields, feature);
  if (status.ok()) {
    status = ReadSpec(*fields, feature);
  }
  if (!status.ok()) {
    return Annotate(status, "NodeFeature \"{}\"", Printable(feature.name, 80));
  }
  return feature;
}

void SortNodeFeatures(std::vector<NodeFeature>& objects, std::string_view own_namespace) {
  std::ranges::sort(objects, {}, [&](const NodeFeature& object) {
    return std::tuple(object.name_space != own_namespace, std::string_view(object.name),
                      std::string_view(object.name_space));
  });
}

}  // namespace kgpu::labels
