// One connection to a Redis server, TLS or plain: commands go out in their order, and so do the
// replies come back.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/redis/redis_reply.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/tls/session.h"

namespace kgpu::functions {

// Lives on the loop's thread. Held by shared_ptr, since a handler may drop it.
class RedisConnection : public std::enable_shared_from_this<RedisConnection> {
 public:
  // The reply, whose kind is never kError: that is a status. Errors: those of StatusOfRedisError;
  // Unavailable (the connection ended: what became of the command is unknown).
  using Done = std::function<void(StatusOr<RedisReply>)>;
  struct Handlers {
    std::function<void(const RedisReply&)> on_push{};  // a list of kind kPush
    // Once, before the commands in progress get the status.
    std::function<void(const Status&)> on_end{};
  };

  // `socket` is connected; `session` is null without TLS; `where` is used in errors. A server that
  // neither takes nor sends a byte for `patience` while a command waits has failed. `loop` must
  // outlive the connection.
  static StatusOr<std::shared_ptr<RedisConnection>> Open(EventLoop& loop, UniqueFd socket,
                                                         std::unique_ptr<tls::Session> session,
                                                         std::string where,
                                                         std::chrono::milliseconds patience,
                                                         Handlers handlers);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Calls nothing before it returns. The caller bounds how much it sends. Without `done` for a
  // command that has no reply but pushes.
  void Send(const std::vector<std::string_view>& words, Done done);
  // Sends what the socket still takes, then closes it. No handler and no Done is called after this.
  void Finish();
  // The same without sending anything.
  void Close();

 private:
  RedisConnection(EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session,
                  std::string where, std::chrono::milliseconds patience, Handlers handlers);
  Status Watch();
  void WatchWritable();
  void Flush();
  void OnReadable();
  void OnPlain(std::string_view bytes);
  void OnReply(RedisReply reply);
  void ArmDeadline();
  void End(const Status& status);

  EventLoop& loop_;
  UniqueFd socket_;
  std::unique_ptr<tls::Session> session_;
  const std::string where_;
  const std::chrono::milliseconds patience_;
  Handlers handlers_;
  ReplyReader reader_;
  std::deque<Done> waiting_;  // for their replies
  std::string output_;        // to be sent
  size_t sent_ = 0;           // of output_
  bool has_backlog_ = false;  // the server takes it more slowly than it comes
  SteadyTime progress_{};     // when the server last sent something, or took some of a backlog
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  Timer deadline_{loop_};
};

}  // namespace kgpu::functions
