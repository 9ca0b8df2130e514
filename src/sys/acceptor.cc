#include "src/sys/acceptor.h"

#include <chrono>
#include <optional>
#include <utility>

#include "src/base/log.h"
#include "src/base/status_macros.h"

namespace kgpu::sys {
namespace {

constexpr std::chrono::milliseconds kPause{100};
// Connections taken in one turn of the loop: other work gets its share.
constexpr int kBatch = 16;

}  // namespace

StatusOr<std::unique_ptr<Acceptor>> Acceptor::Create(EventLoop& loop, UnixListener listener,
                                                     Handler handler) {
  std::unique_ptr<Acceptor> acceptor(new Acceptor(loop, std::move(listener), std::move(handler)));
  RETURN_IF_ERROR(acceptor->Watch());
  return acceptor;
}

Acceptor::~Acceptor() {
  loop_.Unwatch(watch_);
  loop_.CancelTimer(resume_);
}

Status Acceptor::Watch() {
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(listener_.fd(), [this] { OnReadable(); }));
  return OkStatus();
}

void Acceptor::OnReadable() {
  for (int taken = 0; taken < kBatch; ++taken) {
    StatusOr<std::optional<UniqueFd>> connection = listener_.Accept();
    if (!connection.ok()) {
      Pause(connection.status());
      return;
    }
    if (!connection->has_value()) {
      return;
    }
    is_short_ = false;
    handler_(*std::move(*connection));
  }
}

void Acceptor::Pause(const Status& reason) {
  if (!std::exchange(is_short_, true)) {
    KGPU_LOG(kWarning, "connections wait", {"socket", listener_.path()},
             {"reason", Message(reason)}, {"mend", "raise the limit of open files (ulimit -n)"});
  }
  loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
  resume_ = loop_.After(kPause, [this] {
    if (const Status status = Watch(); !status.ok()) {
      Pause(status);
    }
  });
}

}  // namespace kgpu::sys
