#include "tests/integration/chaos_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "testing/kubelet/checkpoint.h"
#include "tests/integration/kubelet_times.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

constexpr const char* kResource = "nvidia.com/gpu";
constexpr int64_t kDevices = 8;  // four GPUs, two slots of each
constexpr size_t kMostPods = 10;
constexpr std::chrono::seconds kPatience{60};
// A probe that lives so long has its agent forget that those before it died.
constexpr std::chrono::seconds kProbeCountsAsStable{11};
constexpr unsigned kMostProbeDeaths = 4;

kubelet::FakeKubelet::Options KubeletOptions(const AgentNode& node, uint32_t seed) {
  return {.root = node.kubelet_root(), .constants = ShortTimes(), .seed = seed};
}

int64_t Wanted(const kubelet::Pod& pod) {
  const auto requests = kubelet::RequestsOf(pod.spec);
  const auto found = requests.find(kResource);
  return found == requests.end() ? 0 : found->second;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.insert(entry.path().filename());
  }
  return names;
}

}  // namespace

ChaosNode::ChaosNode(config::Registration registration, uint32_t seed)
    : random_(seed),
      node_({.registration = registration,
             .strategy = "[cdi-cri, device-specs, mounts]",
             .more_config = "pools: [{devices: all, share: {by: time, replicas: 2}}]\n"}),
      kubelet_(KubeletOptions(node_, seed)) {
}

std::string ChaosNode::Start() {
  if (const Status status = kubelet_.Start(); !status.ok()) {
    return std::string(Message(status));
  }
  StartAgent();
  return Settle();
}

// What happens next happens at another moment of what happens now.
void ChaosNode::Pause() {
  (void)poll(nullptr, 0, static_cast<int>(Random(15)));
}

void ChaosNode::ChurnPods() {
  std::vector<kubelet::Pod> pods = kubelet_.Pods();
  std::ranges::shuffle(pods, random_);
  for (const kubelet::Pod& pod : pods) {
    if (pod.is_terminal()) {
      counts_.refused += pod.status.reason == "UnexpectedAdmissionError" ? 1 : 0;
      (void)kubelet_.RemovePod(pod.spec.name);
    } else if (Random(3) == 0) {
      (void)kubelet_.RemovePod(pod.spec.name, Random(4) == 0);
    } else if (Random(6) == 0) {
      (void)kubelet_.ExitContainer(pod.spec.name, "main", 1);
    }
  }
  for (uint32_t i = Random(4); i > 0 && kubelet_.Pods().size() < kMostPods; --i) {
    kubelet::PodSpec pod =
        kubelet::SimplePod(fmt::format("pod-{}", ++counts_.pods), kResource, 1 + Random(3));
    pod.waits_for_resources = Random(4) != 0;
    (void)kubelet_.AddPod(pod);
  }
}

void ChaosNode::StartAgent() {
  node_.StartAgent();
  probe_deaths_ = 0;
}

// Not too often in a row: an agent whose probe dies again and again waits longer and longer.
void ChaosNode::KillProbe() {
  if (Clock::now() - probe_since_ > kProbeCountsAsStable) {
    probe_deaths_ = 0;
  }
  if (++probe_deaths_ > kMostProbeDeaths) {
    return;
  }
  for (const auto& [pid, state] : node_.AgentChildren()) {
    if (state != 'Z' && kill(pid, SIGKILL) == 0) {
      ++counts_.probes_killed;
    }
  }
}

void ChaosNode::Kill(uint32_t victims) {
  if ((victims & kProbe) != 0) {
    KillProbe();
  }
  if ((victims & kKubelet) != 0) {
    kubelet_.Stop();
    ++counts_.kubelets_killed;
  }
  if ((victims & kAgent) != 0) {
    node_.EndAgent(SIGKILL);
    ++counts_.agents_killed;
  }
  Pause();
  ChurnPods();
  Pause();
  const bool is_agent_first = Random(2) == 0;
  if ((victims & kAgent) != 0 && is_agent_first) {
    StartAgent();
    Pause();
  }
  if ((victims & kKubelet) != 0) {
    (void)kubelet_.Start(std::chrono::milliseconds(Random(4)));
    Pause();
  }
  if ((victims & kAgent) != 0 && !is_agent_first) {
    StartAgent();
  }
}

void ChaosNode::Blow(bool may_kill_agent) {
  ChurnPods();
  Pause();
  constexpr uint32_t kAll[] = {
      kAgent, kProbe, kKubelet, kAgent | kProbe, kAgent | kKubelet, kProbe | kKubelet};
  uint32_t victims = kAll[Random(6)];
  if (!may_kill_agent) {
    victims = victims == kAgent ? uint32_t{kProbe} : victims & ~uint32_t{kAgent};
  }
  counts_.doubles += (victims & (victims - 1)) != 0 ? 1 : 0;
  Kill(victims);
  ChurnPods();
}

bool ChaosNode::HaveDevicesSettled() const {
  const auto endpoints = kubelet_.Endpoints();
  return kubelet_.Capacity(kResource) == kDevices && kubelet_.Allocatable(kResource) == kDevices &&
         endpoints.size() == 1 && endpoints[0].is_connected;
}

bool ChaosNode::HavePodsSettled() const {
  int64_t free = kDevices;
  int64_t least_wanted = kDevices + 1;
  for (const kubelet::Pod& pod : kubelet_.Pods()) {
    if (pod.is_terminating) {
      return false;
    }
    if (pod.is_terminal()) {
      continue;
    }
    if (!pod.status.is_bound) {
      least_wanted = std::min(least_wanted, Wanted(pod));
      continue;
    }
    const auto& containers = pod.status.containers;
    if (pod.status.phase != kubelet::PodPhase::kRunning ||
        !std::ranges::all_of(containers, [](const kubelet::ContainerStatus& container) {
          return container.state == kubelet::ContainerState::kRunning;
        })) {
      return false;
    }
    free -= Wanted(pod);
  }
  return least_wanted > free;  // who waits, waits for a reason
}

bool ChaosNode::HasAgentSettled() const {
  const auto children = node_.AgentChildren();
  if (children.size() != 1 || children.begin()->second == 'Z') {
    return false;
  }
  const boost::json::value status = node_.Status();
  return status.is_object() && status.at("ready") == true &&
         StateOf(status, kResource) == "Registered";
}

std::string ChaosNode::CheckPods() const {
  const auto checkpoint = kubelet::ParseCheckpoint(kubelet_.CheckpointText(), "checkpoint");
  if (!checkpoint.ok()) {
    return std::string(Message(checkpoint.status()));
  }
  std::map<std::string, std::string> owners;
  for (const kubelet::Pod& pod : kubelet_.Pods()) {
    if (pod.is_terminal() || !pod.status.is_bound) {
      continue;
    }
    const auto& devices = pod.status.containers.at(0).devices;
    const auto ids = devices.contains(kResource) ? devices.at(kResource) : kubelet::DeviceIds();
    if (static_cast<int64_t>(ids.size()) != Wanted(pod)) {
      return fmt::format("{} has {} devices and wants {}", pod.spec.name, ids.size(), Wanted(pod));
    }
    for (const std::string& id : ids) {
      if (const auto [owner, is_new] = owners.emplace(id, pod.spec.name); !is_new) {
        return fmt::format("{} is given to {} and to {}", id, owner->second, pod.spec.name);
      }
    }
    const auto written =
        std::ranges::find(checkpoint->entries, pod.spec.uid, &kubelet::Assignment::pod_uid);
    if (written == checkpoint->entries.end() || written->ids() != ids) {
      return fmt::format("{}: the checkpoint tells other devices", pod.spec.name);
    }
  }
  return "";
}

std::string ChaosNode::CheckFolders() const {
  if (const auto problems = node_.CdiProblems(); !problems.empty()) {
    return fmt::format("{}", fmt::join(problems, "; "));
  }
  const std::set<std::string> expected = {"kubelet.sock", "kubelet_internal_checkpoint",
                                          "kgpu-nvidia.com_gpu.sock"};
  for (const std::string folder : {"device-plugins", "plugins_registry"}) {
    for (const std::string& name : NamesIn(node_.kubelet_root() + "/" + folder)) {
      if (!expected.contains(name)) {
        return fmt::format("{}/{}: left behind", folder, name);
      }
    }
  }
  for (const std::string& name : NamesIn(node_.run_dir())) {
    if (name != "agent.sock" && name != "agent-memory.json") {
      return fmt::format("run/{}: left behind", name);
    }
  }
  return "";
}

std::string ChaosNode::Settle() {
  const auto have_both = [this] { return HaveDevicesSettled() && HavePodsSettled(); };
  // The agent last: by then the kubelet has noticed what was killed.
  const bool is_settled =
      kubelet_.WaitFor(have_both, kPatience) &&
      WaitInFolder(node_.run_dir(), [&] { return HasAgentSettled() && have_both(); }, kPatience);
  if (!is_settled) {
    const auto endpoints = kubelet_.Endpoints();
    return fmt::format("not settled: allocatable {} of {}, {} endpoints{}, pods {}, agent {}",
                       kubelet_.Allocatable(kResource), kubelet_.Capacity(kResource),
                       endpoints.size(),
                       !endpoints.empty() && endpoints[0].is_connected ? " (connected)" : "",
                       HavePodsSettled() ? "settled" : "not settled",
                       HasAgentSettled() ? "settled" : "not settled");
  }
  if (const auto children = node_.AgentChildren();
      !children.empty() && children.begin()->first != probe_) {
    probe_ = children.begin()->first;
    probe_since_ = Clock::now();
  }
  if (std::string problem = CheckPods(); !problem.empty()) {
    return problem;
  }
  // An agent clears away what a killed one left when it writes, a moment after its start.
  std::string problem;
  (void)WaitInFolder(
      node_.run_dir(), [&] { return (problem = CheckFolders()).empty(); }, kPatience);
  return problem;
}

AgentSize ChaosNode::agent_size() const {
  AgentSize size;
  const std::string process = fmt::format("/proc/{}", node_.agent_pid());
  size.open_files = NamesIn(process + "/fd").size();
  std::ifstream file(process + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) {
      size.resident_kib = std::stoul(line.substr(6));
    }
  }
  return size;
}

}  // namespace kgpu::integration
