#include "src/agent/metrics_front.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "src/agent/token_file.h"
#include "src/agent/web.h"
#include "src/node/config/words.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::agent {
namespace {

using config::NameSet;
using telemetry::NameSets;

constexpr std::chrono::seconds kListenRetry{5};
// Nothing that is asked here has one.
constexpr size_t kMaxBody = 1024;
constexpr const char* kNoCheck = "no token can be checked here";
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
std::map<std::string, NameSets> WantedDoors(const std::string& address,
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

struct MetricsFront::OpenDoor {
  explicit OpenDoor(EventLoop& door_loop) : loop(door_loop) {}
  ~OpenDoor() { loop.CancelTimer(retry); }
  OpenDoor(const OpenDoor&) = delete;
  OpenDoor& operator=(const OpenDoor&) = delete;

  EventLoop& loop;
  std::string wanted;
  NameSets names;
  std::unique_ptr<http::Server> server;
  std::string address;  // where it listens
  std::string problem;
  TimerId retry = TimerId::kNone;
};

MetricsFront::MetricsFront(EventLoop& loop, const sys::Root& root, MetricsDesk desk)
    : loop_(loop), root_(root), desk_(std::move(desk)) {
}

MetricsFront::~MetricsFront() {
  CloseGuards();
}

void MetricsFront::SetConfig(const std::string& address, const config::MetricsConfig& metrics) {
  if (tls_ != metrics.tls || auth_ != metrics.auth) {
    SetGuards(metrics);
  }
  std::vector<std::unique_ptr<OpenDoor>> former = std::exchange(doors_, {});
  std::vector<OpenDoor*> fresh;
  for (const auto& [wanted, names] : WantedDoors(address, metrics)) {
    const auto same =
        std::ranges::find_if(former, [&, &at = wanted, &sets = names](const auto& door) {
          return door != nullptr && door->wanted == at && door->names == sets;
        });
    if (same != former.end()) {
      doors_.push_back(std::move(*same));
      continue;
    }
    doors_.push_back(std::make_unique<OpenDoor>(loop_));
    doors_.back()->wanted = wanted;
    doors_.back()->names = names;
    fresh.push_back(doors_.back().get());
  }
  former.clear();  // the addresses that others now want are free
  for (OpenDoor* door : fresh) {
    Open(*door);
  }
}

// Whoever waits for the check's word gets one when it goes, while the connections are there: the
// request behind theirs is handled at once, and must find neither an open door nor half a check.
void MetricsFront::CloseGuards() {
  is_locked_ = true;
  check_.reset();
}

void MetricsFront::SetGuards(const config::MetricsConfig& metrics) {
  tls_ = metrics.tls;
  auth_ = metrics.auth;
  CloseGuards();
  doors_.clear();
  certificate_ = tls_ == config::MetricsTls()
                     ? nullptr
                     : std::make_unique<CertificateSource>(root_, loop_.clock(), tls_);
  if (auth_.by == config::TokenBy::kCluster) {
    auto tokens = ClusterTokens::Create(loop_, desk_.client, {.audiences = auth_.audiences});
    check_ = tokens.ok() ? *std::move(tokens) : nullptr;
  } else if (auth_.by == config::TokenBy::kFile) {
    auto tokens = FileTokens::Open(root_, loop_.clock(), auth_.file);
    check_ = tokens.ok() ? *std::move(tokens) : nullptr;
  }
  is_locked_ = auth_.by != config::TokenBy::kNobody && check_ == nullptr;
}

void MetricsFront::Open(OpenDoor& door) {
  const Status status = Listen(door);
  if (status.ok()) {
    door.problem.clear();
    KGPU_LOG(kInfo, "metrics are served", {"address", door.address}, {"names", NamesOf(door.names)},
             {"tls", certificate_ != nullptr});
    if (auth_.by != config::TokenBy::kNobody && certificate_ == nullptr &&
        !IsLoopback(door.wanted)) {
      KGPU_LOG(kWarning, "tokens travel in the clear", {"address", door.address},
               {"mend", "set metrics.tls"});
    }
    return;
  }
  door.server.reset();
  std::string problem(Message(status));
  if (problem != door.problem) {
    KGPU_LOG(kError, "metrics are not served", {"address", door.wanted},
             {"names", NamesOf(door.names)}, {"reason", problem},
             {"mend", "free the address, or set http.address or metrics.listen"});
    door.problem = std::move(problem);
  }
  door.retry = loop_.After(kListenRetry, [this, &door] {
    door.retry = TimerId::kNone;
    Open(door);
  });
}

Status MetricsFront::Listen(OpenDoor& door) {
  door.server = std::make_unique<http::Server>(
      loop_,
      [this, names = door.names](const http::Request& request, const http::Responder& responder) {
        Handle(request, responder, names);
      },
      // Probes are plain even with TLS: a certificate that is missing, or that the kubelet does not
      // have, is no reason to restart a device plugin that is well.
      http::ServerOptions{.limits = {.body = kMaxBody}, .takes_plain = true});
  ASSIGN_OR_RETURN(door.address, certificate_ == nullptr
                                     ? door.server->Listen(door.wanted)
                                     : door.server->ListenTls(door.wanted, [this] {
                                         return certificate_->Current();
                                       }));
  return OkStatus();
}

void MetricsFront::Handle(const http::Request& request, const http::Responder& responder,
                          NameSets names) {
  if (certificate_ != nullptr && !request.has_tls && !IsProbe(request)) {
    return responder.Send(
        http::TextResponse(400, "this address speaks HTTPS: ask for https://, but for probes"));
  }
  if (!IsMetricsRead(request)) {
    return responder.Send(desk_.other(request));
  }
  if (is_locked_) {
    return responder.Send(Refused({.code = 503, .text = kNoCheck}, true));
  }
  if (check_ == nullptr) {
    return responder.Send(desk_.page(request, names));
  }
  const std::optional<std::string> token = BearerToken(request);
  if (!token) {
    return responder.Send(
        Refused({.code = 401, .text = "a token is needed: Authorization: Bearer …"}, false));
  }
  check_->Check(*token, [this, request, responder, names](const Verdict& verdict) {
    responder.Send(verdict.code == 200 ? desk_.page(request, names) : Refused(verdict, true));
  });
}

std::vector<Door> MetricsFront::doors() const {
  std::vector<Door> doors;
  doors.reserve(doors_.size());
  for (const auto& door : doors_) {
    std::string problem = door->problem;
    if (problem.empty() && certificate_ != nullptr) {
      const bool has_none = certificate_->Current() == nullptr;
      problem = fmt::format("{}{}", has_none ? "no certificate: " : "", certificate_->problem());
    }
    if (problem.empty()) {
      problem = check_ != nullptr ? check_->Problem() : std::string(is_locked_ ? kNoCheck : "");
    }
    doors.push_back({.address = door->server ? door->address : door->wanted,
                     .names = door->names,
                     .has_tls = certificate_ != nullptr,
                     .problem = std::move(problem)});
  }
  return doors;
}

}  // namespace kgpu::agent
