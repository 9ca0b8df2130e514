#include "src/functions/watchdog/http_front.h"

#include <fmt/chrono.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/functions/watchdog/call_text.h"
#include "src/functions/watchdog/http_caller.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::watchdog {
namespace {

constexpr std::array kCallMethods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
constexpr std::string_view kOwnPaths = "/_/";
// The path and the headers of a request; in one frame with what JSON adds.
constexpr size_t kMaxHeader = size_t{64} << 10;
// Besides those that have a call here: for probes, and callers that come to be refused.
constexpr size_t kSpareConnections = 64;
constexpr size_t kMaxCallId = 128;
constexpr mode_t kSocketMode = 0666;

http::ServerOptions ServerOptionsOf(const DispatchLimits& limits,
                                    const HttpFront::Options& options) {
  http::ServerOptions server;
  server.limits = {.header = kMaxHeader, .body = options.max_body};
  server.bodies = options.bodies;
  server.max_connections = limits.concurrency + limits.queue + kSpareConnections;
  // The pool stops a worker long before; with several calls in it, the limit of output holds.
  server.stream_buffer = static_cast<size_t>(options.max_output) + (size_t{1} << 20);
  return server;
}

// As received, without query; of a target in absolute form too.
std::string_view RawPath(const http::Request& request) {
  const std::string_view target = request.target;
  if (!target.starts_with('/')) {
    return request.path;
  }
  return target.substr(0, target.find_first_of("?#"));
}

}  // namespace

int HttpCode(FaultKind kind) {
  switch (kind) {
    case FaultKind::kHandler:
      return 500;
    case FaultKind::kCrash:
    case FaultKind::kOutput:
    case FaultKind::kReply:
      return 502;
    case FaultKind::kTimeout:
      return 504;
    case FaultKind::kOverload:
      return 429;
    case FaultKind::kStarting:
    case FaultKind::kStopping:
      return 503;
    case FaultKind::kInput:
      return 400;
  }
  return 500;
}

http::Response FaultResponse(const Fault& fault) {
  http::Response response = http::TextResponse(
      HttpCode(fault.kind), fmt::format("{}: {}", FaultWord(fault.kind), fault.text));
  response.headers.Add("Kgpu-Fault", FaultWord(fault.kind));
  if (fault.kind == FaultKind::kOverload || fault.kind == FaultKind::kStarting) {
    response.headers.Add("Retry-After", "1");
  }
  return response;
}

std::string NewCallId(Random& random) {
  return fmt::format("{:016x}", random.Next());
}

bool IsCallId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxCallId && std::ranges::all_of(text, [](char c) {
    return IsAlphanumeric(c) || std::string_view("-_.:/").find(c) != std::string_view::npos;
  });
}

HttpFront::HttpFront(EventLoop& loop, Pool& pool, const Options& options)
    : loop_(loop),
      pool_(pool),
      random_(Random::SeedFromKernel()),
      started_(loop.clock().WallNow()),
      server_(
          loop,
          [this](http::Request request, const http::Responder& responder) {
            Handle(request, responder);
          },
          ServerOptionsOf(pool.limits(), options)) {
}

HttpFront::~HttpFront() = default;

StatusOr<std::string> HttpFront::Listen(const std::string& address) {
  return server_.Listen(address, kSocketMode);
}

void HttpFront::Handle(http::Request& request, const http::Responder& responder) {
  if (RawPath(request).starts_with(kOwnPaths)) {
    return responder.Send(request.method == "GET" || request.method == "HEAD"
                              ? Own(request)
                              : http::WrongMethod(request, "GET, HEAD"));
  }
  if (std::ranges::find(kCallMethods, request.method) == kCallMethods.end()) {
    return responder.Send(
        http::WrongMethod(request, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
  }
  StartCall(request, responder);
}

void HttpFront::StartCall(http::Request& request, const http::Responder& responder) {
  const std::string_view given = request.headers.Find("X-Call-Id").value_or("");
  std::string id = IsCallId(given) ? std::string(given) : NewCallId(random_);
  StatusOr<std::string> text = CallText({.id = id,
                                         .method = request.method,
                                         .path = RawPath(request),
                                         .query = request.query,
                                         .headers = request.headers});
  auto caller =
      std::make_unique<HttpCaller>(loop_.clock(), responder, id, request.method == "HEAD");
  if (!text.ok()) {
    return caller->Fail({.kind = FaultKind::kInput, .text = std::string(Message(text.status()))});
  }
  pool_.Call({.id = std::move(id), .text = *std::move(text), .body = std::move(request.body)},
             std::move(caller));
}

http::Response HttpFront::Own(const http::Request& request) const {
  if (request.path == "/_/health") {
    return http::TextResponse(200, "ok");
  }
  if (request.path == "/_/status") {
    return StatusPage();
  }
  if (request.path != "/_/ready") {
    return http::UnknownPath(request);
  }
  if (pool_.is_ready()) {
    return http::TextResponse(200, "ready");
  }
  return pool_.is_draining()
             ? FaultResponse(
                   {.kind = FaultKind::kStopping, .text = "the function is being stopped"})
             : FaultResponse({.kind = FaultKind::kStarting, .text = "no process is ready yet"});
}

http::Response HttpFront::StatusPage() const {
  const PoolStatus status = pool_.status();
  const auto milliseconds_or_null = [](const std::optional<std::chrono::milliseconds>& time) {
    return time ? boost::json::value(time->count()) : boost::json::value(nullptr);
  };
  const boost::json::value page{{"state", status.state},
                                {"workers", status.workers},
                                {"readyWorkers", status.ready_workers},
                                {"inFlight", status.running},
                                {"waiting", status.waiting},
                                {"calls", status.calls},
                                {"restarts", status.restarts},
                                {"problem", doc::View(status.problem)},
                                {"startedAt", FormatTime(started_)},
                                {"phases",
                                 {{"workerStarted", milliseconds_or_null(status.worker_started)},
                                  {"workerReady", milliseconds_or_null(status.worker_ready)}}}};
  return http::JsonResponse(200, doc::PrintLine(page));
}

}  // namespace kgpu::watchdog
