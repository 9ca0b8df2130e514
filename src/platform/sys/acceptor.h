// Passes the connections of a listening socket to a server, for as long as it lives.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::sys {

// Lives on the loop's thread. If descriptors run out, it pauses for 100 ms and continues: the
// listener never dies.
class Acceptor {
 public:
  using Handler = std::function<void(UniqueFd)>;
  using Listener = std::variant<UnixListener, TcpListener>;

  // `loop` must outlive the acceptor. Errors: ResourceExhausted.
  static StatusOr<std::unique_ptr<Acceptor>> Create(EventLoop& loop, Listener listener,
                                                    Handler handler);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // See UnixListener; always true for TCP.
  bool IsInPlace() const;
  // The path of a unix socket, or "127.0.0.1:9401".
  const std::string& path() const;

 private:
  Acceptor(EventLoop& loop, Listener listener, Handler handler)
      : loop_(loop), listener_(std::move(listener)), handler_(std::move(handler)) {}
  StatusOr<std::optional<UniqueFd>> Accept();
  Status Watch();
  void OnReadable();
  void Pause(const Status& reason);

  EventLoop& loop_;
  Listener listener_;
  Handler handler_;
  WatchId watch_ = WatchId::kNone;
  Timer resume_{loop_};
  bool is_short_ = false;  // out of descriptors, and already logged
};

}  // namespace kgpu::sys
