#include "testing/kubelet/rpc_connection.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

RpcConnection::RpcConnection(EventLoop& loop, CallsInFlight& calls, UniqueFd fd,
                             const Settings& settings)
    : loop_(loop), calls_(calls), cut_(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(settings.receive_limit));
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, settings.authority);
  channel_ = grpc::CreateCustomInsecureChannelFromFd("unix", fd.Release(), arguments);
}

RpcConnection::~RpcConnection() {
  loop_.Unwatch(watch_);
  Close();
}

void RpcConnection::Close() {
  for (const auto& weak : contexts_) {
    if (const auto context = weak.lock()) {
      context->TryCancel();
    }
  }
  contexts_.clear();
  Cut();
}

Status RpcConnection::WatchLoss(std::function<void()> on_lost) {
  // A set of its own, since the loop would also wake up for data, which only gRPC reads.
  hang_up_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLRDHUP, .data = {}};
  if (!hang_up_.is_valid() || epoll_ctl(hang_up_.get(), EPOLL_CTL_ADD, cut_.get(), &event) != 0) {
    return ErrnoStatus(errno, "watch a plugin's connection");
  }
  ASSIGN_OR_RETURN(watch_,
                   loop_.WatchReadable(hang_up_.get(), [this, on_lost = std::move(on_lost)] {
                     const auto task = on_lost;
                     loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
                     task();
                   }));
  return OkStatus();
}

void RpcConnection::Cut() const {
  (void)shutdown(cut_.get(), SHUT_RDWR);
}

std::shared_ptr<grpc::ClientContext> RpcConnection::NewContext(
    std::optional<std::chrono::nanoseconds> limit) {
  auto context = std::make_shared<grpc::ClientContext>();
  if (limit) {
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::microseconds>(*limit));
  }
  std::erase_if(contexts_, [](const auto& weak) { return weak.expired(); });
  contexts_.push_back(context);
  return context;
}

}  // namespace kgpu::kubelet
