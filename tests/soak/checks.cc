#include "tests/soak/checks.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/integration/wait_for_file.h"
#include "tests/soak/footprint.h"
#include "tests/soak/lists.h"
#include "tests/soak/mps_daemons.h"

namespace kgpu::soak {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kRest{2};
// It measures GPUs once a second, and the machine has other work.
constexpr std::chrono::milliseconds kMostCpu{120};

bool IsByClaims(const json::value& resource) {
  return FieldOf(resource, "socket").empty();
}

size_t CountHealthy(const json::value& resource) {
  const json::array devices = ListAt(resource, "devices");
  return static_cast<size_t>(std::ranges::count_if(
      devices, [](const json::value& device) { return FlagOf(device, "healthy"); }));
}

std::string ProblemOf(const kubelet::Pod& pod) {
  if (pod.is_terminating) {
    return pod.spec.name + " does not end";
  }
  if (pod.is_terminal()) {
    return fmt::format("{} was refused: {}", pod.spec.name, pod.status.message);
  }
  if (pod.status.is_bound && pod.status.phase != kubelet::PodPhase::kRunning) {
    const auto& events = pod.status.events;
    return fmt::format("{} does not run: {} {}", pod.spec.name, pod.status.message,
                       events.empty() ? "" : events.back().message);
  }
  return "";
}

}  // namespace

bool SoakChecks::IsReported(const ExpectedReport& fault) const {
  if (fault.xid != 0) {
    const json::value history = FromAgent("/v1/health/history?output=json");
    const json::array entries = ListAt(history, "entries");
    return std::ranges::any_of(entries, [&](const json::value& entry) {
      const json::value* xid = entry.as_object().if_contains("xid");
      return FieldOf(entry, "gpu") == fault.gpu && xid != nullptr && *xid == fault.xid;
    });
  }
  const json::value status = FromAgent("/v1/status");
  if (!status.is_object()) {
    return false;
  }
  for (const json::value& resource : ListAt(status, "resources")) {
    for (const json::value& device : ListAt(resource, "devices")) {
      if ((fault.gpu.empty() || FieldOf(device, "device") == fault.gpu) &&
          FlagOf(device, "healthy")) {
        return false;
      }
    }
  }
  return true;
}

std::string SoakChecks::CheckReported() {
  if (is_config_broken_ && is_agent_new_) {
    return "";  // it may know of no configuration
  }
  for (const ExpectedReport& fault : expected_) {
    if (!integration::WaitInFolder(At("run"), [&] { return IsReported(fault); }, kPatience)) {
      return fmt::format("a fault of {} is not reported: {}",
                         fault.gpu.empty() ? "all GPUs" : fault.gpu,
                         fault.xid != 0 ? fmt::format("XID {}", fault.xid) : "it stays healthy");
    }
    ++reports_;
  }
  return "";
}

std::string SoakChecks::CheckDevices(const json::value& status) const {
  if (!FlagOf(status, "ready")) {
    return "the agent is not ready: " + FieldOf(status, "obstacle");
  }
  const std::string problem = FieldOf(status.at("config"), "problem");
  if (!problem.empty()) {
    return "the configuration: " + problem;
  }
  std::set<std::string> present(gpus_.begin(), gpus_.end());
  const json::value devices = FromAgent("/v1/devices?output=json");
  for (const json::value& gpu : ListAt(devices, "gpus")) {
    for (const json::value& mig : ListAt(gpu, "migDevices")) {
      present.insert(FieldOf(mig, "uuid"));
    }
  }
  for (const json::value& resource : ListAt(status, "resources")) {
    for (const json::value& device : ListAt(resource, "devices")) {
      // A layout changes once no pod holds what has to go; what is gone stays listed for a while.
      const bool is_healthy = FlagOf(device, "healthy") ||
                              FieldOf(device, "reason") == "MigChange" ||
                              !present.contains(FieldOf(device, "device"));
      if (!is_healthy) {
        return fmt::format("{} is unhealthy: {}: {}", FieldOf(device, "id"),
                           FieldOf(device, "reason"), FieldOf(device, "message"));
      }
    }
  }
  return "";
}

// The kubelet's list is the agent's.
std::string SoakChecks::CheckKubelet(const json::value& status) const {
  std::set<std::string> served;
  for (const json::value& resource : ListAt(status, "resources")) {
    if (IsByClaims(resource)) {
      continue;
    }
    const std::string name = FieldOf(resource, "name");
    served.insert(name);
    const auto listed = static_cast<int64_t>(ListAt(resource, "devices").size());
    const auto healthy = static_cast<int64_t>(CountHealthy(resource));
    if (kubelet_->Capacity(name) != listed || kubelet_->Allocatable(name) != healthy) {
      return fmt::format("{}: the kubelet has {} of {}, the agent shows {} of {}", name,
                         kubelet_->Allocatable(name), kubelet_->Capacity(name), healthy, listed);
    }
  }
  for (const kubelet::EndpointStatus& endpoint : kubelet_->Endpoints()) {
    if (endpoint.is_connected && !served.contains(endpoint.resource)) {
      return fmt::format("the kubelet still has {}", endpoint.resource);
    }
  }
  return "";
}

std::string SoakChecks::CheckPods() const {
  std::map<std::string, int64_t> used;
  std::map<std::string, std::pair<int64_t, std::string>> least_waiting;
  for (const kubelet::Pod& pod : kubelet_->Pods()) {
    if (std::string problem = ProblemOf(pod); !problem.empty()) {
      return problem;
    }
    const auto requests = kubelet::RequestsOf(pod.spec);
    for (const auto& [resource, count] : requests) {
      auto& [least, name] = least_waiting[resource];
      if (pod.status.is_bound) {
        used[resource] += count;
      } else if (name.empty() || count < least) {
        least = count;
        name = pod.spec.name;
      }
    }
  }
  for (const auto& [resource, waiting] : least_waiting) {
    if (!waiting.second.empty() &&
        waiting.first <= kubelet_->Allocatable(resource) - used[resource]) {
      return fmt::format("{} waits for {} that is free", waiting.second, resource);
    }
  }
  return "";
}

// Devices that claims can get are published, and no others.
std::string SoakChecks::CheckSlices(const json::value& status) const {
  std::set<std::string> shown;
  for (const json::value& resource : ListAt(status, "resources")) {
    for (const json::value& device : ListAt(resource, "devices")) {
      if (IsByClaims(resource)) {
        shown.insert(FieldOf(device, "device"));
      }
    }
  }
  const std::vector<std::string> uuids = PublishedUuids();
  const std::set<std::string> published(uuids.begin(), uuids.end());
  return shown == published ? ""
                            : fmt::format("{} devices are shown for claims, {} are published",
                                          shown.size(), published.size());
}

std::string SoakChecks::CheckClaims(const json::value& status) const {
  const json::value* claims = status.as_object().if_contains("claims");
  const size_t prepared = claims == nullptr ? 0 : ListAt(*claims, "prepared").size();
  return prepared == claims_held_.size() ? ""
                                         : fmt::format("{} claims are prepared, {} pods have one",
                                                       prepared, claims_held_.size());
}

std::string SoakChecks::CheckLoans(const json::value& status) const {
  std::set<std::string> lent;
  for (const json::value& loan : ListAt(status, "loans")) {
    lent.insert(FieldOf(loan, "id"));
  }
  std::set<std::string> known;
  for (const auto& [holder, loan] : loans_) {
    known.insert(loan.id);
  }
  return lent == known
             ? ""
             : fmt::format("the agent knows of {} loans, {} were given", lent.size(), known.size());
}

std::string SoakChecks::CheckDaemons() const {
  for (const auto& [device, pids] : FindMpsDaemons(At("run"))) {
    if (pids.size() > 1) {
      return fmt::format("{} has {} MPS daemons", device, pids.size());
    }
  }
  return "";
}

// Devices that are shared by MPS have a daemon, and no others: one that lives on would be a user
// of its GPU.
std::string SoakChecks::CheckMps() const {
  std::set<std::string> shared;
  std::set<std::string> held_otherwise;
  for (const auto& [holder, units] : Held()) {
    for (const Unit& unit : units) {
      const bool is_by_mps = unit.kind.ends_with(kByMps) || claims_by_mps_.contains(holder);
      (is_by_mps ? shared : held_otherwise).insert(unit.gpu);
    }
  }
  // A device that is in use is shared in the new way once nobody holds it.
  for (size_t gpu = 0; gpu + 1 < gpus_.size() && IsSharedByMps(); ++gpu) {
    if (!held_otherwise.contains(gpus_[gpu])) {
      shared.insert(gpus_[gpu]);
    }
  }
  std::set<std::string> served;
  for (const auto& [device, pids] : FindMpsDaemons(At("run"))) {
    served.insert(device);
  }
  return shared == served ? ""
                          : fmt::format("{} devices are shared by MPS, {} have a daemon",
                                        shared.size(), served.size());
}

std::string SoakChecks::CheckHealth() const {
  const json::value health = FromAgent("/v1/health?output=json");
  if (std::string fault = FaultIn(health); !fault.empty()) {
    return fault;
  }
  return ListAt(health, "gpus").size() == gpus_.size() ? "" : "not all GPUs are reported";
}

std::string SoakChecks::CheckNode() const {
  for (const char* type : {"GPUReady", "GPUHealthy"}) {
    const std::string condition = Condition(type);
    if (!condition.starts_with("True")) {
      return fmt::format("the node's condition {} is {}", type, condition);
    }
  }
  return "";
}

std::string SoakChecks::Unrest() {
  const json::value status = FromAgent("/v1/status");
  if (!status.is_object()) {
    return "the agent does not answer";
  }
  ActForCluster(status);
  for (std::string problem :
       {CheckDevices(status), CheckKubelet(status), CheckPods(), CheckSlices(status),
        CheckClaims(status), CheckLoans(status), CheckMps(), CheckHealth(), CheckNode()}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  return "";
}

std::string SoakChecks::Settle() {
  std::string problem;
  (void)integration::WaitInFolder(
      At("run"), [&] { return (problem = Unrest()).empty(); }, kLongPatience);
  return problem;
}

std::string SoakChecks::CheckRest() {
  ++rests_;
  const auto log_size = [this] { return std::filesystem::file_size(At("log")); };
  std::string problem;
  int attempts = 5;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::string writes = Writes();
    const auto logged = log_size();
    const auto used = CpuTime(agent_pid());
    if (!agent_->RunsFor(kRest)) {
      return "the agent ended";
    }
    const auto cpu = CpuTime(agent_pid()) - used;
    if (cpu > kMostCpu) {
      problem = fmt::format("at rest, the agent used {} ms of {} s", cpu.count(), kRest.count());
    } else if (log_size() != logged) {
      problem = "at rest, the agent logged: " + host_->dir().ReadFile("log").substr(logged);
    } else if (Writes() != writes) {
      problem = fmt::format("at rest, the agent wrote to the API server: before\n{}after\n{}",
                            writes, Writes());
      attempts = 40;  // 256 events may wait, and go out five a second
    } else {
      return "";
    }
  }
  return problem;
}

}  // namespace kgpu::soak
