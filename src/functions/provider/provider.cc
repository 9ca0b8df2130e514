#include "src/functions/provider/provider.h"

#include <sys/inotify.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/provider/logs.h"
#include "src/functions/replicas/scaling.h"
#include "src/functions/service/folders.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr std::chrono::minutes kUsageEvery{1};
// Several secrets are often replaced at a time.
constexpr std::chrono::milliseconds kSettled{100};

}  // namespace

ProviderFolders FoldersOf(const ProviderOptions& options) {
  return {.run = options.run_dir + "/functions",
          .secrets = FunctionsFolder(options) + "/secrets",
          .logs = FunctionsFolder(options) + "/logs",
          .mesh = options.run_dir + "/functions-mesh",
          .queue = FunctionsFolder(options) + "/queue"};
}

StatusOr<std::unique_ptr<Provider>> Provider::Open(EventLoop& loop, Programs& programs,
                                                   ProviderOptions options, uint64_t seed) {
  std::unique_ptr<Provider> provider(new Provider(loop, programs, std::move(options), seed));
  RETURN_IF_ERROR(provider->Start());
  return provider;
}

Provider::Provider(EventLoop& loop, Programs& programs, ProviderOptions options, uint64_t seed)
    : loop_(loop),
      options_(std::move(options)),
      folders_(FoldersOf(options_)),
      random_(seed),
      podman_(programs, options_.engine),
      loans_(loop, AgentSocket(options_)),
      store_(FunctionsFolder(options_) + "/deployed"),
      usage_file_(FunctionsFolder(options_) + "/usage.jsonl"),
      meter_(usage_, kMachinePhases),
      usage_timer_(loop),
      secrets_timer_(loop),
      disk_(loop) {
}

Provider::~Provider() {
  reconciler_.reset();
  CountGpuTime();
  usage_file_.Write(usage_);
}

Status Provider::Start() {
  for (const std::string& folder : {folders_.run, folders_.secrets, folders_.logs}) {
    RETURN_IF_ERROR(MakeFolder(folder, kOursAlone));
  }
  RemoveOldAuthFiles();
  ASSIGN_OR_RETURN(Store::Found found, store_.Open());
  for (const std::string& problem : found.problems) {
    KGPU_LOG(kError, "function not read", {"problem", problem});
  }
  for (Deployment& deployment : found.deployments) {
    const std::string name = deployment.function.name;
    pools_[name] = std::make_unique<Pool>(PoolDeps(), random_, std::move(deployment));
  }
  usage_file_.Read(usage_);
  ArmUsageTimer();
  WatchSecrets();
  WatchLoans();
  reconciler_ = std::make_unique<Reconciler>(loop_, podman_, loans_, folders_,
                                             static_cast<ReplicaOwner&>(*this));
  reconciler_->Start([this](const std::set<std::string>& undecided) {
    has_looked_ = true;
    undecided_ = undecided;
    for (const auto& [name, pool] : pools_) {
      if (!undecided.contains(name)) {
        pool->Begin();
      }
    }
  });
  return OkStatus();
}

ReplicaDeps Provider::PoolDeps() {
  return {.loop = loop_,
          .podman = podman_,
          .loans = loans_,
          .meter = meter_,
          .folders = folders_,
          .start_limit = options_.start_limit,
          .grace = options_.grace,
          .on_left = lifetime_.Bind([this] { reconciler_->LookAgain(); })};
}

// Secrets are replaced by a new file of the name, or written in place.
void Provider::WatchSecrets() {
  constexpr uint32_t kReplacements = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE;
  auto watch = sys::Inotify::Create(loop_, [this](const auto&) {
    secrets_timer_.Arm(kSettled, [this] {
      for (const auto& [name, pool] : pools_) {
        pool->RefreshSecrets();
      }
    });
  });
  const Status watched =
      watch.ok() ? (*watch)->Watch(folders_.secrets, kReplacements).status() : watch.status();
  if (!watched.ok()) {
    KGPU_LOG(kWarning, "secrets not watched: replicas keep those of their start",
             {"folder", folders_.secrets}, {"reason", Message(watched)});
    return;
  }
  secrets_watch_ = *std::move(watch);
}

void Provider::WatchLoans() {
  loan_watch_ = std::make_unique<LoanWatch>(
      loop_, loans_,
      [this] {
        return std::ranges::any_of(pools_,
                                   [](const auto& named) { return named.second->HasLoans(); });
      },
      [this](const std::string& loan, const std::string& problem) {
        for (const auto& [name, pool] : pools_) {
          pool->OnUnhealthyLoan(loan, problem);
        }
      });
}

// Only while something can change.
void Provider::ArmUsageTimer() {
  usage_timer_.Arm(kUsageEvery, [this] {
    CountGpuTime();
    usage_file_.Write(usage_);
    const bool has_replicas =
        std::ranges::any_of(pools_, [](const auto& named) { return named.second->has_replicas(); });
    if (has_replicas) {
      ArmUsageTimer();
    }
  });
}

bool Provider::Take(const std::string& key, FunctionCall& call) {
  const auto found = pools_.find(key);
  if (found == pools_.end()) {
    return false;
  }
  if (!usage_timer_.is_armed()) {
    ArmUsageTimer();
  }
  found->second->Take(std::move(call));
  return true;
}

const Pool* Provider::FindPool(const std::string& name) const {
  const auto found = pools_.find(name);
  return found == pools_.end() ? nullptr : found->second.get();
}

const Function* Provider::Find(const std::string& key) const {
  const Pool* pool = FindPool(key);
  return pool == nullptr ? nullptr : &pool->deployment().function;
}

std::string Provider::IdentityOf(const std::string& key) const {
  const Pool* pool = FindPool(key);
  return pool == nullptr ? "" : pool->deployment().identity;
}

// A machine has one namespace, without a name.
StatusOr<std::string> Provider::KeyOf(std::string_view name, std::string_view space) const {
  if (!space.empty()) {
    return NotFound("namespace {}: functions of a machine have no namespaces: leave it out",
                    Printable(space));
  }
  return std::string(name);
}

boost::json::object Provider::View(const std::string& key) const {
  return pools_.at(key)->View();
}

boost::json::array Provider::Views(std::string_view /*space*/) const {
  boost::json::array views;
  for (const auto& [name, pool] : pools_) {
    views.push_back(pool->View());
  }
  return views;
}

void Provider::ReadLogs(const std::string& key, const LogRequest& request,
                        std::function<void(StatusOr<std::string>)> done) {
  // May be many megabytes: a thread of its own reads, parses and sorts them.
  OnDisk<StatusOr<std::string>>(
      [folders = folders_, key, request] { return functions::ReadLogs(folders, key, request); },
      std::move(done));
}

StatusOr<std::unique_ptr<LogReader>> Provider::FollowLogs(
    const std::string& key, std::function<bool(std::string_view)> write,
    std::function<void()> ended) {
  return LogFollower::Start(loop_, folders_, key, std::move(write), std::move(ended));
}

void Provider::CountGpuTime() {
  for (const auto& [name, pool] : pools_) {
    pool->CountGpuTime();
  }
}

std::map<std::string, FunctionUse> Provider::UsageSince(WallTime from) {
  CountGpuTime();
  return usage_.Since(from);
}

std::string Provider::MetricsPage(metrics::Format format) {
  CountGpuTime();
  return meter_.Page(format);
}

template <typename Result>
void Provider::OnDisk(std::function<Result()> work, std::function<void(Result)> done) {
  auto shared_done = std::make_shared<std::function<void(Result)>>(std::move(done));
  const bool is_taken = disk_.Post(
      [work = std::move(work), shared_done]() -> sys::DiskWorker::Done {
        return [shared_done, result = work()] { (*shared_done)(result); };
      },
      [shared_done](const Status& status) { (*shared_done)(status); });
  if (!is_taken) {
    (*shared_done)(ResourceExhausted("too many requests wait for the disk: try again"));
  }
}

// Files are written in the order of the requests, and their deployments take effect in it.
void Provider::Save(const Deployment& deployment, std::function<void(const Status&)> saved) {
  saving_.insert(deployment.function.name);
  OnDisk<Status>(
      [store = &store_, deployment] { return store->Save(deployment); },
      [this, name = deployment.function.name, saved = std::move(saved)](const Status& status) {
        saving_.erase(saving_.find(name));
        saved(status);
      });
}

Status Provider::Apply(Deployment deployment, DeployMode mode) {
  const std::string name = deployment.function.name;
  RETURN_IF_ERROR(CheckOpen(name));
  const auto found = pools_.find(name);
  if (found != pools_.end()) {
    found->second->Deploy(std::move(deployment), mode == DeployMode::kReplace);
  } else {
    auto pool = std::make_unique<Pool>(PoolDeps(), random_, std::move(deployment));
    if (has_looked_ && !undecided_.contains(name)) {
      pool->Begin();
    }
    pools_[name] = std::move(pool);
  }
  if (!usage_timer_.is_armed()) {
    ArmUsageTimer();
  }
  return OkStatus();
}

void Provider::Delete(const std::string& key, std::function<void(Status)> done) {
  if (!pools_.contains(key) || deleting_.contains(key)) {
    return done(NotFound("function {}: is not deployed", key));
  }
  // Its file first: without one, the function is not started again, whatever happens from here on.
  deleting_.insert(key);
  OnDisk<Status>([store = &store_, key] { return store->Remove(key); },
                 [this, key, done = std::move(done)](const Status& status) {
                   if (!status.ok()) {
                     deleting_.erase(key);
                     return done(status);
                   }
                   // Loans that no agent takes back are returned once one answers.
                   constexpr bool kNeedsAgent = false;
                   pools_.at(key)->Stop(
                       [this, key, done] {
                         RemoveLogs(folders_, key);
                         deleting_.erase(key);
                         pools_.erase(key);
                         reconciler_->LookAgain();
                         done(OkStatus());
                       },
                       kNeedsAgent);
                 });
}

void Provider::SetReplicas(const std::string& key, int64_t replicas,
                           std::function<void(Status)> done) {
  const Pool* pool = FindPool(key);
  if (pool == nullptr || deleting_.contains(key)) {
    return done(NotFound("function {}: is not deployed", key));
  }
  if (saving_.contains(key)) {
    return done(Unavailable("function {}: is being deployed: try again when that is done", key));
  }
  Deployment deployment = pool->deployment();
  if (Status status = SetMinimum(deployment.function, key, replicas); !status.ok()) {
    return done(std::move(status));
  }
  Save(deployment, [this, key, deployment, done = std::move(done)](const Status& saved) {
    const auto found = pools_.find(key);
    if (!saved.ok() || found == pools_.end() || deleting_.contains(key)) {
      return done(saved.ok() ? NotFound("function {}: is not deployed", key) : saved);
    }
    found->second->Rescale(deployment);
    done(OkStatus());
  });
}

void Provider::StopAll(const std::function<void(Status)>& done) {
  is_stopping_ = true;
  auto left = std::make_shared<size_t>(pools_.size() + 1);
  auto one_less = [this, left, done] {
    if (--*left == 0) {
      reconciler_->Finish(done);
    }
  };
  for (const auto& [name, pool] : pools_) {
    pool->Stop(one_less, false);
  }
  loop_.Post(lifetime_.Bind(one_less));
}

bool Provider::Owns(const std::string& replica) const {
  return std::ranges::any_of(
      pools_, [&replica](const auto& named) { return named.second->HasReplica(replica); });
}

bool Provider::Adopt(const FoundContainer& container, const Loan& loan) {
  const auto found = pools_.find(container.function);
  if (is_stopping_ || found == pools_.end() || deleting_.contains(container.function) ||
      found->second->deployment().hash != container.hash) {
    return false;
  }
  found->second->Adopt(container, loan);
  return true;
}

}  // namespace kgpu::functions
