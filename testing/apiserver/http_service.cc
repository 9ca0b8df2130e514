#include "testing/apiserver/http_service.h"

#include <optional>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::apiserver {
namespace {

class HttpSink final : public Sink {
 public:
  HttpSink(EventLoop& loop, http::Responder responder)
      : loop_(loop), responder_(std::move(responder)) {}

  void Answer(const http::Response& response) override {
    if (responder_) {
      responder_->Send(response);
    }
  }
  void Begin(int code, const http::Headers& headers) override {
    if (responder_) {
      stream_ = responder_->Begin({.code = code, .headers = headers, .body = ""});
    }
  }
  bool Write(std::string_view bytes) override { return stream_ && stream_->Write(bytes); }
  void End() override {
    if (stream_) {
      stream_->End();
    }
  }
  // A stream that goes without its end is closed in the middle: later, when what was written is on
  // its way. One that begins and goes at once leaves nothing to be seen.
  void Cut() override {
    if (stream_) {
      loop_.Post([stream = std::exchange(stream_, std::nullopt)] {});
    } else if (responder_) {
      (void)responder_->Begin({.code = 200, .headers = {}, .body = ""});
    }
    responder_.reset();
  }
  bool is_open() const override {
    return stream_ ? stream_->is_open() : responder_ && responder_->is_open();
  }

 private:
  EventLoop& loop_;
  std::optional<http::Responder> responder_;
  std::optional<http::Stream> stream_;
};

}  // namespace

HttpService::HttpService(EventLoop& loop, Api& api, HttpServiceOptions options)
    : loop_(loop),
      api_(api),
      options_(options),
      server_(NewServer()),
      self_(std::make_shared<HttpService*>(this)) {
  // The Api may outlive us.
  api_.faults().OnAway([&its_loop = loop_, weak = std::weak_ptr(self_)](bool is_away) {
    // Later: the answer to the request that asked for it goes out first.
    its_loop.Post([weak, is_away] {
      if (const auto self = weak.lock(); self != nullptr) {
        (*self)->Go(is_away);
      }
    });
  });
}

HttpService::~HttpService() = default;

std::unique_ptr<http::Server> HttpService::NewServer() {
  http::ServerOptions options;
  options.max_connections = options_.max_connections;
  options.stream_buffer = options_.stream_buffer;
  options.limits.body = size_t{4} << 20;
  return std::make_unique<http::Server>(
      loop_,
      [this](const http::Request& request, const http::Responder& responder) {
        Handle(request, responder);
      },
      options);
}

StatusOr<std::string> HttpService::Listen(const std::string& address) {
  ASSIGN_OR_RETURN(std::string bound, server_->Listen(address));
  addresses_.push_back(bound);
  return bound;
}

Status HttpService::ListenForControl(const std::string& path) {
  control_ = std::make_unique<http::Server>(
      loop_, [this](const http::Request& request, const http::Responder& responder) {
        responder.Send(HandleControl(api_, request));
      });
  return control_->Listen(path).status();
}

void HttpService::Go(bool is_away) {
  if (is_away) {
    server_->Stop();
    return;
  }
  server_ = NewServer();
  for (const std::string& address : addresses_) {
    if (const auto bound = server_->Listen(address); !bound.ok()) {
      KGPU_LOG(kError, "cannot come back", {"address", address},
               {"reason", Message(bound.status())});
    }
  }
}

void HttpService::Handle(const http::Request& request, const http::Responder& responder) {
  if (request.path.starts_with("/stub/")) {
    responder.Send(HandleControl(api_, request));
    return;
  }
  api_.Handle(request, std::make_shared<HttpSink>(loop_, responder));
}

}  // namespace kgpu::apiserver
