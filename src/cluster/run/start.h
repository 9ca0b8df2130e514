// Starts a run: checks that the cluster can serve it, creates its objects, and waits until it runs.
#pragma once

#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/run/placement.h"
#include "src/cluster/run/request.h"
#include "src/cluster/run/runs.h"
#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::run {

enum class Prospect : uint8_t {
  kFits,     // a node has what the pod requests
  kBusy,     // one will have it: other pods use it now, or the node is not ready
  kNever,    // none has it
  kUnknown,  // the nodes could not be read
};

struct Judgement {
  Prospect prospect = Prospect::kUnknown;
  std::string own{};  // what keeps the pod itself waiting, whatever the nodes: a quota; empty: none
  std::string text{};  // the reasons of each node, for people
};

// What a run needs beyond the API server.
struct StartDeps {
  kube::BlockingClient& client;
  // Whether nodes could run a pod that does not exist yet.
  std::function<Judgement(const boost::json::value& pod)> judge;
  // Why a pod of the cluster does not run, in one line; empty: unknown. Of a run that has no pod
  // yet by the name of what makes it: why it cannot.
  std::function<std::string(const std::string& space, const std::string& pod)> explain;
  // The CUDA version that an image needs; nothing: unknown.
  std::function<std::optional<CudaNeed>(const std::string& image)> find_cuda;
  std::function<void(std::string_view)> note;  // a line for people, while it goes on
};

struct Prepared {
  std::vector<boost::json::value> objects{};
  Judgement judgement{};
};

// Reads the nodes and decides where and how the run may run. Errors: FailedPrecondition: no node
// qualifies, with the reasons of each; those of Send.
StatusOr<Prepared> Prepare(const StartDeps& deps, const RunRequest& request);

// Creates the objects; removes them again if one is refused. `is_dry_run`: the server checks them
// and keeps none. Errors: AlreadyExists; InvalidArgument; those of Send.
Status Create(const StartDeps& deps, const RunRequest& request, const Prepared& prepared,
              bool is_dry_run);

// Waits until the run is running or has ended, for as long as it takes if `timeout` is 0, and notes
// what keeps it from running whenever that changes. Errors: DeadlineExceeded; FailedPrecondition (a
// pod ended that should run); NotFound (somebody removed it); those of Send.
StatusOr<RunInfo> WaitUntilRunning(const StartDeps& deps, const RunRequest& request,
                                   std::chrono::milliseconds timeout);
// Waits until a job has ended. Errors: NotFound; those of Send.
StatusOr<RunInfo> WaitUntilEnded(const StartDeps& deps, const RunRequest& request);

// Removes what `name` consists of. Errors: the first one.
Status RemoveRun(const StartDeps& deps, const std::string& space, const std::string& name);

}  // namespace kgpu::run
