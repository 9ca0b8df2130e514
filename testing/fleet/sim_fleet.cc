#include "testing/fleet/sim_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "src/platform/base/strings.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::fleet_sim {
namespace {

namespace json = boost::json;
using apiserver::ItemsAt;
using apiserver::TextAt;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr const char* kRecord = "kgpu.dev/upgrade";
constexpr const char* kDriverLabel = "nvidia.com/cuda.driver-version.full";
// What happens on its own may be known to the controller this late.
constexpr milliseconds kLag{1'000};
constexpr std::chrono::minutes kRebootAfter{10};
constexpr std::chrono::minutes kStuckFor{5};
constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

std::string NodePath(const std::string& name) {
  return fmt::format("/api/v1/nodes/{}", name);
}

bool HasCondition(const json::object& node, std::string_view type, std::string_view status) {
  return std::ranges::any_of(ItemsAt(node, {"status", "conditions"}), [&](const json::value& one) {
    return TextAt(one.as_object(), {"type"}) == type &&
           TextAt(one.as_object(), {"status"}) == status;
  });
}

bool IsCordoned(const json::object& node) {
  const json::value* flag = apiserver::FieldAt(node, {"spec", "unschedulable"});
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

bool IsFenced(const json::object& node) {
  return std::ranges::any_of(ItemsAt(node, {"spec", "taints"}), [](const json::value& taint) {
    return TextAt(taint.as_object(), {"key"}) == "kgpu.dev/quarantined";
  });
}

bool IsUnavailable(const json::object& node) {
  return IsCordoned(node) || IsFenced(node) || !HasCondition(node, "Ready", "True") ||
         !HasCondition(node, "GPUReady", "True");
}

std::string Flag(const json::object& pod, std::string_view name) {
  for (const json::value& container : ItemsAt(pod, {"spec", "containers"})) {
    for (const json::value& argument : ItemsAt(container.as_object(), {"args"})) {
      const std::string_view text = argument.as_string();
      if (text.starts_with(name)) {
        return std::string(text.substr(name.size()));
      }
    }
  }
  return "";
}

uint64_t GpusOf(const json::object& pod) {
  uint64_t gpus = 0;
  for (const json::value& container : ItemsAt(pod, {"spec", "containers"})) {
    gpus += ParseUint(TextAt(container.as_object(), {"resources", "limits", "nvidia.com/gpu"}))
                .value_or(0);
  }
  return gpus;
}

json::object Ballast(size_t number) {
  json::object labels;
  for (int i = 0; i < 90; ++i) {
    labels[fmt::format("feature.node.kubernetes.io/cpu-cpuid.FLAG{}", i)] = "true";
  }
  for (int i = 0; i < 25; ++i) {
    labels[fmt::format("nvidia.com/gpu.fact{}", i)] = fmt::format("NVIDIA-value-{}-{}", i, number);
  }
  return labels;
}

}  // namespace

SimFleet::SimFleet(EventLoop& loop, apiserver::Api& api, Random& random, SimOptions options)
    : loop_(loop), api_(api), random_(random), options_(std::move(options)) {
  api_.Do("POST", "/api/v1/namespaces",
          {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "kgpu"}}}})
      .IgnoreError();
  observer_ = api_.AddObserver([this](const apiserver::Change& change) { OnChange(change); });
  nodes_.resize(options_.nodes);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].driver = options_.driver;
    MakeNode(i);
    MakePods(i);
  }
}

SimFleet::~SimFleet() {
  api_.RemoveObserver(observer_);
  *alive_ = false;
}

void SimFleet::After(nanoseconds delay, std::function<void()> task) {
  loop_.After(delay, [alive = alive_, task = std::move(task)] {
    if (*alive) {
      task();
    }
  });
}

nanoseconds SimFleet::AnyTime() {
  return options_.shortest + random_.PartOf(options_.longest - options_.shortest);
}

std::string SimFleet::Name(size_t node) const {
  return fmt::format("node-{:05}", node);
}

size_t SimFleet::NumberOf(std::string_view name) const {
  const size_t dash = name.rfind('-');
  const auto number = ParseUint(name.substr(dash == std::string_view::npos ? 0 : dash + 1));
  return number && *number < nodes_.size() ? *number : nodes_.size();
}

void SimFleet::MakeNode(size_t number) {
  json::object labels = options_.has_ballast ? Ballast(number) : json::object();
  labels["pool"] = number % 2 == 0 ? "a" : "b";
  labels["nvidia.com/gpu.present"] = "true";
  labels[kDriverLabel] = nodes_[number].driver;
  json::object status;
  if (options_.has_ballast) {
    json::array images;
    for (int i = 0; i < 50; ++i) {
      images.push_back({{"names", json::array{fmt::format("registry.example/image-{}@sha256:{:064}",
                                                          i, number)}},
                        {"sizeBytes", 123456789}});
    }
    status["images"] = std::move(images);
  }
  api_.Do("POST", "/api/v1/nodes",
          {{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata", {{"name", Name(number)}, {"labels", std::move(labels)}}}})
      .IgnoreError();
  if (!status.empty()) {
    api_.Do("PATCH", NodePath(Name(number)) + "/status", {{"status", std::move(status)}})
        .IgnoreError();
  }
  WriteStatus(number);
}

void SimFleet::MakePods(size_t number) {
  for (size_t i = 0; i < options_.gpu_pods; ++i) {
    MakePod(number, fmt::format("gpu-{}-{}", number, i), true, (number + i) % 2 == 0);
  }
  for (size_t i = 0; i < options_.other_pods; ++i) {
    MakePod(number, fmt::format("other-{}-{}", number, i), false, false);
  }
}

void SimFleet::MakePod(size_t number, const std::string& name, bool has_gpu, bool is_job) {
  json::object container = {{"name", "main"}, {"image", "example/app"}};
  json::object metadata = {
      {"name", name},
      {"ownerReferences", json::array{{{"apiVersion", "apps/v1"},
                                       {"kind", is_job ? "Job" : "ReplicaSet"},
                                       {"name", "owner"},
                                       {"uid", fmt::format("owner-{}", name)}}}}};
  if (has_gpu) {
    container["resources"] = {{"limits", {{"nvidia.com/gpu", 1}}}};
    if (options_.protected_pods > 0 && Happens(options_.protected_pods)) {
      metadata["labels"] = {{"protected", "true"}};
    }
    if (options_.stuck_pods > 0 && Happens(options_.stuck_pods)) {
      metadata["finalizers"] = json::array{"example.com/stuck"};
    }
  }
  api_.Do("POST", kPods,
          {{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", std::move(metadata)},
           {"spec",
            {{"nodeName", Name(number)},
             {"restartPolicy", is_job ? "Never" : "Always"},
             {"containers", json::array{container}}}}})
      .IgnoreError();
  const std::string path = fmt::format("{}/{}", kPods, name);
  api_.Do("PATCH", path + "/status", {{"status", {{"phase", "Running"}}}}).IgnoreError();
  if (is_job) {
    After(20 * AnyTime(), [this, path] { EndPod(path, "Succeeded", 0); });
  }
}

void SimFleet::WriteStatus(size_t number) {
  const Node& node = nodes_[number];
  if (node.is_gone) {
    return;
  }
  const auto word = [](bool is_true) { return is_true ? "True" : "False"; };
  const json::value patch = {
      {"status",
       {{"allocatable", {{"nvidia.com/gpu", node.is_gpu_ready ? "8" : "0"}}},
        {"conditions",
         json::array{{{"type", "Ready"}, {"status", word(node.is_ready)}, {"reason", "Kubelet"}},
                     {{"type", "GPUReady"},
                      {"status", word(node.is_gpu_ready)},
                      {"reason", node.is_gpu_ready ? "AllVerified" : "DriverNotLoaded"},
                      {"message", "of the simulation"},
                      {"later", "unknown to this version"}},
                     {{"type", "GPUHealthy"},
                      {"status", word(node.is_healthy)},
                      {"reason", node.health_reason},
                      {"message", "GPU 3"}}}}}}};
  api_.Do("PATCH", NodePath(Name(number)) + "/status", patch).IgnoreError();
}

void SimFleet::WriteDriver(size_t number) {
  api_.Do("PATCH", NodePath(Name(number)),
          {{"metadata", {{"labels", {{kDriverLabel, nodes_[number].driver}}}}}})
      .IgnoreError();
}

void SimFleet::SetReady(size_t node, bool is_ready) {
  nodes_[node].is_ready = is_ready;
  WriteStatus(node);
}

void SimFleet::SetHealthy(size_t node, bool is_healthy, const std::string& reason) {
  nodes_[node].is_healthy = is_healthy;
  nodes_[node].health_reason = is_healthy ? "AllHealthy" : reason;
  WriteStatus(node);
}

void SimFleet::SetDriver(size_t node, const std::string& driver) {
  nodes_[node].driver = driver;
  WriteDriver(node);
}

void SimFleet::DeleteNode(size_t node) {
  nodes_[node].is_gone = true;
  // The controller's pods go with it: it is their owner.
  api_.Do("DELETE", NodePath(Name(node)), json::object()).IgnoreError();
  DeletePods(node);
}

void SimFleet::RestoreNode(size_t node) {
  const std::string driver = nodes_[node].driver;
  nodes_[node] = {.driver = driver, .life = nodes_[node].life + 1};
  MakeNode(node);
  MakePods(node);
}

void SimFleet::DeletePods(size_t node) {
  for (size_t i = 0; i < options_.gpu_pods; ++i) {
    const std::string path = fmt::format("{}/gpu-{}-{}", kPods, node, i);
    if (api_.Find(path) != nullptr) {
      api_.Do("PATCH", path, {{"metadata", {{"finalizers", nullptr}}}}).IgnoreError();
      api_.Do("DELETE", path, {{"gracePeriodSeconds", 0}}).IgnoreError();
    }
  }
}

void SimFleet::Protect(bool is_protected) {
  const std::string path = fmt::format("{}/protected", kBudgets);
  if (api_.Find(path) == nullptr) {
    api_.Do("POST", kBudgets,
            {{"apiVersion", "policy/v1"},
             {"kind", "PodDisruptionBudget"},
             {"metadata", {{"name", "protected"}}},
             {"spec", {{"selector", {{"matchLabels", {{"protected", "true"}}}}}}}})
        .IgnoreError();
  }
  api_.Do("PATCH", path + "/status",
          {{"status", {{"disruptionsAllowed", is_protected ? 0 : 1'000'000}}}})
      .IgnoreError();
}

void SimFleet::RetryFailed() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = api_.Find(NodePath(Name(i)));
    if (node != nullptr &&
        TextAt(node->object(), {"metadata", "annotations", kRecord}).find("\"failed\"") !=
            std::string_view::npos) {
      api_.Do("PATCH", NodePath(Name(i)),
              {{"metadata", {{"annotations", {{"kgpu.dev/upgrade-retry", "true"}}}}}})
          .IgnoreError();
    }
  }
}

void SimFleet::OnChange(const apiserver::Change& change) {
  if (change.storage == "nodes") {
    Check(change);
  } else if (change.storage == "pods" && change.type == apiserver::ChangeType::kAdded) {
    After(nanoseconds(0), [this, pod = change.object] { OnPod(pod->object()); });
  } else if (change.storage == "pods" && options_.stuck_pods > 0 &&
             !TextAt(change.object->object(), {"metadata", "deletionTimestamp"}).empty()) {
    After(kStuckFor, [this, name = change.key.name] {
      const std::string path = fmt::format("{}/{}", kPods, name);
      const auto pod = api_.Find(path);
      if (pod != nullptr && !TextAt(pod->object(), {"metadata", "deletionTimestamp"}).empty()) {
        api_.Do("PATCH", path, {{"metadata", {{"finalizers", nullptr}}}}).IgnoreError();
      }
    });
  }
}

void SimFleet::Check(const apiserver::Change& change) {
  ++checked_;
  const json::object& node = change.object->object();
  Seen& seen = seen_[change.key.name];
  const Seen before = seen;
  const bool is_gone = change.type == apiserver::ChangeType::kDeleted;
  seen.pool = TextAt(node, {"metadata", "labels", "pool"});
  seen.has_record = !is_gone && !TextAt(node, {"metadata", "annotations", kRecord}).empty();
  seen.is_unavailable = !is_gone && IsUnavailable(node);
  const SteadyTime now = loop_.clock().Now();
  seen.since = seen.is_unavailable == before.is_unavailable ? before.since : now;
  size_t& records = records_[seen.pool];
  size_t& unavailable = unavailable_[seen.pool];
  records += (seen.has_record ? 1 : 0) - (before.has_record ? 1 : 0);
  unavailable += (seen.is_unavailable ? 1 : 0) - (before.is_unavailable ? 1 : 0);
  if (most_ == 0) {
    return;
  }
  most_seen_ = std::max(most_seen_, records);
  if (records > most_) {
    violations_.push_back(fmt::format("{}: {} nodes of pool {} are being upgraded", change.key.name,
                                      records, seen.pool));
  }
  const bool is_taken = seen.has_record && !before.has_record && !before.is_unavailable;
  if (!is_taken || unavailable <= most_) {
    return;
  }
  // What has just happened elsewhere nobody could know.
  const auto unknown = std::ranges::count_if(seen_, [&](const auto& one) {
    return one.second.pool == seen.pool && one.second.is_unavailable && !one.second.has_record &&
           now - one.second.since < kLag;
  });
  if (unavailable - static_cast<size_t>(unknown) > most_) {
    violations_.push_back(fmt::format("{}: taken while {} nodes of pool {} are unavailable",
                                      change.key.name, unavailable, seen.pool));
  }
}

void SimFleet::OnPod(const json::object& pod) {
  const std::string role(TextAt(pod, {"metadata", "labels", "kgpu.dev/role"}));
  const size_t number = NumberOf(TextAt(pod, {"spec", "nodeName"}));
  if (role.empty() || number == nodes_.size()) {
    return;
  }
  const std::string path =
      fmt::format("/api/v1/namespaces/kgpu/pods/{}", TextAt(pod, {"metadata", "name"}));
  if (options_.is_single && GpusOf(pod) > 1) {
    Reject(path);
    return;
  }
  api_.Do("PATCH", path + "/status", {{"status", {{"phase", "Running"}}}}).IgnoreError();
  if (role == "validate") {
    Validate(path);
  } else {
    std::string driver = Flag(pod, "--version=");
    Install(number, path, driver.empty() ? Flag(pod, "--branch=") + ".54.15" : driver);
  }
}

void SimFleet::Install(size_t number, const std::string& path, const std::string& driver) {
  nodes_[number].is_gpu_ready = false;
  WriteStatus(number);
  if (Happens(options_.troubles.install_hangs)) {
    return;
  }
  const bool fails = Happens(options_.troubles.install_fails);
  const bool waits = !fails && Happens(options_.troubles.needs_reboot);
  const bool is_silent = Happens(options_.troubles.agent_hangs);
  After(AnyTime(), [=, this, life = nodes_[number].life] {
    EndPod(path, fails || waits ? "Failed" : "Succeeded", fails ? 1 : waits ? 8 : 0);
    const nanoseconds later = waits ? nanoseconds(kRebootAfter) : AnyTime();
    After(later, [=, this] {
      if (nodes_[number].life != life) {
        return;
      }
      nodes_[number].driver = fails ? nodes_[number].driver : driver;
      nodes_[number].is_gpu_ready = !is_silent;
      WriteDriver(number);
      WriteStatus(number);
    });
  });
}

void SimFleet::Validate(const std::string& path) {
  if (Happens(options_.troubles.validation_hangs)) {
    return;
  }
  const bool fails = Happens(options_.troubles.validation_fails);
  After(AnyTime(), [=, this] { EndPod(path, fails ? "Failed" : "Succeeded", fails ? 7 : 0); });
}

// As the kubelet does when its device plugin refuses: no container has a state.
void SimFleet::Reject(const std::string& path) {
  api_.Do("PATCH", path + "/status",
          {{"status",
            {{"phase", "Failed"},
             {"reason", "UnexpectedAdmissionError"},
             {"message", "Allocate failed due to rpc error: more than one is refused"}}}})
      .IgnoreError();
}

void SimFleet::EndPod(const std::string& path, const std::string& phase, int code) {
  if (api_.Find(path) == nullptr) {
    return;
  }
  api_.Do("PATCH", path + "/status",
          {{"status",
            {{"phase", phase},
             {"containerStatuses",
              json::array{
                  {{"name", "main"}, {"state", {{"terminated", {{"exitCode", code}}}}}}}}}}})
      .IgnoreError();
}

size_t SimFleet::CountDriver(const std::string& prefix) const {
  return static_cast<size_t>(std::ranges::count_if(
      nodes_, [&](const Node& node) { return !node.is_gone && node.driver.starts_with(prefix); }));
}

std::map<std::string, size_t> SimFleet::States() const {
  std::map<std::string, size_t> states;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = api_.Find(NodePath(Name(i)));
    const std::string text(
        node == nullptr ? "" : TextAt(node->object(), {"metadata", "annotations", kRecord}));
    if (!text.empty()) {
      json::error_code error;
      const json::value record = json::parse(text, error);
      ++states[record.is_object() ? std::string(TextAt(record.get_object(), {"state"})) : text];
    }
  }
  return states;
}

size_t SimFleet::CountFailed() const {
  const auto states = States();
  const auto found = states.find("failed");
  return found == states.end() ? 0 : found->second;
}

size_t SimFleet::CountNodes(const std::function<bool(const json::object&)>& is_counted) const {
  size_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = api_.Find(NodePath(Name(i)));
    count += node != nullptr && is_counted(node->object()) ? 1 : 0;
  }
  return count;
}

size_t SimFleet::CountCordoned() const {
  return CountNodes(&IsCordoned);
}

size_t SimFleet::CountFenced() const {
  return CountNodes(&IsFenced);
}

}  // namespace kgpu::fleet_sim
