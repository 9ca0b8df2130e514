// The client: requests over a transport, with credentials, a rate limit and retries.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "src/kube/api/authenticator.h"
#include "src/kube/api/client.h"
#include "src/kube/api/request_gate.h"
#include "src/kube/api/transport.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/net/http/message.h"

namespace kgpu::kube {

struct ClientOptions {
  GateOptions gate{};
  std::string user_agent = "kgpu";       // sent with version and system
  size_t max_answer = size_t{32} << 20;  // of one response's body
  size_t max_frame = size_t{8} << 20;    // of one event of a watch
  int max_repeats = 10;                  // per request
  BackoffOptions reconnect{};            // before a read request is sent again
};

// Lives on the loop's thread. Retries 429 and 5xx only if the server sends Retry-After; a broken
// connection only for read requests; 401 once, with fresh credentials. Does not wait beyond the
// deadline. The caller handles everything else.
class HttpClient final : public Client {
 public:
  // All of them must outlive the client.
  HttpClient(EventLoop& loop, Transport& transport, Authenticator& authenticator, Random& random,
             ClientOptions options = {});
  ~HttpClient() override;

  std::unique_ptr<Call> Send(ApiRequest request, Done done) override;
  std::unique_ptr<Call> Stream(ApiRequest request, StreamHandlers handlers) override;

 private:
  class Flow;
  class Handle;
  class Shared;

  std::unique_ptr<Shared> shared_;
};

}  // namespace kgpu::kube
