// What namespaces and pods have had of the GPUs: fed with every round of samples, kept in a file,
// asked by `kgpu usage` and shown as series.
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
#include "src/platform/http/message.h"

namespace kgpu::agent {

// Lives on the loop's thread. Counts after each round of samples and, where none comes for a
// minute, by itself: the kubelet's list tells what is handed out, whether the driver answers or
// not.
class UsageHandler {
 public:
  // What is handed out now.
  struct Holdings {
    device::SnapshotPtr snapshot;  // null: not known yet
    pods::PodMapPtr pods;
    const pools::Assignment& assignment;
  };
  struct Sources {
    std::function<Holdings()> holdings;
    std::function<void()> changed;  // pods() is another after a count that no round set off
  };

  // What is counted is kept in `folder`, which is made: "/var/lib/kgpu/usage". `loop` and `disk`
  // outlive the handler. The sources are asked first after a minute.
  UsageHandler(EventLoop& loop, DiskWorker& disk, std::string folder, Sources sources);
  // Flushes.
  ~UsageHandler();
  UsageHandler(const UsageHandler&) = delete;
  UsageHandler& operator=(const UsageHandler&) = delete;

  void SetConfig(const config::UsageConfig& config);
  // After every round of samples, with holdings of the same moment.
  void OnSample(const device::SampleSetPtr& samples, const Holdings& holdings);

  // Has what is not yet in the file written: before the end.
  void Flush();
  // Of the pods that have a GPU now, since the agent counts; null before the second count.
  const std::shared_ptr<const std::vector<telemetry::PodUse>>& pods() const;
  // Why the file cannot be read or written, for people; empty: it can.
  std::string problem() const;
  // GET /v1/usage?since=24h&by=pod&output=table.
  http::Response Answer(const http::Request& request) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
