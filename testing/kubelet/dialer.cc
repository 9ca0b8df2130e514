#include "testing/kubelet/dialer.h"

#include <algorithm>
#include <utility>

#include "src/platform/sys/unix_socket.h"

namespace kgpu::kubelet {

Dialer::Dialer(EventLoop& loop, std::string path, std::chrono::nanoseconds limit,
               std::chrono::nanoseconds retry, Done done)
    : loop_(loop),
      path_(std::move(path)),
      end_(loop.clock().Now() + limit),
      retry_(retry),
      done_(std::move(done)) {
  timer_ = loop_.After(std::chrono::nanoseconds(0), [this] { Try(); });
}

Dialer::~Dialer() {
  loop_.CancelTimer(timer_);
}

void Dialer::Try() {
  timer_ = TimerId::kNone;
  StatusOr<UniqueFd> fd = sys::ConnectUnix(path_);
  const std::chrono::nanoseconds left = end_ - loop_.clock().Now();
  if (!fd.ok() && left > std::chrono::nanoseconds(0)) {
    timer_ = loop_.After(std::min(retry_, left), [this] { Try(); });
    return;
  }
  // The call may destroy this.
  const Done done = std::move(done_);
  if (fd.ok()) {
    done(std::move(fd));
  } else {
    done(DeadlineExceeded("context deadline exceeded ({})", Message(fd.status())));
  }
}

}  // namespace kgpu::kubelet
