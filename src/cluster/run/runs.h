// The runs that a cluster has: their objects, found by labels, and what became of them.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/run/request.h"
#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/remove_set.h"
#include "src/platform/base/status.h"

namespace kgpu::run {

enum class RunState : uint8_t {
  kPending,   // waits for a node
  kStarting,  // on a node, but not completely running
  kRunning,   // of Jupyter: it answers
  kSucceeded,
  kFailed,
};
// "pending", "starting", …
std::string_view ToString(RunState state);

struct RunInfo {
  std::string name{};
  std::string space{};
  std::string kind{};  // "job"
  int64_t gpus = 0;
  std::string resource{};
  std::string image{};
  RunState state = RunState::kPending;
  std::string problem{};  // what keeps its pod from running; empty: nothing, or unknown
  std::string pod{};      // the newest; empty: there is none
  std::string node{};
  std::string created{};
  int64_t node_port = 0;  // of Jupyter's Service
};

// All of the namespace `space`, or of all namespaces if it is empty; with `name` that one.
// Errors: those of Send.
StatusOr<std::vector<RunInfo>> ListRuns(kube::BlockingClient& client, const std::string& space,
                                        const std::string& name = "");
// The one. Errors: NotFound; those of Send.
StatusOr<RunInfo> FindRun(kube::BlockingClient& client, const std::string& space,
                          const std::string& name);

// Every object of a run that no other object of it owns. Errors: those of Send.
StatusOr<std::vector<kube::RemoveTarget>> ObjectsOfRun(kube::BlockingClient& client,
                                                       const std::string& space,
                                                       const std::string& name);

// "http://10.0.0.7:30061/", with the token if there is one; empty: not known yet. Errors: those of
// Send.
StatusOr<std::string> UrlOf(kube::BlockingClient& client, const RunInfo& run,
                            const std::string& token);
// Jupyter's, from its Secret. Errors: NotFound; those of Send.
StatusOr<std::string> TokenOf(kube::BlockingClient& client, const RunInfo& run);

}  // namespace kgpu::run
