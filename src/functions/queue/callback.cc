#include "src/functions/queue/callback.h"

#include <optional>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/dial/route.h"
#include "src/platform/net/http/client.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr size_t kMaxUrl = 2'048;
constexpr size_t kMaxHost = 253;  // of a DNS name
constexpr int kAttempts = 3;
constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kTimeLimit{10};
constexpr size_t kMaxAnswer = size_t{64} << 10;  // nobody reads it
constexpr std::string_view kHostLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr std::string_view kIpv6Letters = "0123456789abcdefABCDEF:.";

bool IsPrintable(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') {
      return false;
    }
  }
  return true;
}

// Source: RFC 3986, 3.1: in any case.
bool HasScheme(std::string_view text, std::string_view scheme) {
  return http::EqualsIgnoringCase(text.substr(0, scheme.size()), scheme);
}

}  // namespace

StatusOr<CallbackUrl> ParseCallbackUrl(std::string_view text) {
  const auto invalid = [text](std::string_view why) {
    return InvalidArgument("callback {}: {}: use http://host:port/path or https://host/path",
                           Printable(text), why);
  };
  CallbackUrl url;
  url.is_https = HasScheme(text, kHttps);
  if ((!url.is_https && !HasScheme(text, kHttp)) || text.size() > kMaxUrl || !IsPrintable(text)) {
    return invalid("is no http or https URL of up to 2,048 characters");
  }
  url.port = url.is_https ? 443 : 80;
  std::string_view rest = text.substr(url.is_https ? kHttps.size() : kHttp.size());
  rest = rest.substr(0, rest.find('#'));
  const size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, host_end);
  const std::string_view target = rest.substr(host_end);
  url.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  std::string_view letters = kHostLetters;
  size_t port_at = authority.rfind(':');
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) {
      return invalid("has no ]");
    }
    letters = kIpv6Letters;
    url.host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
    port_at = authority.empty() ? std::string_view::npos : 0;
    if (port_at == 0 && authority.front() != ':') {
      return invalid("has something between ] and the port");
    }
  } else {
    url.host = authority.substr(0, port_at);
  }
  if (url.host.empty() || url.host.size() > kMaxHost ||
      url.host.find_first_not_of(letters) != std::string::npos) {
    return invalid("has no valid host");
  }
  if (port_at != std::string_view::npos) {
    const std::optional<uint64_t> port = ParseUint(authority.substr(port_at + 1));
    if (!port || *port == 0 || *port > UINT16_MAX) {
      return invalid("has no valid port");
    }
    url.port = static_cast<uint16_t>(*port);
  }
  return url;
}

class Callback::Impl {
 public:
  Impl(EventLoop& loop, CallbackUrl url, std::shared_ptr<const tls::Context> tls,
       http::Headers headers, std::string body, Done done)
      : loop_(loop),
        endpoint_{.kind = url.is_https ? net::Endpoint::Kind::kTls : net::Endpoint::Kind::kPlain,
                  .host = url.host,
                  .port = url.port},
        tls_(std::move(tls)),
        done_(std::move(done)),
        timer_(loop) {
    request_.method = "POST";
    request_.target = std::move(url.target);
    request_.headers = std::move(headers);
    request_.body = std::move(body);
  }

  void Try() {
    ++attempts_;
    call_ =
        http::Call::Start(loop_, net::RouteTo(endpoint_, tls_), request_,
                          [this](const StatusOr<http::Response>& response) {
                            constexpr int kFirstUnsuccessful = 300;
                            if (response.ok() && response->code >= kFirstUnsuccessful) {
                              return OnEnd(Unavailable("answered with code {}", response->code));
                            }
                            OnEnd(response.status());
                          },
                          {.timeout = kTimeLimit, .max_body = kMaxAnswer});
  }

 private:
  // May destroy this.
  void OnEnd(const Status& status) {
    if (status.ok() || attempts_ == kAttempts) {
      const Done done = std::move(done_);
      return done(Annotate(status, "callback {}", endpoint_.authority()));
    }
    timer_.Arm(kFirstPause * attempts_, [this] { Try(); });
  }

  EventLoop& loop_;
  const net::Endpoint endpoint_;
  const std::shared_ptr<const tls::Context> tls_;
  http::Request request_;
  Done done_;
  int attempts_ = 0;
  std::unique_ptr<http::Call> call_;
  Timer timer_;
};

std::unique_ptr<Callback> Callback::Start(EventLoop& loop, const CallbackUrl& url,
                                          std::shared_ptr<const tls::Context> tls,
                                          http::Headers headers, std::string body, Done done) {
  auto impl = std::make_unique<Impl>(loop, url, std::move(tls), std::move(headers), std::move(body),
                                     std::move(done));
  impl->Try();
  return std::unique_ptr<Callback>(new Callback(std::move(impl)));
}

Callback::Callback(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Callback::~Callback() = default;

}  // namespace kgpu::functions
