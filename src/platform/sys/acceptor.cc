#include "src/platform/sys/acceptor.h"

#include <chrono>
#include <optional>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::sys {
namespace {

constexpr std::chrono::milliseconds kPause{100};
// Connections taken in one turn of the loop: other work gets its share.
constexpr int kBatch = 16;

}  // namespace

StatusOr<std::unique_ptr<Acceptor>> Acceptor::Create(EventLoop& loop, Listener listener,
                                                     Handler handler) {
  std::unique_ptr<Acceptor> acceptor(new Acceptor(loop, std::move(listener), std::move(handler)));
  RETURN_IF_ERROR(acceptor->Watch());
  return acceptor;
}

Acceptor::~Acceptor() {
  loop_.Unwatch(watch_);
}

bool Acceptor::IsInPlace() const {
  const auto* socket = std::get_if<UnixListener>(&listener_);
  return socket == nullptr || socket->IsInPlace();
}

const std::string& Acceptor::path() const {
  const auto* socket = std::get_if<UnixListener>(&listener_);
  return socket != nullptr ? socket->path() : std::get<TcpListener>(listener_).address();
}

StatusOr<std::optional<UniqueFd>> Acceptor::Accept() {
  return std::visit([](auto& listener) { return listener.Accept(); }, listener_);
}

Status Acceptor::Watch() {
  const int fd = std::visit([](const auto& listener) { return listener.fd(); }, listener_);
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(fd, [this] { OnReadable(); }));
  return OkStatus();
}

void Acceptor::OnReadable() {
  for (int taken = 0; taken < kBatch; ++taken) {
    StatusOr<std::optional<UniqueFd>> connection = Accept();
    if (!connection.ok()) {
      Pause(connection.status());
      return;
    }
    std::optional<UniqueFd>& client = *connection;
    if (!client.has_value()) {
      return;
    }
    is_short_ = false;
    handler_(*std::move(client));
  }
}

void Acceptor::Pause(const Status& reason) {
  if (!std::exchange(is_short_, true)) {
    KGPU_LOG(kWarning, "connections delayed", {"socket", path()}, {"reason", Message(reason)},
             {"fix", "raise the limit of open files (ulimit -n)"});
  }
  loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
  resume_.Arm(kPause, [this] {
    if (const Status status = Watch(); !status.ok()) {
      Pause(status);
    }
  });
}

}  // namespace kgpu::sys
