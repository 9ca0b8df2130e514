// `kgpu fn gateway`: functions of this machine for callers on the network.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/cli/fn/gateway_cluster.h"
#include "src/functions/gateway/endpoints.h"
#include "src/functions/gateway/gateway.h"
#include "src/functions/gateway/tokens.h"
#include "src/functions/spec/checks.h"
#include "src/node/telemetry/certificate_source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/log_format.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/signals.h"
#include "src/platform/sys/tcp_socket.h"

namespace kgpu::cli {
namespace {

using std::chrono::milliseconds;

struct GatewayCommandOptions {
  std::string provider = "local";
  GatewayClusterOptions cluster;
  std::string listen = ":31113";
  std::string run_dir = kRunDir;
  std::string host_root;
  std::string tokens;
  std::string space = "default";
  std::string tls_certificate;
  std::string tls_key;
  bool allows_anonymous = false;
};

// Requests that have begun may end first.
constexpr milliseconds kGatewayDrainLimit{30'000};
constexpr milliseconds kGatewayDrainLook{50};

// Whoever reaches a gateway without tokens can deploy functions: they run as containers here.
Status CheckGatewayReach(const GatewayCommandOptions& options) {
  const StatusOr<sys::TcpAddress> address = sys::TcpAddress::Parse(options.listen);
  if (!address.ok() || address->is_loopback()) {
    return Annotate(address.status(), "--listen");
  }
  if (options.tokens.empty() && !options.allows_anonymous) {
    return InvalidArgument(
        "--listen: {}: other hosts could deploy and call functions without a token: use --tokens "
        "FILE, --listen 127.0.0.1:PORT, or --allow-anonymous",
        options.listen);
  }
  if (!options.tokens.empty() && options.tls_certificate.empty()) {
    KGPU_LOG(kWarning, "tokens travel unencrypted",
             {"fix", "use --tls-cert and --tls-key, or listen on 127.0.0.1 behind TLS"});
  }
  return OkStatus();
}

Status CheckGatewayOptions(const GatewayCommandOptions& options) {
  if (options.provider != "local" && options.provider != "kubernetes") {
    return InvalidArgument("--provider: {} must be local or kubernetes",
                           Printable(options.provider, 80));
  }
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("--tls-cert and --tls-key: give both, or neither");
  }
  RETURN_IF_ERROR(Annotate(functions::CheckFunctionName(options.space), "--namespace"));
  return CheckGatewayReach(options);
}

// Null without TLS. Errors: FailedPrecondition (the files cannot be used).
StatusOr<std::shared_ptr<telemetry::CertificateSource>> GatewayCertificate(
    const GatewayCommandOptions& options, const sys::Root& root, const Clock& clock) {
  if (options.tls_certificate.empty()) {
    return nullptr;
  }
  auto source = std::make_shared<telemetry::CertificateSource>(
      root, clock,
      config::MetricsTls{.certificate = options.tls_certificate, .key = options.tls_key});
  if (source->Current() == nullptr) {
    return FailedPrecondition("--tls-cert, --tls-key: {}", source->problem());
  }
  return source;
}

// Ends the loop once all answers are on their way, or after a while.
class GatewayDrain {
 public:
  // `cluster` may be null.
  GatewayDrain(EpollLoop& loop, gateway::Gateway& gateway, gateway::Endpoints& endpoints,
               ClusterFunctions* cluster)
      : loop_(loop), gateway_(gateway), endpoints_(endpoints), cluster_(cluster) {}
  ~GatewayDrain() = default;
  GatewayDrain(const GatewayDrain&) = delete;
  GatewayDrain& operator=(const GatewayDrain&) = delete;

  // A second signal ends it at once.
  void Begin() {
    if (has_begun_) {
      return loop_.Quit();
    }
    has_begun_ = true;
    KGPU_LOG(kInfo, "gateway stopping", {"requests_in_progress", gateway_.is_busy()});
    until_ = loop_.clock().Now() + kGatewayDrainLimit;
    gateway_.Drain();
    endpoints_.Shutdown();
    if (cluster_ != nullptr) {
      // Another gateway scales from now on.
      is_releasing_ = true;
      cluster_->Drain([this] { is_releasing_ = false; });
    }
    Look();
  }

 private:
  void Look() {
    const bool is_busy = gateway_.is_busy() || endpoints_.is_busy() || is_releasing_ ||
                         (cluster_ != nullptr && cluster_->is_busy());
    if (!is_busy || loop_.clock().Now() >= until_) {
      return loop_.Quit();
    }
    timer_.Arm(kGatewayDrainLook, [this] { Look(); });
  }

  EpollLoop& loop_;
  gateway::Gateway& gateway_;
  gateway::Endpoints& endpoints_;
  ClusterFunctions* const cluster_;
  bool is_releasing_ = false;
  bool has_begun_ = false;
  SteadyTime until_{};
  Timer timer_{loop_};
};

StatusOr<ExitCode> RunGateway(const GatewayCommandOptions& options) {
  SetLogLevel(LogLevel::kInfo);
  SetLogFormat(LogFormat::kKeyValue);
  RETURN_IF_ERROR(CheckGatewayOptions(options));
  ASSIGN_OR_RETURN(const UniqueFd signals, sys::TakeSignals({SIGINT, SIGTERM}));
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  ASSIGN_OR_RETURN(const auto certificate, GatewayCertificate(options, root, loop->clock()));
  std::unique_ptr<gateway::Tokens> tokens;
  if (!options.tokens.empty()) {
    ASSIGN_OR_RETURN(tokens, gateway::Tokens::Open(root, loop->clock(), options.tokens));
  }
  gateway::GatewayOptions of_gateway{.version = VersionNumber(),
                                     .spaces = {options.space},
                                     .allows_any_host = options.allows_anonymous};
  std::unique_ptr<ClusterFunctions> cluster;
  std::string service =
      BelowHostRoot(options.run_dir, kRunDir, options.host_root) + "/functions.sock";
  if (options.provider == "kubernetes") {
    ASSIGN_OR_RETURN(cluster, ClusterFunctions::Start(*loop, root, options.cluster));
    of_gateway.service = cluster->handler();
    of_gateway.spaces = options.cluster.spaces;
    service = cluster->server();
  } else {
    of_gateway.upstream.socket = service;
  }
  gateway::Gateway gateway(*loop, std::move(tokens), std::move(of_gateway));
  gateway::Endpoints endpoints(*loop, gateway);
  http::Server::TlsSource tls;
  if (certificate != nullptr) {
    tls = [certificate] { return certificate->Current(); };
  }
  ASSIGN_OR_RETURN(const std::string address, endpoints.Listen(options.listen, tls));
  KGPU_LOG(kInfo, "gateway started", {"address", address}, {"tls", certificate != nullptr},
           {"service", service});
  GatewayDrain drain(*loop, gateway, endpoints, cluster.get());
  ASSIGN_OR_RETURN(const WatchId watch, loop->WatchReadable(signals.get(), [&] {
    while (sys::NextSignal(signals.get()) != 0) {
      drain.Begin();
    }
  }));
  loop->Run();
  loop->Unwatch(watch);
  KGPU_LOG(kInfo, "gateway stopped");
  return ExitCode::kOk;
}

}  // namespace

void AddGatewayCommand(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<GatewayCommandOptions>(
      parent, "gateway", "Serve functions to the network by REST and gRPC, until SIGTERM",
      &RunGateway);
  command.footer(
      "Serves the functions of this machine, by the service that `kgpu fn up` starts and that may\n"
      "start and stop meanwhile; or with --provider kubernetes those of a cluster, which run as\n"
      "Deployments that the gateway scales, to zero and back. The file of tokens has lines \"TOKEN "
      "ROLE[,ROLE] [namespace=NAME]\" with the "
      "roles\n"
      "call, read, deploy and admin; it is read again when it changes, as are the certificate and\n"
      "its key. GET /openapi.json describes the API.\n"
      "\n"
      "  kgpu fn gateway --tokens /etc/kgpu/tokens --tls-cert tls.crt --tls-key tls.key\n"
      "  kgpu fn gateway --listen 127.0.0.1:31113\n"
      "  kgpu fn gateway --provider kubernetes --function-namespaces team-a,team-b --tokens "
      "tokens\n"
      "  kgpu fn list --gateway 127.0.0.1:31113");
  AddValue(command, "--provider", options.provider, "local|kubernetes",
           "Where functions run: on this machine, or on a cluster");
  AddValue(command, "--listen", options.listen, "ADDRESS",
           "Address for REST and gRPC, by HTTP/1.1 and HTTP/2");
  CLI::Option* tokens = AsPath(
      AddValue(command, "--tokens", options.tokens, "FILE", "File of tokens and their roles"));
  command
      .add_flag("--allow-anonymous", options.allows_anonymous,
                "Allow every caller, without a token")
      ->excludes(tokens);
  AddValue(command, "--namespace", options.space, "NAME",
           "With --provider local: this gateway's namespace, which tokens may be limited to");
  AsPath(AddValue(command, "--tls-cert", options.tls_certificate, "FILE",
                  "Certificate and its intermediates, as PEM: serve with TLS"));
  AsPath(AddValue(command, "--tls-key", options.tls_key, "FILE", "Key of the certificate, as PEM"));
  AddRunDirOption(command, options.run_dir, "Folder of functions.sock");
  AddHostRootOption(command, options.host_root);
  AddGatewayClusterOptions(command, options.cluster);
}

}  // namespace kgpu::cli
