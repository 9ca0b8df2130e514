// Which configuration a node runs: the one that a label names, that of the first selector that
// matches, or the default. Pure functions of the mounted ConfigMaps and the node's labels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/choice/node_selector.h"
#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::choice {

// Labels of the node whose value is the name of a configuration; an empty value counts as none.
inline constexpr std::string_view kConfigLabel = "kgpu.dev/config";
inline constexpr std::string_view kNvidiaLabel = "nvidia.com/device-plugin.config";

// A mounted ConfigMap: configurations under their names, with or without ".yaml", and
// kSelectorsKey.
struct Folder {
  std::string name{};                          // of the ConfigMap: "kgpu-configs"
  std::string path{};                          // "/etc/kgpu/configs", for messages
  std::map<std::string, std::string> files{};  // texts by key
  std::string problem{};                       // why it cannot be read, with the fix
  bool operator==(const Folder&) const = default;
};

struct Folders {
  Folder policy{};   // written by the controller
  Folder configs{};  // an admin's
  bool operator==(const Folders&) const = default;
};

struct Choice {
  std::string name{};  // empty: the default, which the caller reads
  std::string from{};  // the ConfigMap
  std::string file{};  // its path, for messages
  std::string text{};
  std::string why{};  // "label kgpu.dev/config=mig", "selector 2 of kgpu-policy", "default"
  bool operator==(const Choice&) const = default;
};

// Whether the node's labels can change what Choose returns, because a folder has a file. A folder
// that cannot be read counts.
bool IsUsed(const Folders& folders);

// Whether kConfigLabel names a configuration.
bool NamesConfig(const Labels& labels);

// In this order: kConfigLabel, kNvidiaLabel (only if `configs` has a configuration or cannot be
// read), the selectors of `policy`, those of `configs`, the default. A label's name is looked up in
// `configs`, then in `policy`; a selector's in its own folder, then in the other. Errors: NotFound
// (a label or selector names a configuration that neither has: lists those there are),
// InvalidArgument (a folder or its selectors cannot be read, and no label decides).
StatusOr<Choice> Choose(const Folders& folders, const Labels& labels);

// The names of the configurations in a folder, sorted.
std::vector<std::string> NamesIn(const Folder& folder);

struct ReadConfig {
  config::NodeConfig config{};
  std::vector<std::string> notes{};  // what a foreign configuration says in vain
};

// A NodeConfig, or the configuration of NVIDIA's or GKE's device plugin. Errors: as their parsers.
StatusOr<ReadConfig> ReadAnyConfig(std::string_view text, std::string_view file);

}  // namespace kgpu::choice
