#include "src/node/plugin/answer_cache.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/platform/base/stable_hash.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::plugin {
namespace {

using config::DeviceListStrategy;

constexpr char kVisibleDevices[] = "NVIDIA_VISIBLE_DEVICES";
// Where NVIDIA's runtime looks for device names given as mounts.
// Source: k8s-device-plugin, deviceListStrategy volume-mounts.
constexpr char kVolumeFolder[] = "/var/run/nvidia-container-devices";

// NVML's index of every GPU and MIG device, in the form of NVIDIA_VISIBLE_DEVICES.
std::map<std::string, std::string, std::less<>> IndicesOf(const device::Snapshot& snapshot) {
  std::map<std::string, std::string, std::less<>> indices;
  for (const device::Gpu& gpu : snapshot.gpus) {
    indices[gpu.uuid.str()] = std::to_string(gpu.index);
    for (const device::MigDevice& mig : gpu.mig_devices) {
      indices[mig.uuid.str()] = fmt::format("{}:{}", gpu.index, mig.index);
    }
  }
  return indices;
}

std::map<std::string, const inject::PlannedDevice*, std::less<>> PlannedByName(
    const inject::InjectionPlan* plan) {
  std::map<std::string, const inject::PlannedDevice*, std::less<>> planned;
  if (plan != nullptr) {
    for (const inject::PlannedDevice& device : plan->devices) {
      for (const std::string& name : device.names) {
        planned.emplace(name, &device);
      }
    }
  }
  return planned;
}

// Whether the slot is a whole card whose driver shows its MIG devices only.
bool IsSplit(const device::Snapshot& snapshot, const pools::Slot& slot) {
  const device::Gpu* gpu = snapshot.FindGpu(slot.gpu);
  return gpu != nullptr && slot.device_uuid == gpu->uuid.str() && gpu->mig_mode &&
         gpu->mig_mode->is_enabled;
}

AnswerDevice ToDevice(const cdi::DeviceNode& node) {
  return {.container_path = node.path,
          .host_path = node.host_path.empty() ? node.path : node.host_path,
          .permissions = node.permissions.empty() ? "rwm" : node.permissions};
}

}  // namespace

bool Delivery::NeedsDriverFiles() const {
  return !std::ranges::all_of(strategies, [](DeviceListStrategy strategy) {
    return strategy == DeviceListStrategy::kEnvvar || strategy == DeviceListStrategy::kVolumeMounts;
  });
}

bool Delivery::NeedsSpecs() const {
  return strategies.contains(DeviceListStrategy::kCdiCri) ||
         strategies.contains(DeviceListStrategy::kCdiAnnotations);
}

AnswerCache::AnswerCache(const pools::Resource& resource, const device::Snapshot& snapshot,
                         std::shared_ptr<const inject::InjectionPlan> plan, Delivery delivery,
                         sharing::Places places)
    : resource_(resource.name),
      share_(resource.share),
      plan_(std::move(plan)),
      delivery_(std::move(delivery)),
      places_(std::move(places)) {
  const auto indices = IndicesOf(snapshot);
  const auto planned = PlannedByName(plan_.get());
  for (const pools::Slot& slot : resource.slots) {
    Entry entry{.order = entries_.size(),
                .device_uuid = slot.device_uuid,
                .index = {},
                .health = slot.health,
                .planned = nullptr,
                .is_split = IsSplit(snapshot, slot),
                .part = {slot.id, slot.device_uuid, pools::LimitsOf(slot)}};
    if (const auto found = indices.find(slot.device_uuid); found != indices.end()) {
      entry.index = found->second;
    }
    if (const auto found = planned.find(slot.device_uuid); found != planned.end()) {
      entry.planned = found->second;
    }
    entries_.emplace(slot.id, std::move(entry));
  }
}

bool AnswerCache::NeedsNodes() const {
  return plan_ != nullptr &&
         (Uses(DeviceListStrategy::kDeviceSpecs) || Uses(DeviceListStrategy::kCdiCri) ||
          Uses(DeviceListStrategy::kCdiAnnotations));
}

StatusOr<std::vector<const AnswerCache::Entry*>> AnswerCache::Slots(
    std::span<const std::string> ids) const {
  if (ids.empty()) {
    return InvalidArgument("{}: no device requested", resource_);
  }
  std::vector<const Entry*> slots;
  for (const std::string& id : ids) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) {
      return InvalidArgument("{}: \"{}\" is not one of its devices", resource_, id);
    }
    const Entry& entry = found->second;
    if (!entry.health.is_healthy) {
      return Unavailable("{}: {} is unhealthy ({}): {}", resource_, entry.device_uuid,
                         entry.health.reason, entry.health.message);
    }
    if (NeedsNodes() && entry.planned == nullptr) {
      return Unavailable("{}: {} cannot be given to a container: {}", resource_, entry.device_uuid,
                         entry.is_split
                             ? "it is in MIG mode, where programs see only its MIG devices: set "
                               "migStrategy: mixed or single"
                             : "`kgpu cdi generate --dry-run` names the missing device node");
    }
    slots.push_back(&entry);
  }
  std::ranges::sort(slots, {}, &Entry::order);
  const auto again = std::ranges::unique(slots, {}, &Entry::order);
  slots.erase(again.begin(), again.end());
  RETURN_IF_ERROR(CheckMultiple(slots));
  return slots;
}

std::vector<sharing::SlotPart> AnswerCache::PartsOf(const std::vector<const Entry*>& slots) {
  std::vector<sharing::SlotPart> parts;
  parts.reserve(slots.size());
  std::ranges::transform(slots, std::back_inserter(parts),
                         [](const Entry* slot) { return slot->part; });
  return parts;
}

Status AnswerCache::CheckMultiple(const std::vector<const Entry*>& slots) const {
  if (const Status status = share_.by->CheckRequest(PartsOf(slots), share_); !status.ok()) {
    return InvalidArgument("{}: {}", resource_, Message(status));
  }
  if (slots.size() < 2 || share_.multiple == sharing::MultipleSlots::kAllow) {
    return OkStatus();
  }
  if (share_.multiple == sharing::MultipleSlots::kRefuse) {
    return InvalidArgument(
        "{}: {} slots requested, but its pool allows a container only one of a shared device: "
        "request 1, or set share.multiple: allow or spread in its pool",
        resource_, slots.size());
  }
  std::set<std::string_view> devices;
  for (const Entry* slot : slots) {
    if (!devices.insert(slot->device_uuid).second) {
      return InvalidArgument(
          "{}: {} slots requested, each of another device (share.multiple: spread), but two that "
          "are free are of {}: request fewer, or wait until more devices have a free slot",
          resource_, slots.size(), slot->device_uuid);
    }
  }
  return OkStatus();
}

StatusOr<Answer> AnswerCache::For(std::span<const std::string> ids) const {
  ASSIGN_OR_RETURN(const std::vector<const Entry*> slots, Slots(ids));
  // Several slots of one device are one device to the container.
  std::vector<const Entry*> devices = slots;
  const auto again = std::ranges::unique(devices, {}, &Entry::device_uuid);
  devices.erase(again.begin(), again.end());
  Answer answer;
  AddCdi(devices, answer);
  AddVisible(devices, answer);
  AddNodes(devices, answer);
  AddMounts(answer);
  AddAccess(slots, answer);
  return answer;
}

void AnswerCache::AddCdi(const std::vector<const Entry*>& devices, Answer& answer) const {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Entry* device : devices) {
    names.push_back(fmt::format("{}={}", delivery_.cdi_kind, device->device_uuid));
  }
  if (Uses(DeviceListStrategy::kCdiAnnotations)) {
    const std::string list = fmt::format("{}", fmt::join(names, ","));
    answer.annotations[fmt::format("{}kgpu_{:016x}", delivery_.cdi_annotation_prefix,
                                   StableHash(resource_ + list))] = list;
  }
  if (Uses(DeviceListStrategy::kCdiCri)) {
    answer.cdi_devices = std::move(names);
  }
}

void AnswerCache::AddVisible(const std::vector<const Entry*>& devices, Answer& answer) const {
  if (Uses(DeviceListStrategy::kVolumeMounts)) {
    answer.envs[kVisibleDevices] = kVolumeFolder;
    for (const Entry* device : devices) {
      answer.mounts.push_back(
          {.container_path = fmt::format("{}/{}", kVolumeFolder, device->device_uuid),
           .host_path = "/dev/null",
           .is_read_only = true});
    }
  } else if (Uses(DeviceListStrategy::kEnvvar)) {
    std::vector<std::string_view> names;
    names.reserve(devices.size());
    for (const Entry* device : devices) {
      const bool by_index =
          delivery_.device_ids == config::DeviceIdStrategy::kIndex && !device->index.empty();
      names.push_back(by_index ? device->index : device->device_uuid);
    }
    answer.envs[kVisibleDevices] = fmt::format("{}", fmt::join(names, ","));
  } else {
    // NVIDIA's runtime, where it is the default, would add what the image's variable says a second
    // time, or every GPU.
    answer.envs[kVisibleDevices] = "void";
  }
}

void AnswerCache::AddNodes(const std::vector<const Entry*>& devices, Answer& answer) const {
  if (!Uses(DeviceListStrategy::kDeviceSpecs) || plan_ == nullptr) {
    return;
  }
  for (const cdi::DeviceNode& node : plan_->nodes) {
    answer.devices.push_back(ToDevice(node));
  }
  for (const Entry* device : devices) {
    for (const cdi::DeviceNode& node : device->planned->nodes) {
      // MIG devices of one card share the card's node.
      AnswerDevice spec = ToDevice(node);
      if (std::ranges::find(answer.devices, spec) == answer.devices.end()) {
        answer.devices.push_back(std::move(spec));
      }
    }
  }
}

void AnswerCache::AddMounts(Answer& answer) const {
  if (!Uses(DeviceListStrategy::kMounts) || plan_ == nullptr) {
    return;
  }
  for (const cdi::Mount& mount : plan_->mounts) {
    answer.mounts.push_back(
        {.container_path = mount.container_path,
         .host_path = mount.host_path,
         .is_read_only = std::ranges::find(mount.options, "ro") != mount.options.end()});
  }
}

void AnswerCache::AddAccess(const std::vector<const Entry*>& slots, Answer& answer) const {
  sharing::Access access = share_.by->AccessTo(PartsOf(slots), share_, places_);
  answer.envs.merge(access.envs);
  for (sharing::Mount& mount : access.mounts) {
    answer.mounts.push_back({.container_path = std::move(mount.container_path),
                             .host_path = std::move(mount.host_path),
                             .is_read_only = mount.is_read_only});
  }
}

}  // namespace kgpu::plugin
