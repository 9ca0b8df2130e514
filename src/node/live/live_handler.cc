#include "src/node/live/live_handler.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/node/live/view.h"
#include "src/node/part/answer.h"
#include "src/platform/base/strings.h"

namespace kgpu::live {
namespace {

using std::chrono::milliseconds;

// A watcher asks again within this time.
constexpr std::chrono::seconds kWatchTime{15};
// All that asks within this time gets the same document.
constexpr milliseconds kSameFor{500};
// After a round, the owners of processes are looked for.
constexpr milliseconds kSendDelay{100};
// A listener that has fallen behind by so much is left out until it has caught up.
constexpr size_t kMostPending = size_t{256} << 10;

constexpr char kEvents[] = "/live/events";

}  // namespace

LiveHandler::LiveHandler(EventLoop& loop, const sys::Root& host, std::string version,
                         node::Effects& effects, LiveHooks hooks)
    : loop_(loop),
      host_(host),
      version_(std::move(version)),
      effects_(effects),
      hooks_(std::move(hooks)) {
}

void LiveHandler::OnSample(const node::NodeState& /*state*/, const device::SampleSetPtr& samples) {
  history_.Add(*samples);
  SendSoon();
}

void LiveHandler::OnHealthEvent(const health::HealthEvent& event) {
  if (events_.size() == kMostEvents) {
    events_.erase(events_.begin());
  }
  events_.push_back(event);
  SendSoon();
}

bool LiveHandler::Answer(const http::Request& request, const Send& send) {
  if (request.path != "/v1/live") {
    return false;
  }
  if (!node::IsRead(request)) {
    send(http::WrongMethod(request, "GET, HEAD"));
    return true;
  }
  Watch();
  send(http::JsonResponse(200, Text()));
  return true;
}

void LiveHandler::AnswerReader(const http::Request& request, const http::Responder& responder) {
  if (request.path == kEvents && request.method == "GET") {
    return Listen(responder);
  }
  if (request.path != "/live") {
    return responder.Send(http::UnknownPath(request));
  }
  Watch();
  http::Response response = http::JsonResponse(200, Text());
  response.headers.Add("Cache-Control", "no-store");
  responder.Send(std::move(response));
}

std::optional<milliseconds> LiveHandler::pace() const {
  return is_watched_ ? std::optional(kPace) : std::nullopt;
}

void LiveHandler::Watch() {
  watch_timer_.Arm(kWatchTime, [this] {
    std::erase_if(listeners_, [](const http::Stream& stream) { return !stream.is_open(); });
    if (!listeners_.empty()) {
      return Watch();
    }
    is_watched_ = false;
    effects_.MeasureAgain();
  });
  if (!std::exchange(is_watched_, true)) {
    effects_.MeasureAgain();
  }
}

void LiveHandler::Listen(const http::Responder& responder) {
  std::erase_if(listeners_, [](const http::Stream& stream) { return !stream.is_open(); });
  if (listeners_.size() >= kMostListeners) {
    http::Response full = http::TextResponse(
        503, fmt::format("{} pages are open, which is the limit: close some", kMostListeners));
    full.headers.Add("Retry-After", "30");
    return responder.Send(std::move(full));
  }
  Watch();
  http::Response head;
  head.headers.Add("Content-Type", "text/event-stream");
  head.headers.Add("Cache-Control", "no-store");
  head.body = fmt::format("data: {}\n\n", Text());
  listeners_.push_back(responder.Begin(std::move(head)));
}

void LiveHandler::SendSoon() {
  if (!listeners_.empty() && !send_timer_.is_armed()) {
    send_timer_.Arm(kSendDelay, [this] { SendNow(); });
  }
}

// Not more often than documents are made.
void LiveHandler::SendNow() {
  if (const auto again = made_ ? *made_ + kSameFor - loop_.clock().Now() : milliseconds(0);
      again > milliseconds(0)) {
    return send_timer_.Arm(again, [this] { SendNow(); });
  }
  const std::string event = fmt::format("data: {}\n\n", Text());
  std::erase_if(listeners_, [&](const http::Stream& stream) {
    return !(stream.pending() > kMostPending || stream.Write(event));
  });
}

const std::string& LiveHandler::Text() {
  const SteadyTime now = loop_.clock().Now();
  if (made_ && now - *made_ < kSameFor) {
    return text_;
  }
  made_ = now;
  const node::NodeState state = effects_.now();
  const telemetry::PageInput measured = hooks_.measured();
  const report::Holders holders = hooks_.holders();
  const bool is_measured = state.config && state.config->metrics.every.count() > 0;
  text_ = boost::json::serialize(LiveJson(
      {.measured = measured,
       .assignment = *state.assignment,
       .holders = holders,
       .history = history_,
       .events = events_,
       .version = version_,
       .problem = hooks_.problem(),
       .now = loop_.clock().WallNow(),
       .every = is_measured ? std::min(state.config->metrics.every, pace().value_or(state.round()))
                            : pace().value_or(milliseconds(0)),
       .name_of = [this](uint32_t pid) {
         const auto name = host_.ReadFile(fmt::format("proc/{}/comm", pid));
         return name.ok() ? std::string(Trim(*name)) : "";
       }}));
  return text_;
}

}  // namespace kgpu::live
