#include "src/gpu/health/journal_faults.h"

#include <algorithm>
#include <optional>

namespace kgpu::health {
namespace {

// The entries of this boot, which come after its own; none when another boot came last.
std::span<const JournalEntry> OfBoot(std::span<const JournalEntry> entries,
                                     std::string_view boot_id) {
  for (size_t i = entries.size(); i-- > 0;) {
    if (!entries[i].news) {
      return entries[i].boot_id == boot_id ? entries.subspan(i + 1)
                                           : std::span<const JournalEntry>();
    }
  }
  return {};
}

OpenFault FaultOf(const device::GpuUuid& gpu, const Happening& news) {
  return {.scope = {gpu, news.gpu_instance, news.compute_instance},
          .rule = news.rule,
          .xid = news.xid,
          .fault_class = news.fault_class,
          .action = news.action,
          .source = news.source,
          .message = news.message,
          .detail = news.detail,
          .first = news.when,
          .last = news.when,
          .count = news.count,
          .pid = news.pid};
}

void Take(const device::GpuUuid& gpu, const Happening& news, std::vector<OpenFault>& faults) {
  const auto found = std::ranges::find_if(faults, [&](const OpenFault& fault) {
    return fault.rule == news.rule && fault.scope.gpu == gpu &&
           fault.scope.gpu_instance == news.gpu_instance &&
           fault.scope.compute_instance == news.compute_instance;
  });
  switch (news.kind) {
    case HappeningKind::kCleared:
      if (found != faults.end()) {
        faults.erase(found);
      }
      break;
    case HappeningKind::kRaised:
    case HappeningKind::kHeld: {
      OpenFault& fault = found != faults.end() ? *found : faults.emplace_back(FaultOf(gpu, news));
      fault.last = news.when;
      fault.is_held = fault.is_held || news.kind == HappeningKind::kHeld;
      break;
    }
    case HappeningKind::kSeen:
      if (found != faults.end()) {
        found->last = news.when;
        found->count += news.count;
      }
      break;
  }
}

}  // namespace

std::vector<OpenFault> FaultsAfter(std::vector<OpenFault> known,
                                   std::span<const JournalEntry> entries, std::string_view boot_id,
                                   WallTime since) {
  if (boot_id.empty()) {
    return known;
  }
  for (const JournalEntry& entry : OfBoot(entries, boot_id)) {
    const std::optional<Happening>& news = entry.news;
    if (news && news->gpu && news->is_unhealthy && entry.when > since) {
      Take(*news->gpu, *news, known);
    }
  }
  return known;
}

}  // namespace kgpu::health
