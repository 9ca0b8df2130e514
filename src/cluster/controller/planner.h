// From what the controller knows to what it does next. A pure function of the model and the time:
// it runs again whenever something has changed, and remembers nothing.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/controller/model.h"
#include "src/cluster/controller/work.h"
#include "src/cluster/controller/writes.h"
#include "src/platform/base/clock.h"

namespace kgpu::controller {

// What a group looks like now.
struct GroupSummary {
  std::string name{};
  size_t nodes = 0;  // with GPUs
  size_t ready = 0;
  size_t up_to_date = 0;
  size_t upgrading = 0;  // without the failed ones
  size_t failed = 0;
  size_t quarantined = 0;
  size_t unavailable = 0;
  std::string hold{};                   // why no further node starts
  std::string driver_problem{};         // why the driver cannot be replaced
  std::vector<std::string> problems{};  // of nodes, the first few
  std::vector<std::string> overlaps{};  // nodes that another group selects, too; the first few
  std::set<std::string> starting{};     // nodes that may be cordoned
};

struct PolicySummary {
  std::vector<GroupSummary> groups{};
  std::set<std::string> starting{};
};

struct Plan {
  std::vector<Work> work{};  // the most urgent first
  std::map<std::string, PolicySummary> policies{};
};

// `may_start`: whether the model is current enough to take another node.
Plan MakePlan(const Model& model, const PodSettings& pods, WallTime now, bool may_start = true);

}  // namespace kgpu::controller
