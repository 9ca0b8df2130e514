#include "src/node/claims/gpu_task.h"

#include <algorithm>

namespace kgpu::claims {

using dra::PreparedClaim;
using dra::PreparedDevice;

namespace {

std::optional<GpuTask> TaskOf(const PreparedDevice& device, bool is_mig_on,
                              std::set<std::string>& ended) {
  if (device.made && !device.made->gpu_instance) {
    return GpuTask{.step = mig::Step::kMake,
                   .gpu = device.made->gpu,
                   .place = {.profile = device.made->profile, .start = device.made->start}};
  }
  const std::string& uuid = device.device_uuid;
  if (is_mig_on && !device.is_admin && ended.insert("empty " + uuid).second) {
    return GpuTask{.step = mig::Step::kEmpty, .gpu = uuid};
  }
  if (device.time_slice != dra::TimeSlice::kDefault && ended.insert("time " + uuid).second) {
    return GpuTask{.step = mig::Step::kTimeSlice, .gpu = uuid, .time_slice = device.time_slice};
  }
  if (device.mps && ended.insert("mps " + uuid).second) {
    return GpuTask{.awaits_mps = true, .gpu = uuid};
  }
  return std::nullopt;
}

}  // namespace

std::optional<GpuTask> NextTask(const PreparedClaim& claim, std::span<const dra::CardOffer> cards,
                                std::set<std::string>& ended) {
  for (const PreparedDevice& device : claim.devices) {
    bool is_mig_on = false;
    for (const dra::CardOffer& card : cards) {
      const auto offer = std::ranges::find(card.offers, device.device, &dra::Offer::name);
      is_mig_on = is_mig_on || (offer != card.offers.end() && offer->is_mig_on);
    }
    if (auto task = TaskOf(device, is_mig_on, ended)) {
      return task;
    }
  }
  return std::nullopt;
}

void NoteMade(const GpuTask& task, const mig::MadeDevice& made, PreparedClaim& claim) {
  for (PreparedDevice& device : claim.devices) {
    if (!made.uuid.empty() && device.made && device.made->gpu == task.gpu &&
        device.made->profile == task.place.profile && device.made->start == task.place.start) {
      device.made->gpu_instance = made.gpu_instance;
      device.made->compute_instance = made.compute_instance;
      device.device_uuid = made.uuid;
    }
  }
}

std::optional<GpuTask> UndoingOf(const PreparedDevice& device) {
  if (device.made) {
    return GpuTask{.step = mig::Step::kRemove,
                   .gpu = device.made->gpu,
                   .place = {.profile = device.made->profile,
                             .start = device.made->start,
                             .gpu_instance = device.made->gpu_instance},
                   .without_mps = device.mps ? device.device_uuid : ""};
  }
  if (device.time_slice != dra::TimeSlice::kDefault) {
    return GpuTask{.step = mig::Step::kTimeSlice, .gpu = device.device_uuid};
  }
  return std::nullopt;
}

}  // namespace kgpu::claims
