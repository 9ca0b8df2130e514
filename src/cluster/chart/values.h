// The values of the chart: defaults, a distribution's preset, the user's files and settings, merged
// as helm merges them and checked against values.schema.json.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::chart {

inline constexpr std::string_view kNamespace = "kgpu";

struct ValuesFile {
  std::string name;  // in errors
  std::string text;  // YAML
};

struct ValuesRequest {
  std::string name_space{kNamespace};
  std::string distribution{};           // one of Distributions(); "": none
  std::vector<ValuesFile> files{};      // later ones win
  std::vector<std::string> settings{};  // "agent.kubeletDir=/var/lib/kubelet"; they win over files
};

// Complete and valid.
struct Values {
  std::string name_space;
  boost::json::object tree;
};

// "k3s", "kind", …: those that have a file values-NAME.yaml, sorted.
std::vector<std::string> Distributions();

// Maps are merged, everything else is replaced; null takes an entry of a free map away. Errors:
// InvalidArgument, a line for each problem: "site.yaml:3:7: agent: unknown key …".
StatusOr<Values> ReadValues(const ValuesRequest& request);

}  // namespace kgpu::chart
