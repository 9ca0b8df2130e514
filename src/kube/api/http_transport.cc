#include "src/kube/api/http_transport.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/writer.h"

namespace kgpu::kube {
namespace {

using http::ClientConnection;

// The answer is handed on in pieces: who takes them has limits.
constexpr http::ParserLimits kAnswerLimits{.header = size_t{64} << 10, .body = size_t{1} << 50};

}  // namespace

// State shared by the transport and its exchanges; an exchange may outlive the transport.
class HttpTransport::Pool : public std::enable_shared_from_this<HttpTransport::Pool> {
 public:
  Pool(EventLoop& loop, HttpTransportOptions options, TrustSource trust)
      : loop_(loop), options_(std::move(options)), trust_(std::move(trust)) {
    if (options_.server_name.empty()) {
      options_.server_name = options_.endpoint.host;
    }
  }

  ~Pool() { Close(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  EventLoop& loop() { return loop_; }
  const HttpTransportOptions& options() const { return options_; }
  size_t idle() const { return idle_.size(); }

  void Close() {
    for (Idle& idle : idle_) {
      loop_.CancelTimer(idle.timer);
      idle.connection->Close();
    }
    idle_.clear();
  }

  // Idle connections of another time are closed.
  StatusOr<Trust> CurrentTrust() {
    if (options_.endpoint.kind != net::Endpoint::Kind::kTls) {
      return Trust{};
    }
    ASSIGN_OR_RETURN(Trust trust, trust_());
    if (trust.generation != generation_) {
      Close();
      generation_ = trust.generation;
    }
    return trust;
  }
  uint64_t generation() const { return generation_; }

  // One that may be used again; null: none.
  std::shared_ptr<ClientConnection> TakeIdle() {
    if (idle_.empty()) {
      return nullptr;
    }
    // The one that was used last is the most likely to live.
    Idle idle = std::move(idle_.back());
    idle_.pop_back();
    loop_.CancelTimer(idle.timer);
    ++in_use_;
    return std::move(idle.connection);
  }
  bool MayOpen() const { return in_use_ < options_.max_connections; }
  void CountOpened() { ++in_use_; }

  // Returns the connection that TakeIdle or CountOpened counted; null: it is closed.
  void GiveBack(std::shared_ptr<ClientConnection> connection, uint64_t generation) {
    --in_use_;
    if (connection != nullptr && connection->IsReusable() && generation == generation_) {
      Keep(std::move(connection));
    }
    LetNextIn();
  }

  void Enqueue(const std::shared_ptr<Job>& job) { waiting_.push_back(job); }

 private:
  struct Idle {
    std::shared_ptr<ClientConnection> connection;
    TimerId timer = TimerId::kNone;
  };

  void Keep(std::shared_ptr<ClientConnection> connection) {
    if (idle_.size() >= options_.max_idle) {
      Drop(idle_.front().connection.get());
    }
    ClientConnection* key = connection.get();
    connection->WatchIdle([this, key] { Drop(key); });
    const TimerId timer = loop_.After(options_.idle_timeout, [this, key] { Drop(key); });
    idle_.push_back({.connection = std::move(connection), .timer = timer});
  }

  void Drop(const ClientConnection* connection) {
    const auto found = std::ranges::find_if(
        idle_, [&](const Idle& idle) { return idle.connection.get() == connection; });
    if (found != idle_.end()) {
      loop_.CancelTimer(found->timer);
      const std::shared_ptr<ClientConnection> last = std::move(found->connection);
      idle_.erase(found);
    }
  }

  void LetNextIn();

  EventLoop& loop_;
  HttpTransportOptions options_;
  TrustSource trust_;
  uint64_t generation_ = 0;
  size_t in_use_ = 0;
  std::vector<Idle> idle_;  // the last one was used last
  std::deque<std::weak_ptr<Job>> waiting_;
};

// One exchange, from its request to its end.
class HttpTransport::Job : public std::enable_shared_from_this<HttpTransport::Job> {
 public:
  Job(std::shared_ptr<Pool> pool, const http::Request& request, ExchangeHandlers handlers)
      : pool_(std::move(pool)), handlers_(std::move(handlers)) {
    const net::Endpoint& endpoint = pool_->options().endpoint;
    http::Request whole = request;
    whole.target = endpoint.prefix + request.target;
    is_head_ = request.method == "HEAD";
    text_ = http::RequestText(whole, endpoint.authority(), true);
  }

  void Start() {
    if (!text_.ok()) {
      return FailLater(text_.status());
    }
    StatusOr<Trust> trust = pool_->CurrentTrust();
    if (!trust.ok()) {
      return FailLater(trust.status());
    }
    trust_ = *std::move(trust);
    generation_ = pool_->generation();
    if (std::shared_ptr<ClientConnection> idle = pool_->TakeIdle()) {
      is_counted_ = true;
      return Use(std::move(idle));
    }
    if (!pool_->MayOpen()) {
      return pool_->Enqueue(shared_from_this());
    }
    pool_->CountOpened();
    is_counted_ = true;
    dial_ = net::Dial::Start(
        pool_->loop(), pool_->options().endpoint, pool_->options().proxy,
        [this](StatusOr<UniqueFd> socket) {
          const auto self = shared_from_this();
          dial_.reset();
          OnConnected(std::move(socket));
        },
        pool_->options().dial);
  }

  void Cancel() {
    is_over_ = true;
    handlers_ = {};
    timer_.Cancel();
    dial_.reset();
    if (connection_ != nullptr) {
      connection_->Close();
      connection_.reset();
    }
    Release(nullptr);
  }
  bool is_over() const { return is_over_; }

 private:
  void OnConnected(StatusOr<UniqueFd> socket) {
    if (!socket.ok()) {
      // A name that is not known now may be known soon; a proxy's password is not.
      const bool is_refused = socket.status().code() == StatusCode::kPermissionDenied;
      return Finish(
          MakeStatus(is_refused ? StatusCode::kFailedPrecondition : StatusCode::kUnavailable,
                     Message(socket.status())));
    }
    StatusOr<std::shared_ptr<ClientConnection>> connection = Wrap(*std::move(socket));
    if (!connection.ok()) {
      return Finish(connection.status());
    }
    Use(*std::move(connection));
  }

  StatusOr<std::shared_ptr<ClientConnection>> Wrap(UniqueFd socket) {
    std::unique_ptr<tls::Session> session;
    if (trust_.context != nullptr) {
      ASSIGN_OR_RETURN(session,
                       tls::Session::ForClient(trust_.context, pool_->options().server_name));
    }
    return ClientConnection::Open(pool_->loop(), std::move(socket), std::move(session),
                                  pool_->options().endpoint.str(), kAnswerLimits);
  }

  void Use(std::shared_ptr<ClientConnection> connection) {
    connection_ = std::move(connection);
    trust_ = {};
    connection_->Send(*std::exchange(text_, std::string()), is_head_,
                      {.on_head = std::exchange(handlers_.on_head, nullptr),
                       .on_data = std::exchange(handlers_.on_data, nullptr),
                       .on_end = [this](const Status& status) { Finish(status); }});
  }

  void FailLater(Status status) {
    timer_.Arm(std::chrono::nanoseconds(0), [this, status = std::move(status)] { Finish(status); });
  }

  void Finish(const Status& status) {
    const auto self = shared_from_this();
    const ExchangeHandlers handlers = std::exchange(handlers_, {});
    is_over_ = true;
    // Before the handler: what it asks for next finds the connection.
    Release(std::exchange(connection_, nullptr));
    if (handlers.on_end) {
      handlers.on_end(status);
    }
  }

  void Release(std::shared_ptr<ClientConnection> connection) {
    if (std::exchange(is_counted_, false)) {
      pool_->GiveBack(std::move(connection), generation_);
    }
  }

  const std::shared_ptr<Pool> pool_;
  ExchangeHandlers handlers_;
  StatusOr<std::string> text_ = std::string();
  bool is_head_ = false;
  Trust trust_;
  uint64_t generation_ = 0;
  std::unique_ptr<net::Dial> dial_;
  std::shared_ptr<ClientConnection> connection_;
  Timer timer_{pool_->loop()};
  bool is_counted_ = false;  // by the pool
  bool is_over_ = false;
};

void HttpTransport::Pool::LetNextIn() {
  while (!waiting_.empty() && MayOpen()) {
    const std::shared_ptr<Job> job = waiting_.front().lock();
    waiting_.pop_front();
    if (job != nullptr && !job->is_over()) {
      job->Start();
    }
  }
}

class HttpTransport::Handle final : public Exchange {
 public:
  explicit Handle(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  ~Handle() override { job_->Cancel(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  std::shared_ptr<Job> job_;
};

HttpTransport::HttpTransport(EventLoop& loop, HttpTransportOptions options, TrustSource trust)
    : pool_(std::make_shared<Pool>(loop, std::move(options), std::move(trust))) {
}

HttpTransport::~HttpTransport() {
  pool_->Close();
}

std::unique_ptr<Exchange> HttpTransport::Start(const http::Request& request,
                                               ExchangeHandlers handlers) {
  auto job = std::make_shared<Job>(pool_, request, std::move(handlers));
  job->Start();
  return std::make_unique<Handle>(std::move(job));
}

size_t HttpTransport::idle_connections() const {
  return pool_->idle();
}

}  // namespace kgpu::kube
