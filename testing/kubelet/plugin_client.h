// The kubelet's side of the device plugin API: one connection to one plugin.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/calls_in_flight.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// What every connection of a kubelet needs. Loop and calls must outlive every call; the log may be
// written to after its kubelet is gone.
struct ClientSetting {
  EventLoop& loop;
  CallsInFlight& calls;
  std::shared_ptr<CallLog> log;
  size_t receive_limit = 0;
};

// Lives on the loop's thread. Every `done` runs there exactly once, also after Close (with an
// error). Errors have the plugin's code and Go's text for it.
class PluginClient {
 public:
  template <typename T>
  using Done = std::function<void(StatusOr<T>)>;

  // `fd` is connected. `resource` names the plugin in the log.
  PluginClient(const ClientSetting& setting, UniqueFd fd, std::string resource);
  ~PluginClient();
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;

  void GetOptions(std::chrono::nanoseconds limit, Done<PluginOptions> done);
  // `on_end` runs once, after the last `on_list`; its status is OK if the plugin ended the stream
  // by itself.
  void ListAndWatch(std::function<void(const std::vector<Device>&)> on_list,
                    std::function<void(const Status&)> on_end);
  // Without a deadline, like the kubelet's.
  void GetPreferredAllocation(const PreferredRequest& request, Done<std::vector<std::string>> done);
  void Allocate(const std::vector<std::string>& ids, Done<ContainerOptions> done);
  void PreStartContainer(const std::vector<std::string>& ids, std::chrono::nanoseconds limit,
                         std::function<void(const Status&)> done);

  // Cancels every call and closes the connection.
  void Close();
  // Only cancels the stream of ListAndWatch.
  void DropStream();
  // Cuts the connection without closing it properly.
  void Cut();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
