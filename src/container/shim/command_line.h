// What a call of kgpu-runtime asks the real runtime to do. Sources: main.go, create.go and run.go
// of opencontainers/runc; crun.c, create.c and run.c of containers/crun.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace kgpu::shim {

inline constexpr std::string_view kUsualSpec = "config.json";

struct CommandLine {
  // Number of leading arguments that are ours and not passed on: --kgpu-root DIR, the folder below
  // which our own files (configuration, injection index, CDI folders, audit log) are. For simulated
  // hosts.
  size_t own = 0;
  std::string_view root = "/";
  // True for create and run of a container: the only calls whose specs we read. False for calls
  // that only print the runtime's help, or that it refuses for lack of a name.
  bool starts_container = false;
  std::string_view bundle = ".";
  // crun's --config. "config.json" is the bundle's file, any other is relative to the working
  // folder. runc has no such flag.
  std::string_view spec_file = kUsualSpec;
  std::string_view container = {};
  std::string_view log = {};  // empty: none
  bool is_log_json = false;
};

// `arguments` without the program's name. Never fails: the runtime refuses what is invalid. Views
// point into the arguments.
CommandLine ScanCommandLine(std::span<const std::string_view> arguments);

}  // namespace kgpu::shim
