// Checks whether an engine's containers really get GPUs: problems and their fixes.
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
  // What it reports; empty: it does not run, or is podman.
  std::optional<StatusOr<LiveFacts>> live;
  const sys::Root* engine_root = nullptr;  // what it calls "/"; null: the host's root
};

// Checks that the files parse and the engine accepts them, beside its flags and what its
// distribution generates; that its CRI plugin is enabled; that its default runtime and the named
// one exist, and that the latter runs; that the CDI specs fit this host if the engine reads them;
// that it runs, with the configuration on the disk. Changes nothing. The subject of a finding is
// the engine; no findings: all ok. What cannot be checked below this root is one info.
std::vector<report::Finding> CheckEngine(const sys::Root& host, sys::ProgramRunner& runner,
                                         const CheckInput& input);

// Problems of kgpu-runtime's own configuration, which keep its containers of any engine from
// starting. Changes nothing.
std::vector<report::Finding> CheckShim(const sys::Root& host);

}  // namespace kgpu::engine
