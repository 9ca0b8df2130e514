// `kgpu explain pod`: why a pod has, or has not, its GPU. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/facts.h"
#include "src/diagnose/explain/reason.h"

namespace kgpu::explain {

enum class State : uint8_t {
  kAbsent,    // no server has it
  kPending,   // on no node
  kStarting,  // on a node, and not all of it runs
  kRunning,
  kSucceeded,
  kFailed,
};
// "absent", "pending", …
std::string_view ToString(State state);

// What a node has of a resource that the pod asks for.
struct Stock {
  std::string resource{};
  Amount capacity{};
  Amount allocatable{};
  Amount free{};
  Amount own{};               // what the pod itself has of it; not part of `free`
  bool is_free_known = true;  // false: who else is on the node was not read
};

struct NodeVerdict {
  std::string name{};
  std::vector<Stock> stocks{};
  Reasons reasons{};
  bool fits() const { return !report::HasError(reasons); }
};

struct Report {
  std::string pod{};  // "team-a/train"
  State state = State::kAbsent;
  std::string verdict{};                       // one line
  std::string node{};                          // where it is; empty: nowhere
  std::map<std::string, std::string> wants{};  // resource → amount; claim → what it asks for
  std::vector<std::string> has{};              // devices, as far as they are known
  Reasons reasons{};                           // the pod's own
  // Those that have GPUs or what the pod asks for, nearest first; of a pod that is on a node, that
  // one.
  std::vector<NodeVerdict> nodes{};
  size_t other_nodes = 0;  // that are not among them
  std::vector<std::string> not_judged{};
  std::vector<std::string> unreadable{};
};

Report Explain(const Facts& facts);

// Whether the pod has what it asks for: it runs or has ended well, and nothing is wrong with it.
bool IsHealthy(const Report& report);

}  // namespace kgpu::explain
