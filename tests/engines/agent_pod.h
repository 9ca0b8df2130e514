// The agent's pod as the manifest has it, read at run time: what a kubelet would make of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/engines/cri_client.h"

namespace kgpu::engines {

struct AgentPod {
  struct Mount {
    std::string volume;
    std::string path;  // in the container
    bool is_read_only = false;
  };

  std::vector<std::string> arguments;
  std::map<std::string, std::string> env;
  Security security;
  std::vector<Mount> mounts;
  std::vector<kubelet::DeviceSpec> devices;       // the manifest has none
  std::map<std::string, std::string> host_paths;  // by volume
  // Volume → files of its ConfigMap. Empty where the manifest has none.
  std::map<std::string, std::map<std::string, std::string>> config_files;

  // As if the manifest did not have the volume.
  void RemoveVolume(const std::string& volume);
  // Of every mount of the volume.
  void MakeReadOnly(const std::string& volume);
};

// The DaemonSet kgpu-agent. The test fails on a field of the security context or a kind of volume
// that this reader does not know: it must be the manifest's exact one.
AgentPod ReadAgentPod();

}  // namespace kgpu::engines
