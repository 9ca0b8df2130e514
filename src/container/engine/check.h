// Whether containers of an engine really get GPUs: what is wrong, and what mends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/container/engine/engine_api.h"
#include "src/container/engine/state.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::engine {

struct Finding {
  std::string text;  // what is wrong
  std::string mend;  // a command, or what to do
  bool operator==(const Finding&) const = default;
};

struct CheckInput {
  const Engine* engine = nullptr;
  const Record* record = nullptr;  // null: kgpu never configured it
  // What it says of itself; empty: it does not run, or is podman.
  std::optional<StatusOr<LiveFacts>> live;
};

// The files parse and the engine takes them; the named runtime is there and runs; the CDI specs fit
// this host where the engine reads them; it runs, with the configuration that is on the disk.
// Nothing is changed. Empty: all is well.
std::vector<Finding> CheckEngine(const sys::Root& host, sys::ProgramRunner& runner,
                                 const CheckInput& input);

}  // namespace kgpu::engine
