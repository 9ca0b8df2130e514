// What the command line says to `kgpu agent`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

struct AgentOptions {
  std::string probe_path;
  std::string nvml_library;                      // empty: found below the driver root
  std::string kubelet_dir = "/var/lib/kubelet";  // a path of this process
  std::string config_file;                       // empty: kDefaultConfigFile where it is there
  std::string cdi_folder = "/var/run/cdi";       // below the host root
  std::string boot_id_file = "/proc/sys/kernel/random/boot_id";
  std::string run_dir = "/run/kgpu";         // agent.sock and what outlives a restart
  std::string state_dir = "/var/lib/kgpu";   // what outlives a reboot
  std::vector<std::string> runtime_sockets;  // empty: the usual ones below the host root
  std::optional<std::string> http_address;   // wins over the configuration; "" is off
  std::string version;
  // The cluster: --kubeconfig, --context, and this process's environment, by which both are found
  // otherwise. The kubeconfig of a person ($HOME) is none of the agent's.
  std::string kubeconfig;
  std::string context;
  std::vector<std::string> environment;
  std::string node_name;  // empty: the cluster is not talked to
  // As the configuration's health.holdDown, for tests and demonstrations.
  std::optional<std::chrono::milliseconds> hold_down;
};

// With another root than "/" nothing of the machine itself is written: folders that are the usual
// ones become those of `host`, and this machine's credentials for a cluster are used only for a
// node that is named. Errors: FailedPrecondition (one is a link that leads nowhere).
StatusOr<AgentOptions> BelowHostRoot(AgentOptions options, const sys::Root& host);

inline constexpr char kDefaultConfigFile[] = "/etc/kgpu/config.yaml";

}  // namespace kgpu::agent
