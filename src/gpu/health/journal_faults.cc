#include "src/gpu/health/journal_faults.h"

#include <algorithm>
#include <optional>

namespace kgpu::health {
namespace {

// The entries of this boot, which come after its own; none when another boot came last.
std::span<const JournalEntry> OfBoot(std::span<const JournalEntry> entries,
                                     std::string_view boot_id) {
  for (size_t i = entries.size(); i-- > 0;) {
    if (!entries[i].event) {
      return entries[i].boot_id == boot_id ? entries.subspan(i + 1)
                                           : std::span<const JournalEntry>();
    }
  }
  return {};
}

// They are in the order in which they happened. Their times are not, where the clock was set back:
// an old entry may have a later time than `since`.
std::span<const JournalEntry> NewerThan(WallTime since, std::span<const JournalEntry> entries) {
  const auto old = std::find_if(entries.rbegin(), entries.rend(),
                                [&](const JournalEntry& entry) { return entry.when <= since; });
  return entries.last(static_cast<size_t>(old - entries.rbegin()));
}

OpenFault FaultOf(const device::GpuUuid& gpu, const HealthEvent& event) {
  return {.scope = {gpu, event.gpu_instance, event.compute_instance},
          .rule = event.rule,
          .xid = event.xid,
          .fault_class = event.fault_class,
          .action = event.action,
          .source = event.source,
          .message = event.message,
          .detail = event.detail,
          .first = event.when,
          .last = event.when,
          .count = event.count,
          .pid = event.pid};
}

void Take(const device::GpuUuid& gpu, const HealthEvent& event, std::vector<OpenFault>& faults) {
  const auto found = std::ranges::find_if(faults, [&](const OpenFault& fault) {
    return fault.rule == event.rule && fault.scope.gpu == gpu &&
           fault.scope.gpu_instance == event.gpu_instance &&
           fault.scope.compute_instance == event.compute_instance;
  });
  switch (event.kind) {
    case HealthEventKind::kCleared:
      if (found != faults.end()) {
        faults.erase(found);
      }
      break;
    case HealthEventKind::kRaised:
    case HealthEventKind::kHeld: {
      OpenFault& fault = found != faults.end() ? *found : faults.emplace_back(FaultOf(gpu, event));
      fault.last = event.when;
      fault.is_held = fault.is_held || event.kind == HealthEventKind::kHeld;
      break;
    }
    case HealthEventKind::kSeen:
      if (found != faults.end()) {
        found->last = event.when;
        found->count += event.count;
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
  for (const JournalEntry& entry : NewerThan(since, OfBoot(entries, boot_id))) {
    const std::optional<HealthEvent>& event = entry.event;
    if (event && event->gpu && event->is_unhealthy) {
      Take(*event->gpu, *event, known);
    }
  }
  return known;
}

}  // namespace kgpu::health
