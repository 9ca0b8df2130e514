// The part that counts how much namespaces and pods have used the GPUs: updated with every round of
// samples, stored in a file, queried by `kgpu usage` and shown as series.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/node/config/node_config.h"
#include "src/node/part/part.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/message.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::usage {

// Lives on the loop's thread. Counts after each round of samples and, if none comes for a
// minute, by itself: the kubelet's list has the allocations even if the driver does not
// answer.
class UsageHandler final : public node::Part {
 public:
  // Stores counts in `folder`, which it creates: "/var/lib/kgpu/usage". `loop`, `disk` and
  // `effects` must outlive the handler.
  UsageHandler(EventLoop& loop, sys::DiskWorker& disk, std::string folder, node::Effects& effects);
  // Flushes.
  ~UsageHandler() override;
  UsageHandler(const UsageHandler&) = delete;
  UsageHandler& operator=(const UsageHandler&) = delete;

  void SetConfig(const config::UsageConfig& config);
  void OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) override;

  // Writes what is not yet in the file: call it before the end.
  void Flush() override;
  // For pods that have a GPU now, since the agent began counting; null before the second count.
  const std::shared_ptr<const std::vector<telemetry::PodUse>>& pods() const;
  // GET /v1/usage?since=24h&by=pod&output=table.
  bool Answer(const http::Request& request, const Send& send) override;
  void WriteSeries(const node::NodeState& state, metrics::Exposition& page) const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::usage
