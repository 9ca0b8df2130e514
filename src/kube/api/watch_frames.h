// The events of a watch out of the bytes of its answer. Knows no connection; how the bytes were cut
// into pieces makes no difference.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

class WatchFrames {
 public:
  // False: no more events are wanted.
  using OnEvent = std::function<bool(WatchEventType, boost::json::value&&)>;

  // `what` is named in errors; one event has at most `max_frame` bytes.
  WatchFrames(std::string what, size_t max_frame) : what_(std::move(what)), max_frame_(max_frame) {}

  // Calls `on_event` for each event that is whole. The error that a server's ERROR event tells, or
  // Unavailable (no JSON, an unknown kind of event) or OutOfRange (too large): nothing can be fed
  // any more then.
  Status Feed(std::string_view bytes, const OnEvent& on_event);
  // Whether the last event was whole.
  bool IsBetweenEvents() const;

 private:
  Status TakeLine(std::string_view line, const OnEvent& on_event, bool& is_wanted) const;

  std::string what_;
  size_t max_frame_;
  std::string line_;  // begun
};

}  // namespace kgpu::kube
