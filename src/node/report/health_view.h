// `kgpu health`: the state of the GPUs, what is wrong and how to fix it; and the history. Pure.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/journal_text.h"

namespace kgpu::report {

struct HealthReport {
  device::SnapshotPtr snapshot;  // not null
  health::Overview overview;
  std::string journal_problem;  // why the journal is not written; empty: it is
};

// Field names are part of the interface: docs/reference/health.md.
boost::json::value HealthJson(const HealthReport& report);
// Problems first; then a line per GPU, then each fault with its fix.
std::string HealthTable(const HealthReport& report);
// Whether `kgpu health` exits with 0 instead of 7: the driver answers and shows every GPU that it
// manages, and all devices may be allocated.
bool IsHealthy(const HealthReport& report);

// Oldest first, as in the journal. Names GPUs of `snapshot` as HealthTable does, others by
// UUID.
boost::json::value HistoryJson(const health::JournalText& journal);
std::string HistoryTable(const health::JournalText& journal, const device::Snapshot& snapshot);

struct ClearedGpu {
  std::string uuid;
  std::vector<std::string> faults{};  // names of rules, the worst first
};
// The answer of `kgpu health clear`.
struct Clearing {
  std::vector<ClearedGpu> gpus{};
  bool is_dry_run = false;
};
boost::json::value ClearingJson(const Clearing& clearing);
std::string ClearingText(const Clearing& clearing);

}  // namespace kgpu::report
