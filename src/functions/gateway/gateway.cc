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

// "https://a.example:31113" → "a.example:31113".
std::string_view AuthorityOf(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

// "127.0.0.1:31113", "[::1]", "localhost:80"; "" of a client that names none.
bool IsAddressOrLocalhost(std::string_view host) {
  constexpr std::string_view kLocalhost = "localhost";
  if (host.starts_with('[') || host.empty()) {
    return true;
  }
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == kLocalhost || name.find_first_not_of("0123456789.") == std::string_view::npos;
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
void AddMetadata(const http::Request& from, http::Request& to) {
  for (const auto& [name, value] : from.headers.fields()) {
    if (!name.starts_with("grpc-") && name != "te" && name != "content-type" &&
        !http::EqualsIgnoringCase(name, functions::kDeadlineHeader)) {
      to.headers.Add(name, value);
    }
  }
  if (const auto limit = h2::ParseGrpcTimeout(from.headers.Find("grpc-timeout").value_or(""))) {
    const auto whole = std::chrono::ceil<milliseconds>(*limit).count();
    const auto longest = static_cast<int64_t>(kLongestDeadlineMs);
    to.headers.Add(functions::kDeadlineHeader,
                   std::to_string(std::clamp<int64_t>(whole, 1, longest)));
  }
}

}  // namespace

http::ServerOptions Http1Options() {
  http::ServerOptions options;
  options.limits = {.header = kMaxRequestHeader, .body = kMaxRequestBody};
  options.max_connections = kMaxCallers;
  return options;
}

h2::PeerOptions Http2Options() {
  h2::PeerOptions options;
  options.limits.body = kMaxRequestBody + kRoomForFields;
  options.limits.bodies = 2 * options.limits.body;
  return options;
}

Gateway::Gateway(EventLoop& loop, std::unique_ptr<Tokens> tokens, GatewayOptions options)
    : loop_(loop),
      tokens_(std::move(tokens)),
      allows_any_host_(options.allows_any_host),
      service_(std::move(options.service)),
      spaces_(std::move(options.spaces)),
      document_(doc::PrintLine(OpenApiDocument(options.version, tokens_ != nullptr))),
      upstream_(loop, std::move(options.upstream)) {
}

void Gateway::HandleHttp1(const http::Request& request, const http::Responder& responder) {
  const bool is_from_page = tokens_ != nullptr && request.headers.Find("Origin").has_value();
  Handle(request, std::make_unique<Http1Caller>(responder, is_from_page), false);
}

void Gateway::HandleHttp2(const http::Request& request, const h2::Responder& responder) {
  if (h2::IsGrpc(request)) {
    return HandleGrpc(request, responder);
  }
  const bool is_from_page = tokens_ != nullptr && request.headers.Find("Origin").has_value();
  Handle(request, std::make_unique<Http2Caller>(responder, is_from_page), false);
}

void Gateway::HandleGrpc(const http::Request& request, const h2::Responder& responder) {
  std::string_view method = request.path;
  method = method.starts_with(kFxGatewayPath) ? method.substr(kFxGatewayPath.size()) : "";
  auto caller = std::make_unique<GrpcCaller>(responder, std::string(method));
  const auto rest = [&]() -> StatusOr<http::Request> {
    ASSIGN_OR_RETURN(const std::string_view message,
                     h2::GrpcMessageIn(request.body, kMaxRequestBody + kRoomForFields));
    return RestRequest(method, message);
  };
  StatusOr<http::Request> mapped = rest();
  if (!mapped.ok()) {
    meter_.OnStarted();
    const int code = mapped.status().code() == StatusCode::kUnimplemented ? 501 : 400;
    return Refuse({.request = request, .is_grpc = true, .time = loop_.clock().Now()}, *caller, code,
                  Message(mapped.status()));
  }
  AddMetadata(request, *mapped);
  mapped->has_tls = request.has_tls;
  mapped->peer = request.peer;
  Handle(*mapped, std::move(caller), true);
}

void Gateway::Handle(const http::Request& request, std::unique_ptr<Caller> caller, bool is_grpc) {
  meter_.OnStarted();
  const RouteMatch match = FindRoute(request.method, request.path);
  const Arrival arrival{
      .request = request, .route = match.route, .is_grpc = is_grpc, .time = loop_.clock().Now()};
  if (is_draining_) {
    return Refuse(arrival, *caller, 503, "the gateway is stopping: try again");
  }
  if (IsRefusedByOrigin(arrival, *caller)) {
    return;
  }
  if (tokens_ != nullptr && IsPreflight(request)) {
    caller->Send(PreflightAnswer(request));
    return meter_.OnEnded("preflight", is_grpc, {.code = 204}, std::chrono::nanoseconds(0));
  }
  if (match.route == nullptr && match.allowed.empty()) {
    return Refuse(arrival, *caller, 404,
                  fmt::format("{}: no such path: see /openapi.json", Printable(request.path)));
  }
  if (match.route == nullptr) {
    return Refuse(arrival, *caller, 405,
                  fmt::format("{}: use {}", Printable(request.method, 40), match.allowed),
                  {{"Allow", match.allowed}});
  }
  if (IsRefusedByToken(arrival, *caller)) {
    return;
  }
  Answer(arrival, std::move(caller));
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
bool Gateway::IsRefusedByOrigin(const Arrival& arrival, Caller& caller) {
  if (tokens_ != nullptr) {
    return false;
  }
  const auto origin = arrival.request.headers.Find("Origin");
  const std::string_view host = arrival.request.headers.Find("Host").value_or("");
  if (!allows_any_host_ && !IsAddressOrLocalhost(host)) {
    Refuse(arrival, caller, 403,
           fmt::format("{}: a gateway without tokens is called by its address or as localhost: use "
                       "these, or start it with --tokens or --allow-anonymous",
                       Printable(host)));
    return true;
  }
  if (!origin || AuthorityOf(*origin) == host) {
    return false;
  }
  Refuse(arrival, caller, 403,
         "pages of other sites may not use a gateway without tokens: start it with --tokens");
  return true;
}

bool Gateway::IsRefusedByToken(const Arrival& arrival, Caller& caller) {
  if (tokens_ == nullptr) {
    return false;
  }
  const auto authorization = arrival.request.headers.Find("Authorization");
  const std::string space = SpaceOf(*arrival.route, arrival.request, spaces_);
  Verdict verdict = tokens_->Check(authorization, arrival.route->role, space);
  // A callback is made from this host's network, where it reaches what its caller may not.
  if (verdict.code == 200 && arrival.request.headers.Find(functions::kCallbackHeader)) {
    verdict = tokens_->Check(authorization, Role::kDeploy, space);
    verdict.text = fmt::format("{}: {}", functions::kCallbackHeader, verdict.text);
  }
  if (verdict.code == 200) {
    return false;
  }
  const http::Headers challenge = {{"WWW-Authenticate", "Bearer realm=\"kgpu gateway\""}};
  Refuse(arrival, caller, verdict.code, verdict.text,
         verdict.code == 401 ? challenge : http::Headers());
  return true;
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
      loop_, upstream_, passed, std::move(caller), deadline,
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
  service_(request,
           http::Responder(std::make_shared<LocalAnswer>(std::move(caller), std::move(done))));
}

// The request as the service gets it: without the fields that concern one connection only, and
// without the caller's token, which functions must not see.
http::Request Gateway::Passed(const http::Request& request) const {
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
  passed.body = request.body;
  return passed;
}

void Gateway::OnEnded(uint64_t number, const RelayResult& result) {
  const auto running = relays_.extract(number);
  const Running& ended = running.mapped();
  meter_.OnEnded(ended.route->id, ended.is_grpc, result, loop_.clock().Now() - ended.arrived);
}

}  // namespace kgpu::gateway
