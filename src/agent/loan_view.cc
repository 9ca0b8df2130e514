#include "src/agent/loan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "src/container/inject/build_specs.h"
#include "src/node/report/table.h"
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

json::object LoanJson(const loans::Loan& loan) {
  json::array devices;
  json::array uuids;
  for (const device::GpuUuid& gpu : loan.gpus) {
    devices.emplace_back(fmt::format("{}={}", inject::kOwnKind, gpu.str()));
    uuids.emplace_back(gpu.str());
  }
  return {{"id", loan.id},
          {"holder", loan.holder},
          {"model", loan.model},
          {"devices", std::move(devices)},
          {"uuids", std::move(uuids)},
          {"since", FormatTime(loan.since)}};
}

json::array LoansJson(const std::vector<loans::Loan>& loans, const device::Snapshot* snapshot) {
  json::array array;
  for (const loans::Loan& loan : loans) {
    json::object object = LoanJson(loan);
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
      holders.emplace(gpu.str(), loan.holder);
    }
  }
  return holders;
}

json::array LocalPoolsJson(const AgentState& state) {
  const std::map<std::string, std::string> holders = HoldersOf(state.loans);
  json::array pools;
  for (const pools::Resource& pool : state.assignment.local) {
    json::array devices;
    for (const pools::Slot& slot : pool.slots) {
      devices.push_back(json::object{{"device", slot.device_uuid},
                                     {"healthy", slot.health.is_healthy},
                                     {"reason", slot.health.reason},
                                     {"message", slot.health.message},
                                     {"holder", HolderOf(holders, slot.device_uuid)}});
    }
    pools.push_back(json::object{{"name", pool.name}, {"devices", std::move(devices)}});
  }
  return pools;
}

std::string LocalTable(const AgentState& state) {
  std::string text;
  if (!state.assignment.local.empty()) {
    const std::map<std::string, std::string> holders = HoldersOf(state.loans);
    report::Table pools({"LOCAL POOL", "GPUS", "HEALTHY", "LENT"});
    for (const pools::Resource& pool : state.assignment.local) {
      const auto healthy = std::ranges::count_if(
          pool.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
      const auto lent = std::ranges::count_if(pool.slots, [&holders](const pools::Slot& slot) {
        return holders.contains(slot.device_uuid);
      });
      pools.AddRow({pool.name, std::to_string(pool.slots.size()), std::to_string(healthy),
                    std::to_string(lent)});
    }
    text += "\n" + pools.Render();
  }
  if (!state.loans.empty()) {
    report::Table loans({"LENT TO", "GPUS", "SINCE", "PROBLEM"});
    for (const loans::Loan& loan : state.loans) {
      std::vector<std::string> gpus;
      gpus.reserve(loan.gpus.size());
      for (const device::GpuUuid& gpu : loan.gpus) {
        gpus.push_back(gpu.str());
      }
      loans.AddRow({loan.holder, fmt::format("{}", fmt::join(gpus, ", ")), FormatTime(loan.since),
                    ProblemOf(loan, state.snapshot.get())});
    }
    text += "\n" + loans.Render();
  }
  return text;
}

}  // namespace kgpu::agent
