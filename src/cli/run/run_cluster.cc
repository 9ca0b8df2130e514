#include "src/cli/run/run_cluster.h"

#include <sys/utsname.h>

#include <boost/json/value.hpp>

#include <optional>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/cli/base/version.h"
#include "src/cli/run/run_judge.h"
#include "src/diagnose/explain/explain.h"
#include "src/diagnose/explain/gather.h"
#include "src/diagnose/image/host_facts.h"
#include "src/diagnose/image/store.h"
#include "src/diagnose/image/verdict.h"
#include "src/kube/api/cluster.h"
#include "src/kube/api/run_until_done.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {
namespace {

std::string ThisMachine() {
  utsname name = {};
  return uname(&name) == 0 ? name.machine : "unknown";
}

// From the image in the store of an engine of this host.
std::optional<run::CudaNeed> CudaOfLocalImage(const std::string& name) {
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  if (!root.ok() || !image::IsImageName(name)) {
    return std::nullopt;
  }
  sys::RealRunner runner;
  const StatusOr<image::ImageFacts> facts = image::FindImage(
      *root, runner, name,
      {.pick = {.architecture = image::ImageArchitecture(ThisMachine()), .reads_layers = false},
       .environment = image::EngineEnvironment(Environment())});
  if (!facts.ok()) {
    return std::nullopt;
  }
  const image::ImageVerdict verdict = image::Judge(*facts, {});
  if (!verdict.cuda) {
    return std::nullopt;
  }
  return run::CudaNeed{.version = *verdict.cuda,
                       .update = verdict.update,
                       .source = fmt::format("the image in {}", facts->source)};
}

}  // namespace

struct RunCluster::Impl {
  std::unique_ptr<EpollLoop> loop;
  std::optional<sys::Root> root;
  Random random{Random::SeedFromKernel()};
  std::unique_ptr<kube::Cluster> cluster;
  std::optional<kube::LoopClient> client;
};

RunCluster::RunCluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

RunCluster::~RunCluster() = default;

StatusOr<std::unique_ptr<RunCluster>> RunCluster::Open(const NodeOptions& options) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(impl->root, sys::Root::Open("/"));
  kube::ClusterOptions cluster;
  ASSIGN_OR_RETURN(cluster.sources, ClusterSources(options.kubeconfig, options.context));
  cluster.client.user_agent = kube::UserAgent("kgpu", VersionNumber(), ThisMachine());
  cluster.client.gate.per_second = 30;
  cluster.client.gate.burst = 60;
  ASSIGN_OR_RETURN(impl->cluster,
                   kube::Cluster::Open(*impl->loop, impl->random, *impl->root, std::move(cluster)));
  impl->client.emplace(*impl->loop, impl->cluster->client());
  return std::unique_ptr<RunCluster>(new RunCluster(std::move(impl)));
}

kube::BlockingClient& RunCluster::client() {
  return *impl_->client;
}

std::string RunCluster::SpaceOr(const std::string& given) const {
  if (!given.empty()) {
    return given;
  }
  return impl_->cluster->space().empty() ? "default" : impl_->cluster->space();
}

Status RunCluster::ReadText(kube::ApiRequest request,
                            const std::function<void(std::string_view)>& take) {
  return kube::RunUntilDone<bool>(*impl_->loop,
                                  [&](auto done) {
                                    return impl_->cluster->client().Stream(
                                        std::move(request),
                                        {.on_text = take, .on_end = [done](const Status& status) {
                                           done(status.ok() ? StatusOr<bool>(true) : status);
                                         }});
                                  })
      .status();
}

run::StartDeps RunCluster::Deps(std::function<void(std::string_view)> note) {
  const explain::Ask ask = [this](kube::ApiRequest request) {
    return client().Send(std::move(request));
  };
  return {.client = client(),
          .judge = [ask](const boost::json::value& pod) { return JudgePod(ask, pod); },
          .explain = [ask](const std::string& space,
                           const std::string& pod) { return ExplainPod(ask, space, pod); },
          .find_cuda = CudaOfLocalImage,
          .note = std::move(note)};
}

}  // namespace kgpu::cli
