// Functions as containers on this machine: what is deployed, its replicas, and what they use.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/deployment.h"
#include "src/functions/provider/function_call.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/meter.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/pool.h"
#include "src/functions/provider/programs.h"
#include "src/functions/provider/reconciler.h"
#include "src/functions/provider/store.h"
#include "src/functions/provider/usage_hours.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

namespace kgpu::functions {

struct ProviderOptions {
  std::string run_dir = "/run/kgpu";
  std::string state_dir = "/var/lib/kgpu";
  EngineSettings engine{};
  // What a function's constraints are compared with.
  std::map<std::string, std::string> node_labels{};
  std::chrono::milliseconds start_limit = std::chrono::minutes(2);
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

// The folders of a provider with these options.
ProviderFolders FoldersOf(const ProviderOptions& options);

enum class DeployMode : uint8_t {
  kCreate,   // Errors: AlreadyExists
  kUpdate,   // Errors: NotFound
  kReplace,  // as kUpdate; all replicas are replaced, also by their like
};

// Lives on the loop's thread.
class Provider final : private ReplicaOwner {
 public:
  // What a deployment has to say beside that it succeeded, for people.
  using Notes = std::vector<std::string>;

  // Reads what is deployed. `loop` and `programs` must outlive the provider. Errors: those of the
  // folders.
  static StatusOr<std::unique_ptr<Provider>> Open(EventLoop& loop, Programs& programs,
                                                  ProviderOptions options, uint64_t seed);
  // Writes the usage; leaves containers running for the next provider.
  ~Provider() override;
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  // `done` comes once, perhaps before Deploy returns, when the function is on disk. Errors:
  // AlreadyExists, NotFound; FailedPrecondition (it can never run here: no such GPU, image, secret
  // or label).
  void Deploy(Function function, DeployMode mode, std::function<void(StatusOr<Notes>)> done);
  // `done` comes when nothing of it is left. Errors: NotFound.
  void Delete(const std::string& name, std::function<void(Status)> done);
  // Sets the minimum. Errors: NotFound, InvalidArgument (over the maximum).
  Status SetReplicas(const std::string& name, int64_t replicas);
  // False if there is no such function; `call` is then as before.
  bool Take(const std::string& name, FunctionCall& call);
  // Ends all replicas, those of earlier providers too, and returns their loans; the functions stay
  // deployed. Errors: those of podman and of the agent.
  void StopAll(const std::function<void(Status)>& done);

  const std::map<std::string, std::unique_ptr<Pool>>& pools() const { return pools_; }
  const Pool* Find(const std::string& name) const;
  const ProviderFolders& folders() const { return folders_; }
  const Meter& meter() const { return meter_; }
  // With the GPU time until now.
  std::map<std::string, FunctionUse> UsageSince(WallTime from);
  std::string MetricsPage(metrics::Format format);

 private:
  struct Deploying {
    Function function;
    DeployMode mode;
    Notes notes;
    std::function<void(StatusOr<Notes>)> done;
  };

  Provider(EventLoop& loop, Programs& programs, ProviderOptions options, uint64_t seed);
  Status Start();
  void ReadUsage();
  // The GPU time until now.
  void CountGpuTime();
  void WriteUsage();
  void ArmUsageTimer();
  ReplicaDeps PoolDeps();

  Status CheckMode(const std::string& name, DeployMode mode) const;
  Status CheckConstraints(const Function& function, Notes& notes) const;
  void CheckGpus(const std::shared_ptr<Deploying>& deploying);
  void FetchImage(const std::shared_ptr<Deploying>& deploying);
  StatusOr<std::string> WriteAuthFile(const Function& function) const;
  void Commit(const std::shared_ptr<Deploying>& deploying, const std::string& image_id);

  bool Owns(const std::string& replica) const override;
  bool Adopt(const FoundContainer& container, const Loan& loan) override;

  EventLoop& loop_;
  const ProviderOptions options_;
  const ProviderFolders folders_;
  Random random_;
  Podman podman_;
  LoanClient loans_;
  Store store_;
  UsageHours usage_;
  Meter meter_;
  std::map<std::string, std::unique_ptr<Pool>> pools_;
  std::set<std::string> deleting_;
  std::set<std::string> checks_;  // of loans that test whether GPUs can be lent
  std::unique_ptr<Reconciler> reconciler_;
  bool has_looked_ = false;
  bool is_stopping_ = false;
  TimerId usage_timer_ = TimerId::kNone;
};

}  // namespace kgpu::functions
