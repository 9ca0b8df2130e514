#include "src/kube/objects/readiness.h"

#include <boost/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "src/kube/api/conditions.h"
#include "src/kube/api/json.h"
#include "src/kube/api/lister.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kReadyPause{1'000};

int64_t Count(const json::value& object, std::string_view key) {
  return IntField(object, {"status", key}).value_or(0);
}

bool IsObserved(const json::value& object) {
  return Count(object, "observedGeneration") >=
         IntField(object, {"metadata", "generation"}).value_or(0);
}

Readiness DaemonSetReadiness(const json::value& object) {
  if (!IsObserved(object)) {
    return {.text = "waits for the DaemonSet controller"};
  }
  const int64_t desired = Count(object, "desiredNumberScheduled");
  const int64_t updated = Count(object, "updatedNumberScheduled");
  const int64_t available = Count(object, "numberAvailable");
  return {.is_ready = updated >= desired && available >= desired,
          .text = updated < desired
                      ? fmt::format("{} of {} pods are updated", updated, desired)
                      : fmt::format("{} of {} pods are available", available, desired)};
}

Readiness DeploymentReadiness(const json::value& object) {
  if (!IsObserved(object)) {
    return {.text = "waits for the Deployment controller"};
  }
  const std::optional<Condition> progressing = FindCondition(object, "Progressing");
  if (progressing && progressing->reason == "ProgressDeadlineExceeded") {
    return {.is_failed = true, .text = progressing->message};
  }
  const int64_t desired = IntField(object, {"spec", "replicas"}).value_or(1);
  const int64_t updated = Count(object, "updatedReplicas");
  const int64_t available = Count(object, "availableReplicas");
  const bool has_old = Count(object, "replicas") > updated;
  return {.is_ready = updated >= desired && available >= desired && !has_old,
          .text = has_old ? "old pods stop"
                          : fmt::format("{} of {} pods are available", std::min(updated, available),
                                        desired)};
}

Readiness JobReadiness(const json::value& object) {
  if (const auto failed = FindCondition(object, "Failed"); failed && failed->status == "True") {
    return {.is_failed = true, .text = fmt::format("{}: {}", failed->reason, failed->message)};
  }
  const auto complete = FindCondition(object, "Complete");
  const bool is_ready = complete && complete->status == "True";
  return {.is_ready = is_ready, .text = is_ready ? "complete" : "runs"};
}

Readiness PodReadiness(const json::value& object) {
  const std::string_view phase = TextField(object, {"status", "phase"});
  if (phase == "Failed") {
    const std::string problem = ProblemOfPod(object);
    return {.is_failed = true, .text = problem.empty() ? "Failed" : problem};
  }
  const auto ready = FindCondition(object, "Ready");
  const bool is_ready = phase == "Succeeded" || (ready && ready->status == "True");
  const std::string problem = is_ready ? "" : ProblemOfPod(object);
  return {.is_ready = is_ready,
          .text = !problem.empty() ? problem : std::string(phase.empty() ? "Pending" : phase)};
}

// Reasons of containers that only need time.
bool IsOnItsWay(std::string_view reason) {
  return reason == "ContainerCreating" || reason == "PodInitializing" || reason.empty();
}

std::string WithMessage(std::string_view reason, std::string_view message) {
  return message.empty() ? std::string(reason) : fmt::format("{}: {}", reason, message);
}

std::string EndOf(const json::value& container, std::string_view state) {
  const auto code = IntField(container, {state, "terminated", "exitCode"});
  if (!code || *code == 0) {
    return "";
  }
  const std::string_view message = TextField(container, {state, "terminated", "message"});
  return fmt::format("ended with code {}{}{}", *code, message.empty() ? "" : ": ",
                     Printable(Trim(message)));
}

std::string ProblemOfContainer(const json::value& container) {
  const std::string_view waits = TextField(container, {"state", "waiting", "reason"});
  std::string problem;
  if (!IsOnItsWay(waits)) {
    problem = WithMessage(waits, TextField(container, {"state", "waiting", "message"}));
  }
  std::string end = EndOf(container, "state");
  end = end.empty() && !problem.empty() ? EndOf(container, "lastState") : end;
  if (!end.empty()) {
    problem = problem.empty() ? end : fmt::format("{}; the last one {}", problem, end);
  }
  return problem.empty() ? ""
                         : fmt::format("container {}: {}", TextField(container, {"name"}), problem);
}

std::string SelectorOf(const json::value& object) {
  std::vector<std::string> parts;
  const json::value* labels = FindField(object, {"spec", "selector", "matchLabels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      if (value.is_string()) {
        parts.push_back(
            fmt::format("{}={}", std::string_view(key), std::string_view(value.get_string())));
      }
    }
  }
  return Join(parts, ",");
}

StatusOr<json::array> ListItems(BlockingClient& client, ApiRequest request) {
  request.query.emplace_back("limit", "500");
  ASSIGN_OR_RETURN(json::value list, client.Send(std::move(request)));
  json::value* items = list.is_object() ? list.get_object().if_contains("items") : nullptr;
  return items != nullptr && items->is_array() ? std::move(items->get_array()) : json::array();
}

StatusOr<std::string> WarningOf(BlockingClient& client, const ObjectRef& ref) {
  ASSIGN_OR_RETURN(
      const json::array events,
      ListItems(client, {.path = kEvents.Collection(ref.space.empty() ? "default" : ref.space),
                         .query = {{"fieldSelector",
                                    fmt::format("regarding.kind={},regarding.name={},type=Warning",
                                                ref.kind, ref.name)}}}));
  const json::value* newest = nullptr;
  for (const json::value& event : events) {
    // Times of one format sort as texts.
    if (newest == nullptr || TextField(event, {"eventTime"}) >= TextField(*newest, {"eventTime"})) {
      newest = &event;
    }
  }
  return newest == nullptr
             ? std::string()
             : WithMessage(TextField(*newest, {"reason"}), TextField(*newest, {"note"}));
}

}  // namespace

Readiness ReadinessOf(const json::value& object) {
  const std::string_view kind = TextField(object, {"kind"});
  if (kind == "DaemonSet") {
    return DaemonSetReadiness(object);
  }
  if (kind == "Deployment") {
    return DeploymentReadiness(object);
  }
  if (kind == "Job") {
    return JobReadiness(object);
  }
  return kind == "Pod" ? PodReadiness(object) : Readiness{.is_ready = true, .text = "exists"};
}

std::string ProblemOfPod(const json::value& pod) {
  for (const char* key : {"initContainerStatuses", "containerStatuses"}) {
    const json::value* list = FindField(pod, {"status", key});
    for (size_t i = 0; list != nullptr && list->is_array() && i < list->get_array().size(); ++i) {
      if (std::string problem = ProblemOfContainer(list->get_array()[i]); !problem.empty()) {
        return problem;
      }
    }
  }
  const auto scheduled = FindCondition(pod, "PodScheduled");
  if (scheduled && scheduled->status == "False") {
    return WithMessage(scheduled->reason, scheduled->message);
  }
  return TextField(pod, {"status", "phase"}) == "Failed"
             ? WithMessage(TextField(pod, {"status", "reason"}),
                           TextField(pod, {"status", "message"}))
             : "";
}

StatusOr<std::string> FindProblem(BlockingClient& client, const json::value& object) {
  const ObjectRef ref = RefOf(object);
  if (ref.kind == "Pod") {
    if (std::string problem = ProblemOfPod(object); !problem.empty()) {
      return problem;
    }
  }
  if (const std::string selector = SelectorOf(object); !selector.empty()) {
    ASSIGN_OR_RETURN(const json::array pods,
                     ListItems(client, {.path = kPods.Collection(ref.space),
                                        .query = {{"labelSelector", selector}}}));
    for (const json::value& pod : pods) {
      if (const std::string problem = ProblemOfPod(pod); !problem.empty()) {
        return fmt::format("pod {}: {}", NameOf(pod), problem);
      }
    }
  }
  return WarningOf(client, ref);
}

Status WaitUntilReady(BlockingClient& client, Kinds& kinds, const std::vector<ObjectRef>& refs,
                      const WaitOptions& options) {
  const SteadyTime until = client.clock().Now() + options.time;
  for (const ObjectRef& ref : refs) {
    ASSIGN_OR_RETURN(const std::string path, kinds.PathOf(ref));
    Readiness last;
    for (;;) {
      const StatusOr<json::value> object =
          SendUntilReached(client, {.path = path}, options.reach_time);
      if (!object.ok()) {
        return Annotate(object.status(), "{}", TextOf(ref));
      }
      const Readiness now = ReadinessOf(*object);
      if (options.on_change && !(now == last)) {
        options.on_change(ref, now);
      }
      last = now;
      if (now.is_ready) {
        break;
      }
      const bool is_late = client.clock().Now() + kReadyPause > until;
      if (now.is_failed || is_late) {
        const StatusOr<std::string> problem = FindProblem(client, *object);
        return MakeStatus(
            now.is_failed ? StatusCode::kFailedPrecondition : StatusCode::kDeadlineExceeded,
            fmt::format("{} is not ready: {}{}", TextOf(ref), now.text,
                        problem.ok() && !problem->empty() ? ": " + *problem : ""));
      }
      client.Wait(kReadyPause);
    }
  }
  return OkStatus();
}

}  // namespace kgpu::kube
