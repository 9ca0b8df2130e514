#include "src/gpu/health/fault_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "src/platform/base/duration.h"

namespace kgpu::health {
namespace {

std::vector<const FaultRecord*> WorstFirst(
    const GpuFaults& faults, const std::function<bool(const FaultRecord&)>& is_wanted) {
  std::vector<const FaultRecord*> records;
  for (const FaultRecord& record : faults.records) {
    if (is_wanted(record)) {
      records.push_back(&record);
    }
  }
  std::ranges::stable_sort(records, [](const auto* a, const auto* b) { return IsWorse(*a, *b); });
  return records;
}

// The health of one device while its faults are gone through, the worst first.
struct Verdict {
  const FaultRecord* worst = nullptr;
  std::string others;

  void Add(const FaultRecord& record) {
    if (worst == nullptr) {
      worst = &record;
    } else {
      others += fmt::format("{}{}", others.empty() ? "" : ", ", NameOf(record.rule));
    }
  }
  device::Health ToHealth(const FlapLimit& limit) const {
    if (worst == nullptr) {
      return {};
    }
    return {false, NameOf(worst->rule),
            fmt::format("{}{}{}", worst->message, worst->is_held ? HeldText(limit) : "",
                        others.empty() ? "" : fmt::format(" Also: {}.", others))};
  }
};

}  // namespace

std::string HeldText(const FlapLimit& limit) {
  return fmt::format(
      " It failed more than {} times within {} and no longer recovers automatically: find the "
      "cause, then run \"kgpu health clear\" or restart the host.",
      limit.times, FormatDuration(limit.within));
}

void ApplyFaults(const GpuFaults& faults, const FlapLimit& limit, device::Gpu& gpu) {
  const auto records =
      WorstFirst(faults, [](const FaultRecord& record) { return record.rule.is_unhealthy; });
  Verdict whole;
  for (const FaultRecord* record : records) {
    if (!record->gpu_instance) {
      whole.Add(*record);
    }
  }
  gpu.health = whole.ToHealth(limit);
  for (device::MigDevice& mig : gpu.mig_devices) {
    Verdict part;
    for (const FaultRecord* record : records) {
      if (record->Touches(mig.gpu_instance, mig.compute_instance)) {
        part.Add(*record);
      }
    }
    mig.health = part.ToHealth(limit);
  }
}

void AddOpenFaults(const device::GpuUuid& gpu, const GpuFaults& faults,
                   std::vector<OpenFault>& open) {
  for (const FaultRecord* record :
       WorstFirst(faults, [](const FaultRecord& known) { return known.is_fault(); })) {
    open.push_back({.scope = {gpu, record->gpu_instance, record->compute_instance},
                    .rule = NameOf(record->rule),
                    .xid = record->rule.xid,
                    .fault_class = record->rule.fault_class,
                    .action = record->rule.action,
                    .source = record->source,
                    .is_unhealthy = record->rule.is_unhealthy,
                    .is_held = record->is_held,
                    .message = record->message,
                    .detail = record->detail,
                    .first = record->first,
                    .last = record->last,
                    .count = record->count,
                    .pid = record->pid});
  }
}

void AddCounters(const device::GpuUuid& gpu, const GpuFaults& faults, Counters& counters) {
  for (const XidCounts::Count& count : faults.xids.counts()) {
    counters.xids.push_back({gpu, count.xid, count.count});
  }
  if (faults.last_xid) {
    counters.last_xids.push_back({gpu, *faults.last_xid, faults.last_xid_at});
  }
  for (const auto& [rule, raised] : faults.raised) {
    counters.faults.push_back({gpu, rule, raised});
  }
}

}  // namespace kgpu::health
