#include "src/functions/provider/provider.h"

#include <sys/inotify.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/functions/provider/logs.h"
#include "src/functions/provider/secret_files.h"
#include "src/functions/replicas/scaling.h"
#include "src/functions/service/folders.h"
#include "src/functions/spec/auth_file.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr std::chrono::minutes kUsageEvery{1};
constexpr mode_t kSecretMode = 0600;
// Several secrets are often replaced at a time.
constexpr std::chrono::milliseconds kSettled{100};
constexpr std::string_view kAuthFilePrefix = "auth-";

std::string FunctionsFolder(const ProviderOptions& options) {
  return options.state_dir + "/functions";
}

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

Status Provider::CheckOpen(const std::string& name) const {
  if (is_stopping_) {
    return Unavailable("function {}: the service is stopping", name);
  }
  if (deleting_.contains(name)) {
    return FailedPrecondition("function {}: is being removed: try again when that is done", name);
  }
  return OkStatus();
}

Status Provider::CheckMode(const std::string& name, DeployMode mode) const {
  RETURN_IF_ERROR(CheckOpen(name));
  const bool exists = pools_.contains(name) || saving_.contains(name);
  if (exists && mode == DeployMode::kCreate) {
    return AlreadyExists("function {}: is deployed already: update it", name);
  }
  if (!exists && mode != DeployMode::kCreate) {
    return NotFound("function {}: is not deployed", name);
  }
  return OkStatus();
}

// A label that this machine does not have is one of a cluster's nodes: nothing contradicts it here.
Status Provider::CheckConstraints(const Function& function, Notes& notes) const {
  for (const std::string& constraint : function.constraints) {
    const size_t equals = constraint.find('=');
    const std::string key = constraint.substr(0, equals);
    const auto label = options_.node_labels.find(key);
    if (label == options_.node_labels.end()) {
      notes.push_back(
          fmt::format("constraint {}: this machine has no label {}: not considered; "
                      "kgpu fn serve --label sets labels",
                      constraint, key));
    } else if (label->second != constraint.substr(equals + 1)) {
      return FailedPrecondition(
          "constraint {}: this machine has {}={}: change the constraint, or "
          "deploy on another machine",
          constraint, key, label->second);
    }
  }
  return OkStatus();
}

void Provider::Deploy(const std::string& /*key*/, Function function, DeployMode mode,
                      std::function<void(StatusOr<Notes>)> done) {
  auto deploying = std::make_shared<Deploying>(Deploying{.function = std::move(function),
                                                         .mode = mode,
                                                         .notes = {},
                                                         .done = std::move(done),
                                                         .auth_file = {}});
  const Function& asked = deploying->function;
  Status status = CheckMode(asked.name, mode);
  if (status.ok()) {
    status = CheckConstraints(asked, deploying->notes);
  }
  if (asked.scaling.by != ScaledBy::kKgpu) {
    deploying->notes.emplace_back(
        "scaling.by: not considered: on a machine without a cluster, kgpu scales every function");
  }
  if (status.ok()) {
    const Status secrets = CheckSecrets(folders_, asked);
    status = secrets.ok() ? secrets : FailedPrecondition("{}", Message(secrets));
  }
  if (!status.ok()) {
    return deploying->done(status);
  }
  CheckGpus(deploying);
}

// Whether this machine can ever lend what the function requests: the agent knows.
void Provider::CheckGpus(const std::shared_ptr<Deploying>& deploying) {
  if (deploying->function.gpu.count == 0) {
    return FetchImage(deploying);
  }
  loans_.Check(
      fmt::format("{}{}", kHolderPrefix, deploying->function.name), deploying->function.gpu,
      [this, deploying](const Status& status) {
        if (!status.ok() && status.code() != StatusCode::kResourceExhausted) {
          return deploying->done(Annotate(status, "function {}: {} GPU{} cannot be provided",
                                          deploying->function.name, deploying->function.gpu.count,
                                          deploying->function.gpu.count == 1 ? "" : "s"));
        }
        if (!status.ok()) {
          deploying->notes.push_back(fmt::format("its GPUs are not free now: {}", Message(status)));
        }
        FetchImage(deploying);
      });
}

Provider::Deploying::~Deploying() {
  RemoveAuthFile();
}

void Provider::Deploying::RemoveAuthFile() {
  if (!auth_file.empty()) {
    (void)std::remove(std::exchange(auth_file, {}).c_str());
  }
}

// A file of this deployment alone: another one of the same function may be under way.
Status Provider::WriteAuthFile(Deploying& deploying) {
  if (deploying.function.registry_auth.empty()) {
    return OkStatus();
  }
  deploying.auth_file =
      fmt::format("{}/{}{:016x}.json", FunctionsFolder(options_), kAuthFilePrefix, random_.Next());
  return sys::WriteFileAtomically(deploying.auth_file, AuthFileText(deploying.function),
                                  kSecretMode, sys::Durability::kMemory);
}

// Left by a provider that was killed while it fetched an image.
void Provider::RemoveOldAuthFiles() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(FunctionsFolder(options_), error)) {
    if (entry.path().filename().native().starts_with(kAuthFilePrefix)) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

void Provider::FetchImage(const std::shared_ptr<Deploying>& deploying) {
  if (const Status written = WriteAuthFile(*deploying); !written.ok()) {
    return deploying->done(written);
  }
  podman_.FetchImage(ImageNameOf(deploying->function), deploying->auth_file,
                     [this, deploying](const StatusOr<std::string>& id) {
                       deploying->RemoveAuthFile();
                       if (!id.ok()) {
                         return deploying->done(id.status().code() == StatusCode::kNotFound
                                                    ? FailedPrecondition("{}", Message(id.status()))
                                                    : id.status());
                       }
                       Commit(deploying, *id);
                     });
}

void Provider::Commit(const std::shared_ptr<Deploying>& deploying, const std::string& image_id) {
  // It may have been created or deleted meanwhile.
  const std::string name = deploying->function.name;
  if (const Status status = CheckMode(name, deploying->mode); !status.ok()) {
    return deploying->done(status);
  }
  Deployment deployment =
      MakeDeployment(std::move(deploying->function), image_id, loop_.clock().WallNow());
  const Pool* pool = FindPool(name);
  deployment.identity =
      pool != nullptr ? pool->deployment().identity : fmt::format("{:016x}", random_.Next());
  Save(deployment, [this, deploying, deployment](const Status& saved) {
    const Status status = saved.ok() ? Apply(deployment, deploying->mode) : saved;
    if (!status.ok()) {
      return deploying->done(status);
    }
    deploying->done(std::move(deploying->notes));
  });
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
