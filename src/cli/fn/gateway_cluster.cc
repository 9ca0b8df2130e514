#include "src/cli/fn/gateway_cluster.h"

#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/cli/fn/explain_child.h"
#include "src/functions/kubernetes/kube_provider.h"
#include "src/functions/provider/programs.h"
#include "src/functions/service/service.h"
#include "src/functions/spec/checks.h"
#include "src/kube/api/cluster.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/body_budget.h"

namespace kgpu::cli {
namespace {

// How old the numbers of queued calls may be that scaling sees.
constexpr std::chrono::seconds kQueuedAge{1};
constexpr std::string_view kModelFlag = "--model-resource";
constexpr std::string_view kMemoryFlag = "--memory-resource";
constexpr size_t kAnswerBuffer = size_t{512} << 10;

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

kube::ClientOptions GatewayClient(double per_second, double burst) {
  utsname name = {};
  kube::ClientOptions options;
  options.gate.per_second = per_second;
  options.gate.burst = burst;
  options.user_agent = kube::UserAgent("kgpu-gateway", VersionNumber(),
                                       uname(&name) == 0 ? name.machine : "unknown");
  return options;
}

StatusOr<functions::GpuSeconds> ParseQuotas(const GatewayClusterOptions& options) {
  constexpr char kFlag[] = "--gpu-seconds-per-day";
  functions::GpuSeconds quotas;
  for (const std::string& text : options.gpu_seconds_per_day) {
    const size_t equals = text.find('=');
    const auto limit =
        equals == std::string::npos ? std::nullopt : ParseUint(text.substr(equals + 1));
    const std::string space = text.substr(0, equals);
    if (!limit || std::ranges::find(options.spaces, space) == options.spaces.end()) {
      return InvalidArgument("{}: {} must be NAMESPACE=SECONDS, with one of {}", kFlag,
                             Printable(text, 80), Join(options.spaces, ", "));
    }
    quotas[space] = static_cast<double>(*limit);
  }
  return quotas;
}

struct ResourceFor {
  std::string what;
  std::string resource;
};

// "A100-SXM4-80GB=nvidia.com/a100".
StatusOr<ResourceFor> ParseResourceFor(std::string_view flag, const std::string& text) {
  const size_t equals = text.find('=');
  const std::string resource = equals == std::string::npos ? "" : text.substr(equals + 1);
  const size_t slash = resource.find('/');
  if (equals == 0 || slash == 0 || slash == std::string::npos || slash + 1 == resource.size()) {
    return InvalidArgument("{}: {} must be {}=RESOURCE, such as nvidia.com/NAME", flag,
                           Printable(text, 80), flag == kMemoryFlag ? "AMOUNT" : "MODEL");
  }
  return ResourceFor{text.substr(0, equals), resource};
}

Status CheckSpaces(const std::vector<std::string>& spaces) {
  for (const std::string& space : spaces) {
    RETURN_IF_ERROR(Annotate(functions::CheckFunctionName(space), "--function-namespaces"));
  }
  return spaces.empty() ? InvalidArgument("--function-namespaces: name at least one") : OkStatus();
}

std::vector<std::string> ExplainFlags(const GatewayClusterOptions& options) {
  std::vector<std::string> flags;
  if (!options.kubeconfig.empty()) {
    flags.push_back("--kubeconfig=" + options.kubeconfig);
  }
  if (!options.context.empty()) {
    flags.push_back("--context=" + options.context);
  }
  return flags;
}

}  // namespace

StatusOr<functions::DeployerOptions> DeployerOptionsOf(const GatewayClusterOptions& options) {
  functions::DeployerOptions deployer{.mesh_url = options.mesh_url,
                                      .prometheus_url = options.prometheus_url};
  for (const std::string& text : options.model_resources) {
    ASSIGN_OR_RETURN(ResourceFor model, ParseResourceFor(kModelFlag, text));
    deployer.model_resources[std::move(model.what)] = std::move(model.resource);
  }
  for (const std::string& text : options.memory_resources) {
    ASSIGN_OR_RETURN(ResourceFor part, ParseResourceFor(kMemoryFlag, text));
    const StatusOr<Bytes> bytes = ParseQuantity(part.what);
    RETURN_IF_ERROR(Annotate(bytes.status(), "{}", kMemoryFlag));
    deployer.memory_resources[static_cast<int64_t>(bytes->count)] = std::move(part.resource);
  }
  return deployer;
}

struct ClusterFunctions::Impl {
  explicit Impl(EventLoop& its_loop) : loop(its_loop) {}

  // Of one function, from numbers that are taken once for all of them.
  int64_t Queued(const std::string& key) {
    const SteadyTime now = loop.clock().Now();
    if (!counted || now - *counted >= kQueuedAge) {
      counted = now;
      counts = service->queue().Counts();
    }
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : static_cast<int64_t>(found->second.waiting);
  }

  EventLoop& loop;
  Random random{Random::SeedFromKernel()};
  std::unique_ptr<kube::Cluster> cluster{};
  std::unique_ptr<kube::Client> lease{};
  std::unique_ptr<functions::ChildPrograms> programs{};
  std::unique_ptr<functions::KubeProvider> provider{};
  std::unique_ptr<functions::Service> service{};
  std::unique_ptr<http::Server> mesh{};  // for functions that call others
  std::map<std::string, functions::FunctionCounts> counts{};
  std::optional<SteadyTime> counted{};
};

void AddGatewayClusterOptions(CLI::App& command, GatewayClusterOptions& options) {
  AddValue(command, "--function-namespaces", options.spaces, "NAME,…",
           "With --provider kubernetes: the namespaces of functions; the first is the default one")
      ->delimiter(',');
  AsPath(AddValue(command, "--kubeconfig", options.kubeconfig, "FILE",
                  "Kubeconfig of the cluster (default: that of the pod)"));
  AddValue(command, "--context", options.context, "NAME", "Context in the kubeconfig");
  AddStateDirOption(command, options.state_dir, "Folder for queued calls");
  AddValue(
      command, "--mesh-listen", options.mesh_listen, "ADDRESS",
      "With --provider kubernetes: also listen here for calls that functions make of functions "
      "of their namespace, without TLS and tokens; \"off\": nowhere");
  AddValue(command, "--mesh-url", options.mesh_url, "HOST:PORT",
           "Where functions find the address of --mesh-listen");
  AddValue(command, "--prometheus-url", options.prometheus_url, "URL",
           "Where KEDA reads metrics, for functions that it scales");
  AddValue(command, "--gpu-seconds-per-day", options.gpu_seconds_per_day, "NAMESPACE=SECONDS",
           "How much GPU time a namespace may use a day, by UTC (repeatable)");
  AddValue(command, std::string(kModelFlag), options.model_resources, "MODEL=RESOURCE",
           "Resource of a pool that has GPUs of one model only, for functions that request it "
           "(repeatable)");
  AddValue(command, std::string(kMemoryFlag), options.memory_resources, "AMOUNT=RESOURCE",
           "Resource of a pool that divides GPUs into parts of this memory, such as 20Gi, for "
           "functions that request no more (repeatable)");
  AddQueueOptions(command, options.queue);
}

ClusterFunctions::ClusterFunctions(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

ClusterFunctions::~ClusterFunctions() = default;

StatusOr<std::unique_ptr<ClusterFunctions>> ClusterFunctions::Start(
    EventLoop& loop, const sys::Root& root, const GatewayClusterOptions& options) {
  RETURN_IF_ERROR(CheckSpaces(options.spaces));
  auto impl = std::make_unique<Impl>(loop);
  kube::ClusterOptions cluster{.client = GatewayClient(20, 30)};
  ASSIGN_OR_RETURN(cluster.sources, ClusterSources(options.kubeconfig, options.context));
  ASSIGN_OR_RETURN(impl->cluster,
                   kube::Cluster::Open(loop, impl->random, root, std::move(cluster)));
  impl->lease = impl->cluster->NewClient(GatewayClient(5, 10));
  constexpr size_t kExplanationsAtATime = 1;
  impl->programs =
      std::make_unique<functions::ChildPrograms>(loop, Environment(), kExplanationsAtATime);

  constexpr uint64_t kMask = 0xffffffff;
  const std::string pod = EnvironmentText("POD_NAME");
  const std::string space = EnvironmentText("POD_NAMESPACE");
  const std::string folder = options.state_dir + "/functions";
  functions::KubeProviderOptions provider{
      .spaces = options.spaces,
      .own_space = space.empty() ? "kgpu" : space,
      .identity =
          pod.empty() ? fmt::format("{}-{:08x}", NodeName(""), impl->random.Next() & kMask) : pod,
      .usage_file = options.queue.queue == "sqlite" ? folder + "/usage.jsonl" : ""};
  ASSIGN_OR_RETURN(provider.gpu_seconds_per_day, ParseQuotas(options));
  ASSIGN_OR_RETURN(provider.deployer, DeployerOptionsOf(options));
  ASSIGN_OR_RETURN(impl->provider, functions::KubeProvider::Start(
                                       loop, {impl->cluster->client(), *impl->lease}, impl->random,
                                       std::move(provider),
                                       ExplainByChild(*impl->programs, ExplainFlags(options))));
  functions::ServiceOptions service{.version = VersionNumber(), .answer_buffer = kAnswerBuffer};
  ASSIGN_OR_RETURN(service.make_queue, QueueMakerOf(loop, options.queue, folder + "/queue"));
  ASSIGN_OR_RETURN(impl->service,
                   functions::Service::Start(loop, *impl->provider, Random::SeedFromKernel(),
                                             std::move(service)));
  impl->provider->SetQueued(
      [state = impl.get()](const std::string& key) { return state->Queued(key); });
  if (options.mesh_listen != "off") {
    http::ServerOptions server;
    server.limits = {.header = size_t{64} << 10, .body = size_t{16} << 20};
    server.max_connections = 1'024;
    server.bodies = std::make_shared<http::BodyBudget>(functions::kMaxMeshBodies);
    impl->mesh = std::make_unique<http::Server>(
        loop,
        [of_functions = impl->service.get()](http::Request request,
                                             const http::Responder& responder) {
          of_functions->HandleReplica(std::move(request), responder);
        },
        server);
    ASSIGN_OR_RETURN(const std::string address, impl->mesh->Listen(options.mesh_listen));
    KGPU_LOG(kInfo, "functions may call functions", {"address", address});
  }
  return std::unique_ptr<ClusterFunctions>(new ClusterFunctions(std::move(impl)));
}

http::Server::Handler ClusterFunctions::handler() {
  return [service = impl_->service.get()](http::Request request, const http::Responder& responder) {
    service->Handle(std::move(request), responder);
  };
}

void ClusterFunctions::Drain(std::function<void()> released) {
  if (impl_->mesh != nullptr) {
    impl_->mesh->Shutdown();
  }
  impl_->provider->Release(std::move(released));
}

bool ClusterFunctions::is_busy() const {
  return impl_->mesh != nullptr && impl_->mesh->is_busy();
}

const std::string& ClusterFunctions::server() const {
  return impl_->cluster->server();
}

}  // namespace kgpu::cli
