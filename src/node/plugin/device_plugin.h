// All resources of a node on the kubelet: one endpoint each, created and withdrawn as resources
// come and go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/plugin/endpoint.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::plugin {

// Lives on the loop's thread.
class DevicePlugin {
 public:
  // Calls `changed` when status() may have changed. `loop` must outlive the plugin.
  DevicePlugin(EventLoop& loop, config::Registration registration, EndpointOptions options,
               std::function<void()> changed);
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  // Creates a server for `resource` before its first Show: gRPC takes milliseconds for that, which
  // can pass while the driver is queried.
  void Prepare(const std::string& resource);

  // Shows exactly these resources from now on. Withdraws one that is no longer among them: sends an
  // empty list, then removes its socket. Registers a new one immediately.
  void Show(const std::vector<ResourceViewPtr>& views);
  std::vector<EndpointStatus> status() const;  // sorted by resource
  // For the end: see sys::Inotify::RemoveWatches.
  void StopWatching();

 private:
  StatusOr<std::unique_ptr<Endpoint>> MakeEndpoint(const std::string& resource);
  // The endpoint of `resource`: created, prepared or reused; null if it cannot be created.
  Endpoint* Obtain(const std::string& resource);
  void Withdraw(const std::string& resource);
  void WatchFolders();
  void Tick();
  void Look();

  EventLoop& loop_;
  const config::Registration registration_;
  const EndpointOptions options_;
  std::function<void()> changed_;
  std::unique_ptr<sys::FolderWatch> watch_;  // its end takes longer than that of the endpoints
  std::map<std::string, std::unique_ptr<Endpoint>> endpoints_;
  std::map<std::string, std::unique_ptr<Endpoint>> prepared_;
  std::map<std::string, std::pair<std::unique_ptr<Endpoint>, TimerId>> leaving_;
  Timer tick_{loop_};
};

}  // namespace kgpu::plugin
