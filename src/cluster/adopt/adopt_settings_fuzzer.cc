// Settings of other software: JSON with what a cluster has of them. What is carried over must be
// legal NodeConfigs; a change of a DaemonSet must be reversible.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/cluster/adopt/carry.h"
#include "src/cluster/adopt/changes.h"
#include "src/cluster/adopt/component.h"
#include "src/cluster/adopt/settings.h"
#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"

namespace {

namespace adopt = kgpu::adopt;
namespace config = kgpu::config;
namespace json = boost::json;

void CheckLegal(const config::NodeConfig& one) {
  const auto again = config::ParseNodeConfig(config::PrintNodeConfig(one), "again.yaml");
  if (!again.ok() || !(*again == one)) {
    std::abort();
  }
}

void CheckCarried(const json::value& root) {
  adopt::Foreign foreign;
  const json::value* const null = nullptr;
  const auto at = [&root, null](std::string_view key) {
    const json::value* found = kgpu::kube::FindField(root, {key});
    return found == nullptr ? null : found;
  };
  if (const json::value* set = at("plugin")) {
    foreign.plugins.push_back(adopt::ReadPluginSettings(*set));
  }
  if (const json::value* set = at("exporter")) {
    foreign.exporters.push_back(adopt::ReadExporterSettings(
        *set, adopt::VersionOfImage(kgpu::kube::TextField(root, {"image"}))));
  }
  if (const json::value* policy = at("policy")) {
    foreign.policy = adopt::ReadPolicy(*policy);
  }
  for (const adopt::MapKey& key : adopt::MapsOf(foreign)) {
    const json::value* data = at("data");
    if (data == nullptr || !data->is_object()) {
      continue;
    }
    for (const auto& [name, text] : data->get_object()) {
      if (text.is_string()) {
        foreign.maps[key][name] = text.get_string().c_str();
      }
    }
  }
  const adopt::Carried carried = adopt::Carry(foreign);
  CheckLegal(carried.config);
  for (const auto& [name, named] : carried.named) {
    CheckLegal(named);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)adopt::ReadFieldList(text);
  const auto root = kgpu::doc::Parse(text, kgpu::doc::Format::kJson, "fuzz");
  if (!root.ok()) {
    return 0;
  }
  (void)adopt::ReadWorkload(*root, "DaemonSet");
  CheckCarried(*root);
  (void)adopt::ExcludePatch(*root);
  (void)adopt::RestorePatch(*root);
  const adopt::SeenNode node = adopt::ReadNode(*root);
  (void)adopt::RecordOf(node);
  (void)adopt::ReadPod(*root);
  return 0;
}
