// The agent's endpoints to the network: probes and pages of series, with TLS and tokens where the
// configuration wants them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/agent/certificate_source.h"
#include "src/agent/cluster_tokens.h"
#include "src/agent/token_check.h"
#include "src/node/config/node_config.h"
#include "src/node/telemetry/name_sets.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/http/message.h"
#include "src/platform/http/server.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// Who answers, asked for each request.
struct MetricsHandlers {
  // All but reads of /metrics.
  std::function<http::Response(const http::Request&)> other;
  std::function<http::Response(const http::Request&, telemetry::NameSets)> page;
  // As of ClusterTokens.
  ClusterTokens::ClientSource client;
};

// One address, as people are shown it.
struct MetricsEndpoint {
  std::string address{};        // "127.0.0.1:9401": where it listens, or is to
  telemetry::NameSets names{};  // of its page
  bool has_tls = false;
  std::string problem{};  // why it is closed, or what is wrong; empty: everything is ok
};

// "kgpu, dcgm"; "own" for a page of the agent's series about itself alone.
std::string NamesOf(telemetry::NameSets names);

// Lives on the loop's thread. An address that cannot be had now is tried again.
class MetricsFront {
 public:
  // `root` is our own file system, where certificates and tokens lie. It and `loop` outlive the
  // front.
  MetricsFront(EventLoop& loop, const sys::Root& root, MetricsHandlers handler);
  ~MetricsFront();
  MetricsFront(const MetricsFront&) = delete;
  MetricsFront& operator=(const MetricsFront&) = delete;

  // What is served from now on. `address` is that of probes and our own names, "" for none. Names
  // that have the same address share a page. Endpoints that stay as they are keep their
  // connections.
  void SetConfig(const std::string& address, const config::MetricsConfig& metrics);
  std::vector<MetricsEndpoint> endpoints() const;

 private:
  struct OpenEndpoint;

  void CloseGuards();
  void SetGuards(const config::MetricsConfig& metrics);
  void Open(OpenEndpoint& endpoint);
  Status Listen(OpenEndpoint& endpoint);
  void Handle(const http::Request& request, const http::Responder& responder,
              telemetry::NameSets names);

  EventLoop& loop_;
  const sys::Root& root_;
  const MetricsHandlers handler_;
  config::MetricsTls tls_;
  config::MetricsAuth auth_;
  std::unique_ptr<CertificateSource> certificate_;  // null: plain HTTP
  std::vector<std::unique_ptr<OpenEndpoint>> endpoints_;
  std::unique_ptr<TokenCheck> check_;  // null: no token is needed, unless is_locked_
  bool is_locked_ = false;             // one is needed, and none can be checked
};

}  // namespace kgpu::agent
