// A stub API server in the test's own time, and a client that waits for it.
#pragma once

#include <boost/json.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/kube/objects/blocking_client.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"

namespace kgpu::kube {

// Sends over any loop with simulated time, which passes while it waits.
class FakeBlockingClient final : public BlockingClient {
 public:
  FakeBlockingClient(FakeLoop& loop, Client& client) : loop_(loop), client_(client) {}

  StatusOr<boost::json::value> Send(ApiRequest request) override {
    if (before_send_) {
      if (Status status = before_send_(request); !status.ok()) {
        return status;
      }
    }
    std::optional<StatusOr<boost::json::value>> answer;
    const auto call = client_.Send(
        std::move(request), [&](StatusOr<boost::json::value> got) { answer = std::move(got); });
    constexpr int kLongest = 600'000;
    for (int i = 0; !answer && i < kLongest; ++i) {
      loop_.Advance(std::chrono::milliseconds(1));
    }
    return answer ? *std::move(answer) : DeadlineExceeded("no answer in simulated 10 min");
  }
  void Wait(std::chrono::milliseconds time) override { loop_.Advance(time); }
  const Clock& clock() const override { return loop_.clock(); }

  // Called before each request; an error is its answer, and nothing is sent.
  void BeforeSend(std::function<Status(const ApiRequest&)> before) {
    before_send_ = std::move(before);
  }

 private:
  FakeLoop& loop_;
  Client& client_;
  std::function<Status(const ApiRequest&)> before_send_;
};

// Base of a test fixture: a stub API server with one client.
struct TestCluster {
  FakeLoop loop;
  apiserver::Api api{loop};
  apiserver::MemoryTransport transport{loop, api};
  TestAuthenticator authenticator;
  Random random{1};
  HttpClient http{
      loop, transport, authenticator, random, {.gate = {.per_second = 1000, .burst = 1000}}};
  FakeBlockingClient client{loop, http};

  // The stored object; null if there is none.
  boost::json::value At(const std::string& path) const {
    const auto stored = api.Find(path);
    return stored == nullptr ? boost::json::value() : boost::json::value(stored->object());
  }
};

}  // namespace kgpu::kube
