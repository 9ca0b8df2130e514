#include "testing/apiserver/cli.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/base64.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/atomic_file.h"
#include "testing/apiserver/http_service.h"
#include "testing/cluster/cluster.h"
#include "testing/simhost/daemon.h"
#include "testing/tls/certificates.h"
#include "testing/tls/tls_front.h"

namespace kgpu::apiserver {
namespace {

constexpr const char* kFooter =
    "docs/how-it-works/stub-apiserver.md describes what it supports.\n"
    "\n"
    "  kgpu sim apiserver --listen 127.0.0.1:8001 --kubeconfig-out /tmp/kubeconfig &\n"
    "  until [ -s /tmp/kubeconfig ]; do sleep 0.1; done\n"
    "  KUBECONFIG=/tmp/kubeconfig kubectl get namespaces\n"
    "  curl -d '{\"kind\": \"answer\", \"resource\": \"nodes\", \"code\": 429, \"retryAfter\": 5, "
    "\"seconds\": 60}' \\\n"
    "    http://127.0.0.1:8001/stub/faults\n"
    "  curl http://127.0.0.1:8001/stub/counters";

struct ServeFlags {
  std::string listen = "127.0.0.1:0";
  std::string kubeconfig;
  std::string control;
  std::vector<std::string> tokens;
  double bookmark_seconds = 60;
  double pod_stop_seconds = 0;
  size_t history = 10'000;
  bool is_tls = false;
  bool has_controllers = false;
  bool has_rbac = false;
};

// What clients learn about the server.
struct Endpoint {
  std::string url;
  std::string ca_pem;  // "": no TLS
};

// A kubeconfig for the first token.
std::string Kubeconfig(const Endpoint& endpoint, const std::vector<std::string>& tokens) {
  const std::string user = tokens.empty() ? "{}" : fmt::format("{{token: \"{}\"}}", tokens.front());
  const std::string authority =
      endpoint.ca_pem.empty()
          ? ""
          : fmt::format(", certificate-authority-data: {}", EncodeBase64(endpoint.ca_pem));
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: stub\n"
      "  cluster: {{server: \"{}\"{}}}\n"
      "users:\n"
      "- name: stub\n"
      "  user: {}\n"
      "contexts:\n"
      "- name: stub\n"
      "  context: {{cluster: stub, user: stub}}\n"
      "current-context: stub\n",
      endpoint.url, authority, user);
}

// Plain, or with TLS in front of a socket beside the kubeconfig.
StatusOr<Endpoint> Listen(EventLoop& loop, const ServeFlags& flags, HttpService& service,
                          std::unique_ptr<TlsFront>& front) {
  if (!flags.is_tls) {
    ASSIGN_OR_RETURN(const std::string address, service.Listen(flags.listen));
    return Endpoint{.url = fmt::format("http://{}", address), .ca_pem = ""};
  }
  if (flags.kubeconfig.empty()) {
    return InvalidArgument(
        "--tls needs --kubeconfig-out, which tells clients which authority to trust");
  }
  const std::string socket = fmt::format("{}.sock", flags.kubeconfig);
  RETURN_IF_ERROR(service.Listen(socket).status());
  const TestAuthority authority("kgpu stub API server");
  const TestCertificate leaf =
      authority.Issue({.common_name = "stub", .names = {"127.0.0.1", "::1", "localhost"}});
  ASSIGN_OR_RETURN(auto context, tls::Context::ForServer({.certificate_pem = leaf.certificate_pem,
                                                          .key_pem = leaf.key_pem}));
  ASSIGN_OR_RETURN(front, TlsFront::Listen(loop, flags.listen, std::move(context), socket));
  return Endpoint{.url = fmt::format("https://{}", front->address()),
                  .ca_pem = authority.certificate_pem()};
}

std::chrono::milliseconds Seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Status Serve(const ServeFlags& flags, const simhost::CliContext& context) {
  if (flags.has_rbac && flags.tokens.empty()) {
    return InvalidArgument("--rbac needs --token: somebody must be allowed to create roles");
  }
  ASSIGN_OR_RETURN(const UniqueFd signals, simhost::BlockSignals());
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ApiOptions options{.max_history = flags.history,
                     .bookmark_interval = Seconds(flags.bookmark_seconds),
                     .pod_stop_time = Seconds(flags.pod_stop_seconds)};
  // Other names for objects of another run, as with a real server.
  options.seed = static_cast<uint64_t>(loop->clock().WallNow().time_since_epoch().count());
  options.has_rbac = flags.has_rbac;
  Api api(*loop, options);
  for (const std::string& token : flags.tokens) {
    api.access().AddToken(token, {.name = "stub-admin", .groups = {"system:masters"}});
  }
  std::unique_ptr<simcluster::Cluster> cluster;
  if (flags.has_controllers) {
    cluster = std::make_unique<simcluster::Cluster>(*loop, api);
  }
  HttpService service(*loop, api);
  std::unique_ptr<TlsFront> front;
  ASSIGN_OR_RETURN(const Endpoint endpoint, Listen(*loop, flags, service, front));
  if (!flags.control.empty()) {
    RETURN_IF_ERROR(service.ListenForControl(flags.control));
  }
  if (!flags.kubeconfig.empty()) {
    RETURN_IF_ERROR(
        sys::WriteFileAtomically(flags.kubeconfig, Kubeconfig(endpoint, flags.tokens), 0600));
  }
  ASSIGN_OR_RETURN(const WatchId watch,
                   loop->WatchReadable(signals.get(), [&loop] { loop->Quit(); }));
  context.print(fmt::format("serving on {}", endpoint.url));
  if (std::fflush(stdout) != 0) {  // somebody may wait for the line on a pipe
    return Unavailable("cannot write to standard output");
  }
  loop->Run();
  loop->Unwatch(watch);
  return OkStatus();
}

}  // namespace

void AddApiserverVerb(CLI::App& app, simhost::CliContext& context) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb =
      app.add_subcommand("apiserver", "Simulate a Kubernetes API server 1.36 in the foreground");
  verb->footer(kFooter);
  verb->add_option("--listen", flags->listen, "Address; port 0 selects a free port")
      ->capture_default_str();
  verb->add_option("--kubeconfig-out", flags->kubeconfig, "Kubeconfig file to write for clients");
  verb->add_flag("--tls", flags->is_tls,
                 "Serve TLS with a new authority, which the kubeconfig contains");
  verb->add_flag("--controllers", flags->has_controllers,
                 "Also run controllers, a scheduler and the kubelets of all nodes");
  verb->add_option("--control", flags->control,
                   "Unix socket for /stub/ requests that stays while the server is \"away\"");
  verb->add_option("--token", flags->tokens,
                   "Admin bearer token (repeatable); if set, requests need one")
      ->allow_extra_args(false);
  verb->add_flag("--rbac", flags->has_rbac,
                 "Refuse what no stored role allows; admin tokens may do everything");
  verb->add_option("--bookmarks", flags->bookmark_seconds, "Seconds between watch bookmarks")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  verb->add_option("--pod-stop", flags->pod_stop_seconds,
                   "Seconds from a pod's deletion until it is removed")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb->add_option("--history", flags->history, "Number of changes that watches can start from")
      ->capture_default_str();
  verb->callback(
      [flags, &context] { context.action = [flags, &context] { return Serve(*flags, context); }; });
}

}  // namespace kgpu::apiserver
