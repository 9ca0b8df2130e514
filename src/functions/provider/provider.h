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
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/loan_watch.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/pool.h"
#include "src/functions/provider/programs.h"
#include "src/functions/provider/reconciler.h"
#include "src/functions/provider/store.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/function_provider.h"
#include "src/functions/service/meter.h"
#include "src/functions/service/usage_file.h"
#include "src/functions/service/usage_hours.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/disk_worker.h"
#include "src/platform/sys/inotify.h"

namespace kgpu::functions {

struct ProviderOptions {
  std::string run_dir = "/run/kgpu";
  std::string state_dir = "/var/lib/kgpu";
  EngineSettings engine{};
  // Compared with the constraints of functions.
  std::map<std::string, std::string> node_labels{};
  std::chrono::milliseconds start_limit = std::chrono::minutes(2);
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

inline std::string FunctionsFolder(const ProviderOptions& options) {
  return options.state_dir + "/functions";
}
// The folders of a provider with these options.
ProviderFolders FoldersOf(const ProviderOptions& options);
// On which the agent lends GPUs to it.
inline std::string AgentSocket(const ProviderOptions& options) {
  return options.run_dir + "/agent.sock";
}

// Lives on the loop's thread.
class Provider final : public FunctionProvider, private ReplicaOwner {
 public:
  // Reads what is deployed. `loop` and `programs` must outlive the provider. Errors: those of the
  // folders.
  static StatusOr<std::unique_ptr<Provider>> Open(EventLoop& loop, Programs& programs,
                                                  ProviderOptions options, uint64_t seed);
  // Writes the usage; leaves containers running for the next provider.
  ~Provider() override;
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  std::string_view name() const override { return "local"; }
  StatusOr<std::string> KeyOf(std::string_view name, std::string_view space) const override;
  // `key` is the function's name.
  void Deploy(const std::string& key, Function function, DeployMode mode,
              std::function<void(StatusOr<Notes>)> done) override;
  void Delete(const std::string& key, std::function<void(Status)> done) override;
  void SetReplicas(const std::string& key, int64_t replicas,
                   std::function<void(Status)> done) override;
  const Function* Find(const std::string& key) const override;
  std::string IdentityOf(const std::string& key) const override;
  bool Take(const std::string& key, FunctionCall& call) override;
  boost::json::object View(const std::string& key) const override;
  boost::json::array Views(std::string_view space) const override;
  void ReadLogs(const std::string& key, const LogRequest& request,
                std::function<void(StatusOr<std::string>)> done) override;
  StatusOr<std::unique_ptr<LogReader>> FollowLogs(const std::string& key,
                                                  std::function<bool(std::string_view)> write,
                                                  std::function<void()> ended) override;
  // With the GPU time until now.
  std::map<std::string, FunctionUse> UsageSince(WallTime from) override;
  std::string MetricsPage(metrics::Format format) override;
  // Ends all replicas, those of earlier providers too, and returns their loans. Errors: those of
  // podman and of the agent.
  void StopAll(const std::function<void(Status)>& done) override;

  const std::map<std::string, std::unique_ptr<Pool>>& pools() const { return pools_; }
  const Pool* FindPool(const std::string& name) const;
  const ProviderFolders& folders() const { return folders_; }
  const Meter& meter() const { return meter_; }

 private:
  struct Deploying {
    ~Deploying();
    void RemoveAuthFile();

    Function function;
    DeployMode mode;
    Notes notes;
    std::function<void(StatusOr<Notes>)> done;
    std::string auth_file;  // while its image is fetched; empty: there is none
  };

  Provider(EventLoop& loop, Programs& programs, ProviderOptions options, uint64_t seed);
  Status Start();
  // The GPU time until now.
  void CountGpuTime();
  void ArmUsageTimer();
  void WatchSecrets();
  void WatchLoans();
  ReplicaDeps PoolDeps();

  // Runs `work` on the disk's thread, then `done` on the loop: with its result, or an error.
  template <typename Result>
  void OnDisk(std::function<Result()> work, std::function<void(Result)> done);
  // Writes the file of a deployment, then calls `saved` from the loop.
  void Save(const Deployment& deployment, std::function<void(const Status&)> saved);
  // Whether it may be deployed at all now.
  Status CheckOpen(const std::string& name) const;
  Status CheckMode(const std::string& name, DeployMode mode) const;
  Status CheckConstraints(const Function& function, Notes& notes) const;
  void CheckGpus(const std::shared_ptr<Deploying>& deploying);
  void FetchImage(const std::shared_ptr<Deploying>& deploying);
  Status WriteAuthFile(Deploying& deploying);
  void RemoveOldAuthFiles() const;
  void Commit(const std::shared_ptr<Deploying>& deploying, const std::string& image_id);
  Status Apply(Deployment deployment, DeployMode mode);

  bool Owns(const std::string& replica) const override;
  bool Adopt(const FoundContainer& container, const Loan& loan) override;

  EventLoop& loop_;
  const ProviderOptions options_;
  const ProviderFolders folders_;
  Random random_;
  Podman podman_;
  LoanClient loans_;
  const Store store_;
  const UsageFile usage_file_;
  UsageHours usage_;
  Meter meter_;
  std::map<std::string, std::unique_ptr<Pool>> pools_;
  std::set<std::string> deleting_;
  std::multiset<std::string> saving_;  // their files are being written
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<LoanWatch> loan_watch_;
  bool has_looked_ = false;
  std::set<std::string> undecided_;  // functions of which earlier containers may run
  bool is_stopping_ = false;
  Timer usage_timer_;
  std::unique_ptr<sys::Inotify> secrets_watch_;
  Timer secrets_timer_;
  Lifetime lifetime_;
  sys::DiskWorker disk_;
};

}  // namespace kgpu::functions
