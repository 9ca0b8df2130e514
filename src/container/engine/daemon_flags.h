// The flags of an engine's daemon: those that it runs with, and those of its next start.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct DaemonFlag {
  std::string name;   // "--default-runtime"
  std::string value;  // empty: it has none
  std::string where;  // "/etc/sysconfig/docker:3", "process 42 (dockerd)"

  // "--default-runtime=nvidia".
  std::string Text() const;
};

// The flags of the engine's unit, then those of its process that the unit does not have.
std::vector<DaemonFlag> ReadDaemonFlags(const sys::Root& host, const Engine& engine);

// The values of a flag, in order.
std::vector<DaemonFlag> Named(const std::vector<DaemonFlag>& flags,
                              std::initializer_list<std::string_view> names);

// The folders in which the engine looks for programs by name: its distribution's, those of its
// process's PATH, then the system's.
std::vector<std::string> ProgramFolders(const sys::Root& host, const Engine& engine);

// The path of `program`, a name or a path, as the engine finds it; empty if it does not: no such
// file, or not executable.
std::string FindForEngine(const sys::Root& host, const Engine& engine, std::string_view program);

}  // namespace kgpu::engine
