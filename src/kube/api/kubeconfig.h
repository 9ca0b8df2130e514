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
  bool is_insecure = false;  // insecure-skip-tls-verify, which is refused
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
  std::string key_pem{};  // a secret, as the next three
  std::string token{};
  std::string username{};
  std::string password{};
  std::string token_file{};  // wins over the token when it can be read
  std::optional<ExecSpec> exec{};
  std::string auth_provider{};  // its name: none is supported
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

// One file, YAML or JSON; fields we do not know are passed over. Paths in it are made absolute:
// they are relative to `folder`, which `file` lies in; `file` is named in errors. Errors:
// InvalidArgument naming file and field, never a value that may be a secret.
StatusOr<Kubeconfig> ParseKubeconfig(std::string_view text, std::string_view file,
                                     std::string_view folder);

// What `first` does not say is taken from `second`.
void MergeKubeconfig(Kubeconfig& first, Kubeconfig second);

// What a client needs of one context.
struct Selected {
  std::string context{};
  ClusterSpec cluster{};
  UserSpec user{};
  std::string space = "default";  // namespace
};

// `context` is empty for the current one. Errors: NotFound (no such context, cluster or user, with
// those there are), FailedPrecondition (TLS would not be verified), Unimplemented (auth-provider).
StatusOr<Selected> SelectContext(const Kubeconfig& config, std::string_view context);

}  // namespace kgpu::kube
