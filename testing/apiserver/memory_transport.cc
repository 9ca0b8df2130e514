#include "testing/apiserver/memory_transport.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kgpu::apiserver {
namespace {

struct Head {
  int code;
  http::Headers headers;
};
struct Tail {
  Status status;
};
using Piece = std::variant<Head, std::string, Tail>;

// The server's end and the client's end of one exchange. Pieces are handed to the client in tasks
// of the loop, one after the other, never from within the server or Start.
class Pipe final : public Sink, public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(EventLoop& loop, kube::ExchangeHandlers handlers, const MemoryTransportOptions& options)
      : loop_(loop), handlers_(std::move(handlers)), options_(options) {}

  void GiveUp() {
    is_given_up_ = true;
    pieces_.clear();
    handlers_ = {};
  }

  void Answer(const http::Response& response) override {
    Begin(response.code, response.headers);
    Write(response.body);
    End();
  }
  void Begin(int code, const http::Headers& headers) override { Push(Head{code, headers}); }
  bool Write(std::string_view bytes) override {
    if (!is_open()) {
      return false;
    }
    unread_ += bytes.size();
    if (unread_ > options_.max_unread) {
      Cut();
      return false;
    }
    if (!bytes.empty()) {
      Push(std::string(bytes));
    }
    return true;
  }
  void End() override { Finish(OkStatus()); }
  void Cut() override { Finish(Unavailable("the connection was reset by the peer")); }
  bool is_open() const override { return !is_given_up_ && !is_finished_; }

  void Finish(Status status) {
    if (is_open()) {
      Push(Tail{std::move(status)});
      is_finished_ = true;
    }
  }

 private:
  void Push(Piece piece) {
    if (!is_open()) {
      return;
    }
    pieces_.push_back(std::move(piece));
    const auto deliver = [self = shared_from_this()] { self->Deliver(); };
    if (options_.latency.count() == 0) {
      loop_.Post(deliver);
    } else {
      loop_.After(options_.latency, deliver);
    }
  }

  // One piece: each has its own task, so that their order is that of other tasks too.
  void Deliver() {
    if (is_given_up_ || pieces_.empty()) {
      return;
    }
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    // Copies: the handler may destroy the exchange, and the handlers with it.
    if (const auto* head = std::get_if<Head>(&piece); head != nullptr) {
      if (const auto on_head = handlers_.on_head; on_head) {
        on_head(head->code, head->headers);
      }
    } else if (const auto* bytes = std::get_if<std::string>(&piece); bytes != nullptr) {
      unread_ -= bytes->size();
      if (const auto on_data = handlers_.on_data; on_data) {
        on_data(*bytes);
      }
    } else if (const auto on_end = handlers_.on_end; on_end) {
      handlers_ = {};
      on_end(std::get<Tail>(piece).status);
    }
  }

  EventLoop& loop_;
  kube::ExchangeHandlers handlers_;
  MemoryTransportOptions options_;
  std::deque<Piece> pieces_;
  size_t unread_ = 0;
  bool is_given_up_ = false;
  bool is_finished_ = false;
};

class MemoryExchange final : public kube::Exchange {
 public:
  explicit MemoryExchange(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
  ~MemoryExchange() override { pipe_->GiveUp(); }
  MemoryExchange(const MemoryExchange&) = delete;
  MemoryExchange& operator=(const MemoryExchange&) = delete;

 private:
  std::shared_ptr<Pipe> pipe_;
};

}  // namespace

MemoryTransport::MemoryTransport(EventLoop& loop, Api& api, MemoryTransportOptions options)
    : loop_(loop), api_(api), options_(options) {
}

std::unique_ptr<kube::Exchange> MemoryTransport::Start(const http::Request& request,
                                                       kube::ExchangeHandlers handlers) {
  const auto pipe = std::make_shared<Pipe>(loop_, std::move(handlers), options_);
  if (api_.faults().is_away()) {
    pipe->Finish(Unavailable("connection refused"));
  } else {
    const auto arrive = [&api = api_, pipe, request] {
      if (pipe->is_open()) {
        api.Handle(request, pipe);
      }
    };
    if (options_.latency.count() == 0) {
      loop_.Post(arrive);
    } else {
      loop_.After(options_.latency, arrive);
    }
  }
  return std::make_unique<MemoryExchange>(pipe);
}

}  // namespace kgpu::apiserver
