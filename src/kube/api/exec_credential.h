// The protocol between a client and its exec plugin. Source: client-go,
// pkg/apis/clientauthentication/v1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/kube/api/kubeconfig.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

// Both parts are secrets.
struct ExecCredential {
  std::string token{};            // may be empty if there is a certificate
  std::string certificate_pem{};  // with its key, or both are empty
  std::string key_pem{};
  std::optional<WallTime> expires{};
};

// The content of KUBERNETES_EXEC_INFO. `ca_pem` is the authority, if known.
std::string ExecInfo(const ExecSpec& spec, const ClusterSpec& cluster, std::string_view ca_pem);

// Parses the plugin's output. Errors: InvalidArgument naming the field, without any of the output:
// it may be a secret.
StatusOr<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version);

}  // namespace kgpu::kube
