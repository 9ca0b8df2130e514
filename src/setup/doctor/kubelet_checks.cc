// The kubelet: it runs, and nothing it is told keeps it from starting or GPUs from pods.
#include <array>

#include <fmt/format.h>

#include "src/kube/gates/history.h"
#include "src/setup/doctor/check.h"
#include "src/setup/doctor/commands.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

using gates::FlagHistory;
using gates::GateHistory;
using gates::GoneFlags;
using gates::HistoryOf;

constexpr std::string_view kCdiGate = "DevicePluginCDIDevices";
constexpr unsigned kFirstWithCdiGate = 28;

std::string WhereOf(const KubeletSetting& setting) {
  return setting.path.empty() ? "the kubelet's command line" : setting.path;
}

std::string VersionText(const KubeletFacts& kubelet) {
  return kubelet.version ? engine::ToString(*kubelet.version) : "of unknown version";
}

bool IsGone(const KubeletFacts& kubelet, unsigned gone) {
  // Where the version is not known, only what no kubelet of these years takes.
  constexpr unsigned kOldest = 20;
  return gone != 0 && (kubelet.version ? kubelet.version->minor : kOldest) >= gone;
}

bool IsGateGone(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  return history && IsGone(kubelet, history->gone);
}

// Kubernetes' words: "cannot set feature gate X to false, feature is locked to true".
bool IsGateLocked(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  return history && !gate.is_on && history->locked != 0 && kubelet.version &&
         kubelet.version->minor >= history->locked && !IsGateGone(kubelet, gate);
}

bool IsFlagGone(const KubeletFacts& kubelet, const KubeletSetting& flag) {
  for (const FlagHistory& history : GoneFlags()) {
    if (history.flag == flag.name && IsGone(kubelet, history.gone)) {
      return true;
    }
  }
  return false;
}

// The file without the setting, and without whatever else in it keeps the kubelet from starting.
std::optional<FileEdit> EditOf(const KubeletFacts& kubelet, const KubeletSetting& setting) {
  const auto file = kubelet.files.find(setting.path);
  if (file == kubelet.files.end()) {
    return std::nullopt;
  }
  std::set<std::string> gates;
  std::set<std::string> flags;
  (setting.name.starts_with("--") ? flags : gates).insert(setting.name);
  for (const KubeletSetting& gate : kubelet.gates) {
    if (gate.path == setting.path && (IsGateGone(kubelet, gate) || IsGateLocked(kubelet, gate))) {
      gates.insert(gate.name);
    }
  }
  for (const KubeletSetting& flag : kubelet.flags) {
    if (flag.path == setting.path && IsFlagGone(kubelet, flag)) {
      flags.insert(flag.name);
    }
  }
  if (!file->second.is_config) {
    return FileEdit{setting.path, FlagsWithout(file->second.text, gates, flags), file->second.text};
  }
  std::optional<std::string> text = ConfigWithout(file->second.text, gates);
  if (!text) {
    return std::nullopt;
  }
  return FileEdit{setting.path, *std::move(text), file->second.text};
}

void AddSetting(const KubeletFacts& kubelet, const KubeletSetting& setting, std::string evidence,
                Findings& findings) {
  findings.Add(
      std::move(evidence),
      {fmt::format("# take {} out of {}", setting.name, WhereOf(setting)), ReloadKubelet(kubelet)},
      EditOf(kubelet, setting));
}

bool IsKeptFromStarting(const KubeletFacts& kubelet) {
  bool is_kept = !kubelet.config_problem.empty();
  for (const KubeletSetting& gate : kubelet.gates) {
    is_kept |= IsGateGone(kubelet, gate) || IsGateLocked(kubelet, gate);
  }
  for (const KubeletSetting& flag : kubelet.flags) {
    is_kept |= IsFlagGone(kubelet, flag);
  }
  return is_kept;
}

void Stopped(const Facts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (facts.has_gpus() && !kubelet.daemon && !kubelet.program.empty() &&
      !kubelet.config_path.empty() && !IsKeptFromStarting(kubelet)) {
    findings.Add(fmt::format("{} is there, {} too, and no kubelet runs", kubelet.program,
                             kubelet.config_path),
                 {"systemctl enable --now kubelet", "journalctl -u kubelet -n 50"});
  }
}

void BadConfig(const Facts& facts, Findings& findings) {
  if (!facts.kubelet.config_problem.empty()) {
    findings.Add(facts.kubelet.config_problem, {fmt::format("# mend {}", facts.kubelet.config_path),
                                                ReloadKubelet(facts.kubelet)});
  }
}

void GateGone(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (IsGateGone(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate,
                 fmt::format("{} sets {}, which is gone since Kubernetes 1.{}; the kubelet is {}",
                             WhereOf(gate), gate.name, HistoryOf(gate.name)->gone,
                             VersionText(facts.kubelet)),
                 findings);
    }
  }
}

void FlagGone(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& flag : facts.kubelet.flags) {
    if (IsFlagGone(facts.kubelet, flag)) {
      AddSetting(facts.kubelet, flag,
                 fmt::format("{} has {}, which the kubelet {} does not know", WhereOf(flag),
                             flag.name, VersionText(facts.kubelet)),
                 findings);
    }
  }
}

void GateLocked(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (IsGateLocked(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate,
                 fmt::format("{} sets {} to false, which is locked to true since Kubernetes 1.{}; "
                             "the kubelet is {}",
                             WhereOf(gate), gate.name, HistoryOf(gate.name)->locked,
                             VersionText(facts.kubelet)),
                 findings);
    }
  }
}

// Of an unknown version the newest is assumed: a warning too many, not one too few.
bool IsMinorReached(const KubeletFacts& kubelet, unsigned minor) {
  return minor != 0 && (!kubelet.version || kubelet.version->minor >= minor);
}

// Off though it would be on if nobody had said anything; where it is locked, that is told instead.
bool IsNeededGateOff(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  return history && history->is_needed && !gate.is_on && IsMinorReached(kubelet, history->on) &&
         !IsGateGone(kubelet, gate) && !IsGateLocked(kubelet, gate);
}

void GateSettled(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    const std::optional<GateHistory> history = HistoryOf(gate.name);
    if (!history || IsGateGone(facts.kubelet, gate) || IsGateLocked(facts.kubelet, gate) ||
        IsNeededGateOff(facts.kubelet, gate) || !IsMinorReached(facts.kubelet, history->locked)) {
      continue;
    }
    const std::string end =
        history->gone == 0 ? "a later version will not know it"
                           : fmt::format("Kubernetes 1.{} does not start with it", history->gone);
    AddSetting(facts.kubelet, gate,
               fmt::format("{} sets {}, which is on for good since 1.{}: {}", WhereOf(gate),
                           gate.name, history->locked, end),
               findings);
  }
}

void GateOff(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (IsNeededGateOff(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate, fmt::format("{} switches {} off", WhereOf(gate), gate.name),
                 findings);
    }
  }
}

bool IsSwitchedOn(const KubeletFacts& kubelet, std::string_view name) {
  bool is_on = false;
  for (const KubeletSetting& gate : kubelet.gates) {
    is_on |= gate.name == name && gate.is_on;
  }
  return is_on;
}

void WithoutCdi(const Facts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  const unsigned first = HistoryOf(kCdiGate)->on;
  if (!kubelet.version || kubelet.version->minor >= first) {
    return;
  }
  std::vector<std::string> mend = {
      "# upgrade the node: kubeadm upgrade node, then the kubelet's package"};
  std::string evidence = fmt::format("the kubelet is {}", VersionText(kubelet));
  if (kubelet.version->minor >= kFirstWithCdiGate) {
    if (IsSwitchedOn(kubelet, kCdiGate)) {
      return;
    }
    evidence += fmt::format(", which has {} switched off where nobody switches it on", kCdiGate);
    mend.push_back(fmt::format(
        "# or set {}: true below featureGates in {}", kCdiGate,
        kubelet.config_path.empty() ? "the kubelet's configuration" : kubelet.config_path));
    mend.push_back(ReloadKubelet(kubelet));
  }
  findings.Add(std::move(evidence), std::move(mend));
}

// In a pod the agent sees the host's files below a folder of its own: /host/data/kubelet.
bool IsToldTo(const engine::Daemon& agent, const std::string& root) {
  return agent.Flag({"--kubelet-dir"}).ends_with(root);
}

void RootMoved(const Facts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  bool is_told = false;
  for (const engine::Daemon& agent : kubelet.agents) {
    is_told |= IsToldTo(agent, kubelet.root);
  }
  if (kubelet.daemon && kubelet.root != "/var/lib/kubelet" && !is_told) {
    findings.Add(
        fmt::format("the kubelet (pid {}) has --root-dir {}", kubelet.daemon->pid, kubelet.root),
        {fmt::format("kgpu agent --kubelet-dir {}   # in its manifest or unit", kubelet.root)});
  }
}

void RestartPending(const Facts& facts, Findings& findings) {
  if (facts.kubelet.is_config_newer) {
    findings.Add(fmt::format("{} is newer than the kubelet's process (pid {})",
                             facts.kubelet.config_path, facts.kubelet.daemon->pid),
                 {ReloadKubelet(facts.kubelet)});
  }
}

constexpr std::array kKubeletChecks = {
    Check{"kubelet-stopped", "The kubelet does not run", Severity::kError,
          "Program and configuration are here, and no process: its log says why it ended.",
          Stopped},
    Check{"kubelet-config-broken", "The kubelet's configuration is not valid", Severity::kError,
          "It does not start with it, or would not at its next start.", BadConfig},
    Check{"kubelet-gate-gone", "A feature gate is set that the kubelet no longer knows",
          Severity::kError,
          "Guides for GPUs of former years set gates such as Accelerators, DevicePlugins or "
          "KubeletPodResources. What they switch is part of Kubernetes now, the gates are gone, "
          "and a kubelet that is told of one ends with \"unrecognized feature gate\".",
          GateGone},
    Check{
        "kubelet-gate-locked", "A feature gate is off that can not be switched off any more",
        Severity::kError,
        "The feature is general and its gate locked: a kubelet that is told to switch it off ends "
        "with \"feature is locked to true\".",
        GateLocked},
    Check{"kubelet-flag-gone", "A flag is given that the kubelet no longer knows", Severity::kError,
          "It ends with \"unknown flag\". --pod-infra-container-image, which older kubeadms wrote "
          "into their file of flags, went with 1.35, --container-runtime with 1.27, and what was "
          "for Docker alone (--network-plugin, --cni-bin-dir, …) with 1.24.",
          FlagGone},
    Check{"kubelet-gate-settled", "A feature gate is set that has no effect any more",
          Severity::kWarning,
          "The feature is general, the gate locked. Some version later it is gone and keeps the "
          "kubelet from starting: take it out before that upgrade.",
          GateSettled},
    Check{"kubelet-gate-off", "A feature gate that GPUs need is switched off", Severity::kError,
          "Without DevicePlugins no GPU is offered to pods, without KubeletPodResources nobody "
          "can tell which pod has which, without DevicePluginCDIDevices CDI names are ignored.",
          GateOff},
    Check{
        "kubelet-without-cdi", "The kubelet is older than CDI in device plugins", Severity::kInfo,
        "Before Kubernetes 1.29 a plugin can not name CDI devices, but where 1.28 was told to take "
        "them. kgpu then hands GPUs out by annotations or by device nodes and mounts: see "
        "\"delivery\" in kgpu status.",
        WithoutCdi},
    Check{"kubelet-root-moved", "The kubelet keeps its files elsewhere", Severity::kWarning,
          "pod-resources and plugins_registry lie below its --root-dir, which an agent has to be "
          "told of. device-plugins stays in /var/lib/kubelet, whatever the flag says.",
          RootMoved},
    Check{"kubelet-restart-pending", "The kubelet runs with an older configuration",
          Severity::kInfo, "It reads its configuration once, when it starts.", RestartPending},
};

}  // namespace

std::span<const Check> KubeletChecks() {
  return kKubeletChecks;
}

}  // namespace kgpu::doctor
