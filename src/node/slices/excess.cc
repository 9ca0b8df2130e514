#include "src/node/slices/excess.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kgpu::slices {
namespace {

// Without the UID, which one of two sources may not know.
using ContainerName = std::tuple<std::string, std::string, std::string>;
using UseKey = std::pair<ContainerName, std::string>;  // and the device

ContainerName NameOfContainer(const pods::Container& container) {
  return {container.pod_namespace, container.pod, container.container};
}

// The slots with a limit, by their ids.
struct LimitedSlot {
  const pools::Slot* slot = nullptr;
  const sharing::Share* share = nullptr;
};
using LimitedSlots = std::map<std::string_view, LimitedSlot>;

void AddLimitedSlots(const pools::Assignment& assignment, LimitedSlots& slots) {
  for (const pools::Resource& resource : assignment.resources) {
    for (const pools::Slot& slot : resource.slots) {
      if (slot.memory) {
        slots.emplace(slot.id, LimitedSlot{&slot, &resource.share});
      }
    }
  }
}

// Whether the process runs on the MIG device.
bool IsOn(const device::MigDevice& mig, const device::ProcessSample& process) {
  return process.gpu_instance == mig.gpu_instance &&
         (!process.compute_instance || *process.compute_instance == mig.compute_instance);
}

// The device that a process uses: the GPU, or the MIG device of its instances.
std::string DeviceOfProcess(const device::GpuSample& gpu, const device::ProcessSample& process,
                            const device::Snapshot& snapshot) {
  const device::Gpu* card = process.gpu_instance ? snapshot.FindGpu(gpu.uuid) : nullptr;
  if (card == nullptr) {
    return gpu.uuid.str();
  }
  const auto mig = std::ranges::find_if(
      card->mig_devices, [&](const device::MigDevice& device) { return IsOn(device, process); });
  return mig == card->mig_devices.end() ? gpu.uuid.str() : mig->uuid.str();
}

// The use that a process of `container` belongs to; null: none has a limit. Where only the pod of
// a process is known, it is its only container with the device.
SliceUse* FindUse(std::map<UseKey, SliceUse>& uses, const pods::Container& container,
                  const std::string& device) {
  if (!container.container.empty()) {
    const auto found = uses.find({NameOfContainer(container), device});
    return found == uses.end() ? nullptr : &found->second;
  }
  SliceUse* only = nullptr;
  for (auto& [key, use] : uses) {
    if (key.second == device && use.user.pod == container.pod &&
        use.user.pod_namespace == container.pod_namespace) {
      if (only != nullptr) {
        return nullptr;
      }
      only = &use;
    }
  }
  return only;
}

void AddProcess(const device::ProcessSample& process, const std::string& pod_uid, SliceUse& use) {
  use.used.count += process.memory.value_or(Bytes{}).count;
  use.processes.push_back(process.pid);
  use.time = use.time && process.sm ? std::optional(*use.time + *process.sm) : std::nullopt;
  if (use.user.pod_uid.empty()) {
    use.user.pod_uid = pod_uid;
  }
}

}  // namespace

std::vector<SliceUse> SliceUsesOf(const SliceFacts& facts) {
  LimitedSlots slots;
  AddLimitedSlots(facts.assignment, slots);
  AddLimitedSlots(facts.held, slots);
  std::map<UseKey, SliceUse> uses;
  for (const pods::DeviceUse& held : facts.pods.devices) {
    const auto found = slots.find(held.device_id);
    if (found == slots.end()) {
      continue;
    }
    const pools::Slot& slot = *found->second.slot;
    SliceUse& use = uses[{NameOfContainer(held.user), slot.device_uuid}];
    use.user = held.user;
    use.device_uuid = slot.device_uuid;
    use.limit.count += slot.memory.value_or(Bytes{}).count;
    use.on_excess = found->second.share->on_excess;
    use.context = std::max(use.context, found->second.share->context);
    use.slots.push_back(slot.id);
    use.compute += slot.compute;
  }
  for (const device::GpuSample& gpu : facts.samples.gpus) {
    for (const device::ProcessSample& process : gpu.processes) {
      const auto owner = facts.pods.processes.find(process.pid);
      if (owner == facts.pods.processes.end()) {
        continue;
      }
      SliceUse* use = FindUse(uses, owner->second, DeviceOfProcess(gpu, process, facts.snapshot));
      if (use != nullptr) {
        AddProcess(process, owner->second.pod_uid, *use);
      }
    }
  }
  std::vector<SliceUse> list;
  list.reserve(uses.size());
  for (auto& [key, use] : uses) {
    std::ranges::sort(use.processes);
    list.push_back(std::move(use));
  }
  return list;
}

bool IsExcess(const SliceUse& use) {
  constexpr uint64_t kPart = 32;
  constexpr uint64_t kPartOfContexts = 8;
  // The driver makes them whether they are counted or not.
  const Bytes context = use.context == Bytes{} ? sharing::kUsualContext : use.context;
  const uint64_t most = use.limit.count / kPartOfContexts;
  const uint64_t contexts =
      context.count > most ? most : std::min(context.count * use.processes.size(), most);
  const uint64_t slack = std::max(use.limit.count / kPart, MebiBytes(128).count) +
                         (use.processes.empty() ? 0 : contexts);
  return use.used.count > use.limit.count + slack;
}

std::vector<Excess> ExcessMonitor::Update(std::vector<SliceUse> uses, SteadyTime now,
                                          std::chrono::milliseconds every) {
  const auto shortest = every - every / 4;  // rounds are not equally long
  std::map<Key, Rounds> rounds;
  std::vector<Excess> found;
  for (SliceUse& use : uses) {
    if (!IsExcess(use)) {
      continue;
    }
    const Key key{use.user.pod_namespace, use.user.pod, use.user.pod_uid, use.user.container,
                  use.device_uuid};
    const auto before = rounds_.find(key);
    Rounds& known = rounds[key];
    known = before == rounds_.end() ? Rounds{.since = now} : before->second;
    const bool is_new_round = known.count == 0 || now - known.counted >= shortest;
    if (is_new_round) {
      ++known.count;
      known.counted = now;
    }
    found.push_back({.use = std::move(use),
                     .rounds = known.count,
                     .is_new_round = is_new_round,
                     .since = known.since});
  }
  rounds_ = std::move(rounds);
  return found;
}

}  // namespace kgpu::slices
