// The kubelet: it runs, and nothing in its configuration keeps it from starting or GPUs from pods.
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/kube/gates/history.h"

namespace kgpu::doctor {
namespace {

using gates::FlagHistory;
using gates::GateHistory;
using gates::GoneFlags;
using gates::HistoryOf;

constexpr std::string_view kCdiGate = "DevicePluginCDIDevices";
constexpr unsigned kFirstWithCdiGate = 28;

std::string LocationOf(const KubeletSetting& setting) {
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

// The minor version that removed the gate, if this kubelet is no older.
std::optional<unsigned> RemovedIn(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  return history && IsGone(kubelet, history->gone) ? std::optional(history->gone) : std::nullopt;
}

// The minor version that locked the gate, if that keeps this kubelet from starting. Kubernetes'
// words: "cannot set feature gate X to false, feature is locked to true".
std::optional<unsigned> LockedIn(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  const bool is_locked = history && !gate.is_on && history->locked != 0 && kubelet.version &&
                         kubelet.version->minor >= history->locked && !RemovedIn(kubelet, gate);
  return is_locked ? std::optional(history->locked) : std::nullopt;
}

bool IsFlagGone(const KubeletFacts& kubelet, const KubeletSetting& flag) {
  for (const FlagHistory& history : GoneFlags()) {
    if (history.flag == flag.name && IsGone(kubelet, history.gone)) {
      return true;
    }
  }
  return false;
}

// The file without the setting and without other settings that keep the kubelet from starting.
std::optional<FileEdit> EditOf(const KubeletFacts& kubelet, const KubeletSetting& setting) {
  const auto file = kubelet.files.find(setting.path);
  if (file == kubelet.files.end()) {
    return std::nullopt;
  }
  std::set<std::string> gates;
  std::set<std::string> flags;
  (setting.name.starts_with("--") ? flags : gates).insert(setting.name);
  for (const KubeletSetting& gate : kubelet.gates) {
    if (gate.path == setting.path && (RemovedIn(kubelet, gate) || LockedIn(kubelet, gate))) {
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
  findings.Add(std::move(evidence),
               {fmt::format("# remove {} from {}", setting.name, LocationOf(setting)),
                ReloadKubelet(kubelet)},
               EditOf(kubelet, setting));
}

bool IsKeptFromStarting(const KubeletFacts& kubelet) {
  bool is_kept = !kubelet.config_problem.empty();
  for (const KubeletSetting& gate : kubelet.gates) {
    is_kept |= RemovedIn(kubelet, gate) || LockedIn(kubelet, gate);
  }
  for (const KubeletSetting& flag : kubelet.flags) {
    is_kept |= IsFlagGone(kubelet, flag);
  }
  return is_kept;
}

void Stopped(const Facts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  if (facts.has_gpus() && facts.shows_processes && !kubelet.daemon && !kubelet.program.empty() &&
      !kubelet.config_path.empty() && !IsKeptFromStarting(kubelet)) {
    findings.Add(fmt::format("{} and {} exist, but no kubelet is running", kubelet.program,
                             kubelet.config_path),
                 {"systemctl enable --now kubelet", "journalctl -u kubelet -n 50"});
  }
}

void BadConfig(const Facts& facts, Findings& findings) {
  if (!facts.kubelet.config_problem.empty()) {
    findings.Add(facts.kubelet.config_problem, {fmt::format("# fix {}", facts.kubelet.config_path),
                                                ReloadKubelet(facts.kubelet)});
  }
}

void GateGone(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (const std::optional<unsigned> removed = RemovedIn(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate,
                 fmt::format("{} sets {}, which was removed in Kubernetes 1.{}; the kubelet is {}",
                             LocationOf(gate), gate.name, *removed, VersionText(facts.kubelet)),
                 findings);
    }
  }
}

void FlagGone(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& flag : facts.kubelet.flags) {
    if (IsFlagGone(facts.kubelet, flag)) {
      AddSetting(facts.kubelet, flag,
                 fmt::format("{} has {}, which the kubelet {} does not know", LocationOf(flag),
                             flag.name, VersionText(facts.kubelet)),
                 findings);
    }
  }
}

void GateLocked(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (const std::optional<unsigned> locked = LockedIn(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate,
                 fmt::format("{} sets {} to false, which is locked to true since Kubernetes 1.{}; "
                             "the kubelet is {}",
                             LocationOf(gate), gate.name, *locked, VersionText(facts.kubelet)),
                 findings);
    }
  }
}

// For an unknown version the newest is assumed: better one warning too many than one too few.
bool IsMinorReached(const KubeletFacts& kubelet, unsigned minor) {
  return minor != 0 && (!kubelet.version || kubelet.version->minor >= minor);
}

// The gate is set to off although its default is on; if it is locked, that is reported
// instead.
bool IsNeededGateOff(const KubeletFacts& kubelet, const KubeletSetting& gate) {
  const std::optional<GateHistory> history = HistoryOf(gate.name);
  return history && history->is_needed && !gate.is_on && IsMinorReached(kubelet, history->on) &&
         !RemovedIn(kubelet, gate) && !LockedIn(kubelet, gate);
}

void GateSettled(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    const std::optional<GateHistory> history = HistoryOf(gate.name);
    if (!history || RemovedIn(facts.kubelet, gate) || LockedIn(facts.kubelet, gate) ||
        IsNeededGateOff(facts.kubelet, gate) || !IsMinorReached(facts.kubelet, history->locked)) {
      continue;
    }
    const std::string end =
        history->gone == 0 ? "a later version removes it"
                           : fmt::format("Kubernetes 1.{} does not start with it", history->gone);
    AddSetting(facts.kubelet, gate,
               fmt::format("{} sets {}, which is always on since 1.{}: {}", LocationOf(gate),
                           gate.name, history->locked, end),
               findings);
  }
}

void GateOff(const Facts& facts, Findings& findings) {
  for (const KubeletSetting& gate : facts.kubelet.gates) {
    if (IsNeededGateOff(facts.kubelet, gate)) {
      AddSetting(facts.kubelet, gate, fmt::format("{} disables {}", LocationOf(gate), gate.name),
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
  const std::optional<GateHistory> gate = HistoryOf(kCdiGate);
  if (!gate || !kubelet.version || kubelet.version->minor >= gate->on) {
    return;
  }
  std::vector<std::string> fix = {
      "# upgrade the node: kubeadm upgrade node, then the kubelet's package"};
  std::string evidence = fmt::format("the kubelet is {}", VersionText(kubelet));
  if (kubelet.version->minor >= kFirstWithCdiGate) {
    if (IsSwitchedOn(kubelet, kCdiGate)) {
      return;
    }
    evidence += fmt::format(", which has {} disabled by default", kCdiGate);
    fix.push_back(fmt::format(
        "# or set {}: true below featureGates in {}", kCdiGate,
        kubelet.config_path.empty() ? "the kubelet's configuration" : kubelet.config_path));
    fix.push_back(ReloadKubelet(kubelet));
  }
  findings.Add(std::move(evidence), std::move(fix));
}

// In a pod the agent sees the host's files below its own folder: /host/data/kubelet.
bool IsReportedTo(const host::Daemon& agent, const std::string& root) {
  return agent.Flag({"--kubelet-dir"}).ends_with(root);
}

void RootMoved(const Facts& facts, Findings& findings) {
  const KubeletFacts& kubelet = facts.kubelet;
  bool is_reported = false;
  for (const host::Daemon& agent : kubelet.agents) {
    is_reported |= IsReportedTo(agent, kubelet.root);
  }
  if (kubelet.daemon && kubelet.root != "/var/lib/kubelet" && !is_reported) {
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
    Check{"kubelet-stopped", "The kubelet is not running", Severity::kError,
          "Its program and configuration exist, but there is no process: its log shows why it "
          "exited.",
          Stopped},
    Check{"kubelet-config-broken", "The kubelet's configuration is invalid", Severity::kError,
          "The kubelet does not start with it, or will not at its next start.", BadConfig},
    Check{"kubelet-gate-gone", "A feature gate is set that the kubelet no longer has",
          Severity::kError,
          "Old GPU guides set gates such as Accelerators, DevicePlugins or KubeletPodResources. "
          "Their features are part of Kubernetes now and the gates were removed; a kubelet with "
          "one of them exits with \"unrecognized feature gate\".",
          GateGone},
    Check{"kubelet-gate-locked", "A feature gate is disabled that is locked to true",
          Severity::kError,
          "The feature is generally available and its gate locked: a kubelet that disables it "
          "exits with \"feature is locked to true\".",
          GateLocked},
    Check{"kubelet-flag-gone", "A flag is set that the kubelet no longer has", Severity::kError,
          "It exits with \"unknown flag\". --pod-infra-container-image, which older versions of "
          "kubeadm wrote to their flags file, was removed in 1.35, --container-runtime in 1.27, "
          "and the flags for Docker (--network-plugin, --cni-bin-dir, …) in 1.24.",
          FlagGone},
    Check{"kubelet-gate-settled", "A feature gate is set that no longer has an effect",
          Severity::kWarning,
          "The feature is generally available and the gate locked. A later version removes it and "
          "then the kubelet does not start: remove it before that upgrade.",
          GateSettled},
    Check{"kubelet-gate-off", "A feature gate that GPUs need is disabled", Severity::kError,
          "Without DevicePlugins no GPU is offered to pods, without KubeletPodResources the pods "
          "of the devices are unknown, without DevicePluginCDIDevices CDI names are ignored.",
          GateOff},
    Check{"kubelet-without-cdi", "The kubelet does not support CDI in device plugins",
          Severity::kInfo,
          "Before Kubernetes 1.29 a plugin cannot use CDI devices, unless the feature gate is "
          "enabled in 1.28. kgpu then injects GPUs with annotations or with device nodes and "
          "mounts: see \"injection\" in kgpu status.",
          WithoutCdi},
    Check{"kubelet-root-moved", "The kubelet uses another root folder", Severity::kWarning,
          "pod-resources and plugins_registry are below its --root-dir, which the agent must know. "
          "device-plugins stays in /var/lib/kubelet in any case.",
          RootMoved},
    Check{"kubelet-restart-pending", "The kubelet runs with an older configuration",
          Severity::kInfo, "It reads its configuration only when it starts.", RestartPending},
};

}  // namespace

std::span<const Check> KubeletChecks() {
  return kKubeletChecks;
}

}  // namespace kgpu::doctor
