#include "src/functions/replicas/ready_probe.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/replicas/watchdog_route.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;

constexpr char kAnswer[] = "the watchdog's answer";
// Each question costs a tenth of a millisecond, and on average half a pause of the cold start.
constexpr milliseconds kFirstQuestion{5};

milliseconds PhaseAt(const boost::json::value& phases, std::string_view key) {
  const boost::json::object* object = phases.if_object();
  const boost::json::value* value =
      object == nullptr ? nullptr : object->if_contains({key.data(), key.size()});
  boost::system::error_code error;
  const double number = value == nullptr ? 0 : value->to_number<double>(error);
  // A phase that is not over yet is null.
  constexpr double kLongest = 1e9;
  return milliseconds(error ? 0 : static_cast<int64_t>(std::clamp(number, 0.0, kLongest)));
}

}  // namespace

StatusOr<WatchdogStatus> ParseWatchdogStatus(std::string_view json) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(json, kAnswer, {}));
  doc::Fields fields(root, kAnswer);
  WatchdogStatus status{.is_ready = fields.Text("state") == "ready"};
  RETURN_IF_ERROR(fields.status());
  if (fields.Has("phases")) {
    const boost::json::value& phases = fields.Get("phases");
    status.worker_started = PhaseAt(phases, "workerStarted");
    status.worker_ready = PhaseAt(phases, "workerReady");
  }
  if (fields.Has("problem")) {
    status.problem = fields.Text("problem");
  }
  return status;
}

ReadyProbe::ReadyProbe(EventLoop& loop, std::string address,
                       std::function<void(const Ready&)> ready, milliseconds longest_pause)
    : loop_(loop),
      address_(std::move(address)),
      longest_pause_(longest_pause),
      ready_(std::move(ready)),
      pause_(kFirstQuestion),
      timer_(loop) {
  Ask();
}

void ReadyProbe::Ask() {
  call_ =
      http::Call::Start(loop_, RouteToWatchdog(address_), {.target = "/_/status"},
                        [this](const StatusOr<http::Response>& response) { OnAnswer(response); },
                        {.timeout = std::chrono::seconds(2), .max_body = size_t{64} << 10});
}

void ReadyProbe::OnAnswer(const StatusOr<http::Response>& response) {
  if (response.ok() && response->code == 200) {
    if (!answered_) {
      answered_ = loop_.clock().Now();
    }
    const StatusOr<WatchdogStatus> status = ParseWatchdogStatus(response->body);
    if (status.ok() && status->is_ready) {
      const Ready ready{*answered_, *status};
      const auto copy = ready_;
      return copy(ready);
    }
    problem_ = status.ok() ? status->problem : std::string(Message(status.status()));
    if (status.ok() && !problem_.empty() && failed_) {
      const auto failed = std::exchange(failed_, nullptr);
      return failed(std::string(problem_));
    }
  }
  timer_.Arm(pause_, [this] { Ask(); });
  pause_ = std::min(pause_ * 3 / 2, longest_pause_);
}

}  // namespace kgpu::functions
