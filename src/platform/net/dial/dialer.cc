#include "src/platform/net/dial/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <list>
#include <utility>
#include <vector>

#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/parser.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::net {
namespace {

using std::chrono::milliseconds;

// A peer that vanished without a word is noticed when it is silent for so long: asked after 30 s,
// and three times more; or when it does not take what is sent to it.
constexpr int kKeepAliveIdle = 30;
constexpr int kKeepAliveInterval = 15;
constexpr int kKeepAliveProbes = 3;
constexpr int kUserTimeoutMs = 60'000;
constexpr size_t kMaxProxyAnswer = size_t{16} << 10;

void KeepAlive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    // Options of every Linux; without them all still works.
    (void)setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
}

}  // namespace

StatusOr<Proxy> Proxy::Parse(std::string_view url) {
  for (const std::string_view scheme : {"https://", "socks5://", "socks5h://"}) {
    if (url.starts_with(scheme)) {
      return Unimplemented("proxy-url: {} proxies are not supported: use http://", scheme);
    }
  }
  std::string_view rest = url;
  if (!url.starts_with("http://")) {
    return InvalidArgument("proxy-url: must be http://HOST:PORT");
  }
  rest.remove_prefix(7);
  Proxy proxy;
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    ASSIGN_OR_RETURN(const std::string user, http::Unescape(rest.substr(0, at), false));
    proxy.authorization = "Basic " + EncodeBase64(user);
    rest.remove_prefix(at + 1);
  }
  // A proxy's address follows the rules of a server's address, except for loopback.
  const StatusOr<Endpoint> endpoint = Endpoint::Parse(fmt::format("https://{}", rest));
  if (!endpoint.ok() || !endpoint->prefix.empty()) {
    return InvalidArgument("proxy-url: must be http://HOST:PORT");
  }
  proxy.host = endpoint->host;
  proxy.port = rest.find(fmt::format(":{}", endpoint->port)) == rest.npos ? 80 : endpoint->port;
  return proxy;
}

class Dial::Impl : public std::enable_shared_from_this<Dial::Impl> {
 public:
  Impl(EventLoop& loop, Endpoint endpoint, Proxy proxy, Done done, const DialOptions& options)
      : loop_(loop),
        endpoint_(std::move(endpoint)),
        proxy_(std::move(proxy)),
        done_(std::move(done)),
        options_(options) {}

  void Start() {
    deadline_.Arm(options_.timeout, [this] {
      Finish(Unavailable("{}: no connection within {} ms{}", Goal(), options_.timeout.count(),
                         last_.ok() ? "" : fmt::format(" ({})", Message(last_))));
    });
    if (endpoint_.kind == Endpoint::Kind::kUnix) {
      StatusOr<UniqueFd> socket = sys::ConnectUnix(endpoint_.host);
      timer_.Arm(milliseconds(0), [this, fd = std::make_shared<StatusOr<UniqueFd>>(
                                             std::move(socket))] { Finish(std::move(*fd)); });
      return;
    }
    lookup_ = Lookup::Start(
        loop_, HasProxy() ? proxy_.host : endpoint_.host,
        [this](StatusOr<std::vector<std::string>> addresses) {
          const auto self = shared_from_this();
          lookup_.reset();
          if (!addresses.ok()) {
            return Finish(addresses.status());
          }
          addresses_ = *std::move(addresses);
          TryNext();
        },
        options_.resolver);
  }

  void Cancel() {
    done_ = nullptr;
    lookup_.reset();
    deadline_.Cancel();
    timer_.Cancel();
    for (Attempt& attempt : attempts_) {
      loop_.Unwatch(std::exchange(attempt.watch, WatchId::kNone));
    }
    attempts_.clear();
    loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    tunnel_.Reset();
  }

 private:
  struct Attempt {
    sys::TcpAddress address;
    UniqueFd socket;
    WatchId watch = WatchId::kNone;
  };

  bool HasProxy() const { return !proxy_.host.empty() && endpoint_.kind == Endpoint::Kind::kTls; }
  std::string Goal() const {
    return HasProxy() ? fmt::format("proxy {}", JoinHostPort(proxy_.host, proxy_.port))
                      : endpoint_.authority();
  }

  // Beside those that are on their way already.
  void TryNext() {
    timer_.Cancel();
    while (next_ < addresses_.size()) {
      const uint16_t port = HasProxy() ? proxy_.port : endpoint_.port;
      const Status status = Try(JoinHostPort(addresses_[next_++], port));
      if (status.ok()) {
        break;
      }
      last_ = status;
    }
    if (next_ < addresses_.size()) {
      timer_.Arm(options_.next_address, [this] { TryNext(); });
    } else if (attempts_.empty()) {
      // From the loop: this may still be within Start.
      timer_.Arm(milliseconds(0), [this] { Finish(last_); });
    }
  }

  Status Try(const std::string& text) {
    ASSIGN_OR_RETURN(const sys::TcpAddress address, sys::TcpAddress::Parse(text));
    ASSIGN_OR_RETURN(UniqueFd socket, sys::StartConnectTcp(address));
    KeepAlive(socket.get());
    const int fd = socket.get();
    attempts_.push_back({.address = address, .socket = std::move(socket)});
    const auto attempt = std::prev(attempts_.end());
    StatusOr<WatchId> watch = loop_.WatchWritable(fd, [this, attempt] {
      const auto self = shared_from_this();
      OnWritable(attempt);
    });
    if (!watch.ok()) {
      attempts_.erase(attempt);
      return watch.status();
    }
    attempt->watch = *watch;
    return OkStatus();
  }

  void OnWritable(std::list<Attempt>::iterator attempt) {
    loop_.Unwatch(std::exchange(attempt->watch, WatchId::kNone));
    if (const Status status = sys::ConnectResult(attempt->socket, attempt->address); !status.ok()) {
      last_ = status;
      attempts_.erase(attempt);
      return TryNext();
    }
    UniqueFd socket = std::move(attempt->socket);
    for (Attempt& other : attempts_) {
      loop_.Unwatch(std::exchange(other.watch, WatchId::kNone));
    }
    attempts_.clear();
    timer_.Cancel();
    if (HasProxy()) {
      return OpenTunnel(std::move(socket));
    }
    Finish(std::move(socket));
  }

  // Source: RFC 9110, section 9.3.6.
  void OpenTunnel(UniqueFd socket) {
    tunnel_ = std::move(socket);
    std::string request =
        fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", endpoint_.authority());
    if (!proxy_.authorization.empty()) {
      request += fmt::format("Proxy-Authorization: {}\r\n", proxy_.authorization);
    }
    request += "\r\n";
    // A few hundred bytes on a fresh connection: the kernel takes them at once.
    if (send(tunnel_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
      return Finish(Unavailable("{}: does not accept requests", Goal()));
    }
    StatusOr<WatchId> watch = loop_.WatchReadable(tunnel_.get(), [this] {
      const auto self = shared_from_this();
      OnTunnelReadable();
    });
    if (!watch.ok()) {
      return Finish(watch.status());
    }
    readable_ = *watch;
  }

  // Takes no byte behind the header: those are the tunnel's.
  void OnTunnelReadable() {
    char byte = 0;
    for (ssize_t count = 0; (count = recv(tunnel_.get(), &byte, 1, MSG_DONTWAIT)) != -1;) {
      if (count == 0 || answer_.size() > kMaxProxyAnswer) {
        return Finish(Unavailable("{}: closed the connection before the tunnel to {} was open",
                                  Goal(), endpoint_.authority()));
      }
      answer_ += byte;
      if (answer_.ends_with("\r\n\r\n")) {
        return OnTunnelAnswer();
      }
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      Finish(Unavailable("{}: closed the connection before the tunnel to {} was open", Goal(),
                         endpoint_.authority()));
    }
  }

  void OnTunnelAnswer() {
    // As an answer to HEAD: none of CONNECT has a body either.
    http::ResponseParser parser({.header = kMaxProxyAnswer, .body = 0}, true);
    parser.Feed(answer_);
    if (parser.state() != http::ParseState::kDone) {
      return Finish(Unavailable("{}: did not answer with HTTP", Goal()));
    }
    const int code = parser.code();
    if (code < 200 || code >= 300) {
      return Finish(code == 407
                        ? PermissionDenied(
                              "{}: requires a user and a password: set them in proxy-url", Goal())
                        : Unavailable("{}: answered {} and opened no tunnel to {}", Goal(), code,
                                      endpoint_.authority()));
    }
    loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    Finish(std::move(tunnel_));
  }

  void Finish(StatusOr<UniqueFd> result) {
    const auto self = shared_from_this();
    const Done done = std::exchange(done_, nullptr);
    Cancel();
    if (done) {
      done(std::move(result));
    }
  }

  EventLoop& loop_;
  const Endpoint endpoint_;
  const Proxy proxy_;
  Done done_;
  const DialOptions options_;
  std::unique_ptr<Lookup> lookup_;
  std::vector<std::string> addresses_;
  size_t next_ = 0;  // of addresses_
  std::list<Attempt> attempts_;
  Status last_;  // why the last address did not do
  UniqueFd tunnel_;
  std::string answer_;  // of the proxy
  WatchId readable_ = WatchId::kNone;
  Timer timer_{loop_};
  Timer deadline_{loop_};
};

Dial::Dial(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Dial::~Dial() {
  impl_->Cancel();
}

std::unique_ptr<Dial> Dial::Start(EventLoop& loop, const Endpoint& endpoint, const Proxy& proxy,
                                  Done done, const DialOptions& options) {
  auto impl = std::make_shared<Impl>(loop, endpoint, proxy, std::move(done), options);
  impl->Start();
  return std::unique_ptr<Dial>(new Dial(std::move(impl)));
}

}  // namespace kgpu::net
