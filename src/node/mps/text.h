// What MPS' control daemon prints, and the record of a daemon that outlives the agent: both may
// hold anything. Pure functions. Source: nvidia-cuda-mps-control(1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::mps {

// What each program of a device gets at most, unless its container asks for less.
struct Settings {
  unsigned threads = 100;  // percent of the device's
  Bytes memory{};          // whole MiB; 0: not limited
  // One server for all users; without, programs of one user wait until those of another have ended.
  bool serves_all_users = false;
  bool operator==(const Settings&) const = default;
};

// 1 to the largest pid_t; nothing: no PID.
std::optional<uint32_t> ParsePid(std::string_view line);

// Servers that one daemon has at a time; more lines are not read.
inline constexpr size_t kMostServers = 8;

struct ControlState {
  double threads = 0;             // the default, in percent
  std::vector<uint32_t> servers;  // PIDs, at most kMostServers
};

// The answer to kStateCommands, and whatever other commands before them print. Errors:
// InvalidArgument (no percentage in it).
StatusOr<ControlState> ParseControlState(std::string_view text);
inline constexpr std::string_view kStateCommands =
    "get_default_active_thread_percentage\nget_server_list\n";

// Makes these the settings of the servers that start from now on.
std::string SettingCommands(const Settings& settings);

// Whether an answer to get_server_status says that a client's fault blocks the server: it takes no
// new clients until all that were affected have ended.
bool IsFaulted(std::string_view text);

// A daemon that an agent has started.
struct Record {
  uint32_t pid = 0;
  uint64_t start_time = 0;  // in clock ticks since boot: proc(5), /proc/<pid>/stat, field 22
  Settings settings{};
  bool operator==(const Record&) const = default;
};

// Lines of a key and a value.
std::string RecordText(const Record& record);
// Errors: InvalidArgument (a key is missing or wrong; says which).
StatusOr<Record> ParseRecord(std::string_view text);

}  // namespace kgpu::mps
