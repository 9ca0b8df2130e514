// A transport for tests: keeps what was sent, and a function of the test answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/kube/api/authenticator.h"
#include "src/kube/api/transport.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/message.h"

namespace kgpu::kube {

// The server's end of one exchange. A handle: copies share one end.
class Wire {
 public:
  struct State {
    ExchangeHandlers handlers;
    bool is_open = true;
  };
  explicit Wire(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool is_open() const { return state_->is_open; }
  void Head(int code, const http::Headers& headers = {}) const {
    if (const auto on_head = state_->handlers.on_head; is_open() && on_head) {
      on_head(code, headers);
    }
  }
  void Data(std::string_view bytes) const {
    if (const auto on_data = state_->handlers.on_data; is_open() && on_data) {
      on_data(bytes);
    }
  }
  void End(const Status& status = OkStatus()) const {
    if (const auto on_end = state_->handlers.on_end; std::exchange(state_->is_open, false)) {
      on_end(status);
    }
  }
  void Answer(int code, std::string_view body, const http::Headers& headers = {}) const {
    Head(code, headers);
    Data(body);
    End();
  }
  // In the API server's words.
  void Refuse(int code, std::string_view reason, const http::Headers& headers = {}) const {
    Answer(code,
           fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"because"}})", code,
                       reason),
           headers);
  }

 private:
  std::shared_ptr<State> state_;
};

class TestTransport final : public Transport {
 public:
  struct Sent {
    http::Request request;
    SteadyTime time;
  };
  using Server = std::function<void(const http::Request&, const Wire&)>;

  explicit TestTransport(EventLoop& loop) : loop_(loop) {}

  // Answers requests, from the loop. Without a server they stay open: last() is the newest.
  void SetServer(Server server) { server_ = std::move(server); }
  const std::vector<Sent>& sent() const { return sent_; }
  const http::Request& request(size_t number) const { return sent_.at(number).request; }
  const Wire& wire(size_t number) const { return wires_.at(number); }
  const Wire& last() const { return wires_.back(); }
  void Forget() {
    sent_.clear();
    wires_.clear();
  }
  // Whether to keep what is sent; a long simulation switches it off.
  void SetIsKept(bool is_kept) { is_kept_ = is_kept; }

  std::unique_ptr<Exchange> Start(const http::Request& request,
                                  ExchangeHandlers handlers) override {
    auto state = std::make_shared<Wire::State>(Wire::State{.handlers = std::move(handlers)});
    ++count_;
    if (is_kept_) {
      sent_.push_back({request, loop_.clock().Now()});
      (void)http::SplitTarget(sent_.back().request);
      wires_.emplace_back(state);
    }
    if (server_) {
      loop_.Post([this, request = http::Request(request), wire = Wire(state)]() mutable {
        if (wire.is_open()) {
          (void)http::SplitTarget(request);
          server_(request, wire);
        }
      });
    }
    return std::make_unique<TestExchange>(std::move(state));
  }
  size_t count() const { return count_; }

 private:
  class TestExchange final : public Exchange {
   public:
    explicit TestExchange(std::shared_ptr<Wire::State> state) : state_(std::move(state)) {}
    ~TestExchange() override {
      state_->is_open = false;
      state_->handlers = {};
    }
    TestExchange(const TestExchange&) = delete;
    TestExchange& operator=(const TestExchange&) = delete;

   private:
    std::shared_ptr<Wire::State> state_;
  };

  EventLoop& loop_;
  Server server_;
  std::vector<Sent> sent_;
  std::vector<Wire> wires_;
  size_t count_ = 0;
  bool is_kept_ = true;
};

// Returns "Bearer t<n>", with n increasing after each rejection.
class TestAuthenticator final : public Authenticator {
 public:
  void Authenticate(Done done) override {
    if (!status_.ok()) {
      return done(status_);
    }
    done(http::Headers{{"Authorization", fmt::format("Bearer t{}", rejections_)}});
  }
  void Reject() override { ++rejections_; }
  // Returned instead of header fields.
  void SetStatus(Status status) { status_ = std::move(status); }

 private:
  Status status_;
  int rejections_ = 0;
};

}  // namespace kgpu::kube
