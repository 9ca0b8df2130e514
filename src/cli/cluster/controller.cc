#include <sys/utsname.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/version.h"
#include "src/cluster/controller/controller.h"
#include "src/cluster/controller/preview.h"
#include "src/cluster/page/cluster_page.h"
#include "src/kube/api/cluster.h"
#include "src/kube/api/run_until_done.h"
#include "src/kube/api/writes.h"
#include "src/node/config/values.h"
#include "src/node/report/table.h"
#include "src/platform/base/log.h"
#include "src/platform/base/log_format.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/server.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;
using controller::NodeProgress;

// How long the lease's release may take before the process ends without it.
constexpr std::chrono::seconds kReleaseLimit{2};

struct ControllerCommandOptions {
  NodeOptions common;
  std::string space;
  std::string address = "127.0.0.1:9402";
  std::string identity;
  controller::PodSettings pods{.image = "localhost/kgpu:latest"};
};

// Requests per second: an operator's for the main client, an agent's for the others.
kube::ClientOptions ClientOf(double per_second, double burst) {
  utsname name = {};
  const std::string machine = uname(&name) == 0 ? name.machine : "unknown";
  kube::ClientOptions options;
  options.gate.per_second = per_second;
  options.gate.burst = burst;
  options.user_agent = kube::UserAgent("kgpu-controller", VersionNumber(), machine);
  return options;
}

struct Connection {
  sys::Root root;
  Random random{Random::SeedFromKernel()};
  std::unique_ptr<EpollLoop> loop{};
  std::unique_ptr<kube::Cluster> cluster{};
};

StatusOr<std::unique_ptr<Connection>> Connect(ControllerCommandOptions& options) {
  ASSIGN_OR_RETURN(sys::Root root, sys::Root::Open("/"));
  auto connection = std::make_unique<Connection>(Connection{.root = std::move(root)});
  ASSIGN_OR_RETURN(connection->loop, EpollLoop::Create());
  kube::ClusterOptions cluster{.client = ClientOf(20, 30)};
  ASSIGN_OR_RETURN(cluster.sources,
                   ClusterSources(options.common.kubeconfig, options.common.context));
  ASSIGN_OR_RETURN(connection->cluster, kube::Cluster::Open(*connection->loop, connection->random,
                                                            connection->root, std::move(cluster)));
  // In a pod, its own namespace. A person's current one is seldom that of the agents.
  const std::string& own = connection->cluster->space();
  options.pods.space = !options.space.empty()            ? options.space
                       : own.empty() || own == "default" ? "kgpu"
                                                         : own;
  return connection;
}

json::value ProgressJson(const std::vector<NodeProgress>& nodes) {
  json::array list;
  for (const NodeProgress& node : nodes) {
    list.push_back({{"node", node.node},
                    {"policy", node.policy},
                    {"group", node.group},
                    {"driver", node.driver},
                    {"target", node.target},
                    {"state", node.state},
                    {"next", node.next},
                    {"evicts", json::array(node.evicts.begin(), node.evicts.end())},
                    {"blocks", json::array(node.blocks.begin(), node.blocks.end())}});
  }
  return {{"nodes", std::move(list)}};
}

std::string ProgressText(const std::vector<NodeProgress>& nodes) {
  if (nodes.empty()) {
    return "no GpuPolicy decides the driver of any node\n";
  }
  report::Table table({"NODE", "GROUP", "DRIVER", "TARGET", "STATE", "EVICTS", "NEXT"});
  for (const NodeProgress& node : nodes) {
    const std::string next = node.blocks.empty() ? node.next
                                                 : fmt::format("{}; nobody creates again: {}",
                                                               node.next, Join(node.blocks, ", "));
    table.AddRow({node.node, fmt::format("{}/{}", node.policy, node.group), node.driver,
                  node.target, node.state, Join(node.evicts, ", "), next});
  }
  return table.Render();
}

StatusOr<ExitCode> ShowPreview(Connection& connection, const ControllerCommandOptions& options,
                               OutputFormat format) {
  using Nodes = std::vector<NodeProgress>;
  const StatusOr<Nodes> nodes = kube::RunUntilDone<Nodes>(*connection.loop, [&](auto done) {
    return std::make_unique<controller::Preview>(*connection.loop, connection.cluster->client(),
                                                 connection.random, options.pods, done);
  });
  if (nodes.status().code() == StatusCode::kNotFound) {
    return Annotate(nodes.status(),
                    "the cluster does not know GpuPolicy: install kgpu's "
                    "CustomResourceDefinition");
  }
  RETURN_IF_ERROR(nodes.status());
  return OkOr(PrintAs(format, ProgressText(*nodes), ProgressJson(*nodes)));
}

http::Response Answer(const http::Request& request, const controller::Controller& controller) {
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  std::string why;
  if (request.path != "/healthz" && request.path != "/readyz" && request.path != "/metrics") {
    return http::UnknownPath(request);
  }
  if (!is_read) {
    return http::WrongMethod(request, "GET, HEAD");
  }
  if (request.path == "/metrics") {
    http::Response response = http::TextResponse(200, controller.MetricsText());
    return response;
  }
  return request.path == "/healthz" || controller.IsReady(&why) ? http::TextResponse(200, "ok")
                                                                : http::TextResponse(503, why);
}

std::string IdentityOf(const ControllerCommandOptions& options, Random& random) {
  std::string name = options.identity;
  utsname host = {};
  if (name.empty() && uname(&host) == 0) {
    name = host.nodename;  // the pod's name
  }
  return fmt::format("{}_{:016x}", name, random.Next());
}

StatusOr<ExitCode> Lead(Connection& connection, const ControllerCommandOptions& options,
                        const UniqueFd& signals) {
  EpollLoop& loop = *connection.loop;
  const auto lease = connection.cluster->NewClient(ClientOf(5, 10));
  const auto events = connection.cluster->NewClient(ClientOf(5, 10));
  controller::ControllerOptions settings{.pods = options.pods,
                                         .identity = IdentityOf(options, connection.random)};
  Status lost = OkStatus();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<controller::Controller> controller,
      controller::Controller::Start(
          loop, {.main = connection.cluster->client(), .lease = *lease, .events = *events},
          connection.random, std::move(settings), [&](const Status& why) {
            lost = why;
            loop.Quit();
          }));
  const auto reads = connection.cluster->NewClient(ClientOf(5, 10));
  cluster_page::ClusterPage page(loop, *reads, VersionNumber());
  http::Server server(loop, [&](const http::Request& request, const http::Responder& responder) {
    if (!page.Answer(request, responder)) {
      responder.Send(Answer(request, *controller));
    }
  });
  if (!options.address.empty()) {
    ASSIGN_OR_RETURN(const std::string address, server.Listen(options.address));
    KGPU_LOG(kInfo, "serving", {"address", address});
  }
  KGPU_LOG(kInfo, "controller started", {"version", VersionNumber()},
           {"server", connection.cluster->server()}, {"namespace", options.pods.space});
  ASSIGN_OR_RETURN(const WatchId watch, loop.WatchReadable(signals.get(), [&] {
    while (sys::NextSignal(signals.get()) != 0) {
      controller->Release([&loop] { loop.Quit(); });
      loop.After(kReleaseLimit, [&loop] { loop.Quit(); });
    }
  }));
  loop.Run();
  loop.Unwatch(watch);
  RETURN_IF_ERROR(lost);
  KGPU_LOG(kInfo, "controller stopped");
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunController(const ControllerCommandOptions& given) {
  ControllerCommandOptions options = given;
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  RETURN_IF_ERROR(Annotate(config::CheckHttpAddress(options.address), "--http-address"));
  if (options.common.is_dry_run) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connect(options));
    return ShowPreview(*connection, options, format);
  }
  SetLogFormat(LogFormat::kKeyValue);
  SetLogLevel(LogLevel::kInfo);
  ASSIGN_OR_RETURN(const UniqueFd signals, sys::TakeSignals({SIGINT, SIGTERM}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connect(options));
  return Lead(*connection, options, signals);
}

}  // namespace

void AddControllerCommand(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<ControllerCommandOptions>(
      parent, "controller", "Run the controller that applies GpuPolicy objects to nodes",
      &RunController);
  command.footer(
      "Runs until SIGTERM. Of several, the one that holds the Lease kgpu-controller acts. With\n"
      "--dry-run it reads the cluster once and shows, node by node, which driver is replaced,\n"
      "what happens next, and which pods are evicted before that.\n"
      "\n"
      "  kgpu cluster controller --dry-run\n"
      "  kgpu cluster controller --dry-run --output json | jq -r '.nodes[].evicts[]'\n"
      "  kgpu cluster controller --http-address :9402      in its Deployment");
  AddClusterOptions(command, options.common);
  AddValue(command, "-n,--namespace", options.space, "NAME",
           "Namespace of the lease, the pods that install drivers, and the agents (default: "
           "the pod's or the context's, unless that is \"default\": then kgpu)")
      ->envname("POD_NAMESPACE");
  AddValue(command, "--http-address", options.address, "ADDRESS",
           "Address for the page of the cluster, /healthz, /readyz and /metrics; \"\" disables it");
  AddValue(command, "--identity", options.identity, "NAME",
           "Name of this process in the lease (default: this host's name)")
      ->envname("POD_NAME");
  AddValue(command, "--image", options.pods.image, "IMAGE",
           "Image of the pods that install drivers from packages, or validate GPUs");
  command.add_flag("!--no-validation", options.pods.validates,
                   "Start no pods that validate GPUs: the agents' conditions are enough");
  AddValue(command, "--pod-service-account", options.pods.service_account, "NAME",
           "ServiceAccount of these pods (default: the namespace's own)");
  command.add_flag("--dry-run", options.common.is_dry_run,
                   "Show what would happen, and change nothing");
  AddOutputOption(command, options.common.output);
}

}  // namespace kgpu::cli
