#include "src/node/config/config_map.h"

#include <boost/json.hpp>

#include <vector>

#include "src/node/config/node_config.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

const json::value* FieldOf(const json::value& value, std::string_view name) {
  const json::object* fields = value.if_object();
  return fields == nullptr ? nullptr : fields->if_contains(name);
}

bool IsConfigMap(const json::value& root) {
  const json::value* kind = FieldOf(root, "kind");
  return kind != nullptr && kind->is_string() && kind->get_string() == "ConfigMap";
}

std::vector<std::string> KeysOf(const json::object& data) {
  std::vector<std::string> keys;
  for (const auto& field : data) {
    keys.emplace_back(field.key());
  }
  return keys;
}

}  // namespace

StatusOr<std::optional<ConfigMapEntry>> ReadConfigMap(std::string_view text, std::string_view file,
                                                      std::string_view key) {
  const doc::Format format = file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  ASSIGN_OR_RETURN(const json::value root,
                   doc::Parse(text, format, file, doc::Limits{.bytes = kMaxConfigBytes}));
  if (!IsConfigMap(root)) {
    if (!key.empty()) {
      return InvalidArgument("--key: {} is not a ConfigMap: leave --key out", file);
    }
    return std::nullopt;
  }
  const json::value* field = FieldOf(root, "data");
  const json::object* data = field == nullptr ? nullptr : field->if_object();
  const std::vector<std::string> keys =
      data == nullptr ? std::vector<std::string>() : KeysOf(*data);
  if (keys.empty()) {
    return InvalidArgument("{}: data: this ConfigMap is empty: name one with a configuration",
                           file);
  }
  if (key.empty() && keys.size() > 1) {
    return InvalidArgument(
        "{}: this ConfigMap has several configurations: choose one with --key: {}", file,
        Join(keys, ", "));
  }
  const std::string chosen(key.empty() ? keys.front() : key);
  const json::value* entry = data->if_contains(chosen);
  if (entry == nullptr || !entry->is_string()) {
    return InvalidArgument("--key: {} has no text \"{}\": it has {}", file, Printable(chosen, 60),
                           Join(keys, ", "));
  }
  return ConfigMapEntry{.name = fmt::format("{}: data.{}", file, chosen),
                        .text = std::string(entry->get_string())};
}

}  // namespace kgpu::config
