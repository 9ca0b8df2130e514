// Device plugins on the kubelet of this host: sockets, registration, as many GPUs as there are.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kFolder = "/var/lib/kubelet/device-plugins";
constexpr std::string_view kOurStart = "kgpu-nvidia.com_";
constexpr std::string_view kTheirStart = "nvidia-";

// The kubelet runs and could hand GPUs out.
bool IsNodeReady(const Facts& facts) {
  return facts.has_gpus() && facts.driver.is_nvidia_live && facts.kubelet.daemon;
}

bool CanRegister(const Facts& facts) {
  return IsNodeReady(facts) && facts.kubelet.registration == SocketState::kAnswers;
}

void SocketMissing(const Facts& facts, Findings& findings) {
  if (IsNodeReady(facts) && facts.kubelet.registration == SocketState::kAbsent) {
    findings.Add(fmt::format("no {}/kubelet.sock", kFolder), {RestartKubelet(facts.kubelet)});
  }
}

void SocketSilent(const Facts& facts, Findings& findings) {
  if (IsNodeReady(facts) && facts.kubelet.registration == SocketState::kSilent) {
    findings.Add(fmt::format("nothing answers on {}/kubelet.sock", kFolder),
                 {RestartKubelet(facts.kubelet), KubeletLog(facts.kubelet)});
  }
}

void NoPodResources(const Facts& facts, Findings& findings) {
  const SocketState state = facts.kubelet.pod_resources;
  if (IsNodeReady(facts) && (state == SocketState::kAbsent || state == SocketState::kSilent)) {
    findings.Add(fmt::format("{} {}/pod-resources/kubelet.sock",
                             state == SocketState::kAbsent ? "no" : "nothing answers on",
                             facts.kubelet.root),
                 {RestartKubelet(facts.kubelet)});
  }
}

void NoRegistry(const Facts& facts, Findings& findings) {
  if (IsNodeReady(facts) && !facts.kubelet.has_plugins_registry.value_or(true)) {
    findings.Add(fmt::format("no {}/plugins_registry", facts.kubelet.root),
                 {RestartKubelet(facts.kubelet)});
  }
}

void SocketLeft(const Facts& facts, Findings& findings) {
  for (const PluginSocket& socket : facts.kubelet.plugins) {
    if (socket.state == SocketState::kSilent) {
      findings.Add(fmt::format("nothing answers on {}/{}", kFolder, socket.name),
                   {fmt::format("rm {}/{}", kFolder, socket.name)});
    }
  }
}

bool Answers(const Facts& facts, std::string_view name) {
  return std::ranges::any_of(facts.kubelet.plugins, [name](const PluginSocket& socket) {
    return socket.name == name && socket.state == SocketState::kAnswers;
  });
}

void Twice(const Facts& facts, Findings& findings) {
  for (const std::string& name : TwiceServed(facts)) {
    findings.Add(
        fmt::format("{0}{1} and {2}{1} both answer in {3}", kTheirStart, name, kOurStart, kFolder),
        {"kgpu node adopt --from plugin   # kgpu serves the GPUs; then remove the other plugin:",
         "kgpu node status   # prints the command",
         "# or leave the GPUs to the other plugin: kgpu node release --from plugin"});
  }
}

bool IsGpuResource(const Facts& facts, std::string_view name) {
  if (name.starts_with("nvidia.com/") || name.starts_with("kgpu.dev/")) {
    return true;
  }
  return facts.heard.agent &&
         std::ranges::any_of(facts.heard.agent->resources,
                             [name](const auto& resource) { return resource.name == name; });
}

// The GPUs that the kubelet has, each once: "GPU-…::3" is a share of one.
std::set<std::string> Registered(const Facts& facts) {
  std::set<std::string> ids;
  if (facts.kubelet.checkpoint) {
    for (const auto& [resource, devices] : facts.kubelet.checkpoint->registered) {
      for (const std::string& id : devices) {
        if (IsGpuResource(facts, resource)) {
          ids.insert(id.substr(0, id.find("::")));
        }
      }
    }
  }
  return ids;
}

bool HasAnyPlugin(const Facts& facts) {
  return std::ranges::any_of(facts.kubelet.plugins, [](const PluginSocket& socket) {
    return socket.state == SocketState::kAnswers;
  });
}

// A resource of a plugin that shares GPUs under its own name: "volcano.sh/vgpu-number",
// "aliyun.com/gpu-mem". Its socket may have any name.
bool HasOthersResource(const Facts& facts) {
  if (!facts.kubelet.checkpoint) {
    return false;
  }
  return std::ranges::any_of(facts.kubelet.checkpoint->registered, [&](const auto& entry) {
    const auto& [name, devices] = entry;
    const bool is_of_another_vendor = name.starts_with("amd.com/") ||
                                      name.starts_with("gpu.intel.com/") ||
                                      name.starts_with("intel.com/");
    const bool is_gpus = IsGpuResource(facts, name) || name.find("gpu") != std::string::npos ||
                         name.find("cuda") != std::string::npos;
    return !devices.empty() && is_gpus && !is_of_another_vendor;
  });
}

void NoPlugin(const Facts& facts, Findings& findings) {
  if (CanRegister(facts) && !facts.heard.agent && facts.kubelet.agents.empty() &&
      !HasAnyPlugin(facts) && !facts.kubelet.has_claims_driver && !HasOthersResource(facts)) {
    findings.Add(fmt::format("no agent is running, and nothing answers in {}", kFolder),
                 {"kubectl apply -f deploy/manifests/kgpu.yaml",
                  "systemctl enable --now kgpu-agent   # if it runs without a pod"});
  }
}

void AgentNotReady(const Facts& facts, Findings& findings) {
  const std::optional<AgentFacts>& agent = facts.heard.agent;
  if (agent && !agent->is_ready && agent->plugin_owner.empty() &&
      std::ranges::all_of(agent->resources,
                          [](const auto& resource) { return resource.state == "Registered"; })) {
    findings.Add(fmt::format("the agent reports: {}", agent->obstacle), {"kgpu status"});
  }
}

void NotRegistered(const Facts& facts, Findings& findings) {
  if (!facts.heard.agent || !CanRegister(facts) || !facts.heard.agent->plugin_owner.empty()) {
    return;
  }
  for (const AgentFacts::Resource& resource : facts.heard.agent->resources) {
    if (resource.state != "Registered") {
      findings.Add(fmt::format("{}: {}{}{}", resource.name, resource.state,
                               resource.reason.empty() ? "" : ": ", resource.reason),
                   {"kgpu status", fmt::format("{} | grep -i plugin", KubeletLog(facts.kubelet))});
    }
  }
}

void KubeletHasNone(const Facts& facts, Findings& findings) {
  if (CanRegister(facts) && HasAnyPlugin(facts) && facts.kubelet.checkpoint &&
      Registered(facts).empty() && (!facts.heard.agent || facts.heard.agent->unhealthy.empty())) {
    findings.Add(
        fmt::format("a device plugin answers, but the kubelet's checkpoint in {} has no GPU",
                    kFolder),
        {"kgpu status", RestartKubelet(facts.kubelet),
         fmt::format("{} | grep -i plugin", KubeletLog(facts.kubelet))});
  }
}

bool IsMig(const std::set<std::string>& ids) {
  return std::ranges::any_of(ids, [](const std::string& id) { return id.starts_with("MIG-"); });
}

// A GPU that the driver does not report, which is the cause, has a check of its own.
bool IsUnlisted(const Facts& facts, const device::PciBusId& id) {
  const std::optional<DriverAnswer>& answer = facts.heard.driver;
  return answer && answer->is_ready() &&
         std::ranges::find(answer->snapshot->unmanaged, id, &device::UnmanagedGpu::pci) !=
             answer->snapshot->unmanaged.end();
}

void Short(const Facts& facts, Findings& findings) {
  const std::set<std::string> registered = Registered(facts);
  const size_t there = static_cast<size_t>(
      std::ranges::count_if(facts.pci.gpus, [&facts](const host::GpuFacts& gpu) {
        return !gpu.pci.is_off_bus && gpu.pci.kernel_driver == "nvidia" &&
               !IsUnlisted(facts, gpu.pci.id);
      }));
  size_t known = registered.size();
  if (const std::optional<AgentFacts>& agent = facts.heard.agent) {
    known = std::max(known, agent->devices.size()) + agent->unassigned;
  }
  if (CanRegister(facts) && !registered.empty() && !IsMig(registered) && known < there) {
    findings.Add(fmt::format("{} GPUs have a driver, but the kubelet has {}", there, known),
                 {"kgpu devices", "kgpu status   # shows which one is not advertised, and why"});
  }
}

void Unhealthy(const Facts& facts, Findings& findings) {
  const bool hangs = facts.heard.driver && facts.heard.driver->is_unresponsive();
  if (facts.heard.agent) {
    for (const std::string& unhealthy : facts.heard.agent->unhealthy) {
      // A driver that hangs is reported once, not for each of its GPUs.
      if (!hangs || unhealthy.find(" DriverUnresponsive: ") == std::string::npos) {
        findings.Add(unhealthy, {"kgpu health"});
      }
    }
  }
}

constexpr std::array kPluginChecks = {
    Check{"kubelet-socket-missing", "The kubelet has no socket for device plugins",
          Severity::kError,
          "Plugins register on it. Somebody has emptied the folder of a running kubelet, which "
          "creates the socket only when it starts.",
          SocketMissing},
    Check{"kubelet-socket-silent", "The kubelet does not answer device plugins", Severity::kError,
          "The socket belongs to a kubelet that exited, or that does not respond.", SocketSilent},
    Check{
        "kubelet-pod-resources-missing", "The kubelet does not report which pod has which GPU",
        Severity::kWarning,
        "Container metrics, accounting and eviction query it there. GPUs are allocated without it.",
        NoPodResources},
    Check{"kubelet-registry-missing", "The kubelet's plugin folder does not exist",
          Severity::kWarning,
          "Plugins that the kubelet discovers, and drivers of dynamic resource allocation, create "
          "their sockets there.",
          NoRegistry},
    Check{"plugin-socket-left", "A device plugin left its socket behind", Severity::kInfo,
          "Nothing answers on it. It is harmless, but misleading in a search for a second plugin.",
          SocketLeft},
    Check{"plugin-twice", "Two device plugins serve the same GPUs", Severity::kError,
          "The kubelet uses the one that registered last, and asks it for devices of the other: "
          "pods fail with UnexpectedAdmissionError, or two pods get one GPU.",
          Twice},
    Check{"plugin-missing", "No device plugin offers the GPUs", Severity::kError,
          "The kubelet and the driver are ready, but nothing advertises the GPUs.", NoPlugin},
    Check{"agent-not-ready", "The agent of this node is not ready", Severity::kError,
          "It reports the reason.", AgentNotReady},
    Check{"plugin-not-registered", "A resource is not registered with the kubelet",
          Severity::kError,
          "The agent tries again automatically; the message is the kubelet's last answer.",
          NotRegistered},
    Check{"kubelet-knows-no-gpu", "The kubelet knows no GPU from the device plugin",
          Severity::kError,
          "A plugin runs, but the kubelet's registered devices include none of NVIDIA's: the "
          "plugin was rejected, or has reported no healthy device.",
          KubeletHasNone},
    Check{"capacity-short", "The kubelet has fewer GPUs than the host", Severity::kError,
          "A GPU with a driver is not advertised: it was added later, it is unhealthy, or a filter "
          "excludes it.",
          Short},
    Check{"gpu-unhealthy", "The agent holds a GPU back", Severity::kWarning,
          "Its health monitoring found it unhealthy. The GPU counts as capacity but is not "
          "allocatable.",
          Unhealthy},
};

}  // namespace

std::vector<std::string> TwiceServed(const Facts& facts) {
  std::vector<std::string> names;
  for (const PluginSocket& socket : facts.kubelet.plugins) {
    const bool is_theirs =
        socket.name.starts_with(kTheirStart) && socket.state == SocketState::kAnswers;
    const std::string name = is_theirs ? socket.name.substr(kTheirStart.size()) : "";
    if (is_theirs && Answers(facts, fmt::format("{}{}", kOurStart, name))) {
      names.push_back(name);
    }
  }
  return names;
}

std::span<const Check> PluginChecks() {
  return kPluginChecks;
}

}  // namespace kgpu::doctor
