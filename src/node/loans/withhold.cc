#include "src/node/loans/withhold.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace kgpu::loans {
namespace {

// Once for each device.
void NoteUnassigned(const pools::Slot& slot, std::string why, pools::Assignment& assignment) {
  const auto listed =
      std::ranges::find(assignment.unassigned, slot.device_uuid, &pools::Unassigned::device_uuid);
  if (listed == assignment.unassigned.end()) {
    assignment.unassigned.push_back(
        {slot.device_uuid, std::move(why), slot.gpu, /*is_changing=*/true});
  }
}

// Whether the slots that local pools have of `gpu` are what the loan has of it. A GPU without such
// slots is not lent further.
bool IsAsLent(const Loan& loan, const device::GpuUuid& gpu, const pools::Assignment& assignment) {
  std::map<std::string_view, Bytes> slices;  // by slot; whole GPUs have none
  bool has_whole = false;
  for (const pools::Resource& pool : assignment.local) {
    for (const pools::Slot& slot : pool.slots) {
      if (slot.gpu == gpu && slot.memory) {
        slices.emplace(slot.id, *slot.memory);
      }
      has_whole = has_whole || (slot.gpu == gpu && !slot.memory);
    }
  }
  if (loan.slices.empty()) {
    return slices.empty();
  }
  return !has_whole && std::ranges::all_of(loan.slices, [&](const slices::SliceSlot& slice) {
    const auto found = slices.find(slice.id);
    return slice.device_uuid != gpu.str() ||
           (found != slices.end() && found->second == slice.memory);
  });
}

}  // namespace

void Withhold(const std::function<std::string(const device::GpuUuid&)>& reason,
              pools::Assignment& assignment) {
  for (pools::Resource& resource : assignment.resources) {
    std::erase_if(resource.slots, [&](const pools::Slot& slot) {
      std::string why = reason(slot.gpu);
      if (why.empty()) {
        return false;
      }
      NoteUnassigned(slot, std::move(why), assignment);
      return true;
    });
  }
}

void KeepAsLent(const Ledger& ledger, pools::Assignment& assignment) {
  std::map<std::string, std::string> reasons;  // by GPU
  for (const Loan& loan : ledger.loans()) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      if (!IsAsLent(loan, gpu, assignment)) {
        reasons.emplace(gpu.str(),
                        fmt::format("its pool has changed, and it changes once its loans have "
                                    "ended: lent to {}",
                                    loan.holder));
      }
    }
  }
  for (pools::Resource& pool : assignment.local) {
    std::erase_if(pool.slots, [&](const pools::Slot& slot) {
      const auto reason = reasons.find(slot.gpu.str());
      if (reason == reasons.end()) {
        return false;
      }
      NoteUnassigned(slot, reason->second, assignment);
      return true;
    });
  }
}

}  // namespace kgpu::loans
