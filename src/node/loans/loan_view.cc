#include "src/node/loans/loan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string_view>

#include "src/container/inject/build_specs.h"
#include "src/node/report/table.h"
#include "src/node/slices/slice_files.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/time_text.h"

namespace kgpu::loans {
namespace {

namespace json = boost::json;

std::string ProblemOfGpu(const device::GpuUuid& gpu, const device::Snapshot& snapshot) {
  const device::Gpu* found = snapshot.FindGpu(gpu);
  if (found == nullptr) {
    return fmt::format("{}: the driver no longer reports it: see kgpu devices", gpu.str());
  }
  return found->health.is_healthy
             ? ""
             : fmt::format("{} {}: {}", gpu.str(), found->health.reason, found->health.message);
}

// What is lent, for people: "GPU-…", "GPU-…::3 (20Gi)".
std::vector<std::string> PartsOf(const loans::Loan& loan) {
  std::vector<std::string> parts;
  for (const slices::SliceSlot& slice : loan.slices) {
    parts.push_back(fmt::format("{} ({})", slice.id, FormatQuantity(slice.memory)));
  }
  if (loan.slices.empty()) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      parts.push_back(gpu.str());
    }
  }
  return parts;
}

json::array SlicesJson(const loans::Loan& loan) {
  json::array slices;
  for (const slices::SliceSlot& slice : loan.slices) {
    slices.push_back(json::object{
        {"slot", slice.id}, {"device", slice.device_uuid}, {"memory", slice.memory.count}});
  }
  return slices;
}

json::array MountsJson(const loans::Loan& loan, const sharing::SlicePaths& files) {
  std::vector<std::string> slots;
  slots.reserve(loan.slices.size());
  for (const slices::SliceSlot& slice : loan.slices) {
    slots.push_back(slice.id);
  }
  json::array mounts;
  for (const sharing::Mount& mount : sharing::MountsOf(files, slots, /*has_gates=*/false)) {
    mounts.push_back(json::object{{"source", mount.host_path},
                                  {"target", mount.container_path},
                                  {"readOnly", mount.is_read_only}});
  }
  return mounts;
}

// The holders of slots of local pools, by the id of the slot: a GPU or a slice.
std::map<std::string, std::string> SlotHoldersOf(const std::vector<loans::Loan>& loans) {
  std::map<std::string, std::string> holders;
  for (const loans::Loan& loan : loans) {
    for (const slices::SliceSlot& slice : loan.slices) {
      holders.emplace(slice.id, loan.holder);
    }
    if (loan.slices.empty()) {
      for (const device::GpuUuid& gpu : loan.gpus) {
        holders.emplace(gpu.str(), loan.holder);
      }
    }
  }
  return holders;
}

std::string HolderOf(const std::map<std::string, std::string>& holders, const std::string& gpu) {
  const auto found = holders.find(gpu);
  return found == holders.end() ? "" : found->second;
}

}  // namespace

std::string ProblemOf(const loans::Loan& loan, const device::Snapshot* snapshot) {
  if (snapshot == nullptr || snapshot->driver.state == device::DriverState::kStarting) {
    return "";
  }
  if (snapshot->driver.state != device::DriverState::kReady) {
    return fmt::format("the driver does not answer: {}", snapshot->driver.reason);
  }
  std::vector<std::string> problems;
  for (const device::GpuUuid& gpu : loan.gpus) {
    if (std::string problem = ProblemOfGpu(gpu, *snapshot); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  return fmt::format("{}", fmt::join(problems, "; "));
}

json::object LoanJson(const loans::Loan& loan, const sharing::SlicePaths* files) {
  json::array devices;
  json::array uuids;
  for (const device::GpuUuid& gpu : loan.gpus) {
    devices.emplace_back(fmt::format("{}={}", inject::kOwnKind, gpu.str()));
    uuids.emplace_back(gpu.str());
  }
  json::object object{{"id", loan.id},
                      {"holder", loan.holder},
                      {"model", loan.model},
                      {"devices", std::move(devices)},
                      {"uuids", std::move(uuids)},
                      {"since", FormatTime(loan.since)}};
  if (!loan.slices.empty()) {
    object["slices"] = SlicesJson(loan);
    if (files != nullptr) {
      object["mounts"] = MountsJson(loan, *files);
    }
  }
  return object;
}

json::array LoansJson(const std::vector<loans::Loan>& loans, const device::Snapshot* snapshot,
                      const sharing::SlicePaths* files) {
  json::array array;
  for (const loans::Loan& loan : loans) {
    json::object object = LoanJson(loan, files);
    const std::string problem = ProblemOf(loan, snapshot);
    object["healthy"] = problem.empty();
    object["problem"] = problem;
    array.push_back(std::move(object));
  }
  return array;
}

std::map<std::string, std::string> HoldersOf(const std::vector<loans::Loan>& loans) {
  std::map<std::string, std::string> holders;
  for (const loans::Loan& loan : loans) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      std::string& names = holders[gpu.str()];
      names += (names.empty() ? "" : ", ") + loan.holder;
    }
  }
  return holders;
}

json::array LocalPoolsJson(const std::vector<pools::Resource>& local,
                           const std::vector<loans::Loan>& loans) {
  const std::map<std::string, std::string> holders = SlotHoldersOf(loans);
  json::array pools;
  for (const pools::Resource& pool : local) {
    json::array devices;
    for (const pools::Slot& slot : pool.slots) {
      json::object device{{"device", slot.device_uuid},
                          {"healthy", slot.health.is_healthy},
                          {"reason", slot.health.reason},
                          {"message", slot.health.message},
                          {"holder", HolderOf(holders, slot.id)}};
      if (slot.memory) {
        device["slot"] = slot.id;
        device["memory"] = slot.memory->count;
      }
      devices.push_back(std::move(device));
    }
    pools.push_back(json::object{{"name", pool.name}, {"devices", std::move(devices)}});
  }
  return pools;
}

size_t CountGpus(const pools::Resource& pool) {
  std::set<device::GpuUuid> gpus;
  for (const pools::Slot& slot : pool.slots) {
    gpus.insert(slot.gpu);
  }
  return gpus.size();
}

std::string LocalTable(const std::vector<pools::Resource>& local,
                       const std::vector<loans::Loan>& loans, const device::Snapshot* snapshot) {
  std::string text;
  if (!local.empty()) {
    const std::map<std::string, std::string> holders = SlotHoldersOf(loans);
    report::Table pools({"LOCAL POOL", "GPUS", "SLOTS", "HEALTHY", "LENT"});
    for (const pools::Resource& pool : local) {
      const auto healthy = std::ranges::count_if(
          pool.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
      const auto lent = std::ranges::count_if(
          pool.slots, [&holders](const pools::Slot& slot) { return holders.contains(slot.id); });
      pools.AddRow({pool.name, std::to_string(CountGpus(pool)), std::to_string(pool.slots.size()),
                    std::to_string(healthy), std::to_string(lent)});
    }
    text += "\n" + pools.Render();
  }
  if (!loans.empty()) {
    report::Table lent({"LENT TO", "GPUS", "SINCE", "PROBLEM"});
    for (const loans::Loan& loan : loans) {
      lent.AddRow({loan.holder, fmt::format("{}", fmt::join(PartsOf(loan), ", ")),
                   FormatTime(loan.since), ProblemOf(loan, snapshot)});
    }
    text += "\n" + lent.Render();
  }
  return text;
}

void WriteLoanSeries(const std::vector<pools::Resource>& local,
                     const std::vector<loans::Loan>& loans, metrics::Exposition& page) {
  const std::map<std::string, std::string> holders = SlotHoldersOf(loans);
  telemetry::Begin(telemetry::Own("kgpu_local_devices"), page);
  for (const pools::Resource& pool : local) {
    std::map<std::string_view, double> counts = {{"free", 0}, {"lent", 0}, {"unhealthy", 0}};
    for (const pools::Slot& slot : pool.slots) {
      ++counts[holders.contains(slot.id) ? "lent" : slot.health.is_healthy ? "free" : "unhealthy"];
    }
    for (const auto& [state, count] : counts) {
      page.Sample({{"resource", pool.name}, {"state", state}}, count);
    }
  }
  telemetry::Write(telemetry::Own("kgpu_loans"), static_cast<double>(loans.size()), page);
  telemetry::Begin(telemetry::Own("kgpu_gpu_lent"), page);
  for (const loans::Loan& loan : loans) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      page.Sample({{"uuid", gpu.str()}, {"holder", loan.holder}}, 1);
    }
  }
}

}  // namespace kgpu::loans
