#include "src/node/telemetry/metrics_front.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "src/node/config/words.h"
#include "src/node/part/answer.h"
#include "src/node/telemetry/token_file.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

using config::NameSet;
using telemetry::NameSets;

constexpr std::chrono::seconds kListenRetry{5};
// No request here needs a body.
constexpr size_t kMaxBody = 1024;
constexpr const char* kNoCheck = "tokens cannot be checked here";
// Where the programs whose names they are have them.
constexpr int kDcgmPort = 9400;
constexpr int kGkePort = 2112;

// At the host of `address`.
std::string AtPort(const std::string& address, int port) {
  const std::string host = address.empty() ? "127.0.0.1" : address.substr(0, address.rfind(':'));
  return fmt::format("{}:{}", host, port);
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]");
}

// Which names each address has.
std::map<std::string, NameSets> WantedEndpoints(const std::string& address,
                                                const config::MetricsConfig& metrics) {
  std::map<std::string, NameSets> wanted;
  if (!address.empty()) {
    wanted[address];
  }
  for (const NameSet name : metrics.names) {
    std::string at = address;
    if (name == NameSet::kDcgm) {
      at = metrics.listen.dcgm.value_or(AtPort(address, kDcgmPort));
    } else if (name == NameSet::kGke) {
      at = metrics.listen.gke.value_or(AtPort(address, kGkePort));
    }
    if (!at.empty()) {
      wanted[at].Add(name);
    }
  }
  return wanted;
}

// The token of "Authorization: Bearer …". Source: RFC 6750, section 2.1.
std::optional<std::string> BearerToken(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto field = request.headers.Find("Authorization");
  if (!field || request.headers.Count("Authorization") != 1 || field->size() <= kScheme.size() ||
      !http::EqualsIgnoringCase(field->substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  const std::string_view token = Trim(field->substr(kScheme.size()));
  const bool is_one =
      !token.empty() && std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  return is_one ? std::optional<std::string>(token) : std::nullopt;
}

http::Response Refused(const Verdict& verdict, bool has_token) {
  http::Response response = http::TextResponse(verdict.code, verdict.text);
  if (verdict.code == 401) {
    response.headers.Add("WWW-Authenticate", has_token
                                                 ? R"(Bearer realm="kgpu", error="invalid_token")"
                                                 : R"(Bearer realm="kgpu")");
  } else if (verdict.code == 503) {
    response.headers.Add("Retry-After", "5");
  }
  return response;
}

}  // namespace

std::string NamesOf(NameSets names) {
  std::vector<std::string_view> words;
  for (const auto& [name, set] : config::kNameSetWords) {
    if (names.Has(set)) {
      words.push_back(name);
    }
  }
  return words.empty() ? "own" : fmt::format("{}", fmt::join(words, ", "));
}

struct MetricsFront::OpenEndpoint {
  explicit OpenEndpoint(EventLoop& endpoint_loop) : loop(endpoint_loop) {}
  ~OpenEndpoint() { loop.CancelTimer(retry); }
  OpenEndpoint(const OpenEndpoint&) = delete;
  OpenEndpoint& operator=(const OpenEndpoint&) = delete;

  EventLoop& loop;
  std::string wanted;
  NameSets names;
  std::unique_ptr<http::Server> server;
  std::string address;  // where it listens
  std::string problem;
  TimerId retry = TimerId::kNone;
};

MetricsFront::MetricsFront(EventLoop& loop, const sys::Root& root, MetricsHandlers handler)
    : loop_(loop), root_(root), handler_(std::move(handler)) {
}

MetricsFront::~MetricsFront() {
  CloseGuards();
}

void MetricsFront::SetConfig(const std::string& address, const config::MetricsConfig& metrics) {
  if (tls_ != metrics.tls || auth_ != metrics.auth) {
    SetGuards(metrics);
  }
  std::vector<std::unique_ptr<OpenEndpoint>> former = std::exchange(endpoints_, {});
  std::vector<OpenEndpoint*> fresh;
  for (const auto& [wanted, names] : WantedEndpoints(address, metrics)) {
    const auto same =
        std::ranges::find_if(former, [&, &at = wanted, &sets = names](const auto& endpoint) {
          return endpoint != nullptr && endpoint->wanted == at && endpoint->names == sets;
        });
    if (same != former.end()) {
      endpoints_.push_back(std::move(*same));
      continue;
    }
    endpoints_.push_back(std::make_unique<OpenEndpoint>(loop_));
    endpoints_.back()->wanted = wanted;
    endpoints_.back()->names = names;
    fresh.push_back(endpoints_.back().get());
  }
  former.clear();  // the addresses that others now want are free
  for (OpenEndpoint* endpoint : fresh) {
    Open(*endpoint);
  }
}

// Answers those who wait for the check before it is destroyed, while the connections still exist:
// the next request of such a connection is handled at once, and must find neither an open endpoint
// nor a check that is half destroyed.
void MetricsFront::CloseGuards() {
  is_locked_ = true;
  check_.reset();
}

void MetricsFront::SetGuards(const config::MetricsConfig& metrics) {
  tls_ = metrics.tls;
  auth_ = metrics.auth;
  CloseGuards();
  endpoints_.clear();
  certificate_ = tls_ == config::MetricsTls()
                     ? nullptr
                     : std::make_unique<CertificateSource>(root_, loop_.clock(), tls_);
  if (auth_.by == config::TokenBy::kCluster) {
    auto tokens = ClusterTokens::Create(loop_, handler_.client, {.audiences = auth_.audiences});
    check_ = tokens.ok() ? *std::move(tokens) : nullptr;
  } else if (auth_.by == config::TokenBy::kFile) {
    auto tokens = FileTokens::Open(root_, loop_.clock(), auth_.file);
    check_ = tokens.ok() ? *std::move(tokens) : nullptr;
  }
  is_locked_ = auth_.by != config::TokenBy::kNobody && check_ == nullptr;
}

void MetricsFront::Open(OpenEndpoint& endpoint) {
  const Status status = Listen(endpoint);
  if (status.ok()) {
    endpoint.problem.clear();
    KGPU_LOG(kInfo, "metrics endpoint started", {"address", endpoint.address},
             {"names", NamesOf(endpoint.names)}, {"tls", certificate_ != nullptr});
    if (auth_.by != config::TokenBy::kNobody && certificate_ == nullptr &&
        !IsLoopback(endpoint.wanted)) {
      KGPU_LOG(kWarning, "tokens sent unencrypted", {"address", endpoint.address},
               {"fix", "set metrics.tls"});
    }
    return;
  }
  endpoint.server.reset();
  std::string problem(Message(status));
  if (problem != endpoint.problem) {
    KGPU_LOG(kError, "metrics endpoint not started", {"address", endpoint.wanted},
             {"names", NamesOf(endpoint.names)}, {"reason", problem},
             {"fix", "free the address, or set http.address or metrics.listen"});
    endpoint.problem = std::move(problem);
  }
  endpoint.retry = loop_.After(kListenRetry, [this, &endpoint] {
    endpoint.retry = TimerId::kNone;
    Open(endpoint);
  });
}

Status MetricsFront::Listen(OpenEndpoint& endpoint) {
  endpoint.server = std::make_unique<http::Server>(
      loop_,
      [this, names = endpoint.names](const http::Request& request,
                                     const http::Responder& responder) {
        Handle(request, responder, names);
      },
      // Probes are plain even with TLS: a certificate that is missing, or that the kubelet does not
      // have, is no reason to restart a device plugin that is healthy.
      http::ServerOptions{.limits = {.body = kMaxBody}, .takes_plain = true});
  ASSIGN_OR_RETURN(endpoint.address, certificate_ == nullptr
                                         ? endpoint.server->Listen(endpoint.wanted)
                                         : endpoint.server->ListenTls(endpoint.wanted, [this] {
                                             return certificate_->Current();
                                           }));
  return OkStatus();
}

void MetricsFront::Handle(const http::Request& request, const http::Responder& responder,
                          NameSets names) {
  if (certificate_ != nullptr && !request.has_tls && !node::IsProbe(request)) {
    return responder.Send(
        http::TextResponse(400, "this address serves HTTPS: use https:// (probes excepted)"));
  }
  if (!node::IsMetricsRead(request) && !node::IsLiveRead(request)) {
    return responder.Send(handler_.other(request));
  }
  if (is_locked_) {
    return responder.Send(Refused({.code = 503, .text = kNoCheck}, true));
  }
  if (check_ == nullptr) {
    return Show(request, responder, names);
  }
  const std::optional<std::string> token = BearerToken(request);
  if (!token) {
    return responder.Send(
        Refused({.code = 401, .text = "missing token: send Authorization: Bearer …"}, false));
  }
  check_->Check(*token, [this, request, responder, names](const Verdict& verdict) {
    if (verdict.code == 200) {
      return Show(request, responder, names);
    }
    responder.Send(Refused(verdict, true));
  });
}

// For a caller who may read it.
void MetricsFront::Show(const http::Request& request, const http::Responder& responder,
                        NameSets names) {
  if (node::IsLiveRead(request)) {
    return handler_.live(request, responder);
  }
  responder.Send(handler_.page(request, names));
}

std::vector<MetricsEndpoint> MetricsFront::endpoints() const {
  std::vector<MetricsEndpoint> endpoints;
  endpoints.reserve(endpoints_.size());
  for (const auto& endpoint : endpoints_) {
    std::string problem = endpoint->problem;
    if (problem.empty() && certificate_ != nullptr) {
      const bool has_none = certificate_->Current() == nullptr;
      problem = fmt::format("{}{}", has_none ? "no certificate: " : "", certificate_->problem());
    }
    if (problem.empty()) {
      problem = check_ != nullptr ? check_->Problem() : std::string(is_locked_ ? kNoCheck : "");
    }
    endpoints.push_back({.address = endpoint->server ? endpoint->address : endpoint->wanted,
                         .names = endpoint->names,
                         .has_tls = certificate_ != nullptr,
                         .problem = std::move(problem)});
  }
  return endpoints;
}

}  // namespace kgpu::telemetry
