// Functions as Deployments of a Kubernetes cluster. The Deployments are the truth: nothing about a
// function is kept here that a restart would lose. docs/how-it-works/functions-on-kubernetes.md
// describes who decides what.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/kubernetes/demand_board.h"
#include "src/functions/kubernetes/deployer.h"
#include "src/functions/kubernetes/deployment_facts.h"
#include "src/functions/kubernetes/function_pods.h"
#include "src/functions/kubernetes/gpu_time.h"
#include "src/functions/kubernetes/scale.h"
#include "src/functions/kubernetes/watches.h"
#include "src/functions/service/function_provider.h"
#include "src/functions/service/meter.h"
#include "src/functions/service/usage_file.h"
#include "src/functions/service/usage_hours.h"
#include "src/kube/api/client.h"
#include "src/kube/api/leader_election.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

// Why a pod has no node.
struct PodExplanation {
  std::string text{};
  bool may_fit_later = true;  // false: no node has what it requests, whoever else uses it
};
// Explains a pod; calls back once, from the loop.
using ExplainPod = std::function<void(const std::string& space, const std::string& pod,
                                      std::function<void(StatusOr<PodExplanation>)>)>;

struct KubeProviderOptions {
  std::vector<std::string> spaces{};  // of functions; the first is the default one
  std::string own_space{};            // of the gateways
  std::string identity{};             // of this gateway: its pod's name; unique
  DeployerOptions deployer{};
  PodAddress address = WatchdogAddress;
  // How long a call waits for a replica, beside the function's own time: nodes may have to come.
  std::chrono::milliseconds start_limit = std::chrono::minutes(10);
  GpuSeconds gpu_seconds_per_day{};                   // by namespace; none: not limited
  std::string usage_file{};                           // may be empty
  kube::LeaderOptions lease{.name = "kgpu-gateway"};  // its space and identity are set from here
};

// Separate rate limits, so that nothing delays the lease.
struct KubeClients {
  kube::Client& main;
  kube::Client& lease;
};

// Lives on the loop's thread.
class KubeProvider final : public FunctionProvider {
 public:
  // All references must outlive it. Errors: InvalidArgument (no namespace; the lease).
  static StatusOr<std::unique_ptr<KubeProvider>> Start(EventLoop& loop, KubeClients clients,
                                                       Random& random, KubeProviderOptions options,
                                                       ExplainPod explain);
  ~KubeProvider() override;
  KubeProvider(const KubeProvider&) = delete;
  KubeProvider& operator=(const KubeProvider&) = delete;

  // Queued calls that have not been handed to Take, by key.
  void SetQueued(std::function<int64_t(const std::string& key)> queued) {
    queued_ = std::move(queued);
  }
  // Looks at a function again, soon: something of it has changed.
  void Settle(const std::string& key);
  bool is_scaling() const;
  // Gives the lease back. `done` is called once.
  void Release(std::function<void()> done);

  std::string_view name() const override { return "kubernetes"; }
  // Other gateways deploy functions, too.
  bool may_lag() const override { return true; }
  // Once every function has been read.
  Status CheckHealth() const override;
  StatusOr<std::string> KeyOf(std::string_view name, std::string_view space) const override;
  void Deploy(const std::string& key, Function function, DeployMode mode,
              std::function<void(StatusOr<Notes>)> done) override;
  // The garbage collector removes its pods, which end their calls first.
  void Delete(const std::string& key, std::function<void(Status)> done) override;
  void SetReplicas(const std::string& key, int64_t replicas,
                   std::function<void(Status)> done) override;
  const Function* Find(const std::string& key) const override;
  // The Deployment's UID.
  std::string IdentityOf(const std::string& key) const override;
  bool Take(const std::string& key, FunctionCall& call) override;
  boost::json::object View(const std::string& key) const override;
  boost::json::array Views(std::string_view space) const override;
  std::optional<std::string> SpaceOfReplica(std::string_view ip) const override;
  void ReadLogs(const std::string& key, const LogRequest& request,
                std::function<void(StatusOr<std::string>)> done) override;
  StatusOr<std::unique_ptr<LogReader>> FollowLogs(const std::string& key,
                                                  std::function<bool(std::string_view)> write,
                                                  std::function<void()> ended) override;
  // Since the start, or since usage_file exists; what this gateway has seen.
  std::map<std::string, FunctionUse> UsageSince(WallTime from) override;
  std::string MetricsPage(metrics::Format format) override;
  // Errors: Unimplemented.
  void StopAll(const std::function<void(Status)>& done) override;

 private:
  struct Entry {
    DeploymentFacts facts;
    std::string space;
    std::unique_ptr<FunctionPods> pods;
    ScaleWindow window{};
    bool is_seeded = false;  // the window knows how many replicas there were
    std::unique_ptr<kube::Call> scaling{};
    int64_t failures = 0;   // of scaling, in a row
    SteadyTime retry_at{};  // not before this
    std::unique_ptr<Timer> timer{};
    bool is_asking = false;  // why a pod has no node
    std::optional<SteadyTime> asked{};
  };
  struct NameAndSpace {
    std::string name;
    std::string space;
  };
  std::unique_ptr<FunctionPods> NewPods(const std::string& key, const std::string& space);
  void RemoveEntry(const std::string& key);

  KubeProvider(EventLoop& loop, KubeClients clients, Random& random, KubeProviderOptions options,
               ExplainPod explain);
  void Submit(DeployOrder order, std::function<void(StatusOr<Notes>)> done);
  Status RunForLease();
  void OnElected();
  void OnLost(const Status& why);
  void OnDeployment(const boost::json::value& deployment);
  void OnDeploymentGone(const boost::json::value& deployment);
  void OnPod(const boost::json::value& pod);
  void OnPodGone(const boost::json::value& pod);
  void RemovePod(const std::string& key, const std::string& name);
  // `ip`: empty if the pod has none any more.
  void SetAddress(const boost::json::value& pod, const std::string& ip);
  void SettleAll();
  void SettleDirty();
  void SettleOne(const std::string& key, Entry& entry);
  void LookAtProblem(const std::string& key, Entry& entry);
  void AskWhy(const std::string& key, Entry& entry, const PodFacts& pod);
  void OnExplained(const std::string& key, const std::string& pod,
                   const StatusOr<PodExplanation>& explanation);
  int64_t QueuedOf(const std::string& key, const Entry& entry) const;
  bool IsOverQuota(const Entry& entry) const;
  void ScaleTo(const std::string& key, Entry& entry, int64_t replicas);
  void OnScaled(const std::string& key, int64_t replicas, const Status& status);
  void ArmEntry(const std::string& key, Entry& entry, SteadyTime due);
  void DropEnded();
  NameAndSpace PartsOf(const std::string& key) const;
  std::string KeyFor(std::string_view name, std::string_view space) const;
  static boost::json::object ViewOf(const Entry& entry);
  std::vector<std::string> PodNames(const Entry& entry) const;
  void ArmTick();
  void Tick();
  std::chrono::seconds UntilMidnight() const;

  EventLoop& loop_;
  const KubeClients clients_;
  Random& random_;
  const KubeProviderOptions options_;
  const ExplainPod explain_;
  std::function<int64_t(const std::string& key)> queued_;
  const UsageFile usage_file_;
  UsageHours usage_;
  Meter meter_;
  std::map<std::string, Entry> entries_;
  // Pods whose Deployment is not known yet, or no longer: by key and name.
  std::map<std::string, std::map<std::string, PodFacts>> unclaimed_;
  struct PodAtIp {
    std::string pod;  // "namespace/name"
    std::string space;
  };
  std::map<std::string, PodAtIp, std::less<>> pods_by_ip_;
  std::map<std::string, std::string> ips_;  // by "namespace/name"
  // Deleted, with calls in progress; by key.
  std::multimap<std::string, std::unique_ptr<FunctionPods>> ending_;
  std::set<std::string> dirty_;
  bool is_settle_posted_ = false;
  Timer tick_;
  Deployer deployer_;
  std::unique_ptr<DemandBoard> board_;
  std::unique_ptr<GpuTimeRecord> gpu_time_;
  std::unique_ptr<FunctionWatches> watches_;
  std::unique_ptr<kube::LeaderElection> election_;
  uint64_t last_read_ = 0;
  std::map<uint64_t, std::unique_ptr<LogReader>> log_reads_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
