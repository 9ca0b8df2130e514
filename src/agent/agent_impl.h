// The agent's parts and how they are connected; what each does on a change is in agent.cc.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "src/agent/agent.h"
#include "src/agent/chain_facts.h"
#include "src/agent/front.h"
#include "src/agent/memory.h"
#include "src/agent/memory_writer.h"
#include "src/agent/own_metrics.h"
#include "src/agent/part_options.h"
#include "src/agent/privilege_watch.h"
#include "src/agent/views.h"
#include "src/agent/web.h"
#include "src/node/choice/config_source.h"
#include "src/node/claims/part.h"
#include "src/node/cluster/cluster_node.h"
#include "src/node/faults/health_handler.h"
#include "src/node/injection/injector.h"
#include "src/node/inventory/inventory.h"
#include "src/node/layouts/mig_layouts.h"
#include "src/node/live/live_handler.h"
#include "src/node/loans/ledger_file.h"
#include "src/node/loans/loan_handler.h"
#include "src/node/loans/loan_view.h"
#include "src/node/mps/mps_sharing.h"
#include "src/node/part/part.h"
#include "src/node/plugin/device_plugin.h"
#include "src/node/pods/background.h"
#include "src/node/pools/health_update.h"
#include "src/node/pools/roster.h"
#include "src/node/slices/sharing.h"
#include "src/node/telemetry/measurements.h"
#include "src/node/telemetry/metrics_front.h"
#include "src/node/usage/usage_handler.h"
#include "src/node/watch/kernel_watch.h"
#include "src/node/watch/runtime_watch.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::agent {

class AgentImpl final : public Agent, private node::Effects {
 public:
  AgentImpl(EventLoop& loop, const host::DriverRoot& root, AgentOptions options, sys::Root own_root,
            std::unique_ptr<injection::Injector> injector)
      : loop_(loop),
        own_root_(std::move(own_root)),
        options_(std::move(options)),
        started_(loop.clock().WallNow()),
        front_(loop, {.state = [this] { return state(); },
                      .parts = [this] { return ShowParts(); },
                      .others =
                          [this](const http::Request& request, const http::Responder& responder) {
                            return AnswerByPart(request, responder);
                          },
                      .metrics =
                          [this](const http::Request& request) {
                            return measurements_.AnswerAsked(request, NameSetsOf(in_force_));
                          },
                      .version = options_.version}),
        injector_(std::move(injector)),
        config_(loop, ConfigSourceOptionsOf(options_), [this] { OnConfig(); }),
        disk_(loop),
        remembered_(Recall(options_, config_.config(), disk_)),
        inventory_(loop, root, InventoryOptionsOf(options_, config_.config(), remembered_)),
        loans_(loop, disk_, fmt::format("{}/{}", options_.state_dir, loans::kLedgerFile),
               LentFilesOptionsOf(options_, root, own_root_), *this),
        sharing_(loop, root.host, pods::BackgroundOn(disk_),
                 SliceFilesOptionsOf(options_, root, own_root_), *this,
                 [this](const slices::SliceUse& use) { return cluster_.Evict(use); }),
        mig_(loop, own_root_, MigLayoutsOptionsOf(options_, remembered_), pods::BackgroundOn(disk_),
             *this,
             {.close = [this](auto closed) { inventory_.Pause(std::move(closed)); },
              .open = [this] { inventory_.Resume(); },
              .read = [this](auto done) { inventory_.Refresh(std::move(done)); },
              .forget = [this](const std::string& gpu) { ForgetDevicesOf(gpu); },
              .borrower = [this](const std::string& gpu) { return BorrowerOf(gpu); }}),
        mps_(loop, root, MpsSharingOptionsOf(options_, root, own_root_), *this),
        health_(
            loop, disk_, HealthHandlerOptionsOf(options_), *this,
            {.overview = [this] { return inventory_.health(); },
             .clear = [this](const device::GpuUuid& gpu) { return inventory_.ClearHealth(gpu); }}),
        usage_(loop, disk_, options_.state_dir + "/usage", *this),
        kernels_(loop, root.host, pods::BackgroundOn(disk_)),
        claims_(loop, root.host, ClaimPartOptionsOf(options_), pods::BackgroundOn(disk_), *this,
                {.client = [this] { return cluster_.claims_client(); },
                 .node_uid = [this] { return cluster_.node_uid(); },
                 .places = [this](bool needs_slices) { return PlacesOf(answering_, needs_slices); },
                 .renew_slots = sharing_.renewal(),
                 .close = [this](auto closed) { inventory_.Pause(std::move(closed)); },
                 .open = [this] { inventory_.Resume(); },
                 .read = [this](auto done) { inventory_.Refresh(std::move(done)); },
                 .set_mps = [this](auto claimed) { mps_.SetClaimed(std::move(claimed)); },
                 .mps_health = [this](const std::string& uuid) { return mps_.HealthOf(uuid); },
                 .end_mps = [this](const std::string& uuid) { return mps_.End(uuid); },
                 .runtime_problem = [this] { return CdiObstacle(answering_); },
                 .changed = [this] { NotifySoon(); }}),
        live_(loop, root.host, options_.version, options_.run_dir + "/functions.sock", *this,
              {.measured = [this] { return measurements_.current(); },
               .holders = [this] { return loans::HoldersOf(loans_.ledger().loans()); },
               .problem =
                   [this] {
                     std::string why;
                     return IsReady(state(), &why) ? "" : why;
                   }}),
        runtime_(loop, RuntimeSockets(options_, root.host), [this] { OnRuntime(); }),
        measurements_(
            loop, root.host, MeasurementsOptionsOf(options_, root.host), pods::BackgroundOn(disk_),
            {.own_series = [this](metrics::Exposition& page) { WriteOwnSeries(page); },
             .health = [this] { return inventory_.health(); },
             .claim_ids =
                 [this](const pods::ClaimedDevice& claim) { return claims_.IdsOf(claim); }}),
        cluster_(loop, root.host, own_root_, ClusterNodeOptionsOf(options_, root.host),
                 [this] { OnCluster(); }),
        endpoints_(
            loop, own_root_,
            {.other =
                 [this](const http::Request& request) { return AnswerPublic(request, state()); },
             .page =
                 [this](const http::Request& request, telemetry::NameSets names) {
                   return measurements_.Answer(request, names);
                 },
             .live =
                 [this](const http::Request& request, const http::Responder& responder) {
                   live_.AnswerReader(request, responder);
                 },
             .client = [this] { return cluster_.review_client(); }}),
        memory_(
            loop, fmt::format("{}/{}", options_.run_dir, kMemoryFile),
            [this] { return PrintState(); }, [this] { NotifySoon(); }),
        privileges_(loop, root.host, options_, pods::BackgroundOn(disk_),
                    [this] { NotifySoon(); }) {}

  ~AgentImpl() override;

  Status Run() {
    is_running_ = true;
    inventory_.OnHealthEvent(
        [this](const health::HealthEvent& health_event) { OnHealthEvent(health_event); });
    inventory_.OnSample([this](const auto& samples) { OnSamples(samples); });
    inventory_.Start([this](const device::SnapshotPtr& snapshot) { OnSnapshot(snapshot); });
    // Before any socket of ours is made: a second agent must not touch the first one's.
    RETURN_IF_ERROR(front_.OpenLocal(options_.run_dir));
    stands_back_ = cluster_.stands_back();
    mps_.Update(now());  // before the driver answers: daemons must not start beside another plugin
    MakePlugin();
    ShowRemembered();
    Prepare();
    OpenEndpoints();
    if (in_force_) {
      cluster_.SetConfig(*in_force_);
      Measure();
    } else {
      cluster_.SetNoConfig();
    }
    NotifySoon();
    return OkStatus();
  }

  void Reload() override { config_.Reload(); }
  AgentState state() const override;

 private:
  // The effects of parts.
  node::NodeState now() const override;
  void AssignAgain() override;
  void ShowAgain() override { Show(); }
  void UpdateAgain() override { UpdateParts(); }
  void MeasureAgain() override { SetSampling(); }
  void FiguresChanged() override;
  void LookAtPods() override { measurements_.LookAtPods(); }
  void Notify(kube::Event event) override { cluster_.Notify(std::move(event)); }

  node::StatusPage ShowParts() const;
  void WriteOwnSeries(metrics::Exposition& page) const;
  std::string PrintState() const;
  bool AnswerByPart(const http::Request& request, const http::Responder& responder);
  void MakePlugin();
  void OpenEndpoints();
  void Measure();
  void SetSampling();
  void ShowRemembered();
  void Prepare();
  void OnConfig();
  void OnSnapshot(const device::SnapshotPtr& snapshot);
  void OnSamples(const device::SampleSetPtr& samples);
  void OnHealthEvent(const health::HealthEvent& health_event);
  void OnRuntime();
  void Assign();
  void MarkHealth();
  void SetAssignment(pools::Assignment assignment) {
    assignment_ = std::make_shared<const pools::Assignment>(std::move(assignment));
  }
  void ArmExpiry();
  void InjectSoon();
  void Inject();
  void Decide();
  void NoteObstacle();
  void Show();
  void OnCluster();
  void UpdateParts();
  void ForgetDevicesOf(const std::string& gpu);
  std::string BorrowerOf(const std::string& gpu) const;
  void NotifySoon();
  void NotifyCluster();

  EventLoop& loop_;
  const sys::Root own_root_;  // "/" of this process, not of the host
  const AgentOptions options_;
  const WallTime started_;
  bool is_running_ = false;

  // The state of the node.
  choice::ConfigPtr in_force_;  // null: no good configuration yet
  device::SnapshotPtr snapshot_;
  std::shared_ptr<const pools::Assignment> assignment_ = std::make_shared<pools::Assignment>();
  std::shared_ptr<const std::map<std::string, std::string>> labels_;  // of the node; null: unknown
  bool stands_back_ = false;  // another plugin serves this kubelet's GPUs
  Answering answering_;
  Status obstacle_;               // why no container can get a GPU, as known last
  device::SnapshotPtr injected_;  // that answering_.injection was made of
  pools::Roster roster_{pools::Roster::Options{}};

  // Sources of the state, and its users.
  Front front_;
  std::unique_ptr<injection::Injector> injector_;
  choice::ConfigSource config_;
  sys::DiskWorker disk_;
  Remembered remembered_;
  inventory::Inventory inventory_;

  // The parts, in the order of the fold: docs/architecture.md says why.
  loans::LoanHandler loans_;
  slices::Sharing sharing_;
  layouts::MigLayouts mig_;
  mps::MpsSharing mps_;
  faults::HealthHandler health_;
  usage::UsageHandler usage_;
  watch::KernelWatch kernels_;
  claims::ClaimPart claims_;
  live::LiveHandler live_;
  const std::array<node::Part*, 9> parts_{&loans_, &sharing_, &mig_,    &mps_, &health_,
                                          &usage_, &kernels_, &claims_, &live_};

  watch::RuntimeWatch runtime_;
  telemetry::Measurements measurements_;
  cluster::ClusterNode cluster_;
  telemetry::MetricsFront endpoints_;
  std::unique_ptr<plugin::DevicePlugin> plugin_;
  MemoryWriter memory_;
  PrivilegeWatch privileges_;

  Timer inject_timer_{loop_};
  Timer expiry_timer_{loop_};
  Timer trust_timer_{loop_};
  Timer notify_timer_{loop_};
};

}  // namespace kgpu::agent
