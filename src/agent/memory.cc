#include "src/agent/memory.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

constexpr int kVersion = 2;
constexpr char kName[] = "the agent's saved state";
constexpr char kKill[] = "kill";
constexpr char kEvict[] = "evict";

std::string Text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

const json::array& List(const json::object& object, std::string_view key) {
  static const json::array kNone;
  const json::value* value = object.if_contains({key.data(), key.size()});
  const json::array* list = value == nullptr ? nullptr : value->if_array();
  return list == nullptr ? kNone : *list;
}

std::optional<unsigned> Number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  if (number == nullptr || *number < 0 || *number > 1'000'000) {
    return std::nullopt;
  }
  return static_cast<unsigned>(*number);
}

uint64_t Count(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr || *number < 0 ? 0 : static_cast<uint64_t>(*number);
}

std::optional<uint64_t> PositionIn(const json::object& object) {
  const json::value* value = object.if_contains("kernelLogPosition");
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr || *number < 0 ? std::nullopt
                                          : std::optional(static_cast<uint64_t>(*number));
}

bool IsTrue(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  return value != nullptr && value->is_bool() && value->get_bool();
}

int64_t Milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

WallTime TimeOf(const json::object& object, std::string_view key) {
  return WallTime(std::chrono::milliseconds(Count(object, key)));
}

// Warnings come back by themselves.
json::array FaultsJson(std::span<const health::OpenFault> faults) {
  json::array array;
  for (const health::OpenFault& fault : faults) {
    if (!fault.is_unhealthy) {
      continue;
    }
    json::object entry{{"gpu", fault.scope.gpu.str()},
                       {"rule", fault.rule},
                       {"message", fault.message},
                       {"detail", fault.detail},
                       {"first", Milliseconds(fault.first)},
                       {"last", Milliseconds(fault.last)},
                       {"count", static_cast<int64_t>(fault.count)},
                       {"held", fault.is_held}};
    if (fault.scope.gpu_instance) {
      entry["gpuInstance"] = *fault.scope.gpu_instance;
    }
    if (fault.scope.compute_instance) {
      entry["computeInstance"] = *fault.scope.compute_instance;
    }
    array.push_back(std::move(entry));
  }
  return array;
}

std::optional<health::OpenFault> ParseFault(const json::object& entry) {
  const auto gpu = device::GpuUuid::Parse(Text(entry, "gpu"));
  if (!gpu.ok()) {
    return std::nullopt;
  }
  return health::OpenFault{
      .scope = {*gpu, Number(entry, "gpuInstance"), Number(entry, "computeInstance")},
      .rule = Text(entry, "rule"),
      .is_held = IsTrue(entry, "held"),
      .message = Text(entry, "message"),
      .detail = Text(entry, "detail"),
      .first = TimeOf(entry, "first"),
      .last = TimeOf(entry, "last"),
      .count = Count(entry, "count")};
}

pools::Resource ParseResource(const json::object& object) {
  pools::Resource resource;
  resource.name = Text(object, "resource");
  const std::string on_excess = Text(object, "onExcess");
  resource.share.on_excess = on_excess == kKill    ? config::OnExcess::kKill
                             : on_excess == kEvict ? config::OnExcess::kEvict
                                                   : config::OnExcess::kEvent;
  resource.share.multiple = IsTrue(object, "refusesSeveral") ? config::MultipleSlots::kRefuse
                                                             : config::MultipleSlots::kAllow;
  for (const json::value& entry : List(object, "slots")) {
    const json::object* device = entry.if_object();
    const auto gpu = device::GpuUuid::Parse(device == nullptr ? "" : Text(*device, "gpu"));
    if (!gpu.ok()) {
      continue;
    }
    pools::Slot& slot = resource.slots.emplace_back();
    slot.id = Text(*device, "id");
    slot.device_uuid = Text(*device, "device");
    slot.gpu = *gpu;
    slot.replica = Number(*device, "replica").value_or(0);
    slot.numa_node = Number(*device, "numa");
    if (const auto mebi = Number(*device, "memoryMiB")) {
      slot.memory = MebiBytes(*mebi);
    }
    slot.threads = Number(*device, "threads").value_or(0);
    slot.compute = Number(*device, "compute").value_or(0);
    slot.health.is_healthy = IsTrue(*device, "healthy");
    if (!slot.health.is_healthy) {
      slot.health.reason = Text(*device, "reason");
      slot.health.message = Text(*device, "message");
    }
  }
  return resource;
}

json::object SlotJson(const pools::Slot& slot) {
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

json::array ResourcesJson(const std::vector<pools::Resource>& resources) {
  json::array array;
  for (const pools::Resource& resource : resources) {
    json::array slots;
    for (const pools::Slot& slot : resource.slots) {
      slots.push_back(SlotJson(slot));
    }
    json::object entry{{"resource", resource.name}, {"slots", std::move(slots)}};
    // What counts once devices are withdrawn: then no configuration says it any more.
    if (resource.share.on_excess != config::OnExcess::kEvent) {
      entry["onExcess"] = resource.share.on_excess == config::OnExcess::kKill ? kKill : kEvict;
    }
    if (resource.share.multiple != config::MultipleSlots::kAllow) {
      entry["refusesSeveral"] = true;
    }
    array.push_back(std::move(entry));
  }
  return array;
}

std::vector<pools::Resource> ParseResources(const json::array& array) {
  std::vector<pools::Resource> resources;
  for (const json::value& entry : array) {
    if (const json::object* resource = entry.if_object()) {
      resources.push_back(ParseResource(*resource));
    }
  }
  return resources;
}

json::array ShapesJson(const pools::ChangeGuard::Shapes& shapes) {
  json::array array;
  for (const auto& [device, shape] : shapes) {
    // Not every JSON parser keeps 64-bit numbers.
    array.push_back(json::object{
        {"device", device}, {"gpu", shape.card}, {"slots", fmt::format("{:x}", shape.slots)}});
  }
  return array;
}

pools::ChangeGuard::Shapes ParseShapes(const json::array& list) {
  pools::ChangeGuard::Shapes shapes;
  for (const json::value& entry : list) {
    if (const json::object* object = entry.if_object()) {
      constexpr int kHex = 16;
      shapes[Text(*object, "device")] = {
          .card = Text(*object, "gpu"),
          .slots = ParseUint(Text(*object, "slots"), kHex).value_or(0)};
    }
  }
  return shapes;
}

}  // namespace

std::string ReadBootId(const std::string& path) {
  const size_t slash = path.rfind('/');
  const auto folder = sys::Root::Open(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (!folder.ok()) {
    return {};
  }
  const auto text = folder->ReadFile(path.substr(slash + 1), 256);
  return text.ok() ? std::string(Trim(*text)) : std::string();
}

std::string PrintMemory(const MemoryKey& key, const pools::Assignment& assignment,
                        const health::Overview& health, const pools::ChangeGuard::Shapes& shapes,
                        const std::vector<pools::Resource>& held) {
  json::object document{{"version", kVersion},
                        {"bootId", key.boot_id},
                        {"config", key.config},
                        {"resources", ResourcesJson(assignment.resources)},
                        {"local", ResourcesJson(assignment.local)},
                        {"shapes", ShapesJson(shapes)},
                        {"held", ResourcesJson(held)},
                        {"faults", FaultsJson(health.open)}};
  if (health.kernel_log_position) {
    document["kernelLogPosition"] = static_cast<int64_t>(*health.kernel_log_position);
  }
  return doc::PrintLine(document) + "\n";
}

StatusOr<Remembered> ParseMemory(std::string_view text, const MemoryKey& key) {
  ASSIGN_OR_RETURN(const json::value document, doc::Parse(text, doc::Format::kJson, kName));
  const json::object* object = document.if_object();
  if (object == nullptr || Number(*object, "version") != kVersion) {
    return InvalidArgument("{}: written by another version", kName);
  }
  if (key.boot_id.empty() || Text(*object, "bootId") != key.boot_id) {
    return FailedPrecondition("{}: written before the last reboot", kName);
  }
  Remembered remembered;
  remembered.kernel_log_position = PositionIn(*object);
  if (Text(*object, "config") == key.config) {
    remembered.assignment.resources = ParseResources(List(*object, "resources"));
    remembered.assignment.local = ParseResources(List(*object, "local"));
  }
  remembered.held = ParseResources(List(*object, "held"));
  if (Text(*object, "config") != key.config) {
    for (pools::Resource& resource : ParseResources(List(*object, "resources"))) {
      remembered.held.push_back(std::move(resource));
    }
  }
  remembered.shapes = ParseShapes(List(*object, "shapes"));
  for (const json::value& entry : List(*object, "faults")) {
    const json::object* object_of_fault = entry.if_object();
    if (auto fault = object_of_fault == nullptr ? std::nullopt : ParseFault(*object_of_fault)) {
      remembered.faults.push_back(*std::move(fault));
    }
  }
  return remembered;
}

}  // namespace kgpu::agent
