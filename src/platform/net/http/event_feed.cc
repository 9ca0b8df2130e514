#include "src/platform/net/http/event_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kgpu::http {
namespace {

using std::chrono::milliseconds;

// Changes come in groups.
constexpr milliseconds kSendDelay{100};
// A listener that has fallen behind by so much is left out until it has caught up.
constexpr size_t kMostPending = size_t{256} << 10;

std::string EventOf(const std::string& text) {
  return fmt::format("data: {}\n\n", text);
}

}  // namespace

EventFeed::EventFeed(EventLoop& loop, EventFeedHooks hooks)
    : loop_(loop), hooks_(std::move(hooks)) {
}

Response EventFeed::Now() {
  Watch();
  Response response = JsonResponse(200, Text());
  response.headers.Add("Cache-Control", "no-store");
  return response;
}

void EventFeed::Listen(const Responder& responder) {
  std::erase_if(listeners_, [](const Stream& stream) { return !stream.is_open(); });
  if (listeners_.size() >= kMostListeners) {
    Response full = TextResponse(
        503, fmt::format("{} pages are open, which is the limit: close some", kMostListeners));
    full.headers.Add("Retry-After", "30");
    return responder.Send(std::move(full));
  }
  Watch();
  Response head;
  head.headers.Add("Content-Type", "text/event-stream");
  head.headers.Add("Cache-Control", "no-store");
  head.body = EventOf(Text());
  listeners_.push_back(responder.Begin(std::move(head)));
}

void EventFeed::Changed() {
  if (!listeners_.empty() && !send_timer_.is_armed()) {
    send_timer_.Arm(kSendDelay, [this] { Send(); });
  }
}

void EventFeed::Watch() {
  watch_timer_.Arm(kWatchTime, [this] {
    std::erase_if(listeners_, [](const Stream& stream) { return !stream.is_open(); });
    if (!listeners_.empty()) {
      return Watch();
    }
    is_watched_ = false;
    hooks_.watched(false);
  });
  if (!std::exchange(is_watched_, true)) {
    hooks_.watched(true);
  }
}

void EventFeed::Send() {
  const auto again = made_ ? *made_ + kSameFor - loop_.clock().Now() : milliseconds(0);
  if (again > milliseconds(0)) {
    return send_timer_.Arm(again, [this] { Send(); });
  }
  const std::string event = EventOf(Text());
  std::erase_if(listeners_, [&](const Stream& stream) {
    return stream.pending() <= kMostPending && !stream.Write(event);
  });
}

const std::string& EventFeed::Text() {
  const SteadyTime now = loop_.clock().Now();
  if (!made_ || now - *made_ >= kSameFor) {
    made_ = now;
    text_ = hooks_.text();
  }
  return text_;
}

}  // namespace kgpu::http
