// The agent's network endpoints: probes and pages of series, with TLS and tokens as
// configured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/telemetry/certificate_source.h"
#include "src/node/telemetry/cluster_tokens.h"
#include "src/node/telemetry/name_sets.h"
#include "src/node/telemetry/token_check.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/server.h"
#include "src/platform/sys/root.h"

namespace kgpu::telemetry {

// Functions that answer requests, called for each.
struct MetricsHandlers {
  // All requests except reads of /metrics and of /live.
  std::function<http::Response(const http::Request&)> other;
  std::function<http::Response(const http::Request&, telemetry::NameSets)> page;
  std::function<void(const http::Request&, const http::Responder&)> live;
  // As in ClusterTokens.
  ClusterTokens::ClientSource client;
};

// One address, for display.
struct MetricsEndpoint {
  std::string address{};        // "127.0.0.1:9401": where it listens, or is to
  telemetry::NameSets names{};  // of its page
  bool has_tls = false;
  std::string problem{};  // why it is closed, or what is wrong; empty: it works
};

// "kgpu, dcgm"; "own" for a page with only the agent's series about itself.
std::string NamesOf(telemetry::NameSets names);

// Lives on the loop's thread. Retries addresses that are unavailable now.
class MetricsFront {
 public:
  // `root` is our own file system, with certificates and tokens. It and `loop` must outlive the
  // front.
  MetricsFront(EventLoop& loop, const sys::Root& root, MetricsHandlers handler);
  ~MetricsFront();
  MetricsFront(const MetricsFront&) = delete;
  MetricsFront& operator=(const MetricsFront&) = delete;

  // Sets what to serve. `address` is for probes and our own names, "" for none.
  // Names with the same address share a page. Unchanged endpoints keep their
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
  void Show(const http::Request& request, const http::Responder& responder,
            telemetry::NameSets names);

  EventLoop& loop_;
  const sys::Root& root_;
  const MetricsHandlers handler_;
  config::MetricsTls tls_;
  config::MetricsAuth auth_;
  std::unique_ptr<CertificateSource> certificate_;  // null: plain HTTP
  std::vector<std::unique_ptr<OpenEndpoint>> endpoints_;
  std::unique_ptr<TokenCheck> check_;  // null: no token needed, unless is_locked_
  bool is_locked_ = false;             // a token is needed, but none can be checked
};

}  // namespace kgpu::telemetry
