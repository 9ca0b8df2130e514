// What the driver reports about its GPUs: it answers, has lost none, and their memory is sound.
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
#include "src/gpu/health/health_event.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kLost = "GpuLost";
constexpr std::string_view kDrain = "# drain the node: kubectl drain NODE --ignore-daemonsets";
constexpr std::string_view kReadLog = "dmesg -T | grep -E 'NVRM|Xid'";

const device::Snapshot* ReadySnapshot(const Facts& facts) {
  const std::optional<DriverAnswer>& answer = facts.heard.driver;
  return answer && answer->is_ready() ? answer->snapshot.get() : nullptr;
}

std::string NameOf(const device::Gpu& gpu) {
  return fmt::format("{} ({})", gpu.uuid.str(), gpu.pci.str());
}

std::vector<std::string> ResetCommands(const device::Gpu& gpu) {
  return {std::string(kDrain), fmt::format("nvidia-smi --gpu-reset -i {}", gpu.uuid.str()),
          "reboot   # if the reset is refused"};
}

// Somebody holds the driver's GPUs open, so its first answer needs no start of the hardware.
bool IsKeptStarted(const Facts& facts) {
  const bool is_refused =
      std::ranges::any_of(facts.services.persistence, [](const host::Daemon& daemon) {
        return std::ranges::find(daemon.argv, "--no-persistence-mode") != daemon.argv.end();
      });
  const bool has_daemon =
      !facts.services.persistence.empty() || facts.services.has_persistence_socket;
  return (has_daemon && !is_refused) || facts.heard.agent || !facts.kubelet.agents.empty();
}

void Unresponsive(const Facts& facts, Findings& findings) {
  const std::optional<DriverAnswer>& answer = facts.heard.driver;
  if (!answer || !answer->is_unresponsive()) {
    return;
  }
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(answer->deadline);
  std::string evidence = answer->is_late
                             ? fmt::format("no complete answer within {} s", waited.count())
                             : answer->snapshot->driver.reason;
  std::vector<std::string> fix = {std::string(kReadLog),
                                  "# end the programs that use the GPUs, as far as they end",
                                  "reboot   # a driver that hangs does not recover by itself"};
  if (IsKeptStarted(facts)) {
    findings.Add(std::move(evidence), std::move(fix));
    return;
  }
  fix.insert(fix.begin(), "time nvidia-smi   # if it answers, the driver was only starting");
  findings.AddWarning(
      fmt::format("{}; without nvidia-persistenced the first answer can take longer", evidence),
      std::move(fix));
}

size_t OffBusCount(const Facts& facts) {
  return static_cast<size_t>(std::ranges::count_if(
      facts.pci.gpus, [](const host::GpuFacts& gpu) { return gpu.pci.is_off_bus; }));
}

bool IsOffBus(const Facts& facts, const device::PciBusId& id) {
  return std::ranges::any_of(facts.pci.gpus, [&id](const host::GpuFacts& gpu) {
    return gpu.pci.is_off_bus && gpu.pci.id == id;
  });
}

// One that has left the bus is reported by the checks of the bus.
void Lost(const Facts& facts, Findings& findings) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  if (snapshot == nullptr) {
    return;
  }
  const std::vector<std::string> fix = {std::string(kReadLog), std::string(kDrain), "reboot",
                                        "# if it happens again: power supply, riser, the card"};
  for (const device::Gpu& gpu : snapshot->gpus) {
    if (gpu.health.reason == kLost && !IsOffBus(facts, gpu.pci)) {
      findings.Add(fmt::format("{}: {}", NameOf(gpu), gpu.health.message), fix);
    }
  }
  if (snapshot->lost_gpus <= OffBusCount(facts)) {
    return;
  }
  std::vector<std::string> missing;
  for (const device::UnmanagedGpu& gpu : snapshot->unmanaged) {
    if (gpu.kernel_driver == "nvidia" && !IsOffBus(facts, gpu.pci)) {
      missing.push_back(gpu.pci.str());
    }
  }
  findings.Add(
      fmt::format("the driver answers \"GPU is lost\" for {} of its GPUs{}", snapshot->lost_gpus,
                  missing.empty() ? "" : "; it does not list " + Join(missing, ", ")),
      fix);
}

// GPUs that NVIDIA's driver holds and does not report, for another reason than that it has lost
// them, or that they lack a device node.
void NotListed(const Facts& facts, Findings& findings) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  if (snapshot == nullptr) {
    return;
  }
  std::vector<const device::UnmanagedGpu*> unlisted;
  for (const device::UnmanagedGpu& gpu : snapshot->unmanaged) {
    if (gpu.kernel_driver == "nvidia" && !IsOffBus(facts, gpu.pci)) {
      unlisted.push_back(&gpu);
    }
  }
  const auto nodes =
      static_cast<size_t>(std::ranges::count_if(facts.devices.names, [](const std::string& name) {
        return host::NumberedNode(name, "nvidia").has_value();
      }));
  const size_t without_node = facts.devices.gpu_count - std::min(nodes, facts.devices.gpu_count);
  const size_t lost =
      snapshot->lost_gpus - std::min<size_t>(snapshot->lost_gpus, OffBusCount(facts));
  if (unlisted.size() <= lost + without_node) {
    return;
  }
  for (const device::UnmanagedGpu* gpu : unlisted) {
    std::vector<std::string> fix = {
        fmt::format("dmesg -T | grep -E 'NVRM|Xid' | grep -i {}", gpu->pci.str()),
        "# check its power cables and its seat; then:", "reboot"};
    if (const host::Misfit misfit = MisfitOf(facts, gpu->pci_device_id)) {
      fix = {misfit.fix};
    }
    findings.Add(fmt::format("{}: {}", gpu->pci.str(), gpu->reason), std::move(fix));
  }
}

// Checks of their own report these, by the driver's counters or by the bus.
bool HasOwnCheck(const Facts& facts, const health::OpenFault& fault, const device::Gpu& gpu) {
  constexpr std::array<std::string_view, 5> kRules = {
      "EccUncorrected", "RowRemapPending", "RowRemapFailed", "ThermalSlowdown", "NvLinkDown"};
  if (fault.rule == "PcieDowngrade") {
    return std::ranges::any_of(facts.pci.gpus, [&gpu](const host::GpuFacts& one) {
      return one.pci.id == gpu.pci && one.link_width.value_or(0) < one.link_width_max.value_or(0);
    });
  }
  const bool lacks_manager = !facts.pci.nvswitches.empty() && facts.services.fabric.empty();
  return std::ranges::find(kRules, fault.rule) != kRules.end() ||
         (lacks_manager && fault.fault_class == health::FaultClass::kNvLink);
}

// Calls `report` with the GPU of each measured fault.
template <typename Report>
void ForEachFault(const Facts& facts, Report report) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  for (const health::OpenFault& fault : facts.gpu_faults) {
    const device::Gpu* gpu = snapshot == nullptr ? nullptr : snapshot->FindGpu(fault.scope.gpu);
    if (gpu != nullptr) {
      report(*gpu, fault);
    }
  }
}

std::string FaultText(const device::Gpu& gpu, const health::OpenFault& fault) {
  return fmt::format("{}: {}: {}{}{}", NameOf(gpu), fault.rule, fault.message,
                     fault.detail.empty() ? "" : " ", fault.detail);
}

std::vector<std::string> FixOf(const device::Gpu& gpu, const health::OpenFault& fault) {
  switch (fault.action) {
    case health::Action::kDrain:
    case health::Action::kResetGpu:
      return ResetCommands(gpu);
    case health::Action::kReboot:
      return {std::string(kDrain), "reboot"};
    case health::Action::kIgnore:
    case health::Action::kRestartApp:
    case health::Action::kInspect:
      break;
  }
  return {"kgpu health   # shows it for as long as it lasts",
          "# inspect the hardware as described; replace it if the fault recurs"};
}

void Faulty(const Facts& facts, Findings& findings) {
  ForEachFault(facts, [&](const device::Gpu& gpu, const health::OpenFault& fault) {
    if (fault.is_unhealthy && gpu.health.is_healthy && !HasOwnCheck(facts, fault, gpu)) {
      findings.Add(FaultText(gpu, fault), FixOf(gpu, fault));
    }
  });

  const device::Snapshot* snapshot = ReadySnapshot(facts);
  if (snapshot == nullptr) {
    return;
  }
  for (const device::Gpu& gpu : snapshot->gpus) {
    if (!gpu.health.is_healthy && gpu.health.reason != kLost) {
      std::vector<std::string> fix = ResetCommands(gpu);
      fix.insert(fix.begin(), std::string(kReadLog));
      findings.Add(fmt::format("{}: {}: {}", NameOf(gpu), gpu.health.reason, gpu.health.message),
                   std::move(fix));
    }
  }
}

// Calls `judge` with each GPU that was measured, and its sample.
template <typename Judge>
void ForEachSample(const Facts& facts, Judge judge) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  if (snapshot == nullptr || !facts.heard.driver->samples) {
    return;
  }
  for (const device::GpuSample& sample : facts.heard.driver->samples->gpus) {
    if (const device::Gpu* gpu = snapshot->FindGpu(sample.uuid)) {
      judge(*gpu, sample);
    }
  }
}

void EccUncorrected(const Facts& facts, Findings& findings) {
  ForEachSample(facts, [&](const device::Gpu& gpu, const device::GpuSample& sample) {
    const uint64_t errors = sample.ecc.volatile_uncorrected.value_or(0);
    if (errors > 0) {
      findings.Add(fmt::format("{}: {} uncorrected ECC error{} since the driver was loaded",
                               NameOf(gpu), errors, errors == 1 ? "" : "s"),
                   ResetCommands(gpu));
    }
  });
}

void RemapPending(const Facts& facts, Findings& findings) {
  ForEachSample(facts, [&](const device::Gpu& gpu, const device::GpuSample& sample) {
    if (sample.remaps && sample.remaps->is_pending) {
      findings.Add(fmt::format("{}: a memory row is replaced at the next reset", NameOf(gpu)),
                   ResetCommands(gpu));
    }
  });
}

void RemapFailed(const Facts& facts, Findings& findings) {
  ForEachSample(facts, [&](const device::Gpu& gpu, const device::GpuSample& sample) {
    if (sample.remaps && sample.remaps->has_failed) {
      findings.Add(fmt::format("{}: no spare memory row was left", NameOf(gpu)),
                   {std::string(kDrain), "# replace the GPU: its vendor takes it back for this"});
    }
  });
}

void Hot(const Facts& facts, Findings& findings) {
  ForEachFault(facts, [&](const device::Gpu& gpu, const health::OpenFault& fault) {
    if (fault.rule == "ThermalSlowdown") {
      findings.Add(FaultText(gpu, fault),
                   {"nvidia-smi -q -d TEMPERATURE,PERFORMANCE",
                    "# check fans, air flow, dust and room temperature; on a passive card the "
                    "server's fans"});
    }
  });
}

void LinkDown(const Facts& facts, Findings& findings) {
  ForEachFault(facts, [&](const device::Gpu& gpu, const health::OpenFault& fault) {
    if (fault.rule == "NvLinkDown") {
      std::vector<std::string> fix = ResetCommands(gpu);
      fix.insert(fix.begin(), fmt::format("nvidia-smi nvlink --status -i {}", gpu.uuid.str()));
      fix.emplace_back("# if it stays down: the bridge or the board between the GPUs");
      findings.Add(FaultText(gpu, fault), std::move(fix));
    }
  });
}

void Degraded(const Facts& facts, Findings& findings) {
  ForEachFault(facts, [&](const device::Gpu& gpu, const health::OpenFault& fault) {
    if (!fault.is_unhealthy && !HasOwnCheck(facts, fault, gpu)) {
      findings.Add(FaultText(gpu, fault), FixOf(gpu, fault));
    }
  });
  if (!facts.heard.agent) {
    return;
  }
  for (const AgentFacts::Fault& known : facts.heard.agent->faults) {
    const bool is_measured = std::ranges::any_of(facts.gpu_faults, [&known](const auto& fault) {
      return fault.rule == known.rule && fault.scope.gpu.str() == known.gpu;
    });
    if (!known.is_unhealthy && !is_measured) {
      findings.Add(fmt::format("{}: {}: {}", known.gpu, known.rule, known.text), {"kgpu health"});
    }
  }
}

void MigPending(const Facts& facts, Findings& findings) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  for (const device::Gpu& gpu : snapshot == nullptr ? std::vector<device::Gpu>() : snapshot->gpus) {
    const std::optional<device::MigMode>& mode = gpu.mig_mode;
    if (mode && mode->is_enabled != mode->is_pending_enabled) {
      findings.Add(
          fmt::format("{}: MIG mode is {} and will be {} after a reset", NameOf(gpu),
                      mode->is_enabled ? "on" : "off", mode->is_pending_enabled ? "on" : "off"),
          {fmt::format("kgpu mig apply --gpu {} --layout 1g.10gb,…   # with MIG; kgpu mig "
                       "list shows the profiles",
                       gpu.index),
           fmt::format("kgpu mig apply --gpu {} --select all-disabled   # without MIG", gpu.index),
           "# both reset the GPU, once no program uses it"});
    }
  }
}

void MigEmpty(const Facts& facts, Findings& findings) {
  const device::Snapshot* snapshot = ReadySnapshot(facts);
  for (const device::Gpu& gpu : snapshot == nullptr ? std::vector<device::Gpu>() : snapshot->gpus) {
    const std::optional<device::MigMode>& mode = gpu.mig_mode;
    if (mode && mode->is_enabled && mode->is_pending_enabled && gpu.mig_devices.empty()) {
      findings.Add(
          fmt::format("{}: MIG mode is on, and no MIG device exists", NameOf(gpu)),
          {fmt::format("kgpu mig apply --gpu {} --layout 1g.10gb,…   # kgpu mig list shows "
                       "the profiles",
                       gpu.index),
           fmt::format("# or turn MIG off: kgpu mig apply --gpu {} --select all-disabled",
                       gpu.index)});
    }
  }
}

constexpr std::array kGpuChecks = {
    Check{"driver-unresponsive", "The driver does not answer", Severity::kError,
          "Every program that uses a GPU waits for the driver, and cannot be killed while it does. "
          "kgpu doctor asks the driver in a process of its own and gives it 3 s. Without "
          "nvidia-persistenced a driver that has stopped its GPUs may need longer for its first "
          "answer: then this is a warning.",
          Unresponsive},
    Check{"gpu-lost", "The driver has lost a GPU", Severity::kError,
          "The GPU no longer answers the driver (XID 79). Only a restart of the host brings it "
          "back.",
          Lost},
    Check{"gpu-not-listed", "The driver does not report a GPU", Severity::kError,
          "The GPU is on the bus and NVIDIA's driver holds it, but the driver does not list it or "
          "refuses its handle: its initialization failed (\"RmInitAdapter failed\" in the kernel's "
          "log), it lacks power, or the loaded modules do not support it. Jobs that count on it "
          "fail.",
          NotListed},
    Check{"gpu-fault", "The driver reports a fault of a GPU", Severity::kError,
          "The driver answers for this GPU with an error, or its measurements show one. A reset "
          "ends most of these faults.",
          Faulty},
    Check{"gpu-hot", "A GPU slows down because it is hot", Severity::kWarning,
          "The hardware lowers the clocks to protect the GPU: work on it takes longer, and a GPU "
          "that gets hotter still turns itself off and falls off the bus.",
          Hot},
    Check{"gpu-nvlink-down", "An NVLink is down", Severity::kWarning,
          "It was up before, or is up on the other GPUs of this model: traffic between GPUs is "
          "slower, or goes over PCIe. GPUs in MIG mode have no NVLink on purpose.",
          LinkDown},
    Check{"gpu-degraded", "A GPU works, but not as it should", Severity::kWarning,
          "By the rules of kgpu health rules, from the driver's measurements or from the agent of "
          "this node, which remembers what has happened.",
          Degraded},
    Check{"mig-pending", "A change of MIG mode waits for a reset", Severity::kWarning,
          "The mode was changed while a program had the GPU open. Until it is reset the GPU runs "
          "in the old mode, and comes back in the new one after any reset or reboot.",
          MigPending},
    Check{
        "mig-empty", "A GPU in MIG mode has no MIG device", Severity::kWarning,
        "CUDA does not run on such a GPU: it finds no device, in pods too. Create MIG devices, or "
        "turn the mode off.",
        MigEmpty},
    Check{"gpu-ecc-uncorrected", "A GPU has uncorrected ECC errors", Severity::kError,
          "Data in the GPU's memory was damaged, and the program that used it ended or computed "
          "with wrong values. A reset replaces the bad memory row and clears the count.",
          EccUncorrected},
    Check{"gpu-row-remap-pending", "A GPU has a pending row remap", Severity::kWarning,
          "The GPU has a spare row for one that had errors and takes it into use at its next "
          "reset. Until then the bad row may be hit again.",
          RemapPending},
    Check{"gpu-row-remap-failed", "A memory row of a GPU cannot be replaced", Severity::kError,
          "A bank of the GPU's memory has no spare rows left. NVIDIA's vendors replace such GPUs.",
          RemapFailed},
};

}  // namespace

std::span<const Check> GpuChecks() {
  return kGpuChecks;
}

}  // namespace kgpu::doctor
