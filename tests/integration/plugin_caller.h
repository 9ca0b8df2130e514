// Calls a plugin as a kubelet may, one call at a time, directly on the plugin's socket.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::integration {

struct PluginInfo {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;
};

// Thread: any; calls may run at the same time. Each ends after 20 s at the latest.
class PluginCaller {
 public:
  // Errors: NotFound, Unavailable (nobody listens there).
  static StatusOr<std::unique_ptr<PluginCaller>> Connect(const std::string& socket_path);
  ~PluginCaller();
  PluginCaller(const PluginCaller&) = delete;
  PluginCaller& operator=(const PluginCaller&) = delete;

  StatusOr<kubelet::PluginOptions> GetOptions();
  // The first message of a separate stream, which then ends.
  StatusOr<std::vector<kubelet::Device>> FirstList();
  StatusOr<kubelet::ContainerOptions> Allocate(const std::vector<std::string>& ids);
  StatusOr<std::vector<std::string>> Prefer(const kubelet::PreferredRequest& request);
  Status PreStart(const std::vector<std::string>& ids);

  // Of the registration service, where the socket has one.
  StatusOr<PluginInfo> GetInfo();
  Status NotifyRegistrationStatus(bool is_registered, const std::string& error);

 private:
  struct Stubs;
  explicit PluginCaller(std::unique_ptr<Stubs> stubs);
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace kgpu::integration
