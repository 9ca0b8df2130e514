// Applies plans, and reverts them: recorded before anything is changed, checked afterwards, and
// undone if a step fails.
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

// Everything that the functions below use. All of it must outlive the calls.
struct Dependencies {
  const sys::Root& host;
  change::Disk& disk;
  sys::ProgramRunner& runner;
  EngineControl& control;
  EngineApi& api;
  const Clock& clock;
};

struct ApplyOptions {
  bool restart = false;                        // reload or restart the engine if needed
  std::chrono::milliseconds patience{30'000};  // how long to wait for an engine to come back
};

// For people.
struct Outcome {
  std::vector<std::string> done;   // "changed /etc/docker/daemon.json"
  std::vector<std::string> notes;  // what the admin has to do, and what was left alone
};

// Only one process at a time may change a host's engines. Errors: Unavailable (another one does),
// and those of creating /var/lib/kgpu.
StatusOr<UniqueFd> LockEngines(const Dependencies& deps);

// Writes the record, then the files; lets the engine check them; reloads or restarts it if
// requested and needed, and waits until it shows the change. After a failure, the files are as
// before, the engine is restarted with them, and the error says so. A plan without steps activates
// what an earlier one left pending.
StatusOr<Outcome> Apply(const Plan& plan, const ApplyOptions& options, const Dependencies& deps);

// Plans to revert one record: files that nobody else edited get their original bytes back, others
// only lose our keys. Errors: InvalidArgument (a file is invalid now).
StatusOr<Plan> PlanRevert(const sys::Root& host, const std::string& id, const Record& record,
                          const Engine* engine);

// Carries out a PlanRevert, as Apply does, and deletes the record.
StatusOr<Outcome> Revert(const Plan& plan, const ApplyOptions& options, const Dependencies& deps);

// Whether what an engine reports is what we expect. Values that it does not report count as
// expected.
bool Shows(const LiveFacts& facts, const Expected& expected);

// Whether a change still waits for a reload or restart that nobody has done.
Reach PendingReach(const Record& record, const Engine& engine);

}  // namespace kgpu::engine
