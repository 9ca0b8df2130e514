#include "src/platform/net/http/client.h"

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/writer.h"
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
        done_(std::move(done)) {}

  void Start(const Request& request) {
    timer_ = loop_.After(options_.timeout, [this] {
      Finish(
          DeadlineExceeded("{}: no complete answer within {} ms", what_, options_.timeout.count()));
    });
    if (const Status status = Connect(request); !status.ok()) {
      // From the loop, as every other end.
      loop_.CancelTimer(timer_);
      timer_ = loop_.After(std::chrono::nanoseconds(0), [this, status] { Finish(status); });
    }
  }

  void Cancel() {
    loop_.Unwatch(std::exchange(connected_, WatchId::kNone));
    loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    if (const auto connection = std::exchange(connection_, nullptr)) {
      connection->Close();
    }
    socket_.Reset();
  }

 private:
  bool IsUnix() const { return address_.find('/') != std::string::npos; }

  Status Connect(const Request& request) {
    // The name of a socket's host is of no use to anybody, but one must be given.
    ASSIGN_OR_RETURN(text_, RequestText(request, IsUnix() ? "localhost" : address_));
    is_head_ = request.method == "HEAD";
    if (IsUnix()) {
      ASSIGN_OR_RETURN(socket_, sys::ConnectUnix(address_));
      return Send();
    }
    ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address_));
    ASSIGN_OR_RETURN(socket_, sys::StartConnectTcp(tcp));
    ASSIGN_OR_RETURN(connected_,
                     loop_.WatchWritable(socket_.get(), [this, tcp] { OnConnected(tcp); }));
    return OkStatus();
  }

  void OnConnected(sys::TcpAddress address) {
    loop_.Unwatch(std::exchange(connected_, WatchId::kNone));
    Status status = sys::ConnectResult(socket_, address);
    if (status.ok()) {
      status = Send();
    }
    if (!status.ok()) {
      Finish(status);
    }
  }

  Status Send() {
    ASSIGN_OR_RETURN(connection_, ClientConnection::Open(
                                      loop_, std::move(socket_), nullptr, what_,
                                      {.header = options_.max_header, .body = options_.max_body}));
    connection_->Send(
        std::move(text_), is_head_,
        {.on_head =
             [this](int code, const Headers& headers) {
               response_.code = code;
               response_.headers = headers;
             },
         .on_data = [this](std::string_view piece) { OnData(piece); },
         .on_end =
             [this](const Status& status) {
               Finish(status.ok() ? StatusOr<Response>(std::move(response_)) : status);
             }});
    return OkStatus();
  }

  void OnData(std::string_view piece) {
    response_.body += piece;
    if (response_.body.size() > options_.max_body) {
      Finish(OutOfRange("{}: body larger than {} bytes", what_, options_.max_body));
    }
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
  Response response_;
  UniqueFd socket_;  // until it is connected
  std::string text_;
  bool is_head_ = false;
  WatchId connected_ = WatchId::kNone;
  std::shared_ptr<ClientConnection> connection_;
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
