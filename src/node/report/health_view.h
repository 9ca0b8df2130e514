// `kgpu health`: how the GPUs are, what is wrong and what fixes it; and what happened before. Pure.
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
  std::string journal_problem;  // why events is not kept; empty: it is
};

// Field names are part of the interface: docs/reference/health.md.
boost::json::value HealthJson(const HealthReport& report);
// What is wrong stands first; then a line for each GPU, then each fault with its fix.
std::string HealthTable(const HealthReport& report);
// Exit code 0 of `kgpu health`, else 7: the driver answers and shows every GPU that it holds, and
// every device may be handed out.
bool IsHealthy(const HealthReport& report);

// Oldest first, as in the journal. GPUs that `snapshot` has are named as HealthTable names them,
// any other by its UUID.
boost::json::value HistoryJson(const health::JournalText& journal);
std::string HistoryTable(const health::JournalText& journal, const device::Snapshot& snapshot);

}  // namespace kgpu::report
