// What Allocate returns for one container, without gRPC's types. Field meanings: the device plugin
// API, ContainerAllocateResponse.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kgpu::plugin {

struct AnswerMount {
  std::string container_path;
  std::string host_path;
  bool is_read_only = true;
  bool operator==(const AnswerMount&) const = default;
};

struct AnswerDevice {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // subset of "rwm"
  bool operator==(const AnswerDevice&) const = default;
};

struct Answer {
  std::map<std::string, std::string> envs;
  std::vector<AnswerMount> mounts;
  std::vector<AnswerDevice> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  bool operator==(const Answer&) const = default;
};

}  // namespace kgpu::plugin
