// One Kubernetes object as people read it and as programs apply it.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::chart {

struct Manifest {
  std::string text;  // YAML with comments, without "---"; ends with a newline
  boost::json::object object;
  std::string source;  // the chart's file: "templates/agent.yaml"
};

// "" if the field is missing or is no string.
std::string_view KindOf(const Manifest& manifest);
std::string_view NameOf(const Manifest& manifest);
std::string_view SpaceOf(const Manifest& manifest);

// All of them as one YAML file with comments, or as one JSON object of kind List.
std::string PrintYaml(const std::vector<Manifest>& manifests);
std::string PrintJson(const std::vector<Manifest>& manifests);

// Splits rendered YAML into objects; what has only comments is left out. `source` names the file in
// errors. Errors: InvalidArgument.
StatusOr<std::vector<Manifest>> SplitManifests(std::string_view text, std::string_view source);

// Sorts into the order of installation: what others need comes first. Keeps the order within a
// kind.
void SortForApply(std::vector<Manifest>& manifests);

}  // namespace kgpu::chart
