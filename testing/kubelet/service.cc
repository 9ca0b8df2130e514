#include "testing/kubelet/service.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/json_fields.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/node_json.h"
#include "testing/kubelet/pod_json.h"
#include "testing/kubelet/waits.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

// Answers one request, once.
using AnswerJson = std::function<void(const StatusOr<json::value>&)>;

std::string ReplyLine(const StatusOr<json::value>& answer) {
  if (answer.ok()) {
    return doc::PrintLine(json::object{{"result", *answer}});
  }
  return doc::PrintLine(json::object{{"code", static_cast<int>(answer.status().code())},
                                     {"error", std::string(Message(answer.status()))}});
}

// A time in seconds, 0.05 or 30.
Status ReadSeconds(const JsonFields& fields, std::string_view name, std::chrono::nanoseconds& out) {
  double seconds = std::chrono::duration<double>(out).count();
  RETURN_IF_ERROR(fields.Read(name, seconds));
  constexpr double kMost = 1e6;
  if (!(seconds >= 0 && seconds <= kMost)) {
    return InvalidArgument("{}: must be 0 to {:.0f} seconds", fields.PathOf(name), kMost);
  }
  out =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  return OkStatus();
}

// Whether nothing more will happen to the pod by itself.
bool IsSettled(const Pod& pod) {
  if (pod.status.phase != PodPhase::kPending) {
    return true;
  }
  return std::ranges::any_of(pod.status.containers, [](const ContainerStatus& container) {
    return container.state == ContainerState::kWaiting && !container.reason.empty() &&
           container.reason != "ContainerCreating";
  });
}

}  // namespace

struct Service::State {
  State(Node& of_node, NullRuntime* with_null_runtime)
      : node(of_node), null_runtime(with_null_runtime), waits(of_node.world().loop) {}

  World& world() { return node.world(); }

  // Commands that answer at once return; the others get the answer to keep.
  StatusOr<json::value> RunNow(const std::string& command, const JsonFields& request);
  StatusOr<json::value> Inject(const JsonFields& request);
  StatusOr<json::value> Break(const std::string& command, const JsonFields& request);
  StatusOr<json::value> Exit(const JsonFields& request);
  void RunLater(const std::string& command, const JsonFields& request, const AnswerJson& answer);
  Status AddPod(const JsonFields& request, const AnswerJson& answer);
  Status DeletePod(const JsonFields& request, const AnswerJson& answer);
  Status Wait(const JsonFields& request, const AnswerJson& answer);
  Status WaitForPod(const JsonFields& request, const std::string& key,
                    std::chrono::nanoseconds limit, const AnswerJson& answer);
  Status WaitForResource(const JsonFields& request, const std::string& resource,
                         std::chrono::nanoseconds limit, const AnswerJson& answer);
  Status Restart(const JsonFields& request, const AnswerJson& answer);

  Node& node;
  NullRuntime* null_runtime;
  Waits waits;
  bool is_check_posted = false;
  Lifeline lifeline;
};

StatusOr<json::value> Service::State::RunNow(const std::string& command,
                                             const JsonFields& request) {
  if (command == "status") {
    return NodeJson(node);
  }
  if (command == "calls") {
    return CallsJson(*world().calls);
  }
  if (command == "inject") {
    return Inject(request);
  }
  if (command == "clear") {
    world().faults.Clear();
    return json::value(nullptr);
  }
  if (command == "exit") {
    return Exit(request);
  }
  return Break(command, request);
}

StatusOr<json::value> Service::State::Inject(const JsonFields& request) {
  std::string point;
  std::string kind;
  Fault fault;
  int64_t times = 0;
  RETURN_IF_ERROR(request.Require("point", point));
  RETURN_IF_ERROR(request.Require("kind", kind));
  RETURN_IF_ERROR(request.Read("text", fault.text));
  RETURN_IF_ERROR(ReadSeconds(request, "delay", fault.delay));
  RETURN_IF_ERROR(request.Read("times", times));
  const std::vector<std::string> points = {kRegisterPoint, kWatcherPoint, kGetInfoPoint,
                                           kNotifyPoint, kPodResourcesPoint};
  if (std::ranges::find(points, point) == points.end()) {
    return InvalidArgument("point: \"{}\" must be one of {}", point, Join(points, ", "));
  }
  const std::vector<std::string> kinds = {"error", "hang", "delay", "skip"};
  const auto found = std::ranges::find(kinds, kind);
  if (found == kinds.end() || times < 0 || times > UINT32_MAX) {
    return InvalidArgument("kind: \"{}\" must be one of {}, times 0 or more", kind,
                           Join(kinds, ", "));
  }
  fault.kind = static_cast<FaultKind>(found - kinds.begin());
  fault.times = static_cast<uint32_t>(times);
  world().faults.Set(point, fault);
  return json::value(nullptr);
}

StatusOr<json::value> Service::State::Break(const std::string& command, const JsonFields& request) {
  std::string resource;
  RETURN_IF_ERROR(request.Read("resource", resource));
  Kubelet* kubelet = node.kubelet();
  if (command == "stop-kubelet") {
    node.StopKubelet();
    return json::value(nullptr);
  }
  if (command == "start-kubelet") {
    RETURN_IF_ERROR(node.StartKubelet());
    return json::value(nullptr);
  }
  if (kubelet == nullptr) {
    return FailedPrecondition("the kubelet is stopped; start it first");
  }
  if (command == "drop-stream" && !kubelet->DropStreams(resource)) {
    return NotFound("no plugin {} is connected", resource);
  }
  if (command == "cut") {
    kubelet->CutServedConnections();
    (void)kubelet->CutPluginConnections(resource);
  }
  return json::value(nullptr);
}

StatusOr<json::value> Service::State::Exit(const JsonFields& request) {
  std::string key;
  std::string name;
  int code = 0;
  RETURN_IF_ERROR(request.Require("pod", key));
  RETURN_IF_ERROR(request.Require("container", name));
  RETURN_IF_ERROR(request.Read("exitCode", code));
  if (null_runtime == nullptr) {
    return FailedPrecondition("containers are real here: stop the process instead");
  }
  const Pod* pod = world().pods.FindKey(key);
  if (pod == nullptr) {
    return NotFound("pod {}: not found", key);
  }
  const auto container = std::ranges::find(pod->status.containers, name, &ContainerStatus::name);
  if (container == pod->status.containers.end() || container->state != ContainerState::kRunning) {
    return FailedPrecondition("pod {}: container {} is not running", key, name);
  }
  null_runtime->Exit(container->id, code);
  return json::value(nullptr);
}

void Service::State::RunLater(const std::string& command, const JsonFields& request,
                              const AnswerJson& answer) {
  const Status status = command == "pod"      ? AddPod(request, answer)
                        : command == "delete" ? DeletePod(request, answer)
                        : command == "wait"   ? Wait(request, answer)
                                              : Restart(request, answer);
  if (!status.ok()) {
    answer(status);
  }
}

Status Service::State::AddPod(const JsonFields& request, const AnswerJson& answer) {
  std::chrono::nanoseconds limit{0};
  RETURN_IF_ERROR(ReadSeconds(request, "timeout", limit));
  ASSIGN_OR_RETURN(const JsonFields fields, request.Field("spec"));
  ASSIGN_OR_RETURN(const PodSpec spec, PodSpecFromJson(fields.value(), "spec"));
  ASSIGN_OR_RETURN(const std::string uid, node.AddPod(spec));
  waits.Add(
      [this, uid, answer, limit] {
        const Pod* pod = world().pods.FindUid(uid);
        if (pod == nullptr) {
          answer(NotFound("the pod was deleted in the meantime"));
          return true;
        }
        if (limit.count() > 0 && !IsSettled(*pod)) {
          return false;
        }
        answer(ToJson(*pod));
        return true;
      },
      limit,
      [this, uid, answer] {
        const Pod* pod = world().pods.FindUid(uid);
        answer(DeadlineExceeded(
            "{}", pod == nullptr ? "the pod was deleted in the meantime" : WhyPending(node, *pod)));
      });
  return OkStatus();
}

Status Service::State::DeletePod(const JsonFields& request, const AnswerJson& answer) {
  std::string key;
  bool is_forced = false;
  std::chrono::nanoseconds limit{0};
  RETURN_IF_ERROR(request.Require("pod", key));
  RETURN_IF_ERROR(request.Read("force", is_forced));
  RETURN_IF_ERROR(ReadSeconds(request, "timeout", limit));
  const Pod* pod = world().pods.FindKey(key);
  const std::string uid = pod == nullptr ? "" : pod->spec.uid;
  RETURN_IF_ERROR(node.DeletePod(key, is_forced));
  waits.Add(
      [this, uid, answer, limit] {
        if (limit.count() > 0 && world().pods.FindUid(uid) != nullptr) {
          return false;
        }
        answer(json::value(nullptr));
        return true;
      },
      limit,
      [key, answer] { answer(DeadlineExceeded("pod {}: its containers are still running", key)); });
  return OkStatus();
}

Status Service::State::Wait(const JsonFields& request, const AnswerJson& answer) {
  std::chrono::nanoseconds limit = std::chrono::seconds(30);
  std::string resource;
  std::string key;
  RETURN_IF_ERROR(ReadSeconds(request, "timeout", limit));
  RETURN_IF_ERROR(request.Read("resource", resource));
  RETURN_IF_ERROR(request.Read("pod", key));
  return key.empty() ? WaitForResource(request, resource, limit, answer)
                     : WaitForPod(request, key, limit, answer);
}

Status Service::State::WaitForPod(const JsonFields& request, const std::string& key,
                                  std::chrono::nanoseconds limit, const AnswerJson& answer) {
  std::string phase;
  RETURN_IF_ERROR(request.Require("phase", phase));
  const auto now = [this, key]() -> std::string {
    const Pod* pod = world().pods.FindKey(key);
    return pod == nullptr ? "not found" : NameOf(pod->status.phase);
  };
  waits.Add(
      [now, phase, answer] {
        if (now() != phase) {
          return false;
        }
        answer(json::value(nullptr));
        return true;
      },
      limit,
      [now, phase, key, answer] {
        answer(DeadlineExceeded("pod {}: is {}, not {}", key, now(), phase));
      });
  return OkStatus();
}

Status Service::State::WaitForResource(const JsonFields& request, const std::string& resource,
                                       std::chrono::nanoseconds limit, const AnswerJson& answer) {
  std::optional<int64_t> allocatable;
  std::optional<int64_t> capacity;
  RETURN_IF_ERROR(request.Read("allocatable", allocatable));
  RETURN_IF_ERROR(request.Read("capacity", capacity));
  const auto now = [this, resource] {
    const auto found = world().resources.find(resource);
    return found == world().resources.end() ? ResourceAmount{-1, -1} : found->second;
  };
  waits.Add(
      [=] {
        const ResourceAmount amount = now();
        if ((allocatable && *allocatable != amount.allocatable) ||
            (capacity && *capacity != amount.capacity)) {
          return false;
        }
        answer(json::value(nullptr));
        return true;
      },
      limit,
      [=] {
        answer(DeadlineExceeded("{}: allocatable is {}, capacity {} (-1: no entry)", resource,
                                now().allocatable, now().capacity));
      });
  return OkStatus();
}

Status Service::State::Restart(const JsonFields& request, const AnswerJson& answer) {
  std::chrono::nanoseconds down{0};
  std::chrono::nanoseconds listen_delay{0};
  bool is_reboot = false;
  RETURN_IF_ERROR(ReadSeconds(request, "down", down));
  RETURN_IF_ERROR(ReadSeconds(request, "listenDelay", listen_delay));
  RETURN_IF_ERROR(request.Read("reboot", is_reboot));
  node.StopKubelet();
  if (is_reboot) {
    for (const std::string& id : world().runtime.List()) {
      world().runtime.Remove(id);
    }
  }
  world().listen_delay = listen_delay;
  world().loop.After(down, lifeline.Guard([this, answer] {
    const Status status = node.kubelet() == nullptr ? node.StartKubelet() : OkStatus();
    if (status.ok()) {
      answer(json::value(nullptr));
    } else {
      answer(status);
    }
  }));
  return OkStatus();
}

Service::Service(Node& node, NullRuntime* null_runtime)
    : state_(std::make_unique<State>(node, null_runtime)) {
}

Service::~Service() = default;

void Service::Handle(const std::string& line, const ControlServer::Reply& reply) {
  const AnswerJson answer = [reply](const StatusOr<json::value>& value) {
    reply(ReplyLine(value));
  };
  const StatusOr<json::value> tree = doc::Parse(line, doc::Format::kJson, "request");
  if (!tree.ok()) {
    answer(tree.status());
    return;
  }
  const JsonFields request(*tree, "request");
  std::string command;
  if (const Status status = request.Require("command", command); !status.ok()) {
    answer(status);
    return;
  }
  const std::vector<std::string_view> now = {"status",       "calls",         "inject",
                                             "clear",        "drop-stream",   "cut",
                                             "stop-kubelet", "start-kubelet", "exit"};
  const std::vector<std::string_view> later = {"pod", "delete", "wait", "restart"};
  if (std::ranges::find(now, command) != now.end()) {
    answer(state_->RunNow(command, request));
  } else if (std::ranges::find(later, command) != later.end()) {
    state_->RunLater(command, request, answer);
  } else {
    answer(InvalidArgument("unknown command \"{}\"", command));
  }
}

void Service::Changed() {
  // Later: whoever changed something is in the middle of it.
  if (!std::exchange(state_->is_check_posted, true)) {
    state_->world().loop.Post(state_->lifeline.Guard([state = state_.get()] {
      state->is_check_posted = false;
      state->waits.Check();
    }));
  }
}

}  // namespace kgpu::kubelet
