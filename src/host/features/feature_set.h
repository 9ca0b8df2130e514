// What we found out about a host, under the names of Node Feature Discovery ("cpu.cpuid",
// "pci.device"): rules written for NFD match on these.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kgpu::features {

using Flags = std::set<std::string>;
using Attributes = std::map<std::string, std::string>;
using Instances = std::vector<Attributes>;

// A feature that was read but is empty is present without content; one whose source was not
// requested is absent. A plain value: compared, printed, matched.
struct FeatureSet {
  std::map<std::string, Flags> flags;
  std::map<std::string, Attributes> attributes;
  std::map<std::string, Instances> instances;
  bool operator==(const FeatureSet&) const = default;
};

}  // namespace kgpu::features
