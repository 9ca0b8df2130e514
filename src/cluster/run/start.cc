#include "src/cluster/run/start.h"

#include <boost/json.hpp>

#include <utility>

#include "src/cluster/run/images.h"
#include "src/cluster/run/manifests.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/kube/objects/kinds.h"
#include "src/kube/objects/remove_set.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kPause{1'000};
constexpr milliseconds kReachTime{30'000};
// Explaining reads much: no more often than that, and not before a pod had time to get a node.
constexpr milliseconds kExplainEvery{15'000};
constexpr milliseconds kFirstNote{3'000};
constexpr std::string_view kNodeChunk = "100";

StatusOr<std::vector<NodeGpus>> ReadNodes(kube::BlockingClient& client) {
  std::vector<NodeGpus> nodes;
  std::string next;
  do {
    kube::ApiRequest request{.path = kube::kNodes.Collection(),
                             .query = {{"limit", std::string(kNodeChunk)}}};
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(const json::value answer, client.Send(std::move(request)));
    if (const json::value* items = kube::FindField(answer, {"items"});
        items != nullptr && items->is_array()) {
      for (const json::value& item : items->get_array()) {
        nodes.push_back(ReadNodeGpus(item));
      }
    }
    next = std::string(kube::TextField(answer, {"metadata", "continue"}));
  } while (!next.empty());
  return nodes;
}

StatusOr<std::optional<CudaNeed>> CudaOf(const StartDeps& deps, const RunRequest& request) {
  if (!request.cuda.empty()) {
    ASSIGN_OR_RETURN(CudaNeed need, ParseCuda(request.cuda, "--cuda"));
    return std::optional(std::move(need));
  }
  if (const BuiltinImage* image = FindBuiltin(request.image); image != nullptr) {
    ASSIGN_OR_RETURN(CudaNeed need, ParseCuda(image->cuda, image->source));
    return std::optional(std::move(need));
  }
  std::optional<CudaNeed> need = deps.find_cuda(request.image);
  if (const std::string cuda = CudaOfTag(request.image); !need && !cuda.empty()) {
    ASSIGN_OR_RETURN(need, ParseCuda(cuda, "its tag"));
  }
  if (!need) {
    deps.note(fmt::format(
        "{}: its CUDA version is not known here and was not checked against the nodes' drivers: "
        "--cuda names it, `kgpu doctor image` finds it where the image is",
        request.image));
  }
  return need;
}

// What somebody asked for that no node can be.
std::string UnknownModels(const RunRequest& request, const Placement& placement) {
  if (request.models.empty()) {
    return "";
  }
  return fmt::format("  wanted: {}; models of the cluster: {}\n", Join(request.models, " or "),
                     placement.models.empty() ? "none is labelled" : Join(placement.models, ", "));
}

StatusOr<std::string> PathOfObject(kube::Kinds& kinds, const json::value& object, bool is_new) {
  ASSIGN_OR_RETURN(std::string path, kinds.PathOf(kube::RefOf(object)));
  return is_new ? path.substr(0, path.rfind('/')) : path;
}

Status CreateOne(const StartDeps& deps, kube::Kinds& kinds, const json::value& object,
                 bool is_dry_run, std::vector<kube::RemoveTarget>& created) {
  ASSIGN_OR_RETURN(const std::string collection, PathOfObject(kinds, object, true));
  const StatusOr<json::value> answer = deps.client.Send(kube::CreateRequest(
      collection, object,
      {.field_manager = std::string(kManager), .is_dry_run = is_dry_run, .is_strict = true}));
  if (answer.status().code() == StatusCode::kAlreadyExists) {
    return AlreadyExists("{} exists: choose another --name, or remove it with kgpu run stop",
                         kube::TextOf(kube::RefOf(object)));
  }
  if (answer.status().code() == StatusCode::kInvalidArgument &&
      kube::TextField(object, {"kind"}) == "Service") {
    return InvalidArgument("{}: choose another --node-port, or 0 for any free one",
                           Message(answer.status()));
  }
  RETURN_IF_ERROR(Annotate(answer.status(), "{}", kube::TextOf(kube::RefOf(object))));
  if (!is_dry_run) {
    created.push_back({.ref = kube::RefOf(object),
                       .uid = std::string(kube::TextField(*answer, {"metadata", "uid"}))});
  }
  return OkStatus();
}

bool HasEnded(RunState state) {
  return state == RunState::kSucceeded || state == RunState::kFailed;
}

// Tells people what keeps a run from running, when it changes.
class WaitNotes {
 public:
  explicit WaitNotes(const StartDeps& deps)
      : deps_(deps), next_(deps.client.clock().Now() + kFirstNote) {}

  void See(const RunInfo& run) {
    const SteadyTime now = deps_.client.clock().Now();
    const bool is_explained = run.state == RunState::kPending;
    // What passes at once is not worth a line.
    if (now < next_ && (is_explained || run.problem.empty())) {
      return;
    }
    std::string text = run.problem;
    if (is_explained) {
      next_ = now + kExplainEvery;
      const std::string& maker = run.pod.empty() ? run.name : run.pod;
      if (std::string reason = deps_.explain(run.space, maker); !reason.empty()) {
        text = std::move(reason);
      }
    }
    if (text.empty()) {
      text = fmt::format("{}{}", ToString(run.state),
                         run.node.empty() ? "" : fmt::format(" on {}", run.node));
    }
    if (text != last_) {
      last_ = text;
      deps_.note(fmt::format("{}: {}", run.name, text));
    }
  }
  const std::string& last() const { return last_; }

 private:
  const StartDeps& deps_;
  SteadyTime next_;
  std::string last_;
};

// A server that is away for a moment ends no wait.
StatusOr<RunInfo> FindPatiently(const StartDeps& deps, const RunRequest& request,
                                SteadyTime& unreachable_since) {
  for (;;) {
    StatusOr<RunInfo> run = FindRun(deps.client, request.space, request.name);
    const SteadyTime now = deps.client.clock().Now();
    if (run.ok()) {
      unreachable_since = now;
      return run;
    }
    if (run.status().code() != StatusCode::kUnavailable || now > unreachable_since + kReachTime) {
      return run;
    }
    deps.client.Wait(kPause);
  }
}

// A claim has the scheduler's rules for nodes in itself.
StatusOr<Placement> PlacementOf(const StartDeps& deps, const RunRequest& request) {
  if (!request.claim.empty()) {
    return Placement();
  }
  const StatusOr<std::vector<NodeGpus>> nodes = ReadNodes(deps.client);
  if (nodes.status().code() == StatusCode::kPermissionDenied) {
    deps.note(fmt::format("whether a node can run it is not known: {}", Message(nodes.status())));
  } else {
    RETURN_IF_ERROR(nodes.status());
  }
  ASSIGN_OR_RETURN(const std::optional<CudaNeed> cuda, CudaOf(deps, request));
  ASSIGN_OR_RETURN(Placement placement,
                   Place(request, cuda, nodes.ok() ? *nodes : std::vector<NodeGpus>()));
  for (const std::string& note : placement.notes) {
    deps.note(note);
  }
  return placement;
}

}  // namespace

StatusOr<Prepared> Prepare(const StartDeps& deps, const RunRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const Placement placement, PlacementOf(deps, request));
  Prepared prepared{.objects = ObjectsOf(request, placement)};
  prepared.judgement = deps.judge(PodOf(prepared.objects));
  if (prepared.judgement.prospect == Prospect::kNever) {
    return FailedPrecondition("no node can run it, now or later:\n{}{}",
                              UnknownModels(request, placement), prepared.judgement.text);
  }
  return prepared;
}

Status Create(const StartDeps& deps, const RunRequest& request, const Prepared& prepared,
              bool is_dry_run) {
  kube::Kinds kinds(deps.client);
  std::vector<kube::RemoveTarget> created;
  for (const json::value& object : prepared.objects) {
    Status status = CreateOne(deps, kinds, object, is_dry_run, created);
    if (status.ok()) {
      continue;
    }
    if (created.empty()) {
      return status;
    }
    const Status removed =
        kube::StatusOfResults(kube::RemoveObjects(deps.client, kinds, created, {}));
    if (!removed.ok()) {
      return MakeStatus(
          status.code(),
          fmt::format("{}; what was created could not be removed: {}: kgpu run stop "
                      "{} -n {}",
                      Message(status), Message(removed), request.name, request.space));
    }
    return status;
  }
  return OkStatus();
}

StatusOr<RunInfo> WaitUntilRunning(const StartDeps& deps, const RunRequest& request,
                                   milliseconds timeout) {
  const SteadyTime start = deps.client.clock().Now();
  SteadyTime unreachable_since = start;
  WaitNotes notes(deps);
  for (;;) {
    ASSIGN_OR_RETURN(RunInfo run, FindPatiently(deps, request, unreachable_since));
    const bool is_job = request.kind == RunKind::kJob;
    if (run.state == RunState::kRunning || (is_job && HasEnded(run.state))) {
      return run;
    }
    if (HasEnded(run.state)) {
      return FailedPrecondition("{}: its pod {} has ended: {}: kgpu run logs {} -n {}", run.name,
                                run.pod, run.problem.empty() ? "no reason is known" : run.problem,
                                run.name, run.space);
    }
    notes.See(run);
    if (timeout.count() > 0 && deps.client.clock().Now() + kPause > start + timeout) {
      return DeadlineExceeded("{}: not running after {}: {}", run.name, FormatDuration(timeout),
                              notes.last().empty() ? ToString(run.state) : notes.last());
    }
    deps.client.Wait(kPause);
  }
}

StatusOr<RunInfo> WaitUntilEnded(const StartDeps& deps, const RunRequest& request) {
  SteadyTime unreachable_since = deps.client.clock().Now();
  for (;;) {
    ASSIGN_OR_RETURN(RunInfo run, FindPatiently(deps, request, unreachable_since));
    if (HasEnded(run.state)) {
      return run;
    }
    deps.client.Wait(kPause);
  }
}

Status RemoveRun(const StartDeps& deps, const std::string& space, const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<kube::RemoveTarget> targets, ObjectsOfRun(deps.client, space, name));
  kube::Kinds kinds(deps.client);
  return kube::StatusOfResults(kube::RemoveObjects(deps.client, kinds, std::move(targets), {}));
}

}  // namespace kgpu::run
