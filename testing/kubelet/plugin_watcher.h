// Route B of registration: finds plugins by their sockets below plugins_registry.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/dra_plugins.h"
#include "testing/kubelet/faults.h"
#include "testing/kubelet/folder_watch.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/plugin_clients.h"
#include "testing/kubelet/registration_client.h"

namespace kgpu::kubelet {

// A plugin that was registered by its socket.
struct WatchedPlugin {
  std::string socket_path;
  PluginInfo info;
};

// Lives on the loop's thread. On every tick, compares the existing sockets with the registered
// plugins; retries failures forever, at growing intervals.
class PluginWatcher {
 public:
  // Its dependencies; all must outlive the watcher.
  struct Setting {
    ClientSetting client;
    const Constants& constants;
    PluginClients& plugins;
    DraPlugins& dra;
    Faults& faults;
    std::function<void()> on_change;
  };

  // Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<PluginWatcher>> Start(const Setting& setting,
                                                        const std::string& folder);
  ~PluginWatcher();
  PluginWatcher(const PluginWatcher&) = delete;
  PluginWatcher& operator=(const PluginWatcher&) = delete;

  // By socket path.
  std::vector<WatchedPlugin> plugins() const;

 private:
  struct BackOff {
    std::chrono::nanoseconds wait{0};
    SteadyTime retry_at;
  };
  struct Actual {
    uint64_t generation = 0;
    PluginInfo info;
  };
  struct Attempt;
  using AttemptPtr = std::shared_ptr<Attempt>;

  explicit PluginWatcher(const Setting& setting) : setting_(setting) {}
  void Tick();
  void Deregister(const std::string& path);
  void Begin(const std::string& path, uint64_t generation);
  void OnDialled(const AttemptPtr& attempt, StatusOr<UniqueFd> fd);
  Status Lost(const char* point);
  void OnInfo(const AttemptPtr& attempt, const StatusOr<PluginInfo>& info);
  void OnConnected(const AttemptPtr& attempt, const Status& status);
  void Refuse(const AttemptPtr& attempt, const std::string& text);
  void End(const AttemptPtr& attempt, const Status& status);

  Setting setting_;
  // The existing sockets; a new generation each time one is created.
  std::map<std::string, uint64_t> wanted_;
  std::map<std::string, Actual> actual_;
  std::map<std::string, AttemptPtr> attempts_;
  // By path, also of removed sockets: a plugin that comes back at the same path still waits.
  std::map<std::string, BackOff> back_offs_;
  uint64_t next_generation_ = 1;
  std::unique_ptr<FolderWatch> watch_;
  TimerId timer_ = TimerId::kNone;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
