// The part for people who watch the node: keeps an hour of history and the last events, and answers
// with the document of view.h.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/node/live/functions.h"
#include "src/node/live/history.h"
#include "src/node/part/part.h"
#include "src/node/report/devices_view.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/event_feed.h"
#include "src/platform/sys/root.h"

namespace kgpu::live {

// The functions of the rest of the agent that it uses.
struct LiveHooks {
  // Without samples that are too old.
  std::function<telemetry::PageInput()> measured{};
  std::function<report::Holders()> holders{};
  std::function<std::string()> problem{};  // why the node is not ready; empty: it is
};

// Lives on the loop's thread.
class LiveHandler final : public node::Part {
 public:
  // How often GPUs are measured while somebody watches.
  static constexpr std::chrono::milliseconds kPace{2'000};
  static constexpr size_t kMostEvents = 50;

  // `loop`, `host` and `effects` must outlive it. `functions`: the socket of the function service.
  LiveHandler(EventLoop& loop, const sys::Root& host, std::string version, std::string functions,
              node::Effects& effects, LiveHooks hooks);

  void Update(const node::NodeState& /*state*/) override { feed_.Changed(); }
  void OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) override;
  void OnHealthEvent(const health::HealthEvent& event);
  // GET /v1/live.
  bool Answer(const http::Request& request, const Send& send) override;
  // For a caller who may read it: GET /live and /live/events.
  void AnswerReader(const http::Request& request, const http::Responder& responder);

  // How often to measure for those who watch; nothing: nobody does.
  std::optional<std::chrono::milliseconds> pace() const;

 private:
  std::string Text() const;

  EventLoop& loop_;
  const sys::Root& host_;
  const std::string version_;
  node::Effects& effects_;
  const LiveHooks hooks_;
  History history_;
  std::vector<health::HealthEvent> events_;  // the newest last
  FunctionSource functions_;
  http::EventFeed feed_;
};

}  // namespace kgpu::live
