// The agent's endpoint on this host: agent.sock, for the CLI.
#pragma once

#include <functional>
#include <string>

#include "src/agent/state.h"
#include "src/node/part/status_page.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"

namespace kgpu::agent {

inline constexpr char kSocketFile[] = "agent.sock";  // in the run folder

// Functions that answer requests, called for each.
struct FrontHandlers {
  std::function<AgentState()> state;
  std::function<node::StatusPage()> parts;  // what they add to pages
  // Handles other paths on agent.sock, now or later; false: it is one of our paths.
  std::function<bool(const http::Request&, const http::Responder&)> others;
  // A page of series; the path has been checked.
  std::function<http::Response(const http::Request&)> metrics;
  std::string version;
};

// Lives on the loop's thread.
class Front {
 public:
  // `loop` must outlive the front.
  Front(EventLoop& loop, FrontHandlers handler);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Creates `run_dir` and listens on agent.sock in it, which also prevents a second agent. Errors:
  // AlreadyExists (another agent answers there), PermissionDenied, FailedPrecondition.
  Status OpenLocal(const std::string& run_dir);

 private:
  http::Response Answer(const http::Request& request) const;

  const FrontHandlers handler_;
  http::Server server_;
};

}  // namespace kgpu::agent
