// A connection to the primary of a Redis installation that comes back by itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/redis/redis_address.h"
#include "src/functions/redis/redis_connection.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/dial/dialer.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::functions {

struct RedisLinkOptions {
  RedisAddress address{};
  // Called for each connection, so that files may change; empty: no password. Errors are the
  // connection's.
  std::function<StatusOr<RedisLogin>()> login{};
  // Called for each connection with TLS. Errors are the connection's.
  std::function<StatusOr<std::shared_ptr<const tls::Context>>()> trust{};
  std::string channel{};  // whose messages are received
  std::chrono::milliseconds connect_limit{3'000};
  std::chrono::milliseconds answer_limit{10'000};
};

// Lives on the loop's thread.
class RedisLink {
 public:
  struct Handlers {
    std::function<void()> on_ready{};    // there is a connection, perhaps another one
    std::function<void()> on_message{};  // something was published on the channel
  };

  // Connects at once. `loop` must outlive the link. No handler is called from here.
  RedisLink(EventLoop& loop, RedisLinkOptions options, uint64_t seed, Handlers handlers);
  // Calls nothing; what was sent may still reach the server.
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // As RedisConnection::Send. While the first attempt to connect since the last connection is under
  // way, the command waits for it; after it has failed, `done` gets Unavailable with the reason
  // before this returns. `words` must not be empty.
  void Send(const std::vector<std::string_view>& words, RedisConnection::Done done);
  // Whether commands would reach a server now.
  bool is_ready() const { return is_ready_; }

 private:
  using Step = void (RedisLink::*)(const RedisReply& reply);
  struct Held {  // until there is a connection
    std::vector<std::string> words;
    RedisConnection::Done done;
  };
  void Connect();
  void OnDialed(StatusOr<UniqueFd> socket);
  StatusOr<std::shared_ptr<RedisConnection>> Open(UniqueFd socket);
  StatusOr<std::vector<std::string>> Greeting() const;
  void Ask(const std::vector<std::string_view>& words, Step next);
  void OnGreeted(const RedisReply& reply);
  void OnPersistence(const RedisReply& reply);
  void OnMemory(const RedisReply& reply);
  void OnSubscribed(const RedisReply& reply);
  void Lose(const Status& status);
  void ReleaseHeld(const Status& status);
  std::string Where() const;

  EventLoop& loop_;
  const RedisLinkOptions options_;
  const Handlers handlers_;
  Random random_;
  Backoff backoff_;
  size_t server_ = 0;  // of the address
  size_t tried_ = 0;   // since the last pause
  std::unique_ptr<net::Dial> dial_;
  std::shared_ptr<RedisConnection> connection_;
  std::vector<Held> held_;
  Status problem_;      // why there is no connection; OK while the first attempt goes on
  std::string logged_;  // the problem
  bool is_ready_ = false;
  Timer timer_;
};

}  // namespace kgpu::functions
