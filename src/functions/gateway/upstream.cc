#include "src/functions/gateway/upstream.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::gateway {
namespace {

// The service and its functions have limits of their own for a body.
constexpr http::ParserLimits kServiceLimits{.header = size_t{64} << 10, .body = size_t{1} << 40};
// A connection that was kept may end as a request goes out. Only a request of this size is kept to
// be sent on another one; a larger one gets a connection of its own.
constexpr size_t kMaxKeptRequest = size_t{64} << 10;

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

  void Start(const http::Request& request) {
    if (upstream_.exchanges_ > upstream_.options_.max_exchanges) {
      return EndSoon(MakeStatus(StatusCode::kResourceExhausted,
                                fmt::format("{} requests are under way already: try again later",
                                            upstream_.options_.max_exchanges)));
    }
    StatusOr<std::string> text = http::RequestText(request, "localhost", true);
    if (!text.ok()) {
      return EndSoon(text.status());
    }
    if (text->size() > kMaxKeptRequest) {
      if (upstream_.Unsent() + text->size() > upstream_.options_.max_unsent) {
        return EndSoon(MakeStatus(StatusCode::kResourceExhausted,
                                  "large requests wait for the function service to take them: try "
                                  "again later"));
      }
      upstream_.large_.insert(this);
    }
    text_ = *std::move(text);
    is_head_ = request.method == "HEAD";
    Connect();
  }

  void Cancel() {
    handlers_ = {};
    upstream_.large_.erase(this);
    upstream_.loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    if (const auto connection = std::exchange(connection_, nullptr)) {
      connection->Close();
    }
    if (!std::exchange(has_left_, true)) {
      --upstream_.exchanges_;
    }
  }

  bool was_handed_over() const { return was_handed_over_; }
  size_t unsent() const {
    return text_.size() + (connection_ != nullptr ? connection_->unsent() : 0);
  }
  void Pause() {
    if (connection_ != nullptr) {
      connection_->Pause();
    }
  }
  Status Resume() { return connection_ != nullptr ? connection_->Resume() : OkStatus(); }

 private:
  void Connect() {
    timer_ = TimerId::kNone;
    if (text_.size() <= kMaxKeptRequest) {
      if (auto kept = upstream_.idle_.Take()) {
        return Send(std::move(kept), text_);
      }
    }
    auto opened = Open();
    if (opened.ok()) {
      return Send(*std::move(opened), std::move(text_));
    }
    const StatusCode code = opened.status().code();
    const bool may_come = code == StatusCode::kNotFound || code == StatusCode::kUnavailable;
    if (may_come && upstream_.loop_.clock().Now() < until_) {
      timer_ = upstream_.loop_.After(upstream_.options_.connect_pause, [this] {
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

  void Send(std::shared_ptr<http::ClientConnection> connection, std::string text) {
    connection_ = std::move(connection);
    connection_->Send(std::move(text), is_head_,
                      {.on_head = handlers_.on_head,
                       .on_data = handlers_.on_data,
                       .on_end = [this](const Status& status) { OnEnd(status); }});
  }

  void OnEnd(const Status& status) {
    const auto self = shared_from_this();
    const auto connection = std::exchange(connection_, nullptr);
    was_handed_over_ = connection->has_sent();
    if (!status.ok() && !was_handed_over_ && !text_.empty()) {
      // A connection that was kept, and has ended meanwhile.
      return Connect();
    }
    if (status.ok()) {
      upstream_.idle_.Keep(connection);
    }
    End(status);
  }

  // From the loop, as every other end.
  void EndSoon(const Status& status) {
    timer_ = upstream_.loop_.After(std::chrono::nanoseconds(0), [this, status] {
      const auto self = shared_from_this();
      timer_ = TimerId::kNone;
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
  const SteadyTime until_;  // when a service that does not accept connections is given up
  std::string text_;        // while it may have to be sent again: nothing of it has been
  bool is_head_ = false;
  bool was_handed_over_ = false;
  bool has_left_ = false;
  std::shared_ptr<http::ClientConnection> connection_;
  TimerId timer_ = TimerId::kNone;
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

std::unique_ptr<Upstream::Exchange> Upstream::Start(const http::Request& request,
                                                    http::ExchangeHandlers handlers) {
  auto impl = std::make_shared<Exchange::Impl>(*this, std::move(handlers));
  impl->Start(request);
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
