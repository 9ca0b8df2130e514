// What namespaces and pods have had of the GPUs: fed with every round of samples, kept in a file,
// asked by `kgpu usage` and shown as series.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/agent/disk_worker.h"
#include "src/base/event_loop.h"
#include "src/config/node_config.h"
#include "src/device/sample.h"
#include "src/device/snapshot.h"
#include "src/http/message.h"
#include "src/pods/pod_map.h"
#include "src/pools/assignment.h"
#include "src/telemetry/page_input.h"

namespace kgpu::agent {

// Lives on the loop's thread.
class UsageDesk {
 public:
  // What is counted is kept in `folder`, which is made: "/var/lib/kgpu/usage". `loop` and `disk`
  // outlive the desk.
  UsageDesk(EventLoop& loop, DiskWorker& disk, std::string folder);
  // Flushes.
  ~UsageDesk();
  UsageDesk(const UsageDesk&) = delete;
  UsageDesk& operator=(const UsageDesk&) = delete;

  void SetConfig(const config::UsageConfig& config);
  // After every round of samples, with `pods` as of the same moment.
  void OnSample(const device::Snapshot& snapshot, const device::SampleSet& samples,
                const pods::PodMap& pods, const pools::Assignment& assignment);

  // Has what is not yet in the file written: before the end.
  void Flush();
  // Of the pods that have a GPU now, since the agent counts; null before the second round.
  const std::shared_ptr<const std::vector<telemetry::PodUse>>& pods() const;
  // Why the file can not be read or written, for people; empty: it can.
  std::string problem() const;
  // GET /v1/usage?since=24h&by=pod&output=table.
  http::Response Answer(const http::Request& request) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
