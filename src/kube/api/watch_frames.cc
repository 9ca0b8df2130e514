#include "src/kube/api/watch_frames.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, WatchEventType>, 4> kTypes = {{
    {"ADDED", WatchEventType::kAdded},
    {"MODIFIED", WatchEventType::kModified},
    {"DELETED", WatchEventType::kDeleted},
    {"BOOKMARK", WatchEventType::kBookmark},
}};

}  // namespace

Status WatchFrames::Feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (part.size() > max_frame_ - line_.size()) {
      return OutOfRange("{}: an event is larger than {} bytes", what_, max_frame_);
    }
    if (end == std::string_view::npos) {
      line_ += part;
      return OkStatus();
    }
    bytes.remove_prefix(end + 1);
    bool is_wanted = true;
    if (line_.empty()) {
      RETURN_IF_ERROR(TakeLine(part, on_event, is_wanted));
    } else {
      // Its memory goes with it: one large event must not stay for the life of the watch.
      std::string line = std::exchange(line_, {});
      line += part;
      RETURN_IF_ERROR(TakeLine(line, on_event, is_wanted));
    }
    if (!is_wanted) {
      return OkStatus();
    }
  }
  return OkStatus();
}

bool WatchFrames::IsBetweenEvents() const {
  return Trim(line_).empty();
}

Status WatchFrames::TakeLine(std::string_view line, const OnEvent& on_event,
                             bool& is_wanted) const {
  if (Trim(line).empty()) {
    return OkStatus();
  }
  StatusOr<json::value> event = ParseObject(line, what_);
  if (!event.ok()) {
    return MakeStatus(StatusCode::kUnavailable, Message(event.status()));
  }
  json::object& fields = event->get_object();
  json::value* object = fields.if_contains("object");
  const std::string_view type = TextField(*event, {"type"});
  if (object == nullptr || !object->is_object()) {
    return Unavailable("{}: event without an object", what_);
  }
  if (type == "ERROR") {
    return StatusOfObject(*object, what_);
  }
  const auto* known =
      std::ranges::find(kTypes, type, [](const auto& entry) { return entry.first; });
  if (known == kTypes.end()) {
    return Unavailable("{}: unknown event type \"{}\"", what_, Printable(type, 32));
  }
  is_wanted = on_event(known->second, std::move(*object));
  return OkStatus();
}

}  // namespace kgpu::kube
