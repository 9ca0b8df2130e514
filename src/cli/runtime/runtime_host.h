// The host whose engines a command changes, with the dependencies for that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/apply.h"
#include "src/container/engine/control.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/engine_api.h"
#include "src/host/change/disk.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {

struct RuntimeOptions {
  std::string host_root = "/";
  std::string engine = "auto";
  std::string config;  // empty: the file that the engine reads
  std::string output = "table";
  std::string restart_with;  // empty: the host's usual way
};

// Owns all parts; cannot be moved, since they refer to each other.
class RuntimeHost {
 public:
  // Errors: those of opening the root, InvalidArgument (no such engine).
  static StatusOr<std::unique_ptr<RuntimeHost>> Open(const RuntimeOptions& options);

  RuntimeHost(const RuntimeHost&) = delete;
  RuntimeHost& operator=(const RuntimeHost&) = delete;

  const sys::Root& root() const { return root_; }
  sys::ProgramRunner& runner() { return runner_; }
  engine::EngineApi& api() { return api_; }
  engine::Dependencies deps() { return {root_, disk_, runner_, control_, api_, clock_}; }
  bool is_auto() const { return !kind_.has_value(); }

  // The requested engines. Errors: NotFound if there are none; the text says how to get one.
  StatusOr<std::vector<engine::Engine>> FindEngines();
  // Whether a record of this id belongs to the requested engines.
  bool IsAskedFor(const std::string& id) const;

 private:
  RuntimeHost(sys::Root root, const RuntimeOptions& options, std::optional<engine::Kind> kind);

  sys::Root root_;
  RuntimeOptions options_;
  std::optional<engine::Kind> kind_;
  sys::RealRunner runner_;
  change::HostDisk disk_;
  engine::SystemControl control_;
  engine::SocketApi api_;
  RealClock clock_;
};

// Time limit for a running engine to answer a query that changes nothing.
inline constexpr std::chrono::milliseconds kOneQuestion{1};

// What `engine` reports; empty if it does not run or has no API.
std::optional<StatusOr<engine::LiveFacts>> AskEngine(RuntimeHost& host,
                                                     const engine::Engine& engine);

}  // namespace kgpu::cli
