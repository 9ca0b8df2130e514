// Only the device plugin, on a loop and a thread of its own as in the agent.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/view.h"

namespace kgpu::integration {

// Thread: any, for every method; each runs on the plugin's thread and returns when it is done.
class PluginRun {
 public:
  static constexpr std::chrono::milliseconds kPatience{20'000};

  PluginRun(config::Registration registration, const plugin::EndpointOptions& options);
  // Like the end of the agent: streams end, sockets are removed.
  ~PluginRun();
  PluginRun(const PluginRun&) = delete;
  PluginRun& operator=(const PluginRun&) = delete;

  void Show(const std::vector<plugin::ResourceViewPtr>& views);
  // For a resource that is shown.
  plugin::EndpointStatus StatusOf(const std::string& resource) const;
  // Waits until `condition` holds for the status of `resource`; it is called again after each
  // change that the plugin reports.
  bool WaitForStatus(const std::string& resource,
                     const std::function<bool(const plugin::EndpointStatus&)>& condition,
                     std::chrono::milliseconds limit = kPatience) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::integration
