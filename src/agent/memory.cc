#include "src/agent/memory.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/doc/doc.h"
#include "src/sys/root.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

constexpr int kVersion = 1;
constexpr char kName[] = "the agent's memory";

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

json::object FaultJson(const device::GpuUuid& gpu, std::optional<unsigned> gpu_instance,
                       const device::Health& health) {
  json::object fault{{"gpu", gpu.str()}, {"reason", health.reason}, {"message", health.message}};
  if (gpu_instance) {
    fault["gpuInstance"] = *gpu_instance;
  }
  return fault;
}

json::array FaultsJson(const device::Snapshot& snapshot) {
  json::array faults;
  for (const device::Gpu& gpu : snapshot.gpus) {
    if (!gpu.health.is_healthy) {
      faults.push_back(FaultJson(gpu.uuid, std::nullopt, gpu.health));
      continue;
    }
    for (const device::MigDevice& mig : gpu.mig_devices) {
      if (!mig.health.is_healthy) {
        faults.push_back(FaultJson(gpu.uuid, mig.gpu_instance, mig.health));
      }
    }
  }
  return faults;
}

pools::Resource ParseResource(const json::object& object) {
  pools::Resource resource;
  resource.name = Text(object, "resource");
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
    const json::value* healthy = device->if_contains("healthy");
    slot.health.is_healthy = healthy != nullptr && healthy->is_bool() && healthy->get_bool();
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
  if (!slot.health.is_healthy) {
    entry["reason"] = slot.health.reason;
    entry["message"] = slot.health.message;
  }
  return entry;
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
                        const device::Snapshot& snapshot) {
  json::array resources;
  for (const pools::Resource& resource : assignment.resources) {
    json::array slots;
    for (const pools::Slot& slot : resource.slots) {
      slots.push_back(SlotJson(slot));
    }
    resources.push_back(json::object{{"resource", resource.name}, {"slots", std::move(slots)}});
  }
  const json::value document = json::object{{"version", kVersion},
                                            {"bootId", key.boot_id},
                                            {"config", key.config},
                                            {"resources", std::move(resources)},
                                            {"faults", FaultsJson(snapshot)}};
  return doc::PrintLine(document) + "\n";
}

StatusOr<Remembered> ParseMemory(std::string_view text, const MemoryKey& key) {
  ASSIGN_OR_RETURN(const json::value document, doc::Parse(text, doc::Format::kJson, kName));
  const json::object* object = document.if_object();
  if (object == nullptr || Number(*object, "version") != kVersion) {
    return InvalidArgument("{} is of another version", kName);
  }
  if (key.boot_id.empty() || Text(*object, "bootId") != key.boot_id ||
      Text(*object, "config") != key.config) {
    return FailedPrecondition("{} is of another boot or configuration", kName);
  }
  Remembered remembered;
  for (const json::value& entry : List(*object, "resources")) {
    if (const json::object* resource = entry.if_object()) {
      remembered.assignment.resources.push_back(ParseResource(*resource));
    }
  }
  for (const json::value& entry : List(*object, "faults")) {
    const json::object* fault = entry.if_object();
    const auto gpu = device::GpuUuid::Parse(fault == nullptr ? "" : Text(*fault, "gpu"));
    if (gpu.ok()) {
      remembered.faults.push_back({.gpu = *gpu,
                                   .gpu_instance = Number(*fault, "gpuInstance"),
                                   .health = {.is_healthy = false,
                                              .reason = Text(*fault, "reason"),
                                              .message = Text(*fault, "message")}});
    }
  }
  return remembered;
}

}  // namespace kgpu::agent
