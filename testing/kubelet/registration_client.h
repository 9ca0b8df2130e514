// The kubelet's side of plugin registration by route B: a connection to a plugin's own registration
// socket.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "testing/kubelet/plugin_client.h"

namespace kgpu::kubelet {

struct PluginInfo {
  std::string type;  // "DevicePlugin", "DRAPlugin"
  std::string name;
  std::string endpoint;  // empty: the registration socket
  std::vector<std::string> versions;
};

// Lives on the loop's thread. Every `done` runs there exactly once.
class RegistrationClient {
 public:
  // `fd` is connected to `path`.
  RegistrationClient(const ClientSetting& setting, UniqueFd fd, const std::string& path);
  ~RegistrationClient();
  RegistrationClient(const RegistrationClient&) = delete;
  RegistrationClient& operator=(const RegistrationClient&) = delete;

  void GetInfo(std::chrono::nanoseconds limit,
               std::function<void(const StatusOr<PluginInfo>&)> done);
  // `error` empty: registered.
  void NotifyRegistrationStatus(const std::string& error, std::chrono::nanoseconds limit,
                                std::function<void(const Status&)> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
