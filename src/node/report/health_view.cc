#include "src/node/report/health_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "src/gpu/device/mig_mode.h"
#include "src/node/report/causes.h"
#include "src/node/report/format.h"
#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::report {
namespace {

using health::HealthEvent;
using health::HealthEventKind;
using health::OpenFault;

bool IsUsable(const device::Gpu& gpu) {
  return gpu.health.is_healthy && std::ranges::all_of(gpu.mig_devices, [](const auto& mig) {
           return mig.health.is_healthy;
         });
}

// The driver holds it but does not show it: a lost one, for example. GPUs held by other drivers,
// for virtual machines for example, do not count.
bool IsLost(const device::UnmanagedGpu& gpu) {
  return gpu.kernel_driver == "nvidia";
}

std::string HealthCell(const device::Health& health) {
  return health.is_healthy ? "Healthy" : "Unhealthy";
}

// The faults of the GPU and of its parts, the worst first.
std::vector<const OpenFault*> FaultsOf(const HealthReport& report, const device::GpuUuid& gpu) {
  std::vector<const OpenFault*> faults;
  for (const OpenFault& fault : report.overview.open) {
    if (fault.scope.gpu == gpu) {
      faults.push_back(&fault);
    }
  }
  return faults;
}

// "GPU 3", "GPU 3, GPU instance 1".
std::string PlaceOf(const device::Gpu& gpu, std::optional<unsigned> gpu_instance,
                    std::optional<unsigned> compute_instance) {
  std::string place = fmt::format("GPU {}", gpu.index);
  if (gpu_instance) {
    fmt::format_to(std::back_inserter(place), ", GPU instance {}", *gpu_instance);
  }
  if (compute_instance) {
    fmt::format_to(std::back_inserter(place), ", compute instance {}", *compute_instance);
  }
  return place;
}

// The same fault on several GPUs: a driver that hangs, for example.
bool SayTheSame(const OpenFault& a, const OpenFault& b) {
  return !a.scope.gpu_instance && !b.scope.gpu_instance && a.scope.gpu != b.scope.gpu &&
         a.rule == b.rule && a.message == b.message && a.detail == b.detail &&
         a.is_unhealthy == b.is_unhealthy && a.is_held == b.is_held;
}

std::string Times(uint64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

void AddRow(const device::Gpu& gpu, const HealthReport& report, Table& table) {
  const std::vector<const OpenFault*> faults = FaultsOf(report, gpu.uuid);
  const std::string more =
      faults.size() > 1 ? fmt::format(" and {} more", faults.size() - 1) : std::string();
  const OpenFault* worst = faults.empty() ? nullptr : faults.front();
  table.AddRow({fmt::format("{}", gpu.index), gpu.model, HealthCell(gpu.health),
                worst == nullptr ? gpu.health.reason : worst->rule + more,
                worst == nullptr ? "" : std::string(health::ToString(worst->action)),
                worst == nullptr ? "" : FormatTime(worst->first), gpu.uuid.str()});
  for (const device::MigDevice& mig : gpu.mig_devices) {
    if (!mig.health.is_healthy && gpu.health.is_healthy) {
      table.AddRow({fmt::format("{}:{}", gpu.index, mig.index), "  " + mig.profile,
                    HealthCell(mig.health), mig.health.reason, "", "", mig.uuid.str()});
    }
  }
}

void AddFault(const std::string& place, const OpenFault& fault, std::string& text) {
  const auto put = std::back_inserter(text);
  fmt::format_to(put, "\n{}: {}{}, {}, since {}", place, fault.rule,
                 fault.is_unhealthy ? "" : " (warning only)", Times(fault.count),
                 FormatTime(fault.first));
  if (const std::string last = FormatTime(fault.last); last != FormatTime(fault.first)) {
    fmt::format_to(put, ", last {}", last);
  }
  fmt::format_to(put, "\n  {}\n", fault.message);
  if (!fault.detail.empty()) {
    fmt::format_to(put, "  {}\n", fault.detail);
  }
  if (fault.is_held) {
    fmt::format_to(put, "  It occurred too often to recover automatically: kgpu health clear {}\n",
                   fault.scope.gpu.str());
  }
}

// A fault that several GPUs share is reported once, with the first of them.
void AddFaults(const device::Gpu& gpu, const HealthReport& report, Causes& causes,
               std::string& text) {
  const std::vector<const OpenFault*> faults = FaultsOf(report, gpu.uuid);
  const std::vector<OpenFault>& open = report.overview.open;
  for (const OpenFault* fault : faults) {
    const auto is_same = [fault](const OpenFault& other) { return SayTheSame(*fault, other); };
    const auto others = std::ranges::count_if(open, is_same);
    const auto first = std::ranges::find_if(report.snapshot->gpus, [&](const device::Gpu& known) {
      return known.uuid == gpu.uuid || std::ranges::any_of(open, [&](const OpenFault& other) {
               return other.scope.gpu == known.uuid && is_same(other);
             });
    });
    if (first->uuid != gpu.uuid) {
      continue;
    }
    std::string place = PlaceOf(gpu, fault->scope.gpu_instance, fault->scope.compute_instance);
    if (others > 0) {
      fmt::format_to(std::back_inserter(place), " and {} other{}", others, others == 1 ? "" : "s");
    }
    AddFault(place, *fault, text);
  }
  if (faults.empty() && !gpu.health.is_healthy && causes.IsNew(gpu.health.message)) {
    fmt::format_to(std::back_inserter(text), "\nGPU {}: {}\n  {}\n", gpu.index, gpu.health.reason,
                   gpu.health.message);
  }
}

std::string Headline(const HealthReport& report) {
  const device::Snapshot& snapshot = *report.snapshot;
  const device::Driver& driver = snapshot.driver;
  if (driver.state != device::DriverState::kReady) {
    return DriverProblemLine(driver);
  }
  const auto lost = std::ranges::count_if(snapshot.unmanaged, IsLost);
  const auto all = std::ssize(snapshot.gpus) + lost;
  if (all == 0) {
    return "The driver reports no GPU.\n";
  }
  const auto unhealthy = lost + std::ranges::count_if(snapshot.gpus, std::not_fn(IsUsable));
  return unhealthy == 0 ? fmt::format("{} of {} GPUs are healthy.\n", all, all)
                        : fmt::format("{} of {} GPUs {} unhealthy.\n", unhealthy, all,
                                      unhealthy == 1 ? "is" : "are");
}

std::string DeviceOf(const HealthEvent& event, const device::Snapshot& snapshot) {
  if (!event.gpu) {
    return "unknown which";
  }
  if (const device::Gpu* gpu = snapshot.FindGpu(*event.gpu)) {
    return PlaceOf(*gpu, event.gpu_instance, event.compute_instance);
  }
  std::string name = event.gpu->str();
  for (const auto& part : {event.gpu_instance, event.compute_instance}) {
    if (part) {
      fmt::format_to(std::back_inserter(name), "/{}", *part);
    }
  }
  return name;
}

// An event that is over, or that left the device as it is, needs no fix now.
std::string_view FixOf(const HealthEvent& event) {
  const bool is_open =
      event.kind == HealthEventKind::kRaised || event.kind == HealthEventKind::kHeld;
  return is_open || (event.kind == HealthEventKind::kSeen && event.is_unhealthy)
             ? health::ToString(event.action)
             : std::string_view();
}

std::string TextOf(const HealthEvent& event) {
  return event.detail.empty() ? event.message : fmt::format("{} {}", event.message, event.detail);
}

}  // namespace

bool IsHealthy(const HealthReport& report) {
  const device::Snapshot& snapshot = *report.snapshot;
  return snapshot.driver.state == device::DriverState::kReady &&
         std::ranges::all_of(snapshot.gpus, IsUsable) &&
         std::ranges::none_of(snapshot.unmanaged, IsLost);
}

std::string HealthTable(const HealthReport& report) {
  std::string text = Headline(report);
  if (!report.snapshot->gpus.empty()) {
    Table table({"GPU", "MODEL", "HEALTH", "FAULT", "FIX", "SINCE", "UUID"});
    for (const device::Gpu& gpu : report.snapshot->gpus) {
      AddRow(gpu, report, table);
    }
    text += "\n" + table.Render();
  }
  Causes causes(report.snapshot->driver);
  for (const device::Gpu& gpu : report.snapshot->gpus) {
    AddFaults(gpu, report, causes, text);
    // No fault, and yet of no use.
    if (gpu.health.is_healthy && device::IsWithoutMigDevices(gpu)) {
      fmt::format_to(std::back_inserter(text), "\nGPU {}: {}\n", gpu.index,
                     device::WithoutMigDevicesText(gpu));
    }
  }
  for (const device::UnmanagedGpu& gpu : report.snapshot->unmanaged) {
    fmt::format_to(std::back_inserter(text), "\n{}: not managed: {}\n", gpu.pci.str(),
                   causes.Next(gpu.reason));
  }
  if (!report.overview.kernel_log_problem.empty()) {
    fmt::format_to(std::back_inserter(text), "\nkernel log: {}\n",
                   report.overview.kernel_log_problem);
  }
  if (!report.journal_problem.empty()) {
    fmt::format_to(std::back_inserter(text), "\njournal: {}\n", report.journal_problem);
  }
  return text;
}

std::string HistoryTable(const health::JournalText& journal, const device::Snapshot& snapshot) {
  if (journal.entries.empty()) {
    return "No health events.\n";
  }
  Table table({"TIME", "WHAT", "FAULT", "FIX", "COUNT", "DEVICE", "MESSAGE"});
  for (const health::JournalEntry& entry : journal.entries) {
    if (!entry.event) {
      table.AddRow({FormatTime(entry.when), "boot", "", "", "", "",
                    entry.is_first ? "the journal starts" : "the host was rebooted"});
      continue;
    }
    const HealthEvent& event = *entry.event;
    table.AddRow({FormatTime(entry.when), std::string(health::ToString(event.kind)), event.rule,
                  std::string(FixOf(event)), fmt::format("{}", event.count),
                  DeviceOf(event, snapshot), TextOf(event)});
  }
  std::string text = table.Render();
  if (journal.bad_lines > 0) {
    fmt::format_to(std::back_inserter(text), "{} lines of the journal could not be read.\n",
                   journal.bad_lines);
  }
  return text;
}

std::string ClearingText(const Clearing& clearing) {
  if (clearing.gpus.empty()) {
    return "no GPU has a fault\n";
  }
  std::string text;
  for (const ClearedGpu& gpu : clearing.gpus) {
    text +=
        fmt::format("{}: {}: {}\n", gpu.uuid, clearing.is_dry_run ? "would be cleared" : "cleared",
                    gpu.faults.empty() ? "no fault" : Join(gpu.faults, ", "));
  }
  return text + (clearing.is_dry_run ? "nothing was changed\n"
                                     : "the next sign of a fault counts as a new fault\n");
}

}  // namespace kgpu::report
