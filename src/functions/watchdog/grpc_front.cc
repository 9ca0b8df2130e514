#include "src/functions/watchdog/grpc_front.h"

#include <functional>
#include <optional>
#include <utility>

#include "src/functions/watchdog/call_text.h"
#include "src/functions/watchdog/fx_message.h"
#include "src/functions/watchdog/http_front.h"
#include "src/platform/base/utf8.h"

namespace kgpu::watchdog {
namespace {

constexpr std::string_view kCallPath = "/pb.FxWatcher/Call";
constexpr std::string_view kHealthPath = "/grpc.health.v1.Health/Check";
constexpr std::string_view kWatcher = "pb.FxWatcher";
// Of a request's message besides its input: OpenFx's Info.
constexpr size_t kRoomForInfo = size_t{64} << 10;
constexpr size_t kMaxConnections = 256;
constexpr mode_t kGrpcSocketMode = 0666;

h2::PeerOptions PeerOptionsOf(const DispatchLimits& limits, size_t max_body,
                              std::shared_ptr<http::BodyBudget> bodies) {
  h2::PeerOptions options;
  options.limits.streams = static_cast<uint32_t>(limits.concurrency + limits.queue + 1);
  options.limits.body = max_body + kRoomForInfo;
  options.limits.bodies = 4 * options.limits.body;
  options.limits.all_bodies = std::move(bodies);
  return options;
}

void SendStatus(const h2::Responder& responder, h2::GrpcCode code, std::string_view text) {
  responder.Send(h2::GrpcHead(), h2::GrpcTrailers(code, text));
}

void SendMessage(const h2::Responder& responder, std::string_view message) {
  http::Response response = h2::GrpcHead();
  response.body = h2::FrameGrpcMessage(message);
  responder.Send(std::move(response), h2::GrpcTrailers(h2::GrpcCode::kOk, ""));
}

// A unary call: its answer goes out at its end.
class GrpcCaller final : public Caller {
 public:
  explicit GrpcCaller(h2::Responder responder) : responder_(std::move(responder)) {}

  void Head(CallHead head) override { status_ = head.status; }
  void Data(std::string_view bytes) override { output_ += bytes; }
  bool Flush() override { return responder_.is_open(); }
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }
  void End() override {
    if (status_ >= 400) {
      // HTTP has a code for it, gRPC a text.
      return SendStatus(responder_, h2::GrpcCode::kUnknown,
                        fmt::format("handler: status {}: {}", status_, output_));
    }
    if (FindInvalidUtf8(output_)) {
      return SendStatus(responder_, h2::GrpcCode::kInternal,
                        "output: not UTF-8, which Reply.Output must be: call it by HTTP");
    }
    SendMessage(responder_, ReplyOf(output_));
  }
  void Fail(const Fault& fault) override {
    SendStatus(responder_, GrpcCodeOf(fault.kind),
               fmt::format("{}: {}", FaultWord(fault.kind), fault.text));
  }

 private:
  h2::Responder responder_;
  int status_ = 200;
  std::string output_;
};

// Metadata as the handler's headers, without what belongs to gRPC.
http::Headers MetadataOf(const http::Request& request) {
  http::Headers headers;
  for (const auto& [name, value] : request.headers.fields()) {
    if (!name.starts_with("grpc-") && name != "te" && name != "content-type") {
      headers.Add(name, value);
    }
  }
  return headers;
}

}  // namespace

h2::GrpcCode GrpcCodeOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kHandler:
      return h2::GrpcCode::kUnknown;
    case FaultKind::kCrash:
    case FaultKind::kStarting:
    case FaultKind::kStopping:
      return h2::GrpcCode::kUnavailable;
    case FaultKind::kTimeout:
      return h2::GrpcCode::kDeadlineExceeded;
    case FaultKind::kOverload:
    case FaultKind::kOutput:
      return h2::GrpcCode::kResourceExhausted;
    case FaultKind::kReply:
      return h2::GrpcCode::kInternal;
    case FaultKind::kInput:
      return h2::GrpcCode::kInvalidArgument;
  }
  return h2::GrpcCode::kInternal;
}

GrpcFront::GrpcFront(EventLoop& loop, Pool& pool, size_t max_body,
                     std::shared_ptr<http::BodyBudget> bodies)
    : loop_(loop),
      pool_(pool),
      max_body_(max_body),
      random_(Random::SeedFromKernel()),
      server_(
          loop,
          [this](const http::Request& request, const h2::Responder& responder) {
            Handle(request, responder);
          },
          PeerOptionsOf(pool.limits(), max_body, std::move(bodies)), kMaxConnections) {
}

StatusOr<std::string> GrpcFront::Listen(const std::string& address) {
  return server_.Listen(address, kGrpcSocketMode);
}

void GrpcFront::Handle(const http::Request& request, const h2::Responder& responder) {
  if (!h2::IsGrpc(request)) {
    return responder.Send(
        http::TextResponse(415, "only gRPC is served here: call by HTTP/1.1 at the other address"));
  }
  const bool is_call = request.path == kCallPath;
  if (!is_call && request.path != kHealthPath) {
    return SendStatus(
        responder, h2::GrpcCode::kUnimplemented,
        fmt::format("no method {}: there are {} and {}", request.path, kCallPath, kHealthPath));
  }
  const StatusOr<std::string_view> message =
      h2::GrpcMessageIn(request.body, max_body_ + kRoomForInfo);
  if (!message.ok()) {
    // absl's codes are gRPC's.
    return SendStatus(responder, static_cast<h2::GrpcCode>(message.status().code()),
                      Message(message.status()));
  }
  if (is_call) {
    StartCall(request, *message, responder);
  } else {
    CheckHealth(*message, responder);
  }
}

void GrpcFront::StartCall(const http::Request& request, std::string_view message,
                          const h2::Responder& responder) {
  auto caller = std::make_unique<GrpcCaller>(responder);
  StatusOr<std::string> input = InputOf(message);
  const std::string_view given = request.headers.Find("x-call-id").value_or("");
  const std::string id = IsCallId(given) ? std::string(given) : NewCallId(random_);
  const http::Headers headers = MetadataOf(request);
  StatusOr<std::string> text = CallText({.id = id, .headers = headers});
  const auto timeout = h2::GrpcTimeoutOf(request);
  for (const Status& status : {input.status(), text.status(), timeout.status()}) {
    if (!status.ok()) {
      return caller->Fail({.kind = FaultKind::kInput, .text = std::string(Message(status))});
    }
  }
  std::optional<SteadyTime> deadline;
  if (*timeout) {
    deadline = loop_.clock().Now() + **timeout;
  }
  pool_.Call({.id = id, .text = *std::move(text), .body = *std::move(input), .deadline = deadline},
             std::move(caller));
}

void GrpcFront::CheckHealth(std::string_view message, const h2::Responder& responder) const {
  const StatusOr<std::string> service = HealthServiceOf(message);
  if (!service.ok()) {
    return SendStatus(responder, h2::GrpcCode::kInvalidArgument, Message(service.status()));
  }
  if (!service->empty() && *service != kWatcher) {
    return SendStatus(responder, h2::GrpcCode::kNotFound, "unknown service");
  }
  SendMessage(responder, HealthReply(pool_.is_ready()));
}

}  // namespace kgpu::watchdog
