#include "src/functions/kubernetes/kube_provider.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/kubernetes/resources.h"
#include "src/functions/replicas/scaling.h"
#include "src/functions/spec/checks.h"
#include "src/kube/api/json.h"
#include "src/kube/api/object_cache.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr int kOverQuotaCode = 429;

}  // namespace

StatusOr<std::unique_ptr<KubeProvider>> KubeProvider::Start(EventLoop& loop, KubeClients clients,
                                                            Random& random,
                                                            KubeProviderOptions options,
                                                            ExplainPod explain) {
  if (options.spaces.empty()) {
    return InvalidArgument("functions: no namespace is given: name one with --function-namespaces");
  }
  std::unique_ptr<KubeProvider> provider(
      new KubeProvider(loop, clients, random, std::move(options), std::move(explain)));
  RETURN_IF_ERROR(provider->RunForLease());
  return provider;
}

KubeProvider::KubeProvider(EventLoop& loop, KubeClients clients, Random& random,
                           KubeProviderOptions options, ExplainPod explain)
    : loop_(loop),
      clients_(clients),
      random_(random),
      options_(std::move(options)),
      explain_(std::move(explain)),
      usage_file_(options_.usage_file),
      meter_(usage_, kPodPhases),
      tick_(loop),
      deployer_(loop, clients.main, options_.deployer) {
  usage_file_.Read(usage_);
  board_ = std::make_unique<DemandBoard>(
      loop_, clients_.lease, random_,
      BoardOptions{.space = options_.own_space, .identity = options_.identity},
      [this] { SettleAll(); });
  gpu_time_ = std::make_unique<GpuTimeRecord>(loop_, clients_.main, random_, options_.own_space,
                                              [this] { SettleAll(); });
  watches_ = std::make_unique<FunctionWatches>(
      loop_, clients_.main, random_, options_.spaces,
      FunctionWatchHandlers{
          .on_deployment = [this](const kube::ObjectPtr& object) { OnDeployment(*object); },
          .on_deployment_gone =
              [this](const kube::ObjectPtr& object) { OnDeploymentGone(*object); },
          .on_pod = [this](const kube::ObjectPtr& object) { OnPod(*object); },
          .on_pod_gone = [this](const kube::ObjectPtr& object) { OnPodGone(*object); },
          .on_synced =
              [this] {
                KGPU_LOG(kInfo, "functions read", {"functions", entries_.size()});
                SettleAll();
              }});
}

KubeProvider::~KubeProvider() {
  for (auto& [key, entry] : entries_) {
    entry.pods->CountGpuTime();
  }
  usage_file_.Write(usage_);
}

Status KubeProvider::RunForLease() {
  kube::LeaderOptions lease = options_.lease;
  lease.space = options_.own_space;
  lease.identity = options_.identity;
  const auto log_trouble = [](const Status& status) {
    KGPU_LOG(kDebug, "lease not held", {"reason", Message(status)});
  };
  ASSIGN_OR_RETURN(
      election_, kube::LeaderElection::Start(loop_, clients_.lease, random_, std::move(lease),
                                             {.on_elected = [this] { OnElected(); },
                                              .on_lost = [this](const Status& why) { OnLost(why); },
                                              .on_trouble = log_trouble}));
  return OkStatus();
}

// Another gateway has decided before, and only it knows on what: no number of replicas falls for a
// while.
void KubeProvider::OnElected() {
  KGPU_LOG(kInfo, "this gateway scales functions");
  for (auto& [key, entry] : entries_) {
    entry.is_seeded = false;
    entry.pods->CountGpuTime();
  }
  board_->SetScaling(true);
  SettleAll();
}

// Calls go on; another gateway decides on fewer replicas.
void KubeProvider::OnLost(const Status& why) {
  KGPU_LOG(kWarning, "this gateway scales functions no longer", {"reason", Message(why)});
  board_->SetScaling(false);
  loop_.Post(lifetime_.Bind([this] {
    election_.reset();
    if (const Status status = RunForLease(); !status.ok()) {
      KGPU_LOG(kError, "lease not asked for", {"reason", Message(status)});
    }
  }));
}

bool KubeProvider::is_scaling() const {
  return election_ != nullptr && election_->is_leader();
}

void KubeProvider::Release(std::function<void()> done) {
  if (election_ == nullptr) {
    return done();
  }
  // The next gateway must know the calls that still run here.
  board_->SetScaling(false);
  election_->Release([done = std::move(done)](const Status&) { done(); });
}

Status KubeProvider::CheckHealth() const {
  if (watches_->is_synced()) {
    return OkStatus();
  }
  return Unavailable("functions: have not been read yet{}{}",
                     watches_->trouble().empty() ? "" : ": ", watches_->trouble());
}

std::string KubeProvider::KeyFor(std::string_view name, std::string_view space) const {
  return space == options_.spaces.front() ? std::string(name) : fmt::format("{}.{}", name, space);
}

KubeProvider::NameAndSpace KubeProvider::PartsOf(const std::string& key) const {
  const size_t dot = key.find('.');
  if (dot == std::string::npos) {
    return {key, options_.spaces.front()};
  }
  return {key.substr(0, dot), key.substr(dot + 1)};
}

StatusOr<std::string> KubeProvider::KeyOf(std::string_view name, std::string_view space) const {
  const size_t dot = name.find('.');
  if (dot != std::string_view::npos && !space.empty() && name.substr(dot + 1) != space) {
    return InvalidArgument("function {}: is not in namespace {}: name only one of the two",
                           Printable(name, 80), Printable(space, 80));
  }
  if (dot != std::string_view::npos) {
    space = name.substr(dot + 1);
    name = name.substr(0, dot);
  }
  if (!space.empty() && std::ranges::find(options_.spaces, space) == options_.spaces.end()) {
    return NotFound("namespace {}: has no functions: this gateway serves {}", Printable(space, 80),
                    Join(options_.spaces, ", "));
  }
  return KeyFor(name, space.empty() ? options_.spaces.front() : space);
}

std::unique_ptr<FunctionPods> KubeProvider::NewPods(const std::string& key,
                                                    const std::string& space) {
  // Every gateway sees every pod: one of them counts.
  PodsDeps deps{.loop = loop_,
                .meter = meter_,
                .address = options_.address,
                .start_limit = options_.start_limit,
                .on_cold_start =
                    [this, key](const PhaseTimes& phases) {
                      if (is_scaling()) {
                        meter_.OnColdStart(key, phases, loop_.clock().WallNow());
                      }
                    },
                .on_gpu_time =
                    [this, key, space](double busy, double held) {
                      if (is_scaling()) {
                        meter_.OnGpuTime(key, busy, held, loop_.clock().WallNow());
                        gpu_time_->Add(space, held);
                      }
                    }};
  return std::make_unique<FunctionPods>(std::move(deps), key, [this, key] { Settle(key); });
}

void KubeProvider::OnDeployment(const json::value& deployment) {
  const std::string space(kube::NamespaceOf(deployment));
  const std::string key = KeyFor(kube::NameOf(deployment), space);
  StatusOr<DeploymentFacts> facts = DeploymentFactsOf(deployment);
  if (!facts.ok()) {
    KGPU_LOG(kWarning, "function not read", {"function", key}, {"reason", Message(facts.status())});
    return;
  }
  if (facts->is_ending) {
    return RemoveEntry(key);
  }
  Entry& entry = entries_[key];
  // Our own writes are known before the watch reports them.
  if (entry.pods != nullptr && entry.facts.uid == facts->uid &&
      facts->generation < entry.facts.generation) {
    return;
  }
  const bool is_new = entry.pods == nullptr;
  if (is_new) {
    entry.space = space;
    entry.pods = NewPods(key, space);
    entry.timer = std::make_unique<Timer>(loop_);
  }
  const bool is_changed = is_new || entry.facts.function_text != facts->function_text ||
                          entry.facts.template_hash != facts->template_hash;
  if (!is_new && facts->replicas > entry.facts.replicas) {
    // Somebody else needs them, another gateway or a person: they stay for the idle time at least.
    entry.window.Set(facts->replicas, loop_.clock().Now());
  }
  entry.facts = *std::move(facts);
  if (is_changed) {
    entry.pods->Deploy(entry.facts.function, entry.facts.template_hash);
  }
  if (is_new) {
    const auto pods = unclaimed_.extract(key);
    for (const auto& [name, pod] :
         pods.empty() ? std::map<std::string, PodFacts>() : pods.mapped()) {
      entry.pods->Put(pod);
    }
  }
  Settle(key);
  ArmTick();
}

void KubeProvider::OnDeploymentGone(const json::value& deployment) {
  RemoveEntry(KeyFor(kube::NameOf(deployment), kube::NamespaceOf(deployment)));
}

void KubeProvider::RemoveEntry(const std::string& key) {
  auto removed = entries_.extract(key);
  if (removed.empty()) {
    return;
  }
  Entry& entry = removed.mapped();
  entry.timer.reset();
  board_->Show(key, 0);
  for (const auto& [name, pod] : entry.pods->pods()) {
    unclaimed_[key].emplace(name, pod->facts());
  }
  entry.pods->Stop();
  ending_.emplace(key, std::move(entry.pods));
  Settle(key);
}

void KubeProvider::OnPod(const json::value& pod) {
  const PodFacts facts = PodFactsOf(pod);
  // A name with a dot would be a function of another namespace.
  if (!CheckFunctionName(facts.function).ok()) {
    return;
  }
  const std::string key = KeyFor(facts.function, kube::NamespaceOf(pod));
  SetAddress(pod, facts.is_over ? "" : facts.ip);
  // A pod that is over holds nothing, though its object may stay until somebody deletes it.
  if (facts.is_over) {
    return RemovePod(key, facts.name);
  }
  if (const auto found = entries_.find(key); found != entries_.end()) {
    return found->second.pods->Put(facts);
  }
  unclaimed_[key].insert_or_assign(facts.name, facts);
}

void KubeProvider::OnPodGone(const json::value& pod) {
  const PodFacts facts = PodFactsOf(pod);
  if (!CheckFunctionName(facts.function).ok()) {
    return;
  }
  SetAddress(pod, "");
  RemovePod(KeyFor(facts.function, kube::NamespaceOf(pod)), facts.name);
}

void KubeProvider::RemovePod(const std::string& key, const std::string& name) {
  if (const auto found = entries_.find(key); found != entries_.end()) {
    found->second.pods->Remove(name);
  }
  if (const auto found = unclaimed_.find(key); found != unclaimed_.end()) {
    found->second.erase(name);
    if (found->second.empty()) {
      unclaimed_.erase(found);
    }
  }
}

// An address may go to another pod before we hear that the one before has ended.
void KubeProvider::SetAddress(const json::value& pod, const std::string& ip) {
  const std::string id = kube::KeyOf(pod);
  std::string& known = ips_[id];
  if (known != ip) {
    const auto old = pods_by_ip_.find(known);
    if (old != pods_by_ip_.end() && old->second.pod == id) {
      pods_by_ip_.erase(old);
    }
    known = ip;
  }
  if (ip.empty()) {
    ips_.erase(id);
  } else {
    pods_by_ip_[ip] = {id, std::string(kube::NamespaceOf(pod))};
  }
}

void KubeProvider::Deploy(const std::string& key, Function function, DeployMode mode,
                          std::function<void(StatusOr<Notes>)> done) {
  Submit({.function = std::move(function), .space = PartsOf(key).space, .key = key, .mode = mode},
         std::move(done));
}

void KubeProvider::Submit(DeployOrder order, std::function<void(StatusOr<Notes>)> done) {
  deployer_.Deploy(std::move(order),
                   [this, done = std::move(done)](StatusOr<Deployer::Deployed> deployed) {
                     if (!deployed.ok()) {
                       return done(deployed.status());
                     }
                     OnDeployment(deployed->deployment);
                     done(std::move(deployed->notes));
                   });
}

void KubeProvider::Delete(const std::string& key, std::function<void(Status)> done) {
  const NameAndSpace parts = PartsOf(key);
  deployer_.Delete(parts.space, parts.name, [this, key, done = std::move(done)](Status status) {
    if (status.ok()) {
      RemoveEntry(key);
    }
    done(status.code() == StatusCode::kNotFound ? NotFound("function {}: is not deployed", key)
                                                : std::move(status));
  });
}

void KubeProvider::SetReplicas(const std::string& key, int64_t replicas,
                               std::function<void(Status)> done) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return done(NotFound("function {}: is not deployed", key));
  }
  // Another gateway may have deployed the function in a way that is not known here yet.
  auto edit = [key, replicas](Function& deployed) { return SetMinimum(deployed, key, replicas); };
  Submit({.function = found->second.facts.function,
          .edit = std::move(edit),
          .space = found->second.space,
          .key = key,
          .mode = DeployMode::kUpdate},
         [done = std::move(done)](const StatusOr<Notes>& notes) { done(notes.status()); });
}

const Function* KubeProvider::Find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second.facts.function;
}

std::string KubeProvider::IdentityOf(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? "" : found->second.facts.uid;
}

bool KubeProvider::Take(const std::string& key, FunctionCall& call) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return false;
  }
  Entry& entry = found->second;
  if (IsOverQuota(entry)) {
    entry.pods->Refuse(
        call, {kOverQuotaCode, "quota",
               fmt::format("namespace {} has used the {} GPU seconds that it may use a day: "
                           "the next day begins at 00:00 UTC",
                           entry.space, options_.gpu_seconds_per_day.at(entry.space)),
               UntilMidnight()});
    return true;
  }
  entry.pods->Take(std::move(call));
  ArmTick();
  return true;
}

std::optional<std::string> KubeProvider::SpaceOfReplica(std::string_view ip) const {
  const auto found = pods_by_ip_.find(ip);
  return found == pods_by_ip_.end() ? std::nullopt : std::optional(found->second.space);
}

void KubeProvider::StopAll(const std::function<void(Status)>& done) {
  done(
      Unimplemented("functions of a cluster are not stopped by a gateway: delete them, or "
                    "uninstall with kgpu cluster uninstall"));
}

}  // namespace kgpu::functions
