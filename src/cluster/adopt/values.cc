#include "src/cluster/adopt/values.h"

#include <boost/json.hpp>

#include <fmt/format.h>

#include <string>

#include "src/platform/doc/doc.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;

// Without what is as by default: an installation should show what was carried over.
json::object ShortConfig(const config::NodeConfig& config) {
  const auto tree_of = [](const config::NodeConfig& one) {
    auto tree = doc::Parse(config::PrintNodeConfig(one), doc::Format::kYaml, "config");
    return tree.ok() && tree->is_object() ? std::move(tree->get_object()) : json::object();
  };
  const json::object plain = tree_of(config::DefaultNodeConfig());
  json::object shorter;
  for (const auto& [key, value] : tree_of(config)) {
    const json::value* usual = plain.if_contains(key);
    const bool is_needed = key == "apiVersion" || key == "kind";
    if (is_needed || usual == nullptr || *usual != value) {
      shorter[key] = value;
    }
  }
  return shorter;
}

}  // namespace

json::object ValuesOf(const Carried& carried) {
  json::object values{{"config", ShortConfig(carried.config)}};
  json::object configs;
  for (const auto& [key, config] : carried.named) {
    configs[key] = doc::Print(ShortConfig(config), doc::Format::kYaml);
  }
  if (!configs.empty()) {
    values["configs"] = std::move(configs);
  }
  if (!carried.driver_root.empty()) {
    values["agent"] = json::object{{"driverRoot", carried.driver_root}};
  }
  return values;
}

}  // namespace kgpu::adopt
