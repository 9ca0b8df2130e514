// One life of a kubelet, from its start to its end: the state that a real one keeps in its process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/dra_plugins.h"
#include "testing/kubelet/plugin_watcher.h"
#include "testing/kubelet/world.h"

namespace kgpu::kubelet {

// The plugin of one resource, as the kubelet sees it.
struct EndpointStatus {
  std::string resource;
  bool is_connected = false;  // false: stopped, its devices count as unhealthy
  size_t healthy = 0;
  size_t unhealthy = 0;
  PluginOptions options;
};

// Lives on the loop's thread.
class Kubelet {
 public:
  // Creates the folders, reads the checkpoint, removes plugins' sockets, binds its own, and takes
  // over the pods. `world` must outlive the kubelet. Errors: InvalidArgument (somebody else's
  // checkpoint), as ErrnoStatus.
  static StatusOr<std::unique_ptr<Kubelet>> Start(World& world);
  // Like a killed process: connections end, containers and socket files stay.
  ~Kubelet();
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

  // See PodLoop.
  void AddPod(const std::string& uid);
  void DeletePod(const std::string& uid);
  void KillPod(const std::string& uid);

  // Plugins of plugins_registry that are registered.
  std::vector<WatchedPlugin> watched_plugins() const;
  std::vector<DraPluginStatus> dra_plugins() const;
  // By resource.
  std::vector<EndpointStatus> endpoints() const;

  // Faults, by resource or DRA driver; empty: all. False if there was nothing to break.
  bool DropStreams(const std::string& name);
  bool CutPluginConnections(const std::string& name);
  void CutServedConnections();

 private:
  struct Parts;
  explicit Kubelet(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kgpu::kubelet
