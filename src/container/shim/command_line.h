// What a call of kgpu-runtime asks the real runtime to do. Sources: main.go, create.go and run.go
// of opencontainers/runc; crun.c, create.c and run.c of containers/crun.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace kgpu::shim {

inline constexpr std::string_view kUsualSpec = "config.json";

struct CommandLine {
  // Leading arguments that are ours and are not handed on: --kgpu-root DIR, the folder below which
  // our own files (configuration, injection index, CDI folders, audit log) are. For simulated
  // hosts.
  size_t own = 0;
  std::string_view root = "/";
  // True for create and run of a container: the only calls that are looked into. Calls that the
  // runtime answers with its help, or refuses for want of a name, are none of them.
  bool starts_container = false;
  std::string_view bundle = ".";
  // crun's --config. "config.json" is the file of the bundle, any other is relative to the working
  // folder. runc has no such flag.
  std::string_view spec_file = kUsualSpec;
  std::string_view container = {};
  std::string_view log = {};  // empty: none
  bool is_log_json = false;
};

// `arguments` without the program's name. Never fails: what it does not understand is for the
// runtime to refuse. Views point into the arguments.
CommandLine ScanCommandLine(std::span<const std::string_view> arguments);

}  // namespace kgpu::shim
