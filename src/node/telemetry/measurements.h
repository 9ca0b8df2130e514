// Measures the use of the GPUs and finds the users: takes rounds of samples, the kubelet's list of
// device holders, and the snapshot; keeps the pages of series for Prometheus and the usage
// accounts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/node/config/node_config.h"
#include "src/node/pods/watch.h"
#include "src/node/telemetry/page_cache.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/metrics/exposition.h"
#include "src/platform/net/http/message.h"
#include "src/platform/sys/root.h"

namespace kgpu::telemetry {

struct MeasurementsOptions {
  std::string kubelet_dir;  // by this process's path
  std::vector<std::string> runtime_sockets;
  std::string hostname;  // the node's name in Kubernetes
};

// Functions that are called when needed.
struct MeasurementsSources {
  std::function<void(metrics::Exposition&)> own_series;  // the agent's series about itself
  std::function<health::Overview()> health;
  pods::ClaimIds claim_ids{};  // as pods::WatchOptions has them
};

// Lives on the loop's thread.
class Measurements {
 public:
  // `loop` must outlive it; `host` also what `background` runs.
  Measurements(EventLoop& loop, const sys::Root& host, MeasurementsOptions options,
               pods::Background background, MeasurementsSources sources);
  Measurements(const Measurements&) = delete;
  Measurements& operator=(const Measurements&) = delete;

  void SetConfig(const config::NodeConfig& config);
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  // Calls `looked` on the loop when the owners of their processes are known, or took too
  // long.
  void SetSamples(const device::SampleSetPtr& samples, std::function<void()> looked);
  void SetUsage(std::shared_ptr<const std::vector<telemetry::PodUse>> usage);
  void SetSlices(telemetry::SliceFiguresPtr slices) {
    input_.slices = std::move(slices);
    RenderSoon();
  }
  // There is an event about the GPUs' health.
  void OnHealth() { RenderSoon(); }
  // A container has just been given a device.
  void LookAtPods() { pods_.Refresh(); }

  // All that is measured; without samples that are too old.
  telemetry::PageInput current() const { return pages_.Current(); }
  // A page of series, for GET or HEAD of any path.
  http::Response Answer(const http::Request& request, telemetry::NameSets names);
  // The same with the sets that the query names, if any.
  http::Response AnswerAsked(const http::Request& request, telemetry::NameSets usual);
  // The device holders; never null.
  const pods::PodMapPtr& pods() const { return pods_.current(); }
  pods::ListState pod_list() const { return pods_.list_state(); }

 private:
  void RenderSoon();
  void Render();

  const MeasurementsSources sources_;
  pods::Watch pods_;
  telemetry::PageCache pages_;
  telemetry::PageInput input_;
  std::shared_ptr<const std::vector<telemetry::PodUse>> usage_;
  Timer render_timer_;
};

}  // namespace kgpu::telemetry
