// The low-level runtimes that an engine's files and flags name, and the one that it starts.
#pragma once

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/container/engine/daemon_flags.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct ConfiguredRuntime {
  std::string name;     // "nvidia"; of a default runtime, empty: none is set
  std::string program;  // "/usr/bin/nvidia-container-runtime"; empty: none is given
  std::string file;     // the file that takes effect, or where the flag is
  std::string where;    // position in it, for errors

  bool IsOfNvidia() const;
  bool IsOurs() const;  // of this or another copy of kgpu-runtime
};

class RuntimeTables {
 public:
  // Errors: InvalidArgument (an invalid file).
  static StatusOr<RuntimeTables> Read(const Engine& engine, const EngineFiles& files,
                                      std::vector<DaemonFlag> flags);

  // The definition that takes effect under this name; without a program if there is none.
  ConfiguredRuntime Find(const std::string& name) const;
  // Podman takes a path as its default runtime, too: then that is the program.
  ConfiguredRuntime FindDefault() const;
  // Whether a file or a flag has this runtime, with or without a program.
  bool Has(const std::string& name) const;
  // The shim that containerd or dockerd starts for it: "io.containerd.kata.v2", or a path; empty:
  // none is named.
  std::string FindShim(const std::string& name) const;

 private:
  RuntimeTables(Kind kind, std::vector<DaemonFlag> flags) : kind_(kind), flags_(std::move(flags)) {}

  ConfiguredRuntime FindFlag(const std::string& name) const;
  const boost::json::value* FindTable(const std::string& name) const;

  Kind kind_;
  std::vector<DaemonFlag> flags_;
  std::vector<NamedText> texts_;
  std::vector<edit::Document> documents_;
};

// Why the default runtime starts no container: nothing defines it, or its program does not exist.
// No problem if it can be started, or if the default of the engine applies.
std::optional<std::string> ExplainMissingDefault(const sys::Root& host, const Engine& engine,
                                                 const RuntimeTables& tables);

RealRuntime FindRealRuntime(const sys::Root& host, const Engine& engine,
                            const RuntimeTables& tables);

}  // namespace kgpu::engine
