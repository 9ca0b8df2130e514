// The cluster for people who watch it: the document of the page that the controller serves.
#pragma once

#include <boost/json/fwd.hpp>

#include <memory>
#include <optional>
#include <string>

#include "src/cluster/gpus/reader.h"
#include "src/cluster/gpus/summary.h"
#include "src/kube/api/client.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/event_feed.h"

namespace kgpu::cluster_page {

struct ClusterState {
  const gpus::Summary& summary;
  std::string version{};
  std::string problem{};               // why there is nothing newer; empty: nothing is wrong
  std::optional<WallTime> measured{};  // when the cluster was read; nothing: not yet
  WallTime now{};
};

// Field names are part of the interface: docs/reference/live.md. Pure.
boost::json::object ClusterJson(const ClusterState& state);

// Reads the cluster every ten seconds while somebody watches, and never otherwise. Lives on the
// loop's thread.
class ClusterPage {
 public:
  static constexpr std::chrono::seconds kEvery{10};

  // `loop` and `client`, which should be for this alone, must outlive it.
  ClusterPage(EventLoop& loop, kube::Client& client, std::string version);

  // GET /, its files, /live and /live/events; false: the request is for something else.
  bool Answer(const http::Request& request, const http::Responder& responder);

 private:
  void Read();
  std::string Text() const;

  EventLoop& loop_;
  kube::Client& client_;
  const std::string version_;
  gpus::Summary summary_;
  std::string problem_;
  std::optional<WallTime> measured_;
  std::unique_ptr<gpus::ClusterReader> reader_;  // null: none is in progress
  Timer timer_{loop_};
  http::EventFeed feed_;
};

}  // namespace kgpu::cluster_page
