#include "src/node/pools/saved_slots.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::pools {
namespace {

namespace json = boost::json;

constexpr char kKill[] = "kill";
constexpr char kEvict[] = "evict";

json::object SlotJson(const Slot& slot) {
  json::object entry{{"id", slot.id},
                     {"device", slot.device_uuid},
                     {"gpu", slot.gpu.str()},
                     {"replica", slot.replica},
                     {"healthy", slot.health.is_healthy}};
  if (slot.numa_node) {
    entry["numa"] = *slot.numa_node;
  }
  if (slot.memory) {
    entry["memoryMiB"] = slot.memory->mebi();
  }
  if (slot.threads != 0) {
    entry["threads"] = slot.threads;
  }
  if (slot.compute != 0) {
    entry["compute"] = slot.compute;
  }
  if (!slot.health.is_healthy) {
    entry["reason"] = slot.health.reason;
    entry["message"] = slot.health.message;
  }
  return entry;
}

void AddSlot(const doc::SavedFields& entry, std::vector<Slot>& slots) {
  auto gpu = device::GpuUuid::Parse(entry.Text("gpu"));
  if (!gpu.ok()) {
    return;
  }
  Slot& slot = slots.emplace_back();
  slot.id = entry.Text("id");
  slot.device_uuid = entry.Text("device");
  slot.gpu = *std::move(gpu);
  slot.replica = entry.Small("replica").value_or(0);
  slot.numa_node = entry.Small("numa");
  if (const auto mebi = entry.Small("memoryMiB")) {
    slot.memory = MebiBytes(*mebi);
  }
  slot.threads = entry.Small("threads").value_or(0);
  slot.compute = entry.Small("compute").value_or(0);
  slot.health.is_healthy = entry.Flag("healthy");
  if (!slot.health.is_healthy) {
    slot.health.reason = entry.Text("reason");
    slot.health.message = entry.Text("message");
  }
}

}  // namespace

json::array ResourcesJson(const std::vector<Resource>& resources) {
  json::array array;
  for (const Resource& resource : resources) {
    json::array slots;
    for (const Slot& slot : resource.slots) {
      slots.push_back(SlotJson(slot));
    }
    json::object entry{{"resource", resource.name}, {"slots", std::move(slots)}};
    // Needed once devices are withdrawn: no configuration has it any more.
    if (resource.share.on_excess != sharing::OnExcess::kEvent) {
      entry["onExcess"] = resource.share.on_excess == sharing::OnExcess::kKill ? kKill : kEvict;
    }
    if (resource.share.multiple != sharing::MultipleSlots::kAllow) {
      entry["refusesSeveral"] = true;
    }
    if (resource.by_claims) {
      entry["byClaims"] = true;
    }
    array.push_back(std::move(entry));
  }
  return array;
}

std::vector<Resource> ReadResources(const doc::SavedFields& state, std::string_view key) {
  std::vector<Resource> resources;
  for (const doc::SavedFields& entry : state.List(key)) {
    Resource& resource = resources.emplace_back();
    resource.name = entry.Text("resource");
    const std::string_view on_excess = entry.Text("onExcess");
    resource.share.on_excess = on_excess == kKill    ? sharing::OnExcess::kKill
                               : on_excess == kEvict ? sharing::OnExcess::kEvict
                                                     : sharing::OnExcess::kEvent;
    resource.share.multiple = entry.Flag("refusesSeveral") ? sharing::MultipleSlots::kRefuse
                                                           : sharing::MultipleSlots::kAllow;
    resource.by_claims = entry.Flag("byClaims");
    for (const doc::SavedFields& slot : entry.List("slots")) {
      AddSlot(slot, resource.slots);
    }
  }
  return resources;
}

json::array ShapesJson(const ChangeGuard::Shapes& shapes) {
  json::array array;
  for (const auto& [device, shape] : shapes) {
    // Not every JSON parser keeps 64-bit numbers.
    array.push_back(json::object{
        {"device", device}, {"gpu", shape.card}, {"slots", fmt::format("{:x}", shape.slots)}});
  }
  return array;
}

ChangeGuard::Shapes ReadShapes(const doc::SavedFields& state, std::string_view key) {
  constexpr int kHex = 16;
  ChangeGuard::Shapes shapes;
  for (const doc::SavedFields& entry : state.List(key)) {
    shapes[std::string(entry.Text("device"))] = {
        .card = std::string(entry.Text("gpu")),
        .slots = ParseUint(entry.Text("slots"), kHex).value_or(0)};
  }
  return shapes;
}

}  // namespace kgpu::pools
