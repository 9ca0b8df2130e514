#include "src/functions/gateway/upstream.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::gateway {
namespace {

// The service and its functions have limits of their own for a body.
constexpr http::ParserLimits kServiceLimits{.header = size_t{64} << 10, .body = size_t{1} << 40};
// A request over this size counts as large.
constexpr size_t kMaxSmallRequest = size_t{64} << 10;

}  // namespace

class Upstream::Exchange::Impl : public std::enable_shared_from_this<Exchange::Impl> {
 public:
  Impl(Upstream& upstream, http::ExchangeHandlers handlers)
      : upstream_(upstream),
        handlers_(std::move(handlers)),
        until_(upstream.loop_.clock().Now() + upstream.options_.connect_limit) {
    ++upstream_.exchanges_;
  }
  ~Impl() { Cancel(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Start(http::Request request) {
    if (upstream_.exchanges_ > upstream_.options_.max_exchanges) {
      return EndSoon(MakeStatus(StatusCode::kResourceExhausted,
                                fmt::format("{} requests are under way already: try again later",
                                            upstream_.options_.max_exchanges)));
    }
    StatusOr<std::string> head = http::RequestHead(request, "localhost", true);
    if (!head.ok()) {
      return EndSoon(head.status());
    }
    request_.Append(*std::move(head));
    request_.Append(std::move(request.body));
    if (request_.size() > kMaxSmallRequest) {
      if (upstream_.Unsent() + request_.size() > upstream_.options_.max_unsent) {
        return EndSoon(MakeStatus(StatusCode::kResourceExhausted,
                                  "large requests wait for the function service to take them: try "
                                  "again later"));
      }
      upstream_.large_.insert(this);
    }
    is_head_ = request.method == "HEAD";
    Connect();
  }

  void Cancel() {
    handlers_ = {};
    upstream_.large_.erase(this);
    timer_.Cancel();
    if (const auto connection = std::exchange(connection_, nullptr)) {
      connection->Close();
    }
    if (!std::exchange(has_left_, true)) {
      --upstream_.exchanges_;
    }
  }

  bool was_handed_over() const { return was_handed_over_; }
  size_t unsent() const {
    return request_.size() + (connection_ != nullptr ? connection_->unsent() : 0);
  }
  void Pause() {
    if (connection_ != nullptr) {
      connection_->Pause();
    }
  }
  Status Resume() { return connection_ != nullptr ? connection_->Resume() : OkStatus(); }

 private:
  void Connect() {
    if (auto kept = upstream_.idle_.Take()) {
      is_kept_ = true;
      return Send(std::move(kept));
    }
    auto opened = Open();
    if (opened.ok()) {
      is_kept_ = false;
      return Send(*std::move(opened));
    }
    const StatusCode code = opened.status().code();
    const bool may_come = code == StatusCode::kNotFound || code == StatusCode::kUnavailable;
    if (may_come && upstream_.loop_.clock().Now() < until_) {
      timer_.Arm(upstream_.options_.connect_pause, [this] {
        const auto self = shared_from_this();
        Connect();
      });
      return;
    }
    EndSoon(may_come ? Unavailable("no function service answers: start it with `kgpu fn up`: {}",
                                   Message(opened.status()))
                     : opened.status());
  }

  StatusOr<std::shared_ptr<http::ClientConnection>> Open() const {
    ASSIGN_OR_RETURN(UniqueFd socket, sys::ConnectUnix(upstream_.options_.socket));
    return http::ClientConnection::Open(upstream_.loop_, std::move(socket), nullptr,
                                        upstream_.options_.socket, kServiceLimits);
  }

  void Send(std::shared_ptr<http::ClientConnection> connection) {
    connection_ = std::move(connection);
    connection_->Send(request_, is_head_,
                      {.on_head = handlers_.on_head,
                       .on_data = handlers_.on_data,
                       .on_end = [this](const Status& status) { OnEnd(status); }});
  }

  void OnEnd(const Status& status) {
    const auto self = shared_from_this();
    const auto connection = std::exchange(connection_, nullptr);
    was_handed_over_ = connection->has_sent();
    if (!status.ok() && !was_handed_over_ && is_kept_) {
      // The connection has ended meanwhile.
      connection->TakeRequest(request_);
      return Connect();
    }
    if (status.ok()) {
      upstream_.idle_.Keep(connection);
    }
    End(status);
  }

  // From the loop, as every other end.
  void EndSoon(const Status& status) {
    timer_.Arm(std::chrono::nanoseconds(0), [this, status] {
      const auto self = shared_from_this();
      End(status);
    });
  }

  void End(const Status& status) {
    const auto on_end = handlers_.on_end;
    Cancel();
    if (on_end) {
      on_end(status);
    }
  }

  Upstream& upstream_;
  http::ExchangeHandlers handlers_;
  const SteadyTime until_;     // when a service that does not accept connections is given up
  http::OutputQueue request_;  // until a connection has it
  bool is_head_ = false;
  bool is_kept_ = false;  // the connection has had a request before
  bool was_handed_over_ = false;
  bool has_left_ = false;
  std::shared_ptr<http::ClientConnection> connection_;
  Timer timer_{upstream_.loop_};
};

Upstream::Exchange::Exchange(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

Upstream::Exchange::~Exchange() {
  impl_->Cancel();
}

bool Upstream::Exchange::was_handed_over() const {
  return impl_->was_handed_over();
}

void Upstream::Exchange::Pause() {
  impl_->Pause();
}

Status Upstream::Exchange::Resume() {
  return impl_->Resume();
}

Upstream::Upstream(EventLoop& loop, UpstreamOptions options)
    : loop_(loop),
      options_(std::move(options)),
      idle_(loop, {.max = options_.max_idle, .limit = options_.idle_limit}) {
}

Upstream::~Upstream() = default;

std::unique_ptr<Upstream::Exchange> Upstream::Start(http::Request request,
                                                    http::ExchangeHandlers handlers) {
  auto impl = std::make_shared<Exchange::Impl>(*this, std::move(handlers));
  impl->Start(std::move(request));
  return std::unique_ptr<Exchange>(new Exchange(std::move(impl)));
}

size_t Upstream::Unsent() const {
  size_t sum = 0;
  for (const Exchange::Impl* exchange : large_) {
    sum += exchange->unsent();
  }
  return sum;
}

}  // namespace kgpu::gateway
