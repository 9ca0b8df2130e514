#include "src/agent/loan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <set>

#include "src/container/inject/build_specs.h"
#include "src/node/report/table.h"
#include "src/node/share/slice_files.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/time_text.h"

namespace kgpu::agent {
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
  for (const share::SliceSlot& slice : loan.slices) {
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
  for (const share::SliceSlot& slice : loan.slices) {
    slices.push_back(json::object{
        {"slot", slice.id}, {"device", slice.device_uuid}, {"memory", slice.memory.count}});
  }
  return slices;
}

json::array MountsJson(const loans::Loan& loan, const share::SlicePaths& files) {
  std::vector<std::string> slots;
  slots.reserve(loan.slices.size());
  for (const share::SliceSlot& slice : loan.slices) {
    slots.push_back(slice.id);
  }
  json::array mounts;
  for (const share::SliceMount& mount : share::MountsOf(files, slots, /*has_gates=*/false)) {
    mounts.push_back(json::object{{"source", mount.host_path},
                                  {"target", mount.container_path},
                                  {"readOnly", mount.is_read_only}});
  }
  return mounts;
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

json::object LoanJson(const loans::Loan& loan, const share::SlicePaths* files) {
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
                      const share::SlicePaths* files) {
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

std::map<std::string, std::string> SlotHoldersOf(const std::vector<loans::Loan>& loans) {
  std::map<std::string, std::string> holders;
  for (const loans::Loan& loan : loans) {
    for (const share::SliceSlot& slice : loan.slices) {
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

json::array LocalPoolsJson(const AgentState& state) {
  const std::map<std::string, std::string> holders = SlotHoldersOf(state.loans);
  json::array pools;
  for (const pools::Resource& pool : state.assignment.local) {
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

std::string LocalTable(const AgentState& state) {
  std::string text;
  if (!state.assignment.local.empty()) {
    const std::map<std::string, std::string> holders = SlotHoldersOf(state.loans);
    report::Table pools({"LOCAL POOL", "GPUS", "SLOTS", "HEALTHY", "LENT"});
    for (const pools::Resource& pool : state.assignment.local) {
      const auto healthy = std::ranges::count_if(
          pool.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
      const auto lent = std::ranges::count_if(
          pool.slots, [&holders](const pools::Slot& slot) { return holders.contains(slot.id); });
      pools.AddRow({pool.name, std::to_string(CountGpus(pool)), std::to_string(pool.slots.size()),
                    std::to_string(healthy), std::to_string(lent)});
    }
    text += "\n" + pools.Render();
  }
  if (!state.loans.empty()) {
    report::Table loans({"LENT TO", "GPUS", "SINCE", "PROBLEM"});
    for (const loans::Loan& loan : state.loans) {
      loans.AddRow({loan.holder, fmt::format("{}", fmt::join(PartsOf(loan), ", ")),
                    FormatTime(loan.since), ProblemOf(loan, state.snapshot.get())});
    }
    text += "\n" + loans.Render();
  }
  return text;
}

}  // namespace kgpu::agent
