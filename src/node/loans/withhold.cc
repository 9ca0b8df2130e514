#include "src/node/loans/withhold.h"

#include <algorithm>
#include <utility>

namespace kgpu::loans {

void Withhold(const std::function<std::string(const device::GpuUuid&)>& reason,
              pools::Assignment& assignment) {
  for (pools::Resource& resource : assignment.resources) {
    std::erase_if(resource.slots, [&](const pools::Slot& slot) {
      std::string why = reason(slot.gpu);
      if (why.empty()) {
        return false;
      }
      const auto is_listed = std::ranges::find(assignment.unassigned, slot.device_uuid,
                                               &pools::Unassigned::device_uuid);
      if (is_listed == assignment.unassigned.end()) {
        assignment.unassigned.push_back({slot.device_uuid, std::move(why), slot.gpu});
      }
      return true;
    });
  }
}

}  // namespace kgpu::loans
