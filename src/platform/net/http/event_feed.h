// One text that changes, for those who look at it now and those who follow it by server-sent
// events. Source: the HTML standard, section 9.2.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/server.h"

namespace kgpu::http {

struct EventFeedHooks {
  // The text, without line breaks: JSON.
  std::function<std::string()> text{};
  // Somebody has begun to look, or nobody looks any more.
  std::function<void(bool is_watched)> watched{};
};

// Lives on the loop's thread.
class EventFeed {
 public:
  static constexpr size_t kMostListeners = 16;
  // All who ask within this time get the same text.
  static constexpr std::chrono::milliseconds kSameFor{500};
  // Somebody who has asked looks for so long.
  static constexpr std::chrono::seconds kWatchTime{15};

  // `loop` must outlive it.
  EventFeed(EventLoop& loop, EventFeedHooks hooks);

  // The text as JSON.
  Response Now();
  // Follows: the text at once and after each change; 503 beyond kMostListeners.
  void Listen(const Responder& responder);
  // The text has changed: those who follow get it soon, but no more often than texts are made.
  // A listener that has fallen far behind gets a later one.
  void Changed();
  bool is_watched() const { return is_watched_; }

 private:
  void Watch();
  void Send();
  const std::string& Text();

  EventLoop& loop_;
  const EventFeedHooks hooks_;
  std::vector<Stream> listeners_;
  std::string text_;
  std::optional<SteadyTime> made_;  // text_
  bool is_watched_ = false;
  Timer watch_timer_{loop_};
  Timer send_timer_{loop_};
};

}  // namespace kgpu::http
