// The command line of `kgpu agent`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/node/mig/helper.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

struct AgentOptions {
  std::string probe_path;
  std::string share_library;  // libkgpu-share.so; empty: not installed
  std::string mig_program{};  // kgpu, which is the helper, too; empty: no MIG changes
  mig::HelperHost mig_host{};
  std::string mig_configs = "/etc/kgpu/mig.yaml";  // mig-parted's; used if it exists
  std::string nvml_library;                        // empty: searched below the driver root
  std::string kubelet_dir = "/var/lib/kubelet";    // by this process's path
  std::string config_file;                         // empty: kDefaultConfigFile, if it exists
  std::string cdi_folder = "/var/run/cdi";         // below the host root
  std::string boot_id_file = "/proc/sys/kernel/random/boot_id";
  std::string run_dir = "/run/kgpu";         // agent.sock and what survives a restart of the agent
  std::string state_dir = "/var/lib/kgpu";   // what survives a reboot
  std::vector<std::string> runtime_sockets;  // empty: the usual ones below the host root
  std::optional<std::string> http_address;   // wins over the configuration; "" is off
  std::string version;
  // The cluster: --kubeconfig, --context, and this process's environment, which is used if they are
  // not given. The agent never uses a person's kubeconfig ($HOME).
  std::string kubeconfig;
  std::string context;
  std::vector<std::string> environment;
  std::string node_name;  // empty: do not use the cluster
  // The folders that flags or variables name: BelowHostRoot leaves them as they are.
  std::vector<std::string AgentOptions::*> named_folders;
  // Overrides the configuration's health.holdDown, for tests and demonstrations.
  std::optional<std::chrono::milliseconds> hold_down;
};

// With a root other than "/", nothing is written to the machine itself: default folders become
// those of `host`, and this machine's credentials for a cluster are used only if the node is named.
// Errors: FailedPrecondition (a folder is a link whose target is missing).
StatusOr<AgentOptions> BelowHostRoot(AgentOptions options, const sys::Root& host);

inline constexpr char kDefaultConfigFile[] = "/etc/kgpu/config.yaml";

}  // namespace kgpu::agent
