#include "src/functions/gateway/gateway.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "src/functions/gateway/fx_gateway.h"
#include "src/functions/gateway/local_answer.h"
#include "src/functions/gateway/metrics_caller.h"
#include "src/functions/gateway/openapi.h"
#include "src/functions/service/async_call.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/origin.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/h2/grpc_message.h"

namespace kgpu::gateway {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxRequestHeader = size_t{64} << 10;
constexpr size_t kMaxCallers = 1'024;
// Of a gRPC message besides a call's input.
constexpr size_t kRoomForFields = size_t{64} << 10;
// Of requests that a service in this process answers: as many as one behind a socket would get.
constexpr size_t kMaxLocal = 900;
constexpr size_t kMaxLocalBytes = size_t{256} << 20;
constexpr uint64_t kLongestDeadlineMs = 86'400'000;
constexpr char kForwardedFor[] = "X-Forwarded-For";
constexpr char kForwardedProto[] = "X-Forwarded-Proto";
constexpr std::string_view kCorsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";
// Ours to say.
constexpr std::array<std::string_view, 4> kReplaced = {
    functions::kFaultHeader, functions::kDeadlineHeader, kForwardedFor, kForwardedProto};

bool IsAny(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(
      names, [name](std::string_view other) { return http::EqualsIgnoringCase(name, other); });
}

// A person who looks what answers here.
bool IsStart(const http::Request& request) {
  return request.path == "/" && (request.method == "GET" || request.method == "HEAD");
}

bool IsPreflight(const http::Request& request) {
  return request.method == "OPTIONS" && request.headers.Find("Origin") &&
         request.headers.Find("Access-Control-Request-Method");
}

// Source: the Fetch standard, "CORS protocol".
http::Response PreflightAnswer(const http::Request& request) {
  http::Response response{.code = 204};
  response.headers.Add("Access-Control-Allow-Methods", kCorsMethods);
  if (const auto names = request.headers.Find("Access-Control-Request-Headers")) {
    response.headers.Add("Access-Control-Allow-Headers", *names);
  }
  response.headers.Add("Access-Control-Max-Age", "600");
  return response;
}

// Metadata as headers, without what belongs to gRPC and what the mapped request says itself.
// Errors: InvalidArgument (the deadline).
Status AddMetadata(const http::Request& from, http::Request& to) {
  for (const auto& [name, value] : from.headers.fields()) {
    if (!name.starts_with("grpc-") && name != "te" && name != "content-type" &&
        !http::EqualsIgnoringCase(name, functions::kDeadlineHeader)) {
      to.headers.Add(name, value);
    }
  }
  ASSIGN_OR_RETURN(const auto limit, h2::GrpcTimeoutOf(from));
  if (limit) {
    const auto whole = std::chrono::ceil<milliseconds>(*limit).count();
    const auto longest = static_cast<int64_t>(kLongestDeadlineMs);
    to.headers.Add(functions::kDeadlineHeader,
                   std::to_string(std::clamp<int64_t>(whole, 1, longest)));
  }
  return OkStatus();
}

}  // namespace

Gateway::Gateway(EventLoop& loop, std::unique_ptr<Tokens> tokens, GatewayOptions options)
    : loop_(loop),
      tokens_(std::move(tokens)),
      allows_any_host_(options.allows_any_host),
      service_(std::move(options.service)),
      spaces_(std::move(options.spaces)),
      document_(doc::PrintLine(OpenApiDocument(options.version, tokens_ != nullptr))),
      upstream_(loop, std::move(options.upstream)) {
}

// With tokens, pages of any site may read answers: without one they get none.
bool Gateway::IsFromPage(const http::Request& request) const {
  return tokens_ != nullptr && request.headers.Find("Origin").has_value();
}

void Gateway::HandleHttp1(http::Request request, const http::Responder& responder) {
  Handle(request, std::make_unique<Http1Caller>(responder, IsFromPage(request)), false);
}

void Gateway::HandleHttp2(http::Request request, const h2::Responder& responder) {
  if (h2::IsGrpc(request)) {
    return HandleGrpc(request, responder);
  }
  Handle(request, std::make_unique<Http2Caller>(responder, IsFromPage(request)), false);
}

void Gateway::HandleGrpc(http::Request& request, const h2::Responder& responder) {
  std::string_view method = request.path;
  method = method.starts_with(kFxGatewayPath) ? method.substr(kFxGatewayPath.size()) : "";
  auto caller = std::make_unique<GrpcCaller>(responder, std::string(method));
  const auto rest = [&]() -> StatusOr<http::Request> {
    ASSIGN_OR_RETURN(const std::string_view message,
                     h2::GrpcMessageIn(request.body, kMaxRequestBody + kRoomForFields));
    ASSIGN_OR_RETURN(http::Request request_of_rest, RestRequest(method, message));
    RETURN_IF_ERROR(AddMetadata(request, request_of_rest));
    return request_of_rest;
  };
  StatusOr<http::Request> mapped = rest();
  if (!mapped.ok()) {
    meter_.OnStarted();
    const int code = mapped.status().code() == StatusCode::kUnimplemented ? 501 : 400;
    return Refuse({.request = request, .is_grpc = true, .time = loop_.clock().Now()}, *caller, code,
                  Message(mapped.status()));
  }
  mapped->has_tls = request.has_tls;
  mapped->peer = request.peer;
  Handle(*mapped, std::move(caller), true);
}

void Gateway::Handle(http::Request& request, std::unique_ptr<Caller> caller, bool is_grpc) {
  meter_.OnStarted();
  const RouteMatch match = FindRoute(request.method, request.path);
  const Arrival arrival{
      .request = request, .route = match.route, .is_grpc = is_grpc, .time = loop_.clock().Now()};
  if (const std::optional<Objection> objection = ObjectionTo(request, match)) {
    return Refuse(arrival, *caller, objection->code, objection->text, objection->headers);
  }
  if (IsStart(request)) {
    caller->Send(http::LinksPage("kgpu: gateway of functions", {"openapi.json", "healthz"}));
    return meter_.OnEnded("start", is_grpc, {.code = 200}, std::chrono::nanoseconds(0));
  }
  if (tokens_ != nullptr && IsPreflight(request)) {
    caller->Send(PreflightAnswer(request));
    return meter_.OnEnded("preflight", is_grpc, {.code = 204}, std::chrono::nanoseconds(0));
  }
  Answer(arrival, std::move(caller));
}

http::ServerOptions Gateway::Http1Options() {
  http::ServerOptions options;
  options.limits = {.header = kMaxRequestHeader, .body = kMaxRequestBody};
  options.max_connections = kMaxCallers;
  options.judge = [this](const http::Request& request) { return Judge(request); };
  return options;
}

h2::PeerOptions Gateway::Http2Options() {
  h2::PeerOptions options;
  options.limits.body = kMaxRequestBody + kRoomForFields;
  options.limits.bodies = 2 * options.limits.body;
  options.judge = [this](const http::Request& request) { return JudgeHttp2(request); };
  return options;
}

std::optional<http::Response> Gateway::Judge(const http::Request& request) {
  const RouteMatch match = FindRoute(request.method, request.path);
  const std::optional<Objection> objection = ObjectionTo(request, match);
  if (!objection) {
    return std::nullopt;
  }
  meter_.OnStarted();
  meter_.OnEnded(match.route == nullptr ? "none" : match.route->id, false,
                 {.code = objection->code}, std::chrono::nanoseconds(0));
  http::Response response = ErrorResponse(objection->code, objection->text);
  for (const auto& [name, value] : objection->headers.fields()) {
    response.headers.Add(name, value);
  }
  return Allowing(std::move(response), IsFromPage(request));
}

std::optional<h2::Answer> Gateway::JudgeHttp2(const http::Request& request) {
  if (!h2::IsGrpc(request)) {
    std::optional<http::Response> refusal = Judge(request);
    return refusal ? std::optional(h2::Answer{.response = *std::move(refusal)}) : std::nullopt;
  }
  const std::optional<Objection> objection = ObjectionToGrpc(request);
  if (!objection) {
    return std::nullopt;
  }
  meter_.OnStarted();
  meter_.OnEnded("none", true, {.code = objection->code}, std::chrono::nanoseconds(0));
  const GrpcStatus status = StatusOfAnswer(ErrorResponse(objection->code, objection->text));
  return h2::Answer{.response = h2::GrpcHead(),
                    .trailers = h2::GrpcTrailers(status.code, status.text)};
}

std::optional<Gateway::Objection> Gateway::ObjectionTo(const http::Request& request,
                                                       const RouteMatch& match) {
  if (is_draining_) {
    return Objection{503, "the gateway is stopping: try again"};
  }
  if (std::optional<Objection> objection = ObjectionToOrigin(request)) {
    return objection;
  }
  if (IsStart(request) || (tokens_ != nullptr && IsPreflight(request))) {
    return std::nullopt;  // it is answered here
  }
  if (std::optional<Objection> objection = ObjectionToRoute(request, match)) {
    return objection;
  }
  if (tokens_ == nullptr) {
    return std::nullopt;
  }
  return ObjectionToToken(request, match.route->role, SpaceOf(*match.route, request, spaces_));
}

// Before its message is there: for which function, and so for which namespace, is not known yet.
std::optional<Gateway::Objection> Gateway::ObjectionToGrpc(const http::Request& request) {
  if (is_draining_) {
    return Objection{503, "the gateway is stopping: try again"};
  }
  if (std::optional<Objection> objection = ObjectionToOrigin(request)) {
    return objection;
  }
  const std::string_view path = request.path;
  const std::string_view method =
      path.starts_with(kFxGatewayPath) ? path.substr(kFxGatewayPath.size()) : "";
  const auto routes = Routes();
  const auto route = std::ranges::find(routes, RouteIdOf(method), &Route::id);
  if (route == routes.end()) {
    return Objection{405, fmt::format("pb.FxGateway has no method {}", Printable(method, 100))};
  }
  return tokens_ == nullptr ? std::nullopt : ObjectionToToken(request, route->role, std::nullopt);
}

std::optional<Gateway::Objection> Gateway::ObjectionToRoute(const http::Request& request,
                                                            const RouteMatch& match) {
  if (match.route != nullptr) {
    return std::nullopt;
  }
  if (match.allowed.empty()) {
    return Objection{404,
                     fmt::format("{}: no such path: see /openapi.json", Printable(request.path))};
  }
  return Objection{405,
                   fmt::format("{}: use {}", Printable(request.method, 40), match.allowed),
                   {{"Allow", match.allowed}}};
}

void Gateway::Refuse(const Arrival& arrival, Caller& caller, int code, std::string_view text,
                     const http::Headers& headers) {
  http::Response response = ErrorResponse(code, text);
  for (const auto& [name, value] : headers.fields()) {
    response.headers.Add(name, value);
  }
  caller.Send(std::move(response));
  meter_.OnEnded(arrival.route == nullptr ? "none" : arrival.route->id, arrival.is_grpc,
                 {.code = code}, loop_.clock().Now() - arrival.time);
}

// A browser on this machine reaches a gateway that needs no tokens, whatever site its page is of.
std::optional<Gateway::Objection> Gateway::ObjectionToOrigin(const http::Request& request) const {
  if (tokens_ != nullptr) {
    return std::nullopt;
  }
  std::string problem = functions::ForeignPageProblem(request, allows_any_host_);
  return problem.empty() ? std::nullopt : std::optional(Objection{403, std::move(problem)});
}

std::optional<Gateway::Objection> Gateway::ObjectionToToken(const http::Request& request, Role role,
                                                            std::optional<std::string_view> space) {
  const auto authorization = request.headers.Find("Authorization");
  Verdict verdict = tokens_->Check(authorization, role, space);
  // A callback is made from this host's network, where it reaches what its caller may not.
  if (verdict.code == 200 && request.headers.Find(functions::kCallbackHeader)) {
    verdict = tokens_->Check(authorization, Role::kDeploy, space);
    verdict.text = fmt::format("{}: {}", functions::kCallbackHeader, verdict.text);
  }
  if (verdict.code == 200) {
    return std::nullopt;
  }
  Objection objection{verdict.code, std::move(verdict.text)};
  if (verdict.code == 401) {
    objection.headers.Add("WWW-Authenticate", "Bearer realm=\"kgpu gateway\"");
  }
  return objection;
}

void Gateway::Answer(const Arrival& arrival, std::unique_ptr<Caller> caller) {
  switch (arrival.route->answerer) {
    case Answerer::kService:
      return PassOn(arrival, std::move(caller));
    case Answerer::kMetrics:
      return PassOn(arrival, WithOwnMetrics(arrival.request, std::move(caller)));
    case Answerer::kDocument:
      caller->Send(http::JsonResponse(200, document_));
      return meter_.OnEnded(arrival.route->id, arrival.is_grpc, {.code = 200},
                            loop_.clock().Now() - arrival.time);
    case Answerer::kRedirect:
      http::Response response{.code = 308};
      response.headers.Add("Location", "/openapi.json");
      caller->Send(std::move(response));
      return meter_.OnEnded(arrival.route->id, arrival.is_grpc, {.code = 308},
                            loop_.clock().Now() - arrival.time);
  }
}

std::unique_ptr<Caller> Gateway::WithOwnMetrics(const http::Request& request,
                                                std::unique_ptr<Caller> caller) {
  const bool is_open_metrics =
      request.headers.Find("Accept").value_or("").find("openmetrics") != std::string_view::npos;
  return std::make_unique<MetricsCaller>(
      std::move(caller), is_open_metrics,
      [this](metrics::Format format, bool is_up) { return meter_.Page(format, is_up); });
}

void Gateway::PassOn(const Arrival& arrival, std::unique_ptr<Caller> caller) {
  const StatusOr<std::optional<milliseconds>> asked = functions::CallerPatience(arrival.request);
  if (!asked.ok()) {
    return Refuse(arrival, *caller, 400, Message(asked.status()));
  }
  const std::optional<milliseconds> limit = *asked;
  std::optional<SteadyTime> deadline;
  http::Request passed = Passed(arrival.request);
  if (limit) {
    deadline = arrival.time + *limit;
    passed.headers.Add(functions::kDeadlineHeader, std::to_string(limit->count()));
  }
  if (service_) {
    return AnswerHere(arrival, std::move(passed), std::move(caller));
  }
  const uint64_t number = ++last_relay_;
  Running& running = relays_[number];
  running = {.route = arrival.route, .is_grpc = arrival.is_grpc, .arrived = arrival.time};
  running.relay = std::make_unique<Relay>(
      loop_, upstream_, std::move(passed), std::move(caller), deadline,
      [this, number](const RelayResult& result) { OnEnded(number, result); });
}

void Gateway::AnswerHere(const Arrival& arrival, http::Request request,
                         std::unique_ptr<Caller> caller) {
  const size_t bytes = request.body.size();
  if (local_ >= kMaxLocal || local_bytes_ + bytes > kMaxLocalBytes) {
    return Refuse(arrival, *caller, 429, "too many requests are under way: try again later");
  }
  ++local_;
  local_bytes_ += bytes;
  auto done = lifetime_.Bind([this, bytes, route = arrival.route, is_grpc = arrival.is_grpc,
                              arrived = arrival.time](const RelayResult& result) {
    --local_;
    local_bytes_ -= bytes;
    meter_.OnEnded(route->id, is_grpc, result, loop_.clock().Now() - arrived);
  });
  request.path = arrival.request.path;
  request.query = arrival.request.query;
  service_(std::move(request),
           http::Responder(std::make_shared<LocalAnswer>(std::move(caller), std::move(done))));
}

// The request as the service gets it, with its body: without the fields that concern one connection
// only, and without the caller's token, which functions must not see.
http::Request Gateway::Passed(http::Request& request) const {
  http::Request passed{.method = request.method, .target = request.target};
  passed.headers = functions::EndToEnd(request.headers);
  std::string forwarded;
  for (const auto& [name, value] : passed.headers.fields()) {
    if (http::EqualsIgnoringCase(name, kForwardedFor)) {
      forwarded.append(forwarded.empty() ? "" : ", ").append(value);
    }
  }
  passed.headers.EraseIf([this](std::string_view name) {
    const bool is_token = tokens_ != nullptr && http::EqualsIgnoringCase(name, "Authorization");
    return is_token || IsAny(name, kReplaced);
  });
  if (!request.peer.empty()) {
    forwarded.append(forwarded.empty() ? "" : ", ").append(request.peer);
  }
  if (!forwarded.empty()) {
    passed.headers.Add(kForwardedFor, forwarded);
  }
  passed.headers.Add(kForwardedProto, request.has_tls ? "https" : "http");
  passed.body = std::move(request.body);
  return passed;
}

void Gateway::OnEnded(uint64_t number, const RelayResult& result) {
  const auto running = relays_.extract(number);
  const Running& ended = running.mapped();
  meter_.OnEnded(ended.route->id, ended.is_grpc, result, loop_.clock().Now() - ended.arrived);
}

}  // namespace kgpu::gateway
