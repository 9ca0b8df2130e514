// `kgpu explain pod`: why a pod has its GPU, or not. Pure functions.
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
  kStarting,  // on a node, but not completely running
  kRunning,
  kSucceeded,
  kFailed,
  kAllocated,  // of a claim
};
// "absent", "pending", …
std::string_view ToString(State state);

// A node's devices of a resource that the pod requests; for a claim, of a class.
struct Stock {
  std::string resource{};
  Amount capacity{};
  Amount allocatable{};
  Amount free{};
  Amount own{};               // held by the pod itself; not part of `free`
  bool is_free_known = true;  // false: the other pods on the node were not read
};

struct NodeVerdict {
  std::string name{};
  std::vector<Stock> stocks{};
  Reasons reasons{};
  bool fits() const { return !report::HasError(reasons); }
};

struct Report {
  std::string kind = "pod";  // or claim
  std::string name{};        // "team-a/train"
  State state = State::kAbsent;
  std::string verdict{};                       // one line
  std::string node{};                          // where it is; empty: nowhere
  std::map<std::string, std::string> wants{};  // resource → amount; claim → its request
  std::vector<std::string> has{};              // devices, as far as known
  Reasons reasons{};                           // its own
  // Nodes that have GPUs or what the pod requests, best match first; for a pod on a node, only that
  // node.
  std::vector<NodeVerdict> nodes{};
  size_t other_nodes = 0;  // number of nodes that are not in `nodes`
  std::vector<std::string> not_judged{};
  std::vector<std::string> unreadable{};
};

Report Explain(const Facts& facts);

// Whether a pod without a node could get one once others end, or nodes recover; false: no node has
// what it requests. True for a pod that has a node.
enum class OtherPods : uint8_t { kJudged, kLeftOut };  // of the facts that `report` is from
bool MayFitLater(const Report& report, OtherPods others = OtherPods::kJudged);

// Whether the pod has what it requests: it runs or has completed, and nothing is wrong with it; of
// a claim, whether it is allocated.
bool IsHealthy(const Report& report);

}  // namespace kgpu::explain
