// All resources of a node on the kubelet: one endpoint each, made and withdrawn as they come and
// go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/plugin/endpoint.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::plugin {

// Lives on the loop's thread.
class DevicePlugin {
 public:
  // `changed` is called when status() may have changed. `loop` outlives the plugin.
  DevicePlugin(EventLoop& loop, config::Registration registration, EndpointOptions options,
               std::function<void()> changed);
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  // Makes a server for `resource` ahead of its first Show: gRPC takes milliseconds for that, which
  // pass while the driver is asked.
  void Prepare(const std::string& resource);

  // Shows these resources from now on. One that is not among them any more is withdrawn: an empty
  // list, then its socket goes. One that is new is registered at once.
  void Show(const std::vector<ResourceViewPtr>& views);
  std::vector<EndpointStatus> status() const;  // by resource

 private:
  StatusOr<std::unique_ptr<Endpoint>> MakeEndpoint(const std::string& resource);
  // The endpoint of `resource`, made, prepared or called back; null when it cannot be made.
  Endpoint* Obtain(const std::string& resource);
  void Withdraw(const std::string& resource);
  void WatchFolders();
  void Tick();
  void Look();

  EventLoop& loop_;
  const config::Registration registration_;
  const EndpointOptions options_;
  std::function<void()> changed_;
  std::map<std::string, std::unique_ptr<Endpoint>> endpoints_;
  std::map<std::string, std::unique_ptr<Endpoint>> prepared_;
  std::map<std::string, std::pair<std::unique_ptr<Endpoint>, TimerId>> leaving_;
  std::unique_ptr<sys::FolderWatch> watch_;
  TimerId tick_ = TimerId::kNone;
};

}  // namespace kgpu::plugin
