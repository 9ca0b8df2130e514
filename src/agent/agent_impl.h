// The agent's parts and how they are connected; what each does on a change is in agent.cc.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "src/agent/agent.h"
#include "src/agent/chain_facts.h"
#include "src/agent/cluster_node.h"
#include "src/agent/config_source.h"
#include "src/agent/disk_worker.h"
#include "src/agent/front.h"
#include "src/agent/health_handler.h"
#include "src/agent/injector.h"
#include "src/agent/kernel_watch.h"
#include "src/agent/lend_rules.h"
#include "src/agent/lent_watch.h"
#include "src/agent/loan_handler.h"
#include "src/agent/measurements.h"
#include "src/agent/memory.h"
#include "src/agent/memory_writer.h"
#include "src/agent/metrics_front.h"
#include "src/agent/mig_layouts.h"
#include "src/agent/mps_sharing.h"
#include "src/agent/own_metrics.h"
#include "src/agent/part_options.h"
#include "src/agent/privilege_watch.h"
#include "src/agent/runtime_watch.h"
#include "src/agent/sharing.h"
#include "src/agent/usage_handler.h"
#include "src/agent/views.h"
#include "src/agent/web.h"
#include "src/node/inventory/inventory.h"
#include "src/node/plugin/device_plugin.h"
#include "src/node/pools/health_update.h"
#include "src/node/pools/roster.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"

namespace kgpu::agent {

class AgentImpl final : public Agent {
 public:
  AgentImpl(EventLoop& loop, const host::DriverRoot& root, AgentOptions options, sys::Root own_root,
            std::unique_ptr<Injector> injector)
      : loop_(loop),
        own_root_(std::move(own_root)),
        options_(std::move(options)),
        started_(loop.clock().WallNow()),
        front_(loop, {.state = [this] { return state(); },
                      .others =
                          [this](const http::Request& request, const http::Responder& responder) {
                            if (request.path == "/v1/usage") {
                              responder.Send(usage_.Answer(request));
                              return true;
                            }
                            const auto send = [responder](http::Response response) {
                              responder.Send(std::move(response));
                            };
                            return loans_.Answer(request, send) || health_.Answer(request, send);
                          },
                      .metrics =
                          [this](const http::Request& request) {
                            return measurements_.AnswerAsked(request, NameSetsOf(in_force_));
                          },
                      .version = options_.version}),
        injector_(std::move(injector)),
        config_(loop, ConfigSourceOptionsOf(options_), [this] { OnConfig(); }),
        disk_(loop),
        sharing_(loop, root.host, BackgroundOn(disk_),
                 SliceFilesOptionsOf(options_, root, own_root_),
                 {.pods = [this] { return measurements_.pods(); },
                  .pod_list = [this] { return measurements_.pod_list(); },
                  .look_at_pods = [this] { measurements_.LookAtPods(); },
                  .notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
                  .evict = [this](const share::SliceUse& use) { return cluster_.Evict(use); },
                  .again = [this] { Assign(); },
                  .changed = [this] { Show(); },
                  .paced = [this] { SetSampling(); }}),
        mps_(loop, root, MpsSharingOptionsOf(options_, root, own_root_),
             {.pods = [this] { return measurements_.pods(); },
              .pod_list = [this] { return measurements_.pod_list(); },
              .look_at_pods = [this] { measurements_.LookAtPods(); },
              .notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
              .again = [this] { Assign(); }}),
        remembered_(Recall(options_, config_.config(), disk_)),
        loans_(loop, disk_, fmt::format("{}/{}", options_.state_dir, kLoansFile),
               LentFilesOptionsOf(options_, root, own_root_), remembered_.assignment,
               {.stock = [this] { return Stock(); },
                .changed = [this] { Assign(); },
                .refused = [this] { measurements_.LookAtPods(); }}),
        health_(
            loop, disk_, HealthHandlerOptionsOf(options_),
            {.notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
             .overview = [this] { return inventory_.health(); },
             .pods = [this] { return measurements_.pods(); },
             .look_at_pods = [this] { measurements_.LookAtPods(); },
             .clear = [this](const device::GpuUuid& gpu) { return inventory_.ClearHealth(gpu); }}),
        usage_(loop, disk_, options_.state_dir + "/usage",
               {.holdings = [this] { return Holdings(); },
                .changed = [this] { measurements_.SetUsage(usage_.pods()); }}),
        inventory_(loop, root, InventoryOptionsOf(options_, config_.config(), remembered_)),
        mig_(loop, own_root_, MigLayoutsOptionsOf(options_, remembered_.assignment),
             {.close = [this](auto closed) { inventory_.Pause(std::move(closed)); },
              .open = [this] { inventory_.Resume(); },
              .read = [this](auto done) { inventory_.Refresh(std::move(done)); },
              .forget = [this](const std::string& gpu) { ForgetDevicesOf(gpu); },
              .borrower = [this](const std::string& gpu) { return BorrowerOf(gpu); },
              .pods = [this] { return measurements_.pods(); },
              .look_at_pods = [this] { measurements_.LookAtPods(); },
              .notify = [this](kube::Event event) { cluster_.Notify(std::move(event)); },
              .changed = [this] { OnMig(); },
              .background = BackgroundOn(disk_),
              .again = [this] { UpdateMig(); }}),
        runtime_(loop, RuntimeSockets(options_, root.host), [this] { OnRuntime(); }),
        measurements_(loop, root.host, MeasurementsOptionsOf(options_, root.host),
                      BackgroundOn(disk_),
                      {.own_series =
                           [this](metrics::Exposition& page) {
                             WriteOwnMetrics(state(), OwnUse(own_root_), options_.version, page);
                           },
                       .health = [this] { return inventory_.health(); }}),
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
             .client = [this] { return cluster_.review_client(); }}),
        memory_(
            loop, fmt::format("{}/{}", options_.run_dir, kMemoryFile),
            [this] {
              return PrintMemory(KeyOf(options_, in_force_), assignment_, inventory_.health(),
                                 sharing_.shapes(), sharing_.MakeRecall());
            },
            [this] { NotifySoon(); }),
        kernels_(loop, root.host, BackgroundOn(disk_), [this] { NotifySoon(); }),
        privileges_(loop, root.host, options_, BackgroundOn(disk_), [this] { NotifySoon(); }) {}

  ~AgentImpl() override;

  Status Run() {
    inventory_.OnHealthEvent(
        [this](const health::HealthEvent& health_event) { OnHealthEvent(health_event); });
    inventory_.OnSample([this](const auto& samples) { OnSamples(samples); });
    inventory_.Start([this](const device::SnapshotPtr& snapshot) { OnSnapshot(snapshot); });
    // Before any socket of ours is made: a second agent must not touch the first one's.
    RETURN_IF_ERROR(front_.OpenLocal(options_.run_dir));
    stands_back_ = cluster_.stands_back();
    if (stands_back_) {  // else they must not be told before the driver: they would end
      mps_.SetStandsBack(true);
    }
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
    return OkStatus();
  }

  void Reload() override { config_.Reload(); }
  AgentState state() const override;

 private:
  void MakePlugin();
  void OpenEndpoints();
  void Measure();
  void SetSampling();
  void ShowRemembered();
  void Prepare();
  void OnConfig();
  void OnSnapshot(const device::SnapshotPtr& snapshot);
  void OnSamples(const device::SampleSetPtr& samples);
  UsageHandler::Holdings Holdings() const;
  void OnHealthEvent(const health::HealthEvent& health_event);
  void OnRuntime();
  void Assign();
  loans::Stock Stock() const;
  // Whose plugin serves this kubelet's GPUs; empty: ours.
  std::string PluginOwner() const {
    return std::string(stands_back_ ? node::TitleOf(node::Owner::kPlugin) : "");
  }
  void ArmExpiry();
  void InjectSoon();
  void Inject();
  void Decide();
  void Show();
  void OnCluster();
  void UpdateMig();
  void OnMig();
  void ForgetDevicesOf(const std::string& gpu);
  std::string BorrowerOf(const std::string& gpu) const;
  void NotifySoon();
  void Notify();

  EventLoop& loop_;
  const sys::Root own_root_;  // "/" of this process, not of the host
  const AgentOptions options_;
  const WallTime started_;
  Front front_;
  std::unique_ptr<Injector> injector_;
  ConfigSource config_;
  DiskWorker disk_;
  Sharing sharing_;
  MpsSharing mps_;
  Remembered remembered_;
  LoanHandler loans_;
  LentWatch lent_;
  HealthHandler health_;
  UsageHandler usage_;
  inventory::Inventory inventory_;
  MigLayouts mig_;

  ConfigPtr in_force_;  // null: no good configuration yet
  std::unique_ptr<plugin::DevicePlugin> plugin_;
  pools::Roster roster_{pools::Roster::Options{}};
  LendRules lend_rules_;
  device::SnapshotPtr snapshot_;
  pools::Assignment assignment_;
  device::SnapshotPtr injected_;  // that answering_.injection was made of
  Answering answering_;
  Timer inject_timer_{loop_};
  Timer expiry_timer_{loop_};
  Timer trust_timer_{loop_};
  Timer notify_timer_{loop_};
  bool stands_back_ = false;  // another plugin serves this kubelet's GPUs
  RuntimeWatch runtime_;      // below what its first answer, which comes at once, changes
  Measurements measurements_;
  ClusterNode cluster_;
  MetricsFront endpoints_;  // below the cluster, which it asks about tokens
  MemoryWriter memory_;
  KernelWatch kernels_;
  PrivilegeWatch privileges_;
};

}  // namespace kgpu::agent
