// Whether containers of an engine really get GPUs: what is wrong, and what fixes it.
#pragma once

#include <optional>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/container/engine/engine_api.h"
#include "src/container/engine/state.h"
#include "src/platform/report/finding.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

struct CheckInput {
  const Engine* engine = nullptr;
  const Record* record = nullptr;  // null: kgpu never configured it
  // What it says of itself; empty: it does not run, or is podman.
  std::optional<StatusOr<LiveFacts>> live;
  const sys::Root* engine_root = nullptr;  // what it calls "/"; null: the host's root
};

// The files parse and the engine takes them; the named runtime is there and runs; the CDI specs fit
// this host where the engine reads them; it runs, with the configuration that is on the disk.
// Nothing is changed. The subject of a finding is the engine; no finding: everything is ok. What
// cannot be checked below this root is one info.
std::vector<report::Finding> CheckEngine(const sys::Root& host, sys::ProgramRunner& runner,
                                         const CheckInput& input);

}  // namespace kgpu::engine
