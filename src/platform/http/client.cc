#include "src/platform/http/client.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/http/parser.h"
#include "src/platform/http/writer.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::http {

class Call::Impl : public std::enable_shared_from_this<Call::Impl> {
 public:
  Impl(EventLoop& loop, std::string address, const Request& request, Done done,
       const CallOptions& options)
      : loop_(loop),
        address_(std::move(address)),
        what_(fmt::format("{} {}{}{}", request.method, address_, IsUnix() ? ": " : "",
                          request.target)),
        options_(options),
        done_(std::move(done)),
        parser_({.header = options.max_header, .body = options.max_body},
                request.method == "HEAD") {}

  void Start(const Request& request) {
    timer_ = loop_.After(options_.timeout, [this] {
      Finish(DeadlineExceeded("{}: no whole answer within {} ms", what_, options_.timeout.count()));
    });
    if (const Status status = Connect(request); !status.ok()) {
      // From the loop, as every other end.
      loop_.CancelTimer(timer_);
      timer_ = loop_.After(std::chrono::nanoseconds(0), [this, status] { Finish(status); });
    }
  }

  void Cancel() {
    loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
    loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    socket_.Reset();
  }

 private:
  bool IsUnix() const { return address_.find('/') != std::string::npos; }

  Status Connect(const Request& request) {
    // The name of a socket's host is of no use to anybody, but one must be given.
    ASSIGN_OR_RETURN(output_, RequestText(request, IsUnix() ? "localhost" : address_));
    if (IsUnix()) {
      ASSIGN_OR_RETURN(socket_, sys::ConnectUnix(address_));
    } else {
      ASSIGN_OR_RETURN(tcp_, sys::TcpAddress::Parse(address_));
      ASSIGN_OR_RETURN(socket_, sys::StartConnectTcp(*tcp_));
    }
    ASSIGN_OR_RETURN(writable_, loop_.WatchWritable(socket_.get(), [this] { OnWritable(); }));
    return OkStatus();
  }

  void OnWritable() {
    if (tcp_ && readable_ == WatchId::kNone) {
      if (const Status status = sys::ConnectResult(socket_, *tcp_); !status.ok()) {
        return Finish(status);
      }
    }
    if (readable_ == WatchId::kNone) {
      StatusOr<WatchId> watch = loop_.WatchReadable(socket_.get(), [this] { OnReadable(); });
      if (!watch.ok()) {
        return Finish(watch.status());
      }
      readable_ = *watch;
    }
    const std::string_view left = std::string_view(output_).substr(sent_);
    const ssize_t count =
        send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent_ += static_cast<size_t>(count);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      // The server may have answered before it closed: what it said is read to its end.
      sent_ = output_.size();
    }
    if (sent_ == output_.size()) {
      loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
    }
  }

  void OnReadable() {
    std::array<char, size_t{16} << 10>
        bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        Finish(Unavailable("{}: the server closed the connection before the end of its answer",
                           what_));
      }
      return;
    }
    input_.append(bytes.data(), static_cast<size_t>(count));
    Parse();
    if (count == 0) {
      parser_.FeedEnd();
    }
    if (parser_.state() == ParseState::kDone) {
      Finish(parser_.Take());
    } else if (parser_.state() == ParseState::kRefused) {
      Finish(Refused());
    }
  }

  void Parse() {
    size_t taken = 1;
    while (taken > 0 && !input_.empty() &&
           (parser_.state() == ParseState::kHeader || parser_.state() == ParseState::kBody)) {
      taken = parser_.Feed(input_);
      input_.erase(0, taken);
    }
  }

  Status Refused() const {
    const Refusal& refusal = parser_.refusal();
    const bool is_too_large = refusal.code == 413 || refusal.code == 431;
    return is_too_large ? OutOfRange("{}: {}", what_, refusal.reason)
                        : Unavailable("{}: {}", what_, refusal.reason);
  }

  void Finish(StatusOr<Response> result) {
    // `done` may destroy the call.
    const auto self = shared_from_this();
    Cancel();
    if (const Done done = std::exchange(done_, nullptr)) {
      done(std::move(result));
    }
  }

  EventLoop& loop_;
  const std::string address_;
  const std::string what_;  // for errors
  const CallOptions options_;
  Done done_;
  ResponseParser parser_;
  std::optional<sys::TcpAddress> tcp_;
  UniqueFd socket_;
  std::string output_;
  size_t sent_ = 0;
  std::string input_;
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  TimerId timer_ = TimerId::kNone;
};

Call::Call(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Call::~Call() {
  impl_->Cancel();
}

std::unique_ptr<Call> Call::Start(EventLoop& loop, std::string address, const Request& request,
                                  Done done, const CallOptions& options) {
  std::unique_ptr<Call> call(new Call(
      std::make_shared<Impl>(loop, std::move(address), request, std::move(done), options)));
  call->impl_->Start(request);
  return call;
}

StatusOr<Response> Fetch(const std::string& address, const Request& request,
                         const CallOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  StatusOr<Response> result = Internal("{}: the loop ended early", address);
  const auto call = Call::Start(
      *loop, address, request,
      [&](StatusOr<Response> answer) {
        result = std::move(answer);
        loop->Quit();
      },
      options);
  loop->Run();
  return result;
}

}  // namespace kgpu::http
