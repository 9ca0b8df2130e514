// The agent as a service of the host: its programs and its systemd unit, started. If an agent runs
// already, e.g. a DaemonSet's, it stays the only one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/bringup/command_stage.h"
#include "src/setup/bringup/stage.h"

namespace kgpu::bringup {

inline constexpr std::string_view kAgentUnit = "/etc/systemd/system/kgpu-agent.service";
inline constexpr std::string_view kProgramFolder = "/usr/local/bin";
// Where kgpu, in the folder above, finds the library of memory slices.
inline constexpr std::string_view kLibraryFolder = "/usr/local/lib/kgpu";

// deploy/systemd/kgpu-agent.service: runs /usr/local/bin/kgpu.
std::string_view AgentUnitText();

struct AgentInput {
  const sys::Root& host;
  change::Disk& disk;
  sys::ProgramRunner& runner;  // runs the host's programs
  const Commands& commands;
  std::string folder;  // of our programs, by this process's path
  // The folder above is the host's own /usr/bin or /usr/local/bin: no need to copy anything.
  bool is_installed = false;
  std::string share_library{};  // path of libkgpu-share.so, for this process; empty: none
};

std::unique_ptr<Stage> MakeAgentStage(const AgentInput& input);

}  // namespace kgpu::bringup
