// Carries plans out, and takes them back: recorded before anything is touched, checked after it,
// undone when a step fails.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "src/container/engine/control.h"
#include "src/container/engine/engine_api.h"
#include "src/container/engine/plan.h"
#include "src/container/engine/state.h"
#include "src/host/change/disk.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

// What the work is done with. All of it outlives the calls.
struct Dependencies {
  const sys::Root& host;
  change::Disk& disk;
  sys::ProgramRunner& runner;
  EngineControl& control;
  EngineApi& api;
  const Clock& clock;
};

struct ApplyOptions {
  bool restart = false;                        // reload or restart where that is needed
  std::chrono::milliseconds patience{30'000};  // for an engine to come back
};

// For people.
struct Outcome {
  std::vector<std::string> done;   // "changed /etc/docker/daemon.json"
  std::vector<std::string> notes;  // what is left for the admin to do, and what was left alone
};

// Only one at a time may work on a host's engines. Errors: Unavailable (another does), and those of
// making /var/lib/kgpu.
StatusOr<UniqueFd> LockEngines(const Dependencies& deps);

// Writes the record, then the files; lets the engine check them; reloads or restarts it where asked
// and needed, and waits until it shows the change. When something fails, the files are as before,
// the engine is started again with them, and the error says so. A plan without steps brings what an
// earlier one left pending into force.
StatusOr<Outcome> Apply(const Plan& plan, const ApplyOptions& options, const Dependencies& deps);

// The way back for one record: files get their first bytes again where nobody else edited them,
// else only our keys go. Errors: InvalidArgument (a file is broken now).
StatusOr<Plan> PlanRevert(const sys::Root& host, const std::string& id, const Record& record,
                          const Engine* engine);

// Carries a PlanRevert out, as Apply does, and forgets the record.
StatusOr<Outcome> Revert(const Plan& plan, const ApplyOptions& options, const Dependencies& deps);

// Whether what an engine says of itself is what is expected. What it does not report is no reason
// to doubt.
bool Shows(const LiveFacts& facts, const Expected& expected);

// Whether a change waits for a reload or restart that nobody has done since.
Reach PendingReach(const Record& record, const Engine& engine);

}  // namespace kgpu::engine
