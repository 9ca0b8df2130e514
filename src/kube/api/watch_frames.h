// Parses the events of a watch from the bytes of its response. Knows no connection; it makes no
// difference how the bytes were split.
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

  // `what` is used in errors; an event may have at most `max_frame` bytes.
  WatchFrames(std::string what, size_t max_frame) : what_(std::move(what)), max_frame_(max_frame) {}

  // Calls `on_event` for each complete event. Errors: that of the server's ERROR event, Unavailable
  // (invalid JSON, an unknown kind of event), OutOfRange (too large); after an error, do not feed
  // any more.
  Status Feed(std::string_view bytes, const OnEvent& on_event);
  // Whether the last event was complete.
  bool IsBetweenEvents() const;

 private:
  Status TakeLine(std::string_view line, const OnEvent& on_event, bool& is_wanted) const;

  std::string what_;
  size_t max_frame_;
  std::string line_;  // incomplete
};

}  // namespace kgpu::kube
