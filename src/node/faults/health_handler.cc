#include "src/node/faults/health_handler.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "src/gpu/device/find_device.h"
#include "src/node/faults/health_events.h"
#include "src/node/faults/saved_faults.h"
#include "src/node/part/answer.h"
#include "src/node/report/health_view.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::faults {
namespace {

using health::HealthEvent;
using health::HealthEventKind;

http::Response Refused(const Status& status) {
  const int code = status.code() == StatusCode::kNotFound             ? 404
                   : status.code() == StatusCode::kInvalidArgument    ? 400
                   : status.code() == StatusCode::kFailedPrecondition ? 409
                                                                      : 503;
  return http::TextResponse(code, Message(status));
}

// The worst first.
report::ClearedGpu FaultsOf(const std::vector<health::OpenFault>& open,
                            const device::GpuUuid& gpu) {
  report::ClearedGpu cleared{.uuid = gpu.str()};
  for (const health::OpenFault& fault : open) {
    if (fault.scope.gpu == gpu) {
      cleared.faults.emplace_back(fault.rule);
    }
  }
  return cleared;
}

StatusOr<health::JournalFilter> FilterOf(const http::Request& request,
                                         const device::Snapshot& snapshot) {
  health::JournalFilter filter;
  if (const auto gpu = request.QueryValue("gpu")) {
    ASSIGN_OR_RETURN(filter.gpu, FindGpu(snapshot, *gpu));
  }
  if (const auto since = request.QueryValue("since")) {
    const auto ms = ParseUint(*since);
    if (!ms || *ms > kLastCount<std::chrono::milliseconds>) {
      return InvalidArgument("since: \"{}\" must be milliseconds since 1970",
                             Printable(*since, 40));
    }
    filter.since = WallTime(std::chrono::milliseconds(*ms));
  }
  return filter;
}

}  // namespace

StatusOr<device::GpuUuid> FindGpu(const device::Snapshot& snapshot, std::string_view text) {
  if (auto uuid = device::GpuUuid::Parse(text); uuid.ok()) {
    return uuid;
  }
  ASSIGN_OR_RETURN(const device::NamedDevice found, device::FindDevice(snapshot, text));
  return found.gpu->uuid;
}

HealthHandler::HealthHandler(EventLoop& loop, sys::DiskWorker& disk, HealthHandlerOptions options,
                             node::Effects& effects, FaultList faults)
    : loop_(loop),
      options_(std::move(options)),
      effects_(effects),
      faults_(std::move(faults)),
      journal_(loop, disk, options_.journal),
      log_(options_.log) {
}

HealthHandler::~HealthHandler() {
  for (const TimerId timer : history_timers_) {
    loop_.CancelTimer(timer);
  }
  Flush();
}

device::SnapshotPtr HealthHandler::Snapshot() const {
  device::SnapshotPtr snapshot = effects_.now().snapshot;
  return snapshot ? snapshot : std::make_shared<const device::Snapshot>();
}

void HealthHandler::Flush() {
  for (const HealthEvent& health_event : std::exchange(waiting_, {})) {
    journal_.Add(health::EntryOf(health_event));
  }
  journal_.Flush();
}

void HealthHandler::OnHealthEvent(const HealthEvent& health_event) {
  waiting_.push_back(health_event);
  if (waiting_.size() > options_.max_waiting) {
    // `seen` entries matter least, and are the most frequent.
    const auto seen = std::ranges::find(waiting_, HealthEventKind::kSeen, &HealthEvent::kind);
    waiting_.erase(seen == waiting_.end() ? waiting_.begin() : seen);
    ++left_out_;
  }
  if (!timer_.is_armed()) {
    timer_.Arm(options_.delay, [this] { HandleAll(); });
  }
}

void HealthHandler::HandleAll() {
  if (const uint64_t left_out = std::exchange(left_out_, 0); left_out > 0) {
    KGPU_LOG(kWarning, "health events dropped", {"count", left_out},
             {"reason", "too many in too short a time"});
  }
  const std::deque<HealthEvent> all = std::exchange(waiting_, {});
  for (auto health_event = all.begin(); health_event != all.end(); ++health_event) {
    const auto is_alike = [&](const HealthEvent& other) { return AreAlike(*health_event, other); };
    const bool is_reported = std::any_of(all.begin(), health_event, is_alike);
    const auto others = static_cast<size_t>(std::count_if(health_event, all.end(), is_alike));
    Handle(*health_event, is_reported ? std::nullopt : std::optional(others));
  }
}

void HealthHandler::Handle(const HealthEvent& health_event, std::optional<size_t> others) {
  const device::SnapshotPtr snapshot = Snapshot();
  log_.Write(health_event, loop_.clock().Now());
  journal_.Add(health::EntryOf(health_event));
  Reported reported{
      .event = health_event, .who = {}, .due = loop_.clock().Now() + options_.look_again};
  for (kube::Event& event :
       HealthEvents(health_event, *snapshot, *effects_.now().pods, options_.node)) {
    reported.who.emplace(event.regarding, event.is_warning);
    if (event.regarding.kind == "Node") {
      if (!others) {
        continue;
      }
      event.note = NoteForNode(health_event, *others, *snapshot);
    }
    effects_.Notify(std::move(event));
  }
  if (health_event.kind == HealthEventKind::kCleared || !IsPodsBusiness(health_event)) {
    return;
  }
  if (reported_.size() >= options_.max_waiting) {
    reported_.pop_front();
  }
  reported_.push_back(std::move(reported));
  effects_.LookAtPods();
  if (!late_timer_.is_armed()) {
    late_timer_.Arm(options_.look_again, [this] { NotifyLate(); });
  }
}

void HealthHandler::NotifyLate() {
  const SteadyTime now = loop_.clock().Now();
  while (!reported_.empty() && reported_.front().due <= now) {
    const Reported reported = std::move(reported_.front());
    reported_.pop_front();
    for (kube::Event& event :
         HealthEvents(reported.event, *Snapshot(), *effects_.now().pods, options_.node)) {
      // A pod with an event about a fault that another pod may have caused gets a warning once it
      // is known to be the cause.
      if (!reported.who.contains({event.regarding, true}) &&
          !reported.who.contains({event.regarding, event.is_warning})) {
        effects_.Notify(std::move(event));
      }
    }
  }
  if (!reported_.empty()) {
    late_timer_.Arm(reported_.front().due - now, [this] { NotifyLate(); });
  }
}

bool HealthHandler::Answer(const http::Request& request, const Send& send) {
  if (request.path == "/v1/health/clear") {
    send(request.method == "POST" ? Clear(request) : http::WrongMethod(request, "POST"));
  } else if (request.path != "/v1/health" && request.path != "/v1/health/history") {
    return false;
  } else if (request.method != "GET" && request.method != "HEAD") {
    send(http::WrongMethod(request, "GET, HEAD"));
  } else if (request.path == "/v1/health") {
    send(Report(request));
  } else {
    History(request, send);
  }
  return true;
}

void HealthHandler::WriteSeries(const node::NodeState& /*state*/, metrics::Exposition& page) const {
  telemetry::Write(telemetry::Own("kgpu_health_journal_ok"), journal_.problem().empty() ? 1 : 0,
                   page);
}

void HealthHandler::Save(boost::json::object& fields) const {
  SaveFaults(faults_.overview(), fields);
}

http::Response HealthHandler::Report(const http::Request& request) const {
  const auto format = node::FormatOf(request);
  if (!format.ok()) {
    return Refused(format.status());
  }
  const report::HealthReport report{.snapshot = Snapshot(),
                                    .overview = faults_.overview(),
                                    .journal_problem = journal_.problem()};
  return node::Shown(
      *format, [&] { return report::HealthJson(report); },
      [&] { return report::HealthTable(report); }, report::IsHealthy(report));
}

// One GPU, or all that have a fault.
StatusOr<std::vector<device::GpuUuid>> HealthHandler::GpusToClear(
    const http::Request& request) const {
  const auto gpu = request.QueryValue("gpu");
  if (request.QueryValue("all") != "true") {
    ASSIGN_OR_RETURN(device::GpuUuid named, FindGpu(*Snapshot(), gpu.value_or("")));
    return std::vector{std::move(named)};
  }
  if (gpu) {
    return InvalidArgument("gpu={} and all=true cannot be combined: use one of them",
                           Printable(*gpu, 60));
  }
  std::vector<device::GpuUuid> gpus;
  for (const health::OpenFault& fault : faults_.overview().open) {
    if (std::ranges::find(gpus, fault.scope.gpu) == gpus.end()) {
      gpus.push_back(fault.scope.gpu);
    }
  }
  return gpus;
}

http::Response HealthHandler::Clear(const http::Request& request) const {
  // Text unless asked otherwise: commands of older versions print the answer as it is.
  const auto format = report::ParseOutputFormat(request.QueryValue("output").value_or("table"));
  const auto gpus = GpusToClear(request);
  if (!format.ok() || !gpus.ok()) {
    return Refused(format.ok() ? gpus.status() : format.status());
  }
  report::Clearing clearing{.is_dry_run = request.QueryValue("dryRun") == "true"};
  const std::vector<health::OpenFault> open = faults_.overview().open;
  for (const device::GpuUuid& gpu : *gpus) {
    const report::ClearedGpu& cleared = clearing.gpus.emplace_back(FaultsOf(open, gpu));
    if (clearing.is_dry_run) {
      continue;
    }
    if (const Status status = faults_.clear(gpu); !status.ok()) {
      return Refused(status);
    }
    KGPU_LOG(kInfo, "faults cleared manually", {"gpu", gpu.str()},
             {"faults", Join(cleared.faults, ", ")});
  }
  return node::Shown(
      *format, [&] { return report::ClearingJson(clearing); },
      [&] { return report::ClearingText(clearing); }, true);
}

void HealthHandler::History(const http::Request& request, const Send& send) {
  const auto format = node::FormatOf(request);
  const device::SnapshotPtr snapshot = Snapshot();
  const auto filter = FilterOf(request, *snapshot);
  if (!format.ok() || !filter.ok()) {
    return send(Refused(format.ok() ? filter.status() : format.status()));
  }
  // Entries still on their way to the journal belong to it, too.
  if (timer_.is_armed()) {
    timer_.Cancel();
    HandleAll();
  }
  const Send answer = WithinLimit(send);
  journal_.Read(
      *filter,
      [answer, format = *format, snapshot](const health::JournalText& text) {
        // Thousands of lines are put together on the disk's thread.
        auto response = std::make_shared<http::Response>(node::Shown(
            format, [&] { return report::HistoryJson(text); },
            [&] { return report::HistoryTable(text, *snapshot); }, true));
        return sys::DiskWorker::Done([answer, response] { answer(std::move(*response)); });
      },
      [answer](const Status& status) { answer(Refused(status)); });
}

node::Part::Send HealthHandler::WithinLimit(const Send& send) {
  const auto left = std::make_shared<Send>(send);
  const auto timer = std::make_shared<TimerId>(TimerId::kNone);
  auto once = [this, left, timer](http::Response response) {
    if (const Send last = std::exchange(*left, nullptr)) {
      loop_.CancelTimer(*timer);
      history_timers_.erase(*timer);
      last(std::move(response));
    }
  };
  *timer = loop_.After(options_.history_limit, [once] {
    once(Refused(
        Unavailable("the journal was not read in time: the disk is slow or not responding")));
  });
  history_timers_.insert(*timer);
  return once;
}

}  // namespace kgpu::faults
