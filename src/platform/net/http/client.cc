#include "src/platform/net/http/client.h"

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/net/tls/session.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::http {
namespace {

// A TCP connection to one address.
class TcpConnect {
 public:
  TcpConnect(EventLoop& loop, Route::Connected connected)
      : loop_(loop), connected_(std::move(connected)) {}
  ~TcpConnect() { loop_.Unwatch(watch_); }
  TcpConnect(const TcpConnect&) = delete;
  TcpConnect& operator=(const TcpConnect&) = delete;

  Status Start(const std::string& address) {
    ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
    ASSIGN_OR_RETURN(socket_, sys::StartConnectTcp(tcp));
    ASSIGN_OR_RETURN(watch_, loop_.WatchWritable(socket_.get(), [this, tcp] { OnWritable(tcp); }));
    return OkStatus();
  }

 private:
  void OnWritable(const sys::TcpAddress& address) {
    loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
    const Status status = sys::ConnectResult(socket_, address);
    const Route::Connected connected = std::move(connected_);
    connected(status.ok() ? StatusOr<UniqueFd>(std::move(socket_)) : status);
  }

  EventLoop& loop_;
  Route::Connected connected_;
  UniqueFd socket_;
  WatchId watch_ = WatchId::kNone;
};

}  // namespace

Route Route::To(const std::string& address) {
  if (address.find('/') != std::string::npos) {
    return {.connect = [address](EventLoop&, const Connected& connected) -> std::shared_ptr<void> {
              connected(sys::ConnectUnix(address));
              return nullptr;
            },
            // The name of a socket's host is of no use to anybody, but one must be given.
            .host = "localhost",
            .where = address + ": "};
  }
  return {
      .connect = [address](EventLoop& loop, const Connected& connected) -> std::shared_ptr<void> {
        auto attempt = std::make_shared<TcpConnect>(loop, connected);
        if (const Status status = attempt->Start(address); !status.ok()) {
          connected(status);
        }
        return attempt;
      },
      .host = address,
      .where = address};
}

class Call::Impl : public std::enable_shared_from_this<Call::Impl> {
 public:
  Impl(EventLoop& loop, Route route, const Request& request, ExchangeHandlers handlers,
       const CallOptions& options)
      : loop_(loop),
        route_(std::move(route)),
        what_(fmt::format("{} {}{}", request.method, route_.where, request.target)),
        options_(options),
        handlers_(std::move(handlers)),
        timer_(loop) {}

  void Start(const Request& request) {
    if (options_.timeout.count() > 0) {
      timer_.Arm(options_.timeout, [this] {
        Finish(DeadlineExceeded("{}: no complete answer within {} ms", what_,
                                options_.timeout.count()));
      });
    }
    // The name in a Host field that is wrong, say, needs no connection.
    text_ = RequestText(request, route_.host);
    if (!text_.ok()) {
      return FinishLater(text_.status());
    }
    is_head_ = request.method == "HEAD";
    connecting_ = route_.connect(loop_, [this](StatusOr<UniqueFd> socket) {
      const Status status = socket.ok() ? Send(*std::move(socket)) : socket.status();
      if (!status.ok()) {
        FinishLater(status);
      }
    });
  }

  void Cancel() {
    handlers_ = {};
    connecting_.reset();
    timer_.Cancel();
    if (const auto connection = std::exchange(connection_, nullptr)) {
      connection->Close();
    }
  }

 private:
  Status Send(UniqueFd socket) {
    std::unique_ptr<tls::Session> session;
    if (route_.tls != nullptr) {
      ASSIGN_OR_RETURN(session, tls::Session::ForClient(route_.tls, route_.server_name));
    }
    ASSIGN_OR_RETURN(connection_, ClientConnection::Open(
                                      loop_, std::move(socket), std::move(session), what_,
                                      {.header = options_.max_header, .body = options_.max_body}));
    connection_->Send(*std::move(text_), is_head_,
                      {.on_head = handlers_.on_head,
                       .on_data = [this](std::string_view piece) { OnData(piece); },
                       .on_end = [this](const Status& status) { Finish(status); }});
    return OkStatus();
  }

  void OnData(std::string_view piece) {
    received_ += piece.size();
    if (received_ > options_.max_body) {
      return Finish(OutOfRange("{}: body larger than {} bytes", what_, options_.max_body));
    }
    if (handlers_.on_data) {
      // The handler may destroy the call.
      const auto on_data = handlers_.on_data;
      on_data(piece);
    }
  }

  // From the loop, as every other end.
  void FinishLater(Status status) {
    timer_.Arm({}, [this, status = std::move(status)] { Finish(status); });
  }

  void Finish(const Status& status) {
    // The handler may destroy the call.
    const auto self = shared_from_this();
    const auto on_end = std::move(handlers_.on_end);
    Cancel();
    if (on_end) {
      on_end(status);
    }
  }

  EventLoop& loop_;
  const Route route_;
  const std::string what_;  // for errors
  const CallOptions options_;
  ExchangeHandlers handlers_;
  StatusOr<std::string> text_ = std::string();
  bool is_head_ = false;
  size_t received_ = 0;  // of the body
  std::shared_ptr<void> connecting_;
  std::shared_ptr<ClientConnection> connection_;
  Timer timer_;
};

Call::Call(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Call::~Call() {
  impl_->Cancel();
}

std::unique_ptr<Call> Call::Stream(EventLoop& loop, const Route& route, const Request& request,
                                   ExchangeHandlers handlers, const CallOptions& options) {
  std::unique_ptr<Call> call(
      new Call(std::make_shared<Impl>(loop, route, request, std::move(handlers), options)));
  call->impl_->Start(request);
  return call;
}

std::unique_ptr<Call> Call::Start(EventLoop& loop, const Route& route, const Request& request,
                                  Done done, const CallOptions& options) {
  const auto response = std::make_shared<Response>();
  return Stream(loop, route, request,
                {.on_head =
                     [response](int code, const Headers& headers) {
                       response->code = code;
                       response->headers = headers;
                     },
                 .on_data = [response](std::string_view piece) { response->body += piece; },
                 .on_end =
                     [response, done = std::move(done)](const Status& status) {
                       done(status.ok() ? StatusOr<Response>(std::move(*response)) : status);
                     }},
                options);
}

StatusOr<Response> Fetch(const Route& route, const Request& request, const CallOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  StatusOr<Response> result = Internal("{}: the loop ended early", route.where);
  const auto call = Call::Start(
      *loop, route, request,
      [&](StatusOr<Response> answer) {
        result = std::move(answer);
        loop->Quit();
      },
      options);
  loop->Run();
  return result;
}

}  // namespace kgpu::http
