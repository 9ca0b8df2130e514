// A client for tests: keeps what was sent; a function of the test answers, from the loop.
#pragma once

#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::node {

class TestClient final : public kube::Client {
 public:
  using Server = std::function<StatusOr<boost::json::value>(const kube::ApiRequest&)>;

  TestClient(EventLoop& loop, Server server) : loop_(loop), server_(std::move(server)) {}

  std::unique_ptr<kube::Call> Send(kube::ApiRequest request, Done done) override {
    sent_.push_back(request);
    auto alive = std::make_shared<bool>(true);
    loop_.Post([this, request = std::move(request), done = std::move(done), alive] {
      if (*alive) {
        done(server_(request));
      }
    });
    return std::make_unique<TestCall>(std::move(alive));
  }
  std::unique_ptr<kube::Call> Stream(kube::ApiRequest, kube::StreamHandlers) override {
    return nullptr;
  }
  const std::vector<kube::ApiRequest>& sent() const { return sent_; }

 private:
  class TestCall final : public kube::Call {
   public:
    explicit TestCall(std::shared_ptr<bool> alive) : alive_(std::move(alive)) {}
    ~TestCall() override { *alive_ = false; }
    TestCall(const TestCall&) = delete;
    TestCall& operator=(const TestCall&) = delete;

   private:
    std::shared_ptr<bool> alive_;
  };

  EventLoop& loop_;
  Server server_;
  std::vector<kube::ApiRequest> sent_;
};

}  // namespace kgpu::node
