// The agent's parts on a simulated loop, put together as the agent does it: health, pools, the
// devices that the kubelet is shown, loans, usage, history. A kill destroys it; the next one starts
// from what was saved.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/node/config/node_config.h"
#include "src/node/inventory/health_monitor.h"
#include "src/node/live/history.h"
#include "src/node/loans/loan_handler.h"
#include "src/node/part/part.h"
#include "src/node/pools/roster.h"
#include "src/node/slices/sharing.h"
#include "src/node/usage/recorder.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/disk_worker.h"
#include "testing/temp_dir.h"
#include "tests/soak/days_world.h"

namespace kgpu::soak {

// Events of health since the beginning.
struct HealthCounts {
  uint64_t raised = 0;
  uint64_t cleared = 0;
  uint64_t held = 0;
};

struct DayWorld {
  DayWorld();

  DayLoop loop;
  // Of the thread that stands for the disk: its answers arrive in DayAgent::Drain alone.
  std::unique_ptr<EpollLoop> io;
  TempDir dir;
  std::optional<sys::Root> root;
  DayGpus gpus;
  DayKubelet kubelet;
  UsageDisk usage_disk;
  std::shared_ptr<const config::NodeConfig> config;
  HealthCounts health;

  // The state that the agent saved.
  node::SavedState saved;
  std::shared_ptr<const config::NodeConfig> saved_config;
  std::vector<health::OpenFault> saved_faults;
};

class DayAgent final : public node::Effects {
 public:
  explicit DayAgent(DayWorld& world);
  ~DayAgent() override;

  // The world has changed.
  void OnConfig();
  void OnGpus();
  void OnXid(unsigned gpu, uint64_t xid);
  // As a new one finds it.
  void OnKubelet();
  // A round of measurements.
  void OnRound();
  void Clear(const device::GpuUuid& gpu) { (void)monitor_.Clear(gpu); }

  http::Response Ask(const std::string& method, const std::string& target,
                     const std::string& body = "");
  // Waits for the disk, and takes its answers.
  void Drain();

  const pools::Assignment& shown() const { return *assignment_; }
  health::Overview health() const { return monitor_.overview(); }
  const loans::Ledger& loans() const { return loans_.ledger(); }
  const usage::Recorder& usage() const { return recorder_; }
  const live::History& history() const { return history_; }

 private:
  node::NodeState now() const override;
  void AssignAgain() override { Assign(); }
  void ShowAgain() override { Show(); }
  void UpdateAgain() override {}
  void MeasureAgain() override {}
  void FiguresChanged() override {}
  void LookAtPods() override;
  void Notify(kube::Event /*event*/) override {}

  void Recall();
  void Assign();
  void Show();
  void ShowHealth();
  void Read();
  void Measure();
  void ListPods();
  device::SnapshotPtr Judged() const;

  DayWorld& world_;
  device::SnapshotPtr snapshot_;
  std::shared_ptr<const pools::Assignment> assignment_ = std::make_shared<pools::Assignment>();
  pods::PodMapPtr pods_ = std::make_shared<pods::PodMap>();
  pods::ListState pod_list_;
  pools::Roster roster_{pools::Roster::Options{}};
  sys::DiskWorker disk_;
  inventory::HealthMonitor monitor_;
  loans::LoanHandler loans_;
  slices::Sharing sharing_;
  usage::Recorder recorder_;
  live::History history_;
  Timer expiry_timer_{world_.loop};
  Timer read_timer_{world_.loop};
  Timer measure_timer_{world_.loop};
  Timer list_timer_{world_.loop};
};

}  // namespace kgpu::soak
