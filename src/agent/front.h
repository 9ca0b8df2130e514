// The agent's doors: agent.sock for the CLI, an address for probes and Prometheus.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/agent/state.h"
#include "src/base/event_loop.h"
#include "src/base/status.h"
#include "src/http/server.h"

namespace kgpu::agent {

// Who answers, asked for each request.
struct FrontDesk {
  std::function<AgentState()> state;
  // A page of series; the path has been looked at.
  std::function<http::Response(const http::Request&)> metrics;
  std::string version;
};

// Lives on the loop's thread.
class Front {
 public:
  // `loop` outlives the front.
  Front(EventLoop& loop, FrontDesk desk);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Makes `run_dir` and listens on agent.sock in it: also what keeps a second agent away. Errors:
  // AlreadyExists (another agent answers there), PermissionDenied, FailedPrecondition.
  Status OpenLocal(const std::string& run_dir);
  // Serves `address` from now on, "" none. An address that can not be had now is tried again.
  void SetAddress(const std::string& address);

 private:
  http::Response AnswerOnSocket(const http::Request& request) const;
  http::Response AnswerOnAddress(const http::Request& request) const;
  void OpenPublic();

  EventLoop& loop_;
  const FrontDesk desk_;
  http::Server local_;
  std::unique_ptr<http::Server> public_;
  std::string address_;
  std::string problem_;  // logged last
  TimerId retry_ = TimerId::kNone;
};

}  // namespace kgpu::agent
