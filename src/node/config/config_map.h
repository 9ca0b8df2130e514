// Reads the configuration of a device plugin from a ConfigMap.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::config {

struct ConfigMapEntry {
  std::string name;  // for errors: "file.yaml: data.KEY"
  std::string text;
};

// The entry `key` of a ConfigMap in YAML or JSON, or its only entry if `key` is empty. Nothing if
// the text is not a ConfigMap. Errors: InvalidArgument (unreadable; no such key, or several to
// choose from: lists the keys; a key although the text is not a ConfigMap).
StatusOr<std::optional<ConfigMapEntry>> ReadConfigMap(std::string_view text, std::string_view file,
                                                      std::string_view key);

}  // namespace kgpu::config
