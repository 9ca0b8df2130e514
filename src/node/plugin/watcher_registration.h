// A plugin's answers once the kubelet's plugin watcher has found its socket in plugins_registry/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"

namespace grpc {
class Service;
}

namespace kgpu::plugin {

// Source: pluginregistration/v1, PluginInfo. The services are on the same socket.
struct PluginIdentity {
  std::string type{};                   // "DevicePlugin"
  std::string name{};                   // of the resource, or of the driver
  std::vector<std::string> versions{};  // the kubelet takes the first that it knows
};

// Loop thread; answers on gRPC's threads.
class WatcherRegistration {
 public:
  // The kubelet has registered the plugin, or says why not.
  using Notice = std::function<void(bool is_registered, std::string error)>;

  // `loop` must outlive it; destroy the rpc::Server that serves it first.
  WatcherRegistration(EventLoop& loop, PluginIdentity identity);
  ~WatcherRegistration();
  WatcherRegistration(const WatcherRegistration&) = delete;
  WatcherRegistration& operator=(const WatcherRegistration&) = delete;

  // Once. Called on the loop.
  void SetNotice(Notice notice);
  grpc::Service& grpc_service();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace kgpu::plugin
