// kubeconfig files: clusters, users, and contexts that join them. Source: client-go,
// tools/clientcmd/api/v1; kubernetes.io, "Organizing Cluster Access Using kubeconfig Files".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::kube {

struct ClusterSpec {
  std::string server{};
  std::string ca_file{};
  std::string ca_pem{};  // wins over the file; both empty: the system's authorities
  std::string tls_server_name{};
  std::string proxy_url{};
  bool is_insecure = false;  // insecure-skip-tls-verify, which we refuse
};

struct ExecSpec {
  std::string api_version{};  // client.authentication.k8s.io/v1 or v1beta1
  std::string command{};      // with a "/": an absolute path; else to be looked for in PATH
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> environment{};
  bool needs_terminal = false;  // interactiveMode: Always
  bool wants_cluster = false;   // provideClusterInfo
  std::string install_hint{};
};

struct UserSpec {
  std::string certificate_file{};
  std::string certificate_pem{};  // wins over the file
  std::string key_file{};
  std::string key_pem{};  // a secret, like the next three
  std::string token{};
  std::string username{};
  std::string password{};
  std::string token_file{};  // wins over the token if readable
  std::optional<ExecSpec> exec{};
  std::string auth_provider{};  // its name: we support none
  std::string as_user{};
  std::string as_uid{};
  std::vector<std::string> as_groups{};
  std::map<std::string, std::vector<std::string>> as_extra{};
};

struct ContextSpec {
  std::string cluster{};
  std::string user{};
  std::string space{};  // namespace
};

struct Kubeconfig {
  std::map<std::string, ClusterSpec> clusters{};
  std::map<std::string, UserSpec> users{};
  std::map<std::string, ContextSpec> contexts{};
  std::string current_context{};
};

// Parses one file, YAML or JSON; ignores unknown fields. Paths in it become absolute: they are
// relative to `folder`, which contains `file`; errors name `file`. Errors: InvalidArgument naming
// file and field, never a value that may be a secret.
StatusOr<Kubeconfig> ParseKubeconfig(std::string_view text, std::string_view file,
                                     std::string_view folder);

// Takes what `first` does not set from `second`.
void MergeKubeconfig(Kubeconfig& first, Kubeconfig second);

// Everything a client needs from one context.
struct Selected {
  std::string context{};
  ClusterSpec cluster{};
  UserSpec user{};
  std::string space = "default";  // namespace
};

// `context` is empty for the current one. Errors: NotFound (no such context, cluster or user; lists
// those that exist), FailedPrecondition (TLS would not be verified), Unimplemented (auth-provider).
StatusOr<Selected> SelectContext(const Kubeconfig& config, std::string_view context);

}  // namespace kgpu::kube
