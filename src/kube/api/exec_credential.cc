#include "src/kube/api/exec_credential.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

StatusOr<std::string> StatusText(const json::value& root, std::string_view key) {
  const json::value* value = FindField(root, {"status", key});
  if (value == nullptr || value->is_null()) {
    return std::string();
  }
  if (!value->is_string()) {
    return InvalidArgument("status.{}: must be a string", key);
  }
  return std::string(TextField(root, {"status", key}));
}

}  // namespace

std::string ExecInfo(const ExecSpec& spec, const ClusterSpec& cluster, std::string_view ca_pem) {
  json::object about = {{"interactive", false}};
  if (spec.wants_cluster) {
    json::object info = {{"server", cluster.server}};
    if (!cluster.tls_server_name.empty()) {
      info["tls-server-name"] = cluster.tls_server_name;
    }
    if (!ca_pem.empty()) {
      info["certificate-authority-data"] = EncodeBase64(ca_pem);
    }
    if (!cluster.proxy_url.empty()) {
      info["proxy-url"] = cluster.proxy_url;
    }
    about["cluster"] = std::move(info);
  }
  return BodyOf(
      {{"apiVersion", spec.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(about)}});
}

StatusOr<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version) {
  const StatusOr<json::value> root = ParseObject(text, "its output");
  if (!root.ok()) {
    // The parser's own words may quote keys.
    return InvalidArgument("its output is not a JSON object");
  }
  if (TextField(*root, {"kind"}) != "ExecCredential") {
    return InvalidArgument("kind: must be ExecCredential");
  }
  if (TextField(*root, {"apiVersion"}) != api_version) {
    return InvalidArgument("apiVersion: must be {}, as in the kubeconfig", api_version);
  }
  ExecCredential credential;
  ASSIGN_OR_RETURN(credential.token, StatusText(*root, "token"));
  ASSIGN_OR_RETURN(credential.certificate_pem, StatusText(*root, "clientCertificateData"));
  ASSIGN_OR_RETURN(credential.key_pem, StatusText(*root, "clientKeyData"));
  ASSIGN_OR_RETURN(const std::string expires, StatusText(*root, "expirationTimestamp"));
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return InvalidArgument("status: clientCertificateData and clientKeyData must be set together");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return InvalidArgument("status: has neither token nor clientCertificateData");
  }
  if (!std::ranges::all_of(credential.token, [](char c) { return c > 0x20 && c < 0x7f; })) {
    return InvalidArgument("status.token: contains invalid characters");
  }
  if (!expires.empty()) {
    const StatusOr<WallTime> time = ParseExpiry(expires);
    if (!time.ok()) {
      return InvalidArgument("status.expirationTimestamp: must be a time");
    }
    credential.expires = *time;
  }
  return credential;
}

}  // namespace kgpu::kube
