// An Api on real sockets, with control requests below /stub/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"
#include "testing/apiserver/api.h"

namespace kgpu::apiserver {

struct HttpServiceOptions {
  size_t max_connections = 4096;
  size_t stream_buffer = size_t{8} << 20;  // how far a watcher may fall behind
};

// While the Api is away, the listening socket of every address is closed; it comes back with the
// Api. Loop thread only. `loop` and `api` must outlive it.
class HttpService {
 public:
  HttpService(EventLoop& loop, Api& api, HttpServiceOptions options = {});
  ~HttpService();
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  // "127.0.0.1:0"; returns where it listens. Errors: as http::Server's.
  StatusOr<std::string> Listen(const std::string& address);
  // A unix socket only for control requests, which stays open while the Api is away.
  Status ListenForControl(const std::string& path);

 private:
  void Go(bool is_away);
  void Handle(const http::Request& request, const http::Responder& responder);
  std::unique_ptr<http::Server> NewServer();

  EventLoop& loop_;
  Api& api_;
  HttpServiceOptions options_;
  std::vector<std::string> addresses_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> control_;
  std::shared_ptr<HttpService*> self_;  // held weakly by tasks
};

// The answer to a control request:
//   GET  /stub/counters        POST /stub/counters/reset
//   POST /stub/faults {…}      DELETE /stub/faults, /stub/faults/ID
//   POST /stub/compact         POST /stub/watches/cut, /stub/watches/end
http::Response HandleControl(Api& api, const http::Request& request);

}  // namespace kgpu::apiserver
