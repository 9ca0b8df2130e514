#include "testing/cluster/kubelets.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/time_text.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::ItemsAt;
using apiserver::ObjectAt;
using apiserver::TextAt;
using std::chrono::milliseconds;

constexpr milliseconds kFirstBackOff{10'000};
constexpr int kMostRestartDoublings = 5;  // 5 minutes

std::string_view ConditionOf(const json::object& node, std::string_view type) {
  for (const json::value& item : ItemsAt(node, {"status", "conditions"})) {
    if (item.is_object() && TextAt(item.get_object(), {"type"}) == type) {
      return TextAt(item.get_object(), {"status"});
    }
  }
  return "";
}

// "10.0.1.7", another one for each text, mostly.
std::string AddressFor(std::string_view text, int first) {
  const auto number = ParseUint(HashOf(json::value(doc::View(text))), 16).value_or(0);
  return fmt::format("{}.{}.{}.{}", first, number >> 16 & 0xFF, number >> 8 & 0xFF,
                     (number & 0xFF) % 254 + 1);
}

std::string AddressOf(const json::object& node) {
  for (const json::value& item : ItemsAt(node, {"status", "addresses"})) {
    if (item.is_object() && TextAt(item.get_object(), {"type"}) == "InternalIP") {
      return std::string(TextAt(item.get_object(), {"address"}));
    }
  }
  return AddressFor(TextAt(node, {"metadata", "name"}), 192);
}

// 64 hexadecimal digits, as containerd's.
std::string ContainerId(std::string_view pod_uid, std::string_view container, int restarts) {
  std::string id;
  for (int part = 0; part < 8; ++part) {
    id += HashOf(json::value(fmt::format("{}/{}/{}/{}", pod_uid, container, restarts, part)));
  }
  return id;
}

std::string_view EnvOf(const json::object& pod, std::string_view name) {
  const json::array& containers = ItemsAt(pod, {"spec", "containers"});
  if (!containers.empty() && containers[0].is_object()) {
    for (const json::value& item : ItemsAt(containers[0].get_object(), {"env"})) {
      if (item.is_object() && TextAt(item.get_object(), {"name"}) == name) {
        return TextAt(item.get_object(), {"value"});
      }
    }
  }
  return "";
}

bool IsOfJob(const json::object& pod) {
  return std::ranges::any_of(
      ItemsAt(pod, {"metadata", "ownerReferences"}),
      [](const json::value& owner) { return TextAt(owner.as_object(), {"kind"}) == "Job"; });
}

bool IsOver(const json::object& pod) {
  const std::string_view phase = TextAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

PodPlan PlanFromEnvironment(const json::object& pod) {
  PodPlan plan;
  const auto seconds = [&](const char* name) -> std::optional<milliseconds> {
    const auto value = ParseUint(EnvOf(pod, name));
    return value ? std::optional(milliseconds(std::chrono::seconds(*value))) : std::nullopt;
  };
  plan.start_time = seconds("SIM_START_SECONDS").value_or(plan.start_time);
  plan.ready_time = seconds("SIM_READY_SECONDS").value_or(plan.ready_time);
  plan.run_time = seconds("SIM_RUN_SECONDS");
  if (!plan.run_time && IsOfJob(pod)) {
    plan.run_time = milliseconds(1000);
  }
  plan.exit_code = static_cast<int>(ParseUint(EnvOf(pod, "SIM_EXIT_CODE")).value_or(0));
  plan.waiting = EnvOf(pod, "SIM_WAITING");
  plan.ip = EnvOf(pod, "SIM_POD_IP");
  if (const std::string_view log = EnvOf(pod, "SIM_LOG"); !log.empty()) {
    plan.log = fmt::format("{}\n", log);
  }
  return plan;
}

Kubelets::Kubelets(EventLoop& loop, apiserver::Api& api, const Index& index, PodScript script,
                   std::vector<std::string>& problems)
    : loop_(loop),
      api_(api),
      index_(index),
      script_(std::move(script)),
      writer_(api, "kubelet", problems) {
}

Kubelets::~Kubelets() {
  for (const auto& [key, run] : runs_) {
    loop_.CancelTimer(run.timer);
  }
}

std::string Kubelets::Now() const {
  return apiserver::TimeText(loop_.clock().WallNow());
}

bool Kubelets::IsDown(std::string_view name) const {
  const NodeInfo* node = index_.Node(name);
  if (node == nullptr) {
    return true;
  }
  const std::string_view ready = ConditionOf(node->object->object(), "Ready");
  return !ready.empty() && ready != "True";
}

void Kubelets::Forget(const ObjectKey& key) {
  if (const auto found = runs_.find(key); found != runs_.end()) {
    loop_.CancelTimer(found->second.timer);
    runs_.erase(found);
  }
}

void Kubelets::Sync(const ObjectKey& key) {
  const PodInfo* pod = index_.Pod(key);
  const auto found = runs_.find(key);
  if (found != runs_.end() &&
      (pod == nullptr || pod->uid != found->second.uid || pod->is_deleted)) {
    Forget(key);
  }
  const bool is_new = pod != nullptr && !runs_.contains(key) && !pod->node.empty() &&
                      !pod->is_deleted && pod->phase == "Pending";
  if (!is_new || IsDown(pod->node)) {
    return;
  }
  Run& run = runs_[key];
  run = {.uid = pod->uid, .plan = script_(pod->object->object())};
  WriteStatus(key, run);
  if (run.plan.waiting.empty()) {
    Wait(key, run.plan.start_time, &Kubelets::Start);
  }
}

void Kubelets::Wait(const ObjectKey& key, std::chrono::nanoseconds delay,
                    void (Kubelets::*next)(const ObjectKey&, Run&)) {
  runs_.at(key).timer = loop_.After(delay, [this, key, next] {
    const StoredPtr pod = api_.Find(PathOf("v1", "pods", key));
    Run& run = runs_.at(key);
    run.timer = TimerId::kNone;
    // Taken over again when the node is ready, if it has not started. A test may have said that the
    // pod is over; no pod comes back from that.
    if (pod == nullptr || TextAt(pod->object(), {"metadata", "uid"}) != run.uid ||
        IsOver(pod->object()) || IsDown(TextAt(pod->object(), {"spec", "nodeName"}))) {
      Forget(key);
      return;
    }
    (this->*next)(key, run);
  });
}

void Kubelets::Start(const ObjectKey& key, Run& run) {
  run.state = State::kRunning;
  run.started = Now();
  run.started_at = loop_.clock().Now();
  api_.logs().Append(key, run.plan.log);
  WriteStatus(key, run);
  if (run.plan.run_time && *run.plan.run_time < run.plan.ready_time) {
    Wait(key, *run.plan.run_time, &Kubelets::Exit);
  } else {
    Wait(key, run.plan.ready_time, &Kubelets::BecomeReady);
  }
}

void Kubelets::BecomeReady(const ObjectKey& key, Run& run) {
  run.state = State::kReady;
  WriteStatus(key, run);
  if (run.plan.run_time) {
    Wait(key, *run.plan.run_time - run.plan.ready_time, &Kubelets::Exit);
  }
}

void Kubelets::Exit(const ObjectKey& key, Run& run) {
  const StoredPtr pod = api_.Find(PathOf("v1", "pods", key));
  const std::string_view policy = TextAt(pod->object(), {"spec", "restartPolicy"});
  const bool restarts = policy == "Always" || (policy == "OnFailure" && run.plan.exit_code != 0);
  run.state = restarts ? State::kBackOff : State::kOver;
  api_.logs().End(key);
  if (restarts) {
    ++run.restarts;
    Wait(key, kFirstBackOff * (1 << std::min(run.restarts - 1, kMostRestartDoublings)),
         &Kubelets::Start);
  }
  WriteStatus(key, run);
}

json::object Kubelets::StateOf(const Run& run) const {
  const int code = run.plan.exit_code;
  const json::object terminated = {{"exitCode", code},
                                   {"reason", code == 0 ? "Completed" : "Error"},
                                   {"startedAt", run.started},
                                   {"finishedAt", Now()}};
  switch (run.state) {
    case State::kStarting:
      return {{"waiting",
               {{"reason", run.plan.waiting.empty() ? "ContainerCreating" : run.plan.waiting}}}};
    case State::kRunning:
    case State::kReady:
      return {{"running", {{"startedAt", run.started}}}};
    case State::kBackOff:
      return {{"waiting", {{"reason", "CrashLoopBackOff"}}}};
    case State::kOver:
      return {{"terminated", terminated}};
  }
  return {};
}

json::array Kubelets::ContainerStatuses(const json::object& pod, const Run& run,
                                        std::string_view list) const {
  const bool is_running = run.state == State::kRunning || run.state == State::kReady;
  json::array statuses;
  for (const json::value& item : ItemsAt(pod, {"spec", list})) {
    const json::object& container = item.as_object();
    const std::string_view name = TextAt(container, {"name"});
    json::object status = {
        {"name", doc::View(name)}, {"image", doc::View(TextAt(container, {"image"}))},
        {"imageID", ""},           {"ready", run.state == State::kReady},
        {"started", is_running},   {"restartCount", run.restarts},
        {"state", StateOf(run)}};
    if (run.state != State::kStarting) {
      status["containerID"] =
          fmt::format("containerd://{}", ContainerId(run.uid, name, run.restarts));
      status["imageID"] =
          fmt::format("sha256:{}", ContainerId("image", TextAt(container, {"image"}), 0));
    }
    statuses.push_back(std::move(status));
  }
  return statuses;
}

void Kubelets::WriteStatus(const ObjectKey& key, const Run& run) {
  const std::string path = PathOf("v1", "pods", key);
  const StoredPtr stored = api_.Find(path);
  if (stored == nullptr) {
    return;
  }
  const json::object& pod = stored->object();
  const NodeInfo* node = index_.Node(TextAt(pod, {"spec", "nodeName"}));
  const std::string now = Now();
  json::array conditions = ItemsAt(pod, {"status", "conditions"});
  const auto set = [&](const char* type, bool is_true) {
    conditions =
        WithCondition(conditions, {{"type", type}, {"status", is_true ? "True" : "False"}}, now);
  };
  set("PodScheduled", true);
  set("Initialized", true);
  set("ContainersReady", run.state == State::kReady);
  set("Ready", run.state == State::kReady);
  const char* phase = run.state == State::kStarting ? "Pending"
                      : run.state != State::kOver   ? "Running"
                      : run.plan.exit_code == 0     ? "Succeeded"
                                                    : "Failed";
  json::object status = {{"phase", phase},
                         {"conditions", std::move(conditions)},
                         {"containerStatuses", ContainerStatuses(pod, run, "containers")}};
  if (node != nullptr) {
    status["hostIP"] = AddressOf(node->object->object());
  }
  if (run.state != State::kStarting) {
    const std::string address = run.plan.ip.empty() ? AddressFor(run.uid, 10) : run.plan.ip;
    status["podIP"] = address;
    status["podIPs"] = json::array{{{"ip", address}}};
  }
  if (TextAt(pod, {"status", "startTime"}).empty()) {
    status["startTime"] = now;
  }
  writer_.PatchStatus(path, pod, status);
}

// Ready, its address and the resources that every node has.
void Kubelets::SyncNode(const std::string& name) {
  const std::string path = PathOf("v1", "nodes", {"", name});
  const StoredPtr stored = api_.Find(path);
  if (stored == nullptr) {
    return;
  }
  const json::object& node = stored->object();
  json::object status;
  if (ConditionOf(node, "Ready").empty()) {
    status["conditions"] = WithCondition(ItemsAt(node, {"status", "conditions"}),
                                         {{"type", "Ready"},
                                          {"status", "True"},
                                          {"reason", "KubeletReady"},
                                          {"message", "kubelet is posting ready status"}},
                                         Now());
  }
  if (ItemsAt(node, {"status", "addresses"}).empty()) {
    status["addresses"] = json::array{{{"type", "InternalIP"}, {"address", AddressOf(node)}},
                                      {{"type", "Hostname"}, {"address", doc::View(name)}}};
  }
  json::object capacity = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  if (const json::object* given = ObjectAt(node, {"status", "capacity"}); given != nullptr) {
    for (const auto& [key, value] : *given) {
      capacity[key] = value;
    }
  }
  json::object allocatable = capacity;
  if (const json::object* given = ObjectAt(node, {"status", "allocatable"}); given != nullptr) {
    for (const auto& [key, value] : *given) {
      allocatable[key] = value;
    }
  }
  status["capacity"] = std::move(capacity);
  status["allocatable"] = std::move(allocatable);
  writer_.PatchStatus(path, node, status);
  const NodeInfo* info = index_.Node(name);
  for (const ObjectKey& pod : info == nullptr ? std::set<ObjectKey>() : info->pods) {
    Sync(pod);
  }
}

}  // namespace kgpu::simcluster
