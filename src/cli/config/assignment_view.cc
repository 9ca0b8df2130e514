#include "src/cli/config/assignment_view.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/share_reader.h"
#include "src/node/pools/claims.h"
#include "src/node/report/causes.h"
#include "src/node/report/table.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// What a snapshot says about a device, by UUID.
struct AssignmentFacts {
  std::string index;  // "0", "0:1"
  std::string model;  // or MIG profile
  device::Health health;
};

using FactsByUuid = std::map<std::string, AssignmentFacts, std::less<>>;

FactsByUuid AssignmentFactsOf(const device::Snapshot& snapshot) {
  FactsByUuid facts;
  for (const device::Gpu& gpu : snapshot.gpus) {
    facts[gpu.uuid.str()] = {fmt::format("{}", gpu.index), gpu.model, gpu.health};
    for (const device::MigDevice& mig : gpu.mig_devices) {
      facts[mig.uuid.str()] = {fmt::format("{}:{}", gpu.index, mig.index), mig.profile,
                               gpu.health.is_healthy ? mig.health : gpu.health};
    }
  }
  return facts;
}

// The slots of one device are adjacent.
struct Row {
  const pools::Slot* slot = nullptr;  // the first of them
  size_t slots = 0;
};

std::vector<Row> RowsOf(const pools::Resource& resource) {
  std::vector<Row> rows;
  for (const pools::Slot& slot : resource.slots) {
    if (rows.empty() || rows.back().slot->device_uuid != slot.device_uuid) {
      rows.push_back({&slot, 0});
    }
    ++rows.back().slots;
  }
  return rows;
}

std::string HealthWord(const device::Health& health) {
  return health.is_healthy ? "Healthy" : fmt::format("Unhealthy ({})", health.reason);
}

// "4", "3 of 20Gi", "3 of 20Gi, 25 %".
std::string SlotsText(const Row& row) {
  if (!row.slot->memory) {
    return fmt::format("{}", row.slots);
  }
  const std::string compute =
      row.slot->compute == 0 ? "" : fmt::format(", {} %", row.slot->compute);
  return fmt::format("{} of {}{}", row.slots, FormatQuantity(*row.slot->memory), compute);
}

void AddRows(const pools::Resource& resource, const std::string& name, FactsByUuid& facts,
             report::Table& table) {
  if (resource.slots.empty()) {
    table.AddRow({name, "", "", "", "0"});
  }
  for (const Row& row : RowsOf(resource)) {
    const AssignmentFacts& fact = facts[row.slot->device_uuid];
    table.AddRow({name, row.slot->device_uuid, fact.index, fact.model, SlotsText(row),
                  HealthWord(row.slot->health), row.slot->health.message});
  }
}

json::object DeviceJson(const std::string& uuid, const AssignmentFacts& facts) {
  return {{"device", uuid},
          {"index", facts.index},
          {"model", facts.model},
          {"healthy", facts.health.is_healthy},
          {"healthReason", facts.health.reason}};
}

json::value ShareJson(const sharing::Share& share) {
  if (!sharing::IsShared(share)) {
    return nullptr;
  }
  return config::ShareTree(share);
}

json::array ResourcesJson(const std::vector<pools::Resource>& resources, FactsByUuid& facts) {
  json::array array;
  for (const pools::Resource& resource : resources) {
    json::array devices;
    for (const Row& row : RowsOf(resource)) {
      json::object device = DeviceJson(row.slot->device_uuid, facts[row.slot->device_uuid]);
      device["slots"] = row.slots;
      if (row.slot->memory) {
        device["memoryPerSlot"] = FormatQuantity(*row.slot->memory);
      }
      if (row.slot->threads != 0) {
        device["threadsPerSlot"] = row.slot->threads;
      }
      devices.push_back(std::move(device));
    }
    array.push_back(json::object{{"name", resource.name},
                                 {"slots", resource.slots.size()},
                                 {"share", ShareJson(resource.share)},
                                 {"devices", std::move(devices)}});
  }
  return array;
}

}  // namespace

ExitCode CodeOf(const pools::Assignment& assignment, const device::Snapshot& snapshot,
                const config::NodeConfig& config) {
  if (!assignment.notes.empty() || snapshot.driver.state != device::DriverState::kReady) {
    return ExitCode::kUnhealthy;
  }
  if (!pools::IsSomeWithdrawn(pools::ClaimDevices(snapshot, config))) {
    return ExitCode::kOk;
  }
  const auto has_slots = [](const pools::Resource& pool) { return !pool.slots.empty(); };
  const bool is_partial = std::ranges::any_of(assignment.resources, has_slots) ||
                          std::ranges::any_of(assignment.local, has_slots);
  return is_partial ? ExitCode::kWarned : ExitCode::kUnhealthy;
}

std::string AssignmentTable(const pools::Assignment& assignment, const device::Snapshot& snapshot) {
  auto facts = AssignmentFactsOf(snapshot);
  report::Table table({"RESOURCE", "DEVICE", "INDEX", "MODEL", "SLOTS", "HEALTH", "REASON"});
  for (const pools::Resource& resource : assignment.resources) {
    AddRows(resource, resource.name, facts, table);
  }
  for (const pools::Resource& pool : assignment.local) {
    AddRows(pool, pool.name + " (local)", facts, table);
  }
  for (const pools::Unassigned& device : assignment.unassigned) {
    const AssignmentFacts& fact = facts[device.device_uuid];
    table.AddRow({"unassigned", device.device_uuid, fact.index, fact.model, "0",
                  HealthWord(fact.health), device.reason});
  }
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    // Without a driver all have the same reason, which is shown above.
    table.AddRow({"unassigned", gpu.pci.str(), "", "", "0", "",
                  gpu.reason == snapshot.driver.reason ? "" : gpu.reason});
  }
  std::string text;
  if (snapshot.driver.state != device::DriverState::kReady) {
    text = report::DriverProblemLine(snapshot.driver);
  }
  text += table.Render();
  for (const std::vector<std::string>* lines : {&assignment.notes, &assignment.hints}) {
    for (const std::string& line : *lines) {
      fmt::format_to(std::back_inserter(text), "{}\n", line);
    }
  }
  return text;
}

json::value AssignmentJson(const pools::Assignment& assignment, const device::Snapshot& snapshot) {
  auto facts = AssignmentFactsOf(snapshot);
  json::array unassigned;
  for (const pools::Unassigned& unlucky : assignment.unassigned) {
    json::object device = DeviceJson(unlucky.device_uuid, facts[unlucky.device_uuid]);
    device["reason"] = unlucky.reason;
    unassigned.push_back(std::move(device));
  }
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    unassigned.push_back(json::object{{"device", gpu.pci.str()}, {"reason", gpu.reason}});
  }
  return json::object{
      {"driver", json::object{{"state", doc::View(device::ToString(snapshot.driver.state))},
                              {"reason", snapshot.driver.reason}}},
      {"resources", ResourcesJson(assignment.resources, facts)},
      {"local", ResourcesJson(assignment.local, facts)},
      {"unassigned", std::move(unassigned)},
      {"notes", json::array(assignment.notes.begin(), assignment.notes.end())},
      {"hints", json::array(assignment.hints.begin(), assignment.hints.end())}};
}

}  // namespace kgpu::cli
