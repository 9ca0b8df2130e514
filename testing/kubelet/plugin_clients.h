// The connected plugins, by resource: how a registration becomes a connection, and how connections
// end. Both routes of registration lead here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/plugin_client.h"

namespace kgpu::kubelet {

// Receives notifications about plugins.
class PluginEvents {
 public:
  virtual ~PluginEvents() = default;
  virtual void OnConnected(const std::string& resource, std::shared_ptr<PluginClient> client,
                           const PluginOptions& options) = 0;
  virtual void OnDisconnected(const std::string& resource) = 0;
  virtual void OnDevices(const std::string& resource, const std::vector<Device>& devices) = 0;
};

// Lives on the loop's thread. As in the kubelet, a resource has one current client, and the end of
// any stream disconnects the current one: if a plugin registers again while its old stream is open,
// the end of the old stream disconnects the new client.
class PluginClients {
 public:
  using Done = std::function<void(const Status&)>;
  // Cancels a connection attempt; no effect afterwards.
  using Cancel = std::function<void()>;

  // All arguments must outlive this.
  PluginClients(const ClientSetting& setting, const Constants& constants, PluginEvents& events);
  // Closes every connection; nobody is notified.
  ~PluginClients();
  PluginClients(const PluginClients&) = delete;
  PluginClients& operator=(const PluginClients&) = delete;

  // Dials `socket_path`, gets the options and then, after `done`, watches the devices. Errors:
  // DeadlineExceeded (nobody answers), the plugin's.
  Cancel Connect(const std::string& resource, const std::string& socket_path, Done done);
  // Ends the current client of `resource`, if any.
  void Disconnect(const std::string& resource);

  // Faults: end the stream, or cut the connection, of the current client of `resource`, or of all
  // if it is empty. False if there was none.
  bool DropStreams(const std::string& resource);
  bool CutConnections(const std::string& resource);

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  void OnDialled(const EntryPtr& entry, StatusOr<UniqueFd> fd);
  void OnOptions(const EntryPtr& entry, const StatusOr<PluginOptions>& options);
  void Watch(const EntryPtr& entry);
  void Fail(const EntryPtr& entry, const Status& status);
  std::vector<EntryPtr> Current(const std::string& resource) const;

  ClientSetting setting_;
  const Constants& constants_;
  PluginEvents& events_;
  std::map<std::string, EntryPtr> current_;
  std::set<EntryPtr> busy_;  // attempts and streams in progress
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
