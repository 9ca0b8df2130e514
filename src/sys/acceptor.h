// Hands the connections of a unix socket to a server, for as long as it lives.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/base/event_loop.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/sys/unix_socket.h"

namespace kgpu::sys {

// Lives on the loop's thread. When descriptors run out it pauses for 100 ms and goes on: the
// listener never dies.
class Acceptor {
 public:
  using Handler = std::function<void(UniqueFd)>;

  // `loop` outlives the acceptor. Errors: ResourceExhausted.
  static StatusOr<std::unique_ptr<Acceptor>> Create(EventLoop& loop, UnixListener listener,
                                                    Handler handler);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // See UnixListener.
  bool IsInPlace() const { return listener_.IsInPlace(); }
  const std::string& path() const { return listener_.path(); }

 private:
  Acceptor(EventLoop& loop, UnixListener listener, Handler handler)
      : loop_(loop), listener_(std::move(listener)), handler_(std::move(handler)) {}
  Status Watch();
  void OnReadable();
  void Pause(const Status& reason);

  EventLoop& loop_;
  UnixListener listener_;
  Handler handler_;
  WatchId watch_ = WatchId::kNone;
  TimerId resume_ = TimerId::kNone;
  bool is_short_ = false;  // of descriptors, and said so
};

}  // namespace kgpu::sys
