#include "src/kube/api/http_client.h"

#include <boost/json/value.hpp>

#include <optional>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/query.h"
#include "src/kube/api/warnings.h"
#include "src/kube/api/watch_frames.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::nanoseconds;

// Limit for an error's body, which is text for people.
constexpr size_t kMaxErrorBody = size_t{256} << 10;

// A budget that forbids an eviction answers 429 too: that says nothing of the server's load.
bool IsThrottling(const Status& status) {
  const std::optional<ApiError> error = ApiErrorOf(status);
  return error && (error->code == 429 || error->code >= 500) &&
         error->retry_after.value_or(std::chrono::seconds(0)) > std::chrono::seconds(0) &&
         !HasReason(status, "DisruptionBudget");
}

// Changes the code of a local error so that no caller takes it for the server's answer: a file or
// name that is not found must not look like a missing object.
Status OfOurSide(const Status& status, std::string_view what) {
  const bool is_plain = status.code() == StatusCode::kUnavailable ||
                        status.code() == StatusCode::kDeadlineExceeded ||
                        status.code() == StatusCode::kResourceExhausted;
  return MakeStatus(is_plain ? status.code() : StatusCode::kFailedPrecondition,
                    fmt::format("{}: {}", what, Message(status)));
}

}  // namespace

class HttpClient::Shared {
 public:
  EventLoop& loop;
  Transport& transport;
  Authenticator& authenticator;
  Random& random;
  const ClientOptions options;
  RequestGate gate;
  WarningLog warnings{};
};

// One request from its turn at the gate to its end. Shared, so that a handler may destroy the call
// that calls it.
class HttpClient::Flow : public std::enable_shared_from_this<HttpClient::Flow> {
 public:
  Flow(Shared& shared, ApiRequest request)
      : shared_(shared),
        request_(std::move(request)),
        what_(fmt::format("{} {}", request_.method, request_.path)),
        reconnect_(shared.random, shared.options.reconnect) {}

  void SetDone(Done done) { done_ = std::move(done); }
  void SetStream(StreamHandlers handlers) {
    is_stream_ = true;
    handlers_ = std::move(handlers);
  }

  void Start() { Enter(); }

  void Cancel() {
    shared_.gate.Leave(std::exchange(ticket_, 0));
    deadline_.Cancel();
    pause_.Cancel();
    exchange_.reset();
    done_ = nullptr;
    handlers_ = {};
  }

 private:
  // Waits for its turn.
  void Enter() {
    ticket_ = shared_.gate.Wait([this] { OnEntered(); });
    if (ticket_ == 0) {
      pause_.Arm(nanoseconds(0), [this] {
        Finish(ResourceExhausted("{}: already {} requests waiting for the API server", what_,
                                 shared_.options.gate.max_waiting));
      });
    }
  }

  void OnEntered() {
    ticket_ = 0;
    if (!ends_at_) {
      ends_at_ = shared_.loop.clock().Now() + request_.timeout;
      deadline_.Arm(request_.timeout, [this] {
        Finish(DeadlineExceeded("{}: no complete answer within {} ms", what_,
                                request_.timeout.count()));
      });
    }
    shared_.authenticator.Authenticate(
        [weak = weak_from_this(), turn = ++turn_](StatusOr<http::Headers> fields) {
          const std::shared_ptr<Flow> self = weak.lock();
          // One that was given up, or asked again meanwhile, does not wait for this any more.
          if (self && self->turn_ == turn && self->IsWanted()) {
            self->OnAuthenticated(std::move(fields));
          }
        });
  }

  void OnAuthenticated(StatusOr<http::Headers> fields) {
    if (!fields.ok()) {
      // From the loop: the authenticator may have called from within the gate.
      pause_.Arm(nanoseconds(0),
                 [this, status = fields.status()] { Finish(OfOurSide(status, what_)); });
      return;
    }
    http::Request request{.method = request_.method,
                          .target = TargetOf(request_.path, request_.query),
                          .headers = *std::move(fields),
                          .body = request_.body};
    request.headers.Add("User-Agent", shared_.options.user_agent);
    request.headers.Add("Accept", "application/json");
    if (!request_.content_type.empty()) {
      request.headers.Add("Content-Type", request_.content_type);
    }
    code_ = 0;
    body_.clear();
    frames_ = std::make_unique<WatchFrames>(what_, shared_.options.max_frame);
    exchange_ = shared_.transport.Start(
        request,
        {.on_head = [this](int code, const http::Headers& headers) { OnHead(code, headers); },
         .on_data = [this](std::string_view bytes) { OnData(bytes); },
         .on_end = [this](const Status& status) { OnEnd(status); }});
  }

  bool IsWanted() const { return done_ != nullptr || handlers_.on_end != nullptr; }
  bool IsStreaming() const { return is_stream_ && code_ >= 200 && code_ < 300; }

  void OnHead(int code, const http::Headers& headers) {
    code_ = code;
    headers_ = headers;
    shared_.warnings.Note(headers, what_);
    if (IsStreaming()) {
      deadline_.Cancel();
      const auto self = shared_from_this();
      // A copy: the handler may give the call up, and itself with it.
      if (const auto on_begin = handlers_.on_begin) {
        on_begin();
      }
    }
  }

  void OnData(std::string_view bytes) {
    if (IsStreaming()) {
      return handlers_.on_text ? OnText(bytes) : OnFrames(bytes);
    }
    const bool is_error = code_ < 200 || code_ >= 300;
    const size_t limit = is_error ? kMaxErrorBody : shared_.options.max_answer;
    if (bytes.size() <= limit - body_.size()) {
      body_ += bytes;
    } else if (is_error) {
      OnAnswer();  // what is there must do
    } else {
      Finish(OutOfRange("{}: the answer is larger than {} bytes: ask for less at a time", what_,
                        limit));
    }
  }

  void OnText(std::string_view bytes) {
    const auto self = shared_from_this();
    // A copy: the handler may give the call up, and itself with it.
    const auto on_text = handlers_.on_text;
    on_text(bytes);
  }

  void OnFrames(std::string_view bytes) {
    const auto self = shared_from_this();
    const Status status = frames_->Feed(bytes, [this](WatchEventType type, json::value&& object) {
      // A copy: the handler may give the call up, and itself with it.
      const auto on_event = handlers_.on_event;
      if (on_event) {
        on_event(type, std::move(object));
      }
      return handlers_.on_end != nullptr;
    });
    if (!status.ok() && IsWanted()) {
      Throttle(status);
      Finish(status);
    }
  }

  void OnEnd(const Status& status) {
    exchange_.reset();
    if (!status.ok()) {
      return OnBroken(OfOurSide(status, what_));
    }
    if (!IsStreaming()) {
      OnAnswer();
    } else if (frames_->IsBetweenEvents()) {
      Finish(json::value());
    } else {
      Finish(Unavailable("{}: the watch ended inside an event", what_));
    }
  }

  // The connection did not bring an answer to its end.
  void OnBroken(const Status& status) {
    const bool reads = request_.method == "GET" || request_.method == "HEAD";
    const bool is_worth_it = status.code() == StatusCode::kUnavailable && reads && !is_stream_;
    if (!is_worth_it || !Repeat(reconnect_.Next(shared_.loop.clock().Now()))) {
      Finish(status);
    }
  }

  void OnAnswer() {
    exchange_.reset();
    const Status status = StatusOfAnswer(code_, headers_, body_, what_);
    if (status.ok()) {
      return FinishWithBody();
    }
    if (code_ == 401) {
      shared_.authenticator.Reject();
      if (!std::exchange(was_rejected_, true)) {
        return Enter();
      }
    }
    const nanoseconds pause = Throttle(status);
    if (pause > nanoseconds(0) && !is_stream_ && Repeat(pause)) {
      return;
    }
    Finish(status);
  }

  // Leaves the server alone as it asked; how long that is for this request.
  nanoseconds Throttle(const Status& status) {
    if (!IsThrottling(status)) {
      return nanoseconds(0);
    }
    const nanoseconds asked = RetryAfterOf(status);
    // Nodes that were refused together must not come back together.
    const nanoseconds pause = asked + shared_.random.PartOf(asked / 2);
    shared_.gate.Pause(pause);
    return pause;
  }

  // False: it would be over by then, or was repeated often enough.
  bool Repeat(nanoseconds pause) {
    if (!request_.is_repeated || repeats_ >= shared_.options.max_repeats ||
        shared_.loop.clock().Now() + pause >= ends_at_.value_or(SteadyTime{})) {
      return false;
    }
    ++repeats_;
    pause_.Arm(pause, [this] { Enter(); });
    return true;
  }

  void FinishWithBody() {
    if (Trim(body_).empty()) {
      return Finish(json::value());
    }
    StatusOr<json::value> object = ParseObject(body_, what_);
    std::string().swap(body_);
    if (!object.ok()) {
      return Finish(MakeStatus(StatusCode::kUnavailable, Message(object.status())));
    }
    Finish(std::move(object));
  }

  void Finish(StatusOr<json::value> result) {
    const auto self = shared_from_this();
    const Done done = std::exchange(done_, nullptr);
    const auto on_end = std::exchange(handlers_.on_end, nullptr);
    Cancel();
    if (done) {
      done(std::move(result));
    } else if (on_end) {
      on_end(result.status());
    }
  }

  Shared& shared_;
  const ApiRequest request_;
  const std::string what_;  // for errors
  bool is_stream_ = false;
  Done done_;
  StreamHandlers handlers_;

  RequestGate::Ticket ticket_ = 0;
  uint64_t turn_ = 0;  // of asking the authenticator
  std::optional<SteadyTime> ends_at_;
  Timer deadline_{shared_.loop};
  Timer pause_{shared_.loop};
  int repeats_ = 0;
  bool was_rejected_ = false;
  Backoff reconnect_;

  std::unique_ptr<Exchange> exchange_;
  int code_ = 0;
  http::Headers headers_;
  std::string body_;
  std::unique_ptr<WatchFrames> frames_;
};

class HttpClient::Handle final : public Call {
 public:
  explicit Handle(std::shared_ptr<Flow> flow) : flow_(std::move(flow)) {}
  ~Handle() override { flow_->Cancel(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  std::shared_ptr<Flow> flow_;
};

HttpClient::HttpClient(EventLoop& loop, Transport& transport, Authenticator& authenticator,
                       Random& random, ClientOptions options)
    : shared_(new Shared{.loop = loop,
                         .transport = transport,
                         .authenticator = authenticator,
                         .random = random,
                         .options = options,
                         .gate = RequestGate(loop, options.gate)}) {
}

HttpClient::~HttpClient() = default;

std::unique_ptr<Call> HttpClient::Send(ApiRequest request, Done done) {
  auto flow = std::make_shared<Flow>(*shared_, std::move(request));
  flow->SetDone(std::move(done));
  flow->Start();
  return std::make_unique<Handle>(std::move(flow));
}

std::unique_ptr<Call> HttpClient::Stream(ApiRequest request, StreamHandlers handlers) {
  auto flow = std::make_shared<Flow>(*shared_, std::move(request));
  flow->SetStream(std::move(handlers));
  flow->Start();
  return std::make_unique<Handle>(std::move(flow));
}

}  // namespace kgpu::kube
