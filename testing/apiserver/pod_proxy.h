// Requests that go on to a pod: …/pods/NAME:PORT/proxy/PATH.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/client.h"
#include "testing/apiserver/sink.h"

namespace kgpu::apiserver {

// The pod of "NAME:PORT"; without a port, 80. Source: k8s.io/apimachinery,
// util/net/port_split.go, SplitSchemeNamePort.
struct PodPort {
  std::string name{};
  std::string port = "80";
};
// Errors: a Failure of code 400.
StatusOr<PodPort> PodPortOf(const std::string& text);

// Loop thread only.
class PodProxy {
 public:
  explicit PodProxy(EventLoop& loop) : loop_(loop) {}

  // Sends a request without credentials, which are for the API server, to `address`, and its
  // response back: a Failure of code 503 if there is none.
  void Forward(const std::string& address, const http::Request& request, const std::string& target,
               const std::shared_ptr<Sink>& sink);

 private:
  EventLoop& loop_;
  std::list<std::unique_ptr<http::Call>> calls_;
};

}  // namespace kgpu::apiserver
