// How much namespaces and pods have used the GPUs: updated with every round of samples, stored in a
// file, queried by `kgpu usage` and shown as series.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/agent/disk_worker.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/message.h"

namespace kgpu::agent {

// Lives on the loop's thread. Counts after each round of samples and, if none comes for a
// minute, by itself: the kubelet's list has the allocations even if the driver does not
// answer.
class UsageHandler {
 public:
  // The current allocations.
  struct Holdings {
    device::SnapshotPtr snapshot;  // null: unknown
    pods::PodMapPtr pods;
    const pools::Assignment& assignment;
  };
  struct Sources {
    std::function<Holdings()> holdings;
    std::function<void()> changed;  // pods() changed after a count without a round
  };

  // Stores counts in `folder`, which it creates: "/var/lib/kgpu/usage". `loop` and `disk` must
  // outlive the handler. It first calls the sources after a minute.
  UsageHandler(EventLoop& loop, DiskWorker& disk, std::string folder, Sources sources);
  // Flushes.
  ~UsageHandler();
  UsageHandler(const UsageHandler&) = delete;
  UsageHandler& operator=(const UsageHandler&) = delete;

  void SetConfig(const config::UsageConfig& config);
  // Call after every round of samples, with holdings of the same moment.
  void OnSample(const device::SampleSetPtr& samples, const Holdings& holdings);

  // Writes what is not yet in the file: call it before the end.
  void Flush();
  // For pods that have a GPU now, since the agent began counting; null before the second count.
  const std::shared_ptr<const std::vector<telemetry::PodUse>>& pods() const;
  // Why the file is unreadable or unwritable, for people; empty: it is fine.
  std::string problem() const;
  // GET /v1/usage?since=24h&by=pod&output=table.
  http::Response Answer(const http::Request& request) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
