#include "src/node/telemetry/measurements.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

namespace kgpu::telemetry {
namespace {

using std::chrono::milliseconds;

// A round of samples starts a look at the processes that it reports: pages wait for that, and for
// other events of the same moment.
constexpr milliseconds kRenderDelay{50};
// How often the kubelet is asked when measuring is slower, or off: events on pods and the account
// of allocations need its answer.
constexpr milliseconds kPodsAlone{30'000};
// Rounds of samples that may be missed before their values are no longer shown.
constexpr int kStaleRounds = 3;

using UsePtr = std::shared_ptr<const std::vector<telemetry::PodUse>>;

// The account is as of the last round of samples: pods that have gone since then are left out.
UsePtr OfPods(const UsePtr& usage, const pods::PodMap& map) {
  if (!usage) {
    return nullptr;
  }
  std::set<std::pair<std::string_view, std::string_view>> there;
  for (const pods::DeviceUse& use : map.devices) {
    there.emplace(use.user.pod_namespace, use.user.pod);
  }
  for (const auto& [pid, container] : map.processes) {
    there.emplace(container.pod_namespace, container.pod);
  }
  auto kept = std::make_shared<std::vector<telemetry::PodUse>>(*usage);
  std::erase_if(*kept, [&there](const telemetry::PodUse& use) {
    return !there.contains({use.pod_namespace, use.pod});
  });
  return kept;
}

}  // namespace

Measurements::Measurements(EventLoop& loop, const sys::Root& host, MeasurementsOptions options,
                           pods::Background background, MeasurementsSources sources)
    : sources_(std::move(sources)),
      pods_(loop, host,
            {.pod_resources_socket = options.kubelet_dir + "/pod-resources/kubelet.sock",
             .runtime_sockets = std::move(options.runtime_sockets),
             .claim_ids = sources_.claim_ids},
            std::move(background), [this](const pods::PodMapPtr&) { RenderSoon(); }),
      pages_(loop.clock(), {.own = sources_.own_series}),
      render_timer_(loop) {
  input_.hostname = std::move(options.hostname);
  // The node has its name before anything is known about its GPUs.
  pages_.Set(input_);
}

void Measurements::SetConfig(const config::NodeConfig& config) {
  const bool is_off = config.metrics.every == milliseconds(0);
  pods_.SetEvery(is_off ? kPodsAlone : std::min(config.metrics.every, kPodsAlone));
  pages_.SetStale(config.metrics.every * kStaleRounds);
  pages_.SetExclude(config.metrics.exclude);
  input_.dcgm_labels = config.metrics.dcgm_labels;
  RenderSoon();
}

void Measurements::SetSnapshot(const device::SnapshotPtr& snapshot) {
  input_.snapshot = snapshot;
  pods_.SetSnapshot(snapshot);
  RenderSoon();
}

void Measurements::SetSamples(const device::SampleSetPtr& samples, std::function<void()> looked) {
  input_.samples = samples;
  pods_.OnSample(samples, std::move(looked));
  RenderSoon();
}

void Measurements::SetUsage(std::shared_ptr<const std::vector<telemetry::PodUse>> usage) {
  usage_ = std::move(usage);
  RenderSoon();
}

http::Response Measurements::Answer(const http::Request& request, telemetry::NameSets names) {
  return pages_.Answer(request, names);
}

http::Response Measurements::AnswerAsked(const http::Request& request, telemetry::NameSets usual) {
  return pages_.AnswerAsked(request, usual);
}

void Measurements::RenderSoon() {
  if (!render_timer_.is_armed()) {
    render_timer_.Arm(kRenderDelay, [this] { Render(); });
  }
}

void Measurements::Render() {
  input_.health = std::make_shared<const health::Overview>(sources_.health());
  input_.pods = pods_.current();
  input_.usage = OfPods(usage_, *input_.pods);
  pages_.Set(input_);
}

}  // namespace kgpu::telemetry
