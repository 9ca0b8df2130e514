#include "src/gpu/health/xid_counts.h"

#include <algorithm>

namespace kgpu::health {

XidCounts::Count& XidCounts::At(uint64_t xid) {
  auto place = std::ranges::lower_bound(counts_, xid, {}, &Count::xid);
  if (place != counts_.end() && place->xid == xid) {
    return *place;
  }
  if (counts_.size() >= kMaxCodes) {
    // The largest code there is, so the last of all.
    if (counts_.back().xid != kOther) {
      counts_.push_back({.xid = kOther});
    }
    return counts_.back();
  }
  return *counts_.insert(place, Count{.xid = xid});
}

bool XidCounts::Note(uint64_t xid, Source source, SteadyTime now) {
  Count& count = At(xid);
  const bool is_kernel = source == Source::kKernelLog;
  uint64_t& awaited = is_kernel ? count.awaited_of_kernel : count.awaited_of_driver;
  const SteadyTime other_reported = is_kernel ? count.last_of_driver : count.last_of_kernel;
  if (awaited > 0 && now - other_reported <= kWindow) {
    --awaited;
    return false;
  }
  awaited = 0;
  uint64_t& echoes = is_kernel ? count.awaited_of_driver : count.awaited_of_kernel;
  SteadyTime& reported = is_kernel ? count.last_of_kernel : count.last_of_driver;
  // What the other source has not reported by now it never will: it may not exist at all.
  echoes = now - reported <= kWindow ? echoes + 1 : 1;
  reported = now;
  ++count.count;
  return true;
}

}  // namespace kgpu::health
