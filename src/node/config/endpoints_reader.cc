#include "src/node/config/endpoints_reader.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/values.h"
#include "src/node/config/words.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 2> kListenKeys = {"dcgm", "gke"};
constexpr std::array<std::string_view, 3> kTlsKeys = {"certificate", "key", "clientCA"};
constexpr std::array<std::string_view, 3> kAuthKeys = {"by", "file", "audiences"};

constexpr size_t kMaxAudiences = 16;

void SetFile(const Node& node, std::string& path) {
  auto text = node.String();
  if (!text) {
    return;
  }
  if (!text->starts_with('/')) {
    node.Error("{} must be an absolute path", node.Shown());
    return;
  }
  path = *std::move(text);
}

void ReadAudiences(const Node& node, std::vector<std::string>& out) {
  std::vector<std::string> audiences;
  node.ForOneOrMany([&audiences](const Node& item) {
    auto text = item.String();
    if (text && text->empty()) {
      item.Error("is empty: name an audience, or omit it for the API server's own");
    } else if (text) {
      audiences.push_back(*std::move(text));
    }
  });
  if (audiences.size() > kMaxAudiences) {
    node.Error("{} audiences exceed the limit of {}", audiences.size(), kMaxAudiences);
    return;
  }
  out = std::move(audiences);
}

}  // namespace

void ReadListen(const Node& node, MetricsListen& listen) {
  node.ForEachField(kListenKeys, [&listen](std::string_view name, const Node& field) {
    if (auto text = field.CheckedString(&CheckHttpAddress)) {
      (name == "dcgm" ? listen.dcgm : listen.gke) = *std::move(text);
    }
  });
}

void ReadTls(const Node& node, MetricsTls& tls) {
  node.ForEachField(kTlsKeys, [&tls](std::string_view name, const Node& field) {
    SetFile(field, name == "certificate" ? tls.certificate
                   : name == "key"       ? tls.key
                                         : tls.client_ca);
  });
  if (node.is_map() && (tls.certificate.empty() || tls.key.empty())) {
    node.Error("{}: missing: set both a certificate and its key",
               tls.certificate.empty() ? "certificate" : "key");
  }
}

void ReadAuth(const Node& node, MetricsAuth& auth) {
  node.ForEachField(kAuthKeys, [&auth](std::string_view name, const Node& field) {
    if (name == "by") {
      auth.by = field.OneOf<TokenBy>(kTokenByWords).value_or(auth.by);
    } else if (name == "file") {
      SetFile(field, auth.file);
    } else {
      ReadAudiences(field, auth.audiences);
    }
  });
  if (!node.is_map()) {
    return;
  }
  if (auth.by == TokenBy::kFile && auth.file.empty()) {
    node.Error("file: missing: by: file needs the path of a token file");
  }
  if (auth.by != TokenBy::kFile && !auth.file.empty()) {
    node.Error("file: requires by: file");
  }
  if (auth.by != TokenBy::kCluster && !auth.audiences.empty()) {
    node.Error("audiences: require by: cluster");
  }
}

}  // namespace kgpu::config
