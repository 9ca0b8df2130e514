#include "src/node/usage/usage_handler.h"

#include <boost/json.hpp>

#include <chrono>
#include <utility>

#include "src/node/part/answer.h"
#include "src/node/report/format.h"
#include "src/node/telemetry/own_series.h"
#include "src/node/usage/recorder.h"
#include "src/node/usage/view.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/timer.h"

namespace kgpu::usage {
namespace {

// Without a round of samples for so long it is counted without one.
constexpr std::chrono::minutes kCountEvery{1};
// For so long the last round says how busy devices are.
constexpr std::chrono::minutes kFresh{5};

using UsePtr = std::shared_ptr<const std::vector<telemetry::PodUse>>;

UsePtr UseOf(const std::map<usage::PodName, usage::Amounts>& current) {
  auto use = std::make_shared<std::vector<telemetry::PodUse>>();
  use->reserve(current.size());
  for (const auto& [pod, amounts] : current) {
    use->push_back({.pod_namespace = pod.pod_namespace,
                    .pod = pod.pod,
                    .gpu_seconds = amounts.gpu_seconds,
                    .busy_gpu_seconds = usage::ReportedBusy(amounts),
                    .memory_gib_seconds = amounts.gib_seconds});
  }
  return use;
}

usage::Recorder::Disk RecorderDiskOn(sys::DiskWorker& disk) {
  using usage::Kept;
  return {.write =
              [&disk](usage::LedgerWrite write, const std::function<void(const Status&)>& done) {
                return disk.Post(
                    [write = std::move(write), done]() -> sys::DiskWorker::Done {
                      return [status = write.Do(), done] { done(status); };
                    },
                    done);
              },
          .load =
              [&disk](const std::string& folder, const std::function<void(StatusOr<Kept>)>& done) {
                return disk.Post(
                    [folder, done]() -> sys::DiskWorker::Done {
                      auto kept = std::make_shared<StatusOr<Kept>>(usage::LoadLedger(folder));
                      return [kept, done] { done(std::move(*kept)); };
                    },
                    done);
              }};
}

}  // namespace

class UsageHandler::Impl {
 public:
  Impl(EventLoop& loop, sys::DiskWorker& disk, std::string folder, node::Effects& effects)
      : loop_(loop),
        disk_(disk),
        effects_(effects),
        recorder_(std::move(folder), RecorderDiskOn(disk)) {
    CountLater();
  }
  ~Impl() { recorder_.Flush(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void SetConfig(const config::UsageConfig& config) {
    is_enabled_ = config.enabled;
    recorder_.SetRetention(config.retention);
    if (!is_enabled_) {
      recorder_.Pause();
      pods_.reset();
    }
  }

  void OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) {
    samples_ = samples;
    Count(state, samples->begun, samples->taken);
    CountLater();
  }

  void Flush() { recorder_.Flush(); }
  const UsePtr& pods() const { return pods_; }
  bool IsOnDisk() const { return recorder_.problem().empty() && disk_.problem().empty(); }
  http::Response Answer(const http::Request& request) const;

 private:
  void Count(const node::NodeState& state, SteadyTime now, WallTime wall);
  void CountLater();

  EventLoop& loop_;
  const sys::DiskWorker& disk_;
  node::Effects& effects_;
  usage::Recorder recorder_;
  bool is_enabled_ = true;
  bool has_counted_ = false;
  UsePtr pods_;
  device::SampleSetPtr samples_;  // the last; null: none yet
  Timer timer_{loop_};
};

void UsageHandler::Impl::Count(const node::NodeState& state, SteadyTime now, WallTime wall) {
  if (!is_enabled_) {
    return;
  }
  const device::Snapshot unknown;
  const device::SampleSet nothing;
  const bool is_fresh = samples_ != nullptr && now - samples_->begun <= kFresh;
  recorder_.Count({.snapshot = state.snapshot ? *state.snapshot : unknown,
                   .samples = is_fresh ? *samples_ : nothing,
                   .pods = *state.pods,
                   .assignment = *state.assignment},
                  now, wall);
  pods_ = std::exchange(has_counted_, true) ? UseOf(recorder_.current()) : nullptr;
}

void UsageHandler::Impl::CountLater() {
  timer_.Arm(kCountEvery, [this] {
    Count(effects_.now(), loop_.clock().Now(), loop_.clock().WallNow());
    effects_.FiguresChanged();
    CountLater();
  });
}

http::Response UsageHandler::Impl::Answer(const http::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return http::WrongMethod(request, "GET, HEAD");
  }
  const auto format = node::FormatOf(request);
  const auto since = ParseSince("since", request.QueryValue("since").value_or("24h"));
  const auto by = usage::ParseGroupBy("by", request.QueryValue("by").value_or("pod"));
  for (const Status& status : {format.status(), since.status(), by.status()}) {
    if (!status.ok()) {
      return http::TextResponse(400, Message(status));
    }
  }
  if (!is_enabled_ && recorder_.ledger().empty()) {
    return http::TextResponse(404, "usage accounting is disabled: usage.enabled is false");
  }
  const usage::UsageQuery query{.now = loop_.clock().WallNow(), .since = *since, .by = *by};
  const std::vector<usage::UsageRow> rows = usage::UsageRows(recorder_.ledger(), query);
  return node::Shown(
      *format, [&] { return usage::UsageJson(rows, query); },
      [&] { return usage::UsageTable(rows, query); }, true);
}

UsageHandler::UsageHandler(EventLoop& loop, sys::DiskWorker& disk, std::string folder,
                           node::Effects& effects)
    : impl_(std::make_unique<Impl>(loop, disk, std::move(folder), effects)) {
}

UsageHandler::~UsageHandler() = default;

void UsageHandler::SetConfig(const config::UsageConfig& config) {
  impl_->SetConfig(config);
}

void UsageHandler::OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) {
  impl_->OnSample(state, samples);
}

const UsePtr& UsageHandler::pods() const {
  return impl_->pods();
}

void UsageHandler::Flush() {
  impl_->Flush();
}

void UsageHandler::WriteSeries(const node::NodeState& /*state*/, metrics::Exposition& page) const {
  telemetry::Write(telemetry::Own("kgpu_usage_ledger_ok"), impl_->IsOnDisk() ? 1 : 0, page);
}

bool UsageHandler::Answer(const http::Request& request, const Send& send) {
  if (request.path != "/v1/usage") {
    return false;
  }
  send(impl_->Answer(request));
  return true;
}

}  // namespace kgpu::usage
