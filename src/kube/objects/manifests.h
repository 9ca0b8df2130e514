// The objects in a manifest: YAML with any number of documents, or JSON.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::kube {

struct ManifestObject {
  boost::json::value object;
  std::string where{};  // "kgpu.yaml:12"
};

// In the order of the text; a List stands for its items. `file` is used in errors and positions.
// Errors: InvalidArgument with the position: a syntax error, something that is no object, a missing
// apiVersion, kind or metadata.name, the same object twice.
StatusOr<std::vector<ManifestObject>> ParseManifests(std::string_view text, std::string_view file);

}  // namespace kgpu::kube
