// What this process may not do, and needs: read from the kernel without touching the driver, and
// judged by a pure function. docs/reference/agent.md lists the privileges and their reasons.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/agent/options.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

enum class Surroundings : uint8_t {
  kHost,       // a program of the host itself
  kContainer,  // the host's folders are mounted below --host-root
  kFolder,     // --host-root is a folder that is no running host: a simulated one, an image
};

struct PrivilegeFacts {
  Surroundings surroundings = Surroundings::kHost;
  bool is_root = true;
  std::string refused_node{};    // of the GPUs' nodes, the first that the device cgroup refuses
  std::string forbidden_node{};  // the first that permissions refuse
  bool has_own_nodes = true;     // NVML finds the host's nodes in /dev
  bool sees_host_processes = true;
  // Volumes of the manifest ("run") whose folder is missing or must be writable and is not.
  std::vector<std::string> missing{};
  std::vector<std::string> read_only{};
};

// What does not work without a privilege.
enum class Purpose : uint8_t { kDriver, kKubelet, kCdi, kOther };

struct MissingPrivilege {
  Purpose purpose = Purpose::kOther;
  std::string what{};    // "the device cgroup refuses /dev/nvidiactl"
  std::string effect{};  // what does not work
  std::string fix{};     // in a container: the field of the manifest that grants it
  bool operator==(const MissingPrivilege&) const = default;
};
using MissingPrivileges = std::vector<MissingPrivilege>;

// Whether the root is that of a running host, not of a folder with a simulated one: procfs tells.
bool IsRunningHost(const sys::Root& host);

// Asks the kernel; waits for the disk.
PrivilegeFacts ReadPrivilegeFacts(const sys::Root& host, const AgentOptions& options);

// The most important one first.
MissingPrivileges FindMissingPrivileges(const PrivilegeFacts& facts);

// In one line, with the fix.
std::string ToString(const MissingPrivilege& missing);

// The first one for `purpose` in one line; `otherwise` if there is none.
std::string Blame(const MissingPrivileges& missing, Purpose purpose, std::string_view otherwise);

// `status`, and if the agent cannot start for want of privileges, all that are missing.
Status ExplainByPrivileges(const Status& status, const sys::Root& host,
                           const AgentOptions& options);

}  // namespace kgpu::agent
