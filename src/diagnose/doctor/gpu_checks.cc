// What the driver reports about its GPUs: it answers, has lost none, and their memory is sound.
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
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

void Faulty(const Facts& facts, Findings& findings) {
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
    Check{"gpu-fault", "The driver reports a fault of a GPU", Severity::kError,
          "The driver answers for this GPU with an error. A reset ends most of these faults.",
          Faulty},
    Check{"gpu-ecc-uncorrected", "A GPU has uncorrected ECC errors", Severity::kError,
          "Data in the GPU's memory was damaged, and the program that used it ended or computed "
          "with wrong values. A reset replaces the bad memory row and clears the count.",
          EccUncorrected},
    Check{"gpu-row-remap-pending", "A memory row of a GPU waits to be replaced", Severity::kWarning,
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
