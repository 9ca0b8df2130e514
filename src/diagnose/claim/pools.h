// The devices of ResourceSlices as the scheduler sees them. Pure functions; fields that are missing
// are empty.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/diagnose/explain/facts.h"
#include "src/kube/cel/value.h"
#include "src/platform/base/amount.h"

namespace kgpu::claim {

// The nodes that can use a device.
struct NodeChoice {
  std::string node{};
  bool is_every_node = false;
  std::vector<explain::SelectorTerm> terms{};
};
bool Reaches(const NodeChoice& choice, const explain::Node& node);

// A capacity, and the shares of it that a request can have. Without a policy a request that does
// not name the capacity takes all of it.
struct Capacity {
  Amount value{};
  std::optional<Amount> preset{};  // for a request that does not name it: the policy's `default`
  std::vector<Amount> values{};    // valid ones, ascending
  std::optional<Amount> least{};   // of a valid range
  std::optional<Amount> most{};
  std::optional<Amount> step{};
};

// Identifies a device: driver, pool, device.
using DeviceKey = std::tuple<std::string, std::string, std::string>;

struct Device {
  std::string driver{};
  std::string pool{};
  std::string name{};
  cel::Value value{};  // the variable `device` of selectors
  // By full name, as JSON: equal texts are equal values.
  std::map<std::string, std::string, std::less<>> attributes{};
  std::map<std::string, Capacity, std::less<>> capacity{};  // by the name in the slice
  std::map<std::string, Amounts, std::less<>> consumes{};   // by counter set
  std::vector<explain::Taint> taints{};                     // NoSchedule and NoExecute
  bool is_shared = false;                                   // allowMultipleAllocations
  NodeChoice nodes{};

  DeviceKey Key() const { return {driver, pool, name}; }
};

struct Pool {
  std::string driver{};
  std::string name{};
  std::vector<Device> devices{};                           // in the scheduler's order
  std::map<std::string, Amounts, std::less<>> counters{};  // by counter set
  bool has_conditions = false;                             // a device has bindingConditions
  // Why the scheduler takes no devices from it; empty: it does.
  std::string incomplete{};  // a slice is missing: passes once the driver has written it
  std::string invalid{};     // also ends the search for all devices of the node
};

// The slices of a pool's newest generation.
struct PoolSlices {
  std::string driver{};
  std::string name{};
  std::vector<const boost::json::value*> slices{};  // in the scheduler's order
};

// In the scheduler's order. Borrows the slices.
std::vector<PoolSlices> GroupSlices(const std::vector<const boost::json::value*>& slices);
// The pools that have a device for `node`.
std::vector<Pool> PoolsFor(const explain::Node& node, const std::vector<PoolSlices>& groups);

// Adds the taint of a DeviceTaintRule to the devices that it selects: an empty field selects all.
void ApplyTaintRule(const boost::json::value& rule, std::vector<Pool>& pools);

// "gpu.nvidia.com/memory" for "memory" of that driver.
std::string FullName(std::string_view name, std::string_view driver);

}  // namespace kgpu::claim
