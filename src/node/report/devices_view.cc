#include "src/node/report/devices_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/gpu/device/mig_mode.h"
#include "src/node/report/causes.h"
#include "src/node/report/table.h"
#include "src/platform/base/bytes.h"

namespace kgpu::report {
namespace {

std::string NumberOr(const std::optional<unsigned>& number) {
  return number ? fmt::format("{}", *number) : "";
}

std::string MemoryOf(const std::optional<Bytes>& memory) {
  return memory ? FormatBytes(*memory) : "";
}

std::string MigCell(const device::Gpu& gpu) {
  if (!gpu.mig_mode) {
    return "";
  }
  if (gpu.mig_mode->is_enabled != gpu.mig_mode->is_pending_enabled) {
    return gpu.mig_mode->is_pending_enabled ? "off (on after reset)" : "on (off after reset)";
  }
  if (device::IsWithoutMigDevices(gpu)) {
    return "on (empty)";
  }
  return gpu.mig_mode->is_enabled ? "on" : "off";
}

std::string LinksCell(const device::Gpu& gpu) {
  if (gpu.nvlinks.empty()) {
    return "";
  }
  const auto active = std::ranges::count_if(gpu.nvlinks, &device::NvLink::is_active);
  return fmt::format("{}/{}", active, gpu.nvlinks.size());
}

std::string DeviceHealthCell(const device::Health& health) {
  return health.is_healthy ? "Healthy" : fmt::format("Unhealthy ({})", health.reason);
}

void AddRows(Table& table, const device::Gpu& gpu) {
  table.AddRow({fmt::format("{}", gpu.index), gpu.model, MemoryOf(gpu.memory), gpu.pci.str(),
                NumberOr(gpu.numa_node), LinksCell(gpu), MigCell(gpu), DeviceHealthCell(gpu.health),
                gpu.uuid.str()});
  for (const device::MigDevice& mig : gpu.mig_devices) {
    table.AddRow({fmt::format("{}:{}", gpu.index, mig.index), fmt::format("  {}", mig.profile),
                  MemoryOf(mig.memory), "", "", "", "", DeviceHealthCell(mig.health),
                  mig.uuid.str()});
  }
}

std::string DriverLine(const device::Driver& driver) {
  if (driver.state != device::DriverState::kReady) {
    return DriverProblemLine(driver);
  }
  std::string line = fmt::format("Driver {}", driver.version);
  if (driver.cuda_major && driver.cuda_minor) {
    fmt::format_to(std::back_inserter(line), ", CUDA up to {}.{}", *driver.cuda_major,
                   *driver.cuda_minor);
  }
  return line + "\n";
}

// The fields that DescribeChanges shows of one device, GPU or MIG.
struct Line {
  std::string name;
  device::Health health;
};

std::map<std::string, Line> LinesOf(const device::Snapshot& snapshot) {
  std::map<std::string, Line> lines;
  for (const device::Gpu& gpu : snapshot.gpus) {
    lines[gpu.uuid.str()] = {fmt::format("GPU {} ({}, {})", gpu.index, gpu.model, gpu.uuid.str()),
                             gpu.health};
    for (const device::MigDevice& mig : gpu.mig_devices) {
      lines[mig.uuid.str()] = {
          fmt::format("MIG {}:{} ({}, {})", gpu.index, mig.index, mig.profile, mig.uuid.str()),
          mig.health};
    }
  }
  return lines;
}

// Whether a further fault was only added to the text about the same one.
bool IsOnlyMore(const device::Health& before, const device::Health& after) {
  return !before.is_healthy && !after.is_healthy && before.reason == after.reason &&
         after.message.starts_with(before.message);
}

std::string HealthText(const device::Health& health) {
  return health.is_healthy ? "Healthy"
                           : fmt::format("Unhealthy: {}: {}", health.reason, health.message);
}

void AddReasons(const device::Snapshot& snapshot, std::string& out) {
  Causes causes(snapshot.driver);
  const auto put = std::back_inserter(out);
  for (const device::Gpu& gpu : snapshot.gpus) {
    // The column HEALTH says already whose fault it is.
    if (!gpu.health.is_healthy && gpu.health.message != snapshot.driver.reason) {
      fmt::format_to(put, "GPU {}: {}\n", gpu.index, causes.Next(gpu.health.message));
    }
    if (gpu.health.is_healthy && device::IsWithoutMigDevices(gpu)) {
      fmt::format_to(put, "GPU {}: {}\n", gpu.index, device::WithoutMigDevicesText(gpu));
    }
  }
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    fmt::format_to(put, "{} (0x{:04x}, {}): {}\n", gpu.pci.str(), gpu.pci_device_id, gpu.pci_class,
                   causes.Next(gpu.reason));
  }
}

void AddHolders(const device::Snapshot& snapshot, const Holders& holders, std::string& out) {
  for (const device::Gpu& gpu : snapshot.gpus) {
    if (const auto holder = holders.find(gpu.uuid.str()); holder != holders.end()) {
      fmt::format_to(std::back_inserter(out), "GPU {}: lent to {}\n", gpu.index, holder->second);
    }
  }
}

}  // namespace

std::string DevicesTable(const device::Snapshot& snapshot, const Holders& holders) {
  std::string out = DriverLine(snapshot.driver);
  if (!snapshot.gpus.empty()) {
    Table table({"GPU", "MODEL", "MEMORY", "PCI", "NUMA", "NVLINK", "MIG", "HEALTH", "UUID"});
    for (const device::Gpu& gpu : snapshot.gpus) {
      AddRows(table, gpu);
    }
    out += table.Render();
  }
  AddReasons(snapshot, out);
  AddHolders(snapshot, holders, out);
  if (snapshot.gpus.empty() && snapshot.unmanaged.empty()) {
    out += "No NVIDIA GPU on this host.\n";
  }
  return out;
}

std::string DescribeChanges(const device::Snapshot& before, const device::Snapshot& after) {
  std::string out;
  const auto put = std::back_inserter(out);
  if (before.driver != after.driver) {
    out += DriverLine(after.driver);
  }
  const auto old_lines = LinesOf(before);
  const auto new_lines = LinesOf(after);
  for (const auto& [uuid, line] : old_lines) {
    if (!new_lines.contains(uuid)) {
      fmt::format_to(put, "{}: removed\n", line.name);
    }
  }
  for (const auto& [uuid, line] : new_lines) {
    const auto old = old_lines.find(uuid);
    if (old == old_lines.end()) {
      fmt::format_to(put, "{}: added, {}\n", line.name, HealthText(line.health));
    } else if (old->second.health != line.health && !IsOnlyMore(old->second.health, line.health)) {
      fmt::format_to(put, "{}: {}\n", line.name, HealthText(line.health));
    }
  }
  for (const device::UnmanagedGpu& gpu : after.unmanaged) {
    if (std::ranges::find(before.unmanaged, gpu) == before.unmanaged.end()) {
      fmt::format_to(put, "{}: unusable: {}\n", gpu.pci.str(), gpu.reason);
    }
  }
  return out;
}

bool IsAllHealthy(const device::Snapshot& snapshot) {
  return snapshot.driver.state == device::DriverState::kReady && snapshot.unmanaged.empty() &&
         std::ranges::all_of(snapshot.gpus, [](const device::Gpu& gpu) {
           return gpu.health.is_healthy &&
                  std::ranges::all_of(gpu.mig_devices, [](const device::MigDevice& mig) {
                    return mig.health.is_healthy;
                  });
         });
}

}  // namespace kgpu::report
