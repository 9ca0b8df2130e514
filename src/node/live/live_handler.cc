#include "src/node/live/live_handler.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/node/live/view.h"
#include "src/node/part/answer.h"
#include "src/platform/base/strings.h"

namespace kgpu::live {

using std::chrono::milliseconds;

LiveHandler::LiveHandler(EventLoop& loop, const sys::Root& host, std::string version,
                         std::string functions, node::Effects& effects, LiveHooks hooks)
    : loop_(loop),
      host_(host),
      version_(std::move(version)),
      effects_(effects),
      hooks_(std::move(hooks)),
      functions_(loop, std::move(functions), [this] { feed_.Changed(); }),
      feed_(loop, {.text = [this] { return Text(); },
                   .watched =
                       [this](bool is_watched) {
                         functions_.SetWatched(is_watched);
                         effects_.MeasureAgain();
                       }}) {
}

void LiveHandler::OnSample(const node::NodeState& /*state*/, const device::SampleSetPtr& samples) {
  history_.Add(*samples);
  if (feed_.is_watched()) {
    effects_.LookAtPods();  // who watches sees a pod that starts
  }
  feed_.Changed();
}

void LiveHandler::OnHealthEvent(const health::HealthEvent& event) {
  if (events_.size() == kMostEvents) {
    events_.erase(events_.begin());
  }
  events_.push_back(event);
  feed_.Changed();
}

bool LiveHandler::Answer(const http::Request& request, const Send& send) {
  if (request.path != "/v1/live") {
    return false;
  }
  send(node::IsRead(request) ? feed_.Now() : http::WrongMethod(request, "GET, HEAD"));
  return true;
}

void LiveHandler::AnswerReader(const http::Request& request, const http::Responder& responder) {
  if (request.path == "/live/events" && request.method == "GET") {
    return feed_.Listen(responder);
  }
  responder.Send(request.path == "/live" ? feed_.Now() : http::UnknownPath(request));
}

std::optional<milliseconds> LiveHandler::pace() const {
  return feed_.is_watched() ? std::optional(kPace) : std::nullopt;
}

std::string LiveHandler::Text() const {
  const node::NodeState state = effects_.now();
  const telemetry::PageInput measured = hooks_.measured();
  const report::Holders holders = hooks_.holders();
  const bool is_measured = state.config && state.config->metrics.every.count() > 0;
  return boost::json::serialize(LiveJson(
      {.measured = measured,
       .assignment = *state.assignment,
       .holders = holders,
       .history = history_,
       .events = events_,
       .functions = functions_.functions(),
       .version = version_,
       .problem = hooks_.problem(),
       .now = loop_.clock().WallNow(),
       .every = is_measured ? std::min(state.config->metrics.every, pace().value_or(state.round()))
                            : pace().value_or(milliseconds(0)),
       .name_of = [this](uint32_t pid) {
         const auto name = host_.ReadFile(fmt::format("proc/{}/comm", pid));
         return name.ok() ? std::string(Trim(*name)) : "";
       }}));
}

}  // namespace kgpu::live
