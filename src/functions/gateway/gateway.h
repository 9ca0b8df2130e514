// `kgpu fn gateway`: OpenFx's API for callers on the network, by REST and gRPC, in front of the
// function service of this machine. docs/reference/gateway.md lists paths and codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/gateway/caller.h"
#include "src/functions/gateway/meter.h"
#include "src/functions/gateway/relay.h"
#include "src/functions/gateway/routes.h"
#include "src/functions/gateway/tokens.h"
#include "src/functions/gateway/upstream.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/net/h2/peer.h"
#include "src/platform/net/http/server.h"

namespace kgpu::gateway {

// The largest body of a request, as the function service has it.
inline constexpr size_t kMaxRequestBody = size_t{16} << 20;

struct GatewayOptions {
  std::string version{};
  UpstreamOptions upstream{};
  // A service in this process, instead of one behind `upstream`.
  http::Server::Handler service{};
  // The namespaces of the functions; requests that name none are for the first.
  std::vector<std::string> spaces = {"default"};
  // Without tokens: whether requests may name the gateway's host by any name, instead of by an
  // address or "localhost". A page of any site can make its name mean 127.0.0.1.
  bool allows_any_host = false;
};

// Lives on the loop's thread.
class Gateway {
 public:
  // `loop` must outlive it. `tokens`: null for a gateway that everybody may use.
  Gateway(EventLoop& loop, std::unique_ptr<Tokens> tokens, GatewayOptions options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void HandleHttp1(http::Request request, const http::Responder& responder);
  // gRPC, and REST by HTTP/2.
  void HandleHttp2(http::Request request, const h2::Responder& responder);

  // Options of servers whose handlers are those of this, and which must not outlive it: limits, and
  // a judge that refuses requests before their bodies are received.
  http::ServerOptions Http1Options();
  h2::PeerOptions Http2Options();

  // Refuses new requests with code 503; those in progress go on.
  void Drain() { is_draining_ = true; }
  bool is_busy() const { return !relays_.empty() || local_ > 0; }

 private:
  struct Arrival {
    http::Request& request;
    const Route* route = nullptr;  // null: none
    bool is_grpc = false;
    SteadyTime time{};
  };
  void HandleGrpc(http::Request& request, const h2::Responder& responder);
  // REST, as it came or as a gRPC call means it.
  void Handle(http::Request& request, std::unique_ptr<Caller> caller, bool is_grpc);
  struct Objection {
    int code = 0;
    std::string text{};
    http::Headers headers{};
  };
  void Refuse(const Arrival& arrival, Caller& caller, int code, std::string_view text,
              const http::Headers& headers = {});
  // Why a request is refused whatever its body is; nothing: it is not.
  std::optional<Objection> ObjectionTo(const http::Request& request, const RouteMatch& match);
  std::optional<Objection> ObjectionToGrpc(const http::Request& request);
  std::optional<Objection> ObjectionToOrigin(const http::Request& request) const;
  static std::optional<Objection> ObjectionToRoute(const http::Request& request,
                                                   const RouteMatch& match);
  std::optional<Objection> ObjectionToToken(const http::Request& request, Role role,
                                            std::optional<std::string_view> space);
  bool IsFromPage(const http::Request& request) const;
  std::optional<http::Response> Judge(const http::Request& request);
  std::optional<h2::Answer> JudgeHttp2(const http::Request& request);
  void Answer(const Arrival& arrival, std::unique_ptr<Caller> caller);
  void PassOn(const Arrival& arrival, std::unique_ptr<Caller> caller);
  void AnswerHere(const Arrival& arrival, http::Request request, std::unique_ptr<Caller> caller);
  http::Request Passed(http::Request& request) const;
  std::unique_ptr<Caller> WithOwnMetrics(const http::Request& request,
                                         std::unique_ptr<Caller> caller);
  void OnEnded(uint64_t number, const RelayResult& result);

  struct Running {
    const Route* route = nullptr;
    bool is_grpc = false;
    SteadyTime arrived{};
    std::unique_ptr<Relay> relay{};
  };

  EventLoop& loop_;
  const std::unique_ptr<Tokens> tokens_;
  const bool allows_any_host_;
  const http::Server::Handler service_;  // empty: behind upstream_
  const std::vector<std::string> spaces_;
  const std::string document_;  // OpenAPI's
  Meter meter_;
  Upstream upstream_;
  bool is_draining_ = false;
  uint64_t last_relay_ = 0;
  std::map<uint64_t, Running> relays_;
  size_t local_ = 0;        // requests that service_ answers
  size_t local_bytes_ = 0;  // of their bodies
  Lifetime lifetime_;
};

}  // namespace kgpu::gateway
