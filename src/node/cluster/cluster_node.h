// This node in its cluster: turns what the agent knows into labels, condition and taint of the Node
// object, a NodeFeature object, or a feature file. Without a cluster, only the file remains.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/kube/api/cluster.h"
#include "src/node/choice/report.h"
#include "src/node/cluster/event_publisher.h"
#include "src/node/cluster/label_worker.h"
#include "src/node/cluster/pod_evictor.h"
#include "src/node/cluster/rule_watch.h"
#include "src/node/config/node_config.h"
#include "src/node/labels/gpu_hold.h"
#include "src/node/labels/gpu_labels.h"
#include "src/node/object/object_writer.h"
#include "src/node/object/syncer.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"

namespace kgpu::cluster {

// The last decision about other plugins, in the run folder, which a reboot empties.
inline constexpr char kDecisionFile[] = "plugin-owner";

struct ClusterNodeOptions {
  kube::ConfigSources sources;
  std::string node_name;
  std::string version;
  std::string device_plugins;  // the kubelet's socket folder
  std::string run_dir;         // where the last decision about other plugins survives a restart
  WallTime booted{};
};

// Lives on the loop's thread.
class ClusterNode {
 public:
  // Calls `changed` from the loop when report(), labels() or stands_back() may have changed. `own`
  // is the root of this process. `loop` and both roots must outlive it.
  ClusterNode(EventLoop& loop, const sys::Root& host, const sys::Root& own,
              ClusterNodeOptions options, std::function<void()> changed);
  ~ClusterNode() = default;
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  // The deadline for its worker to stop.
  void StopBy(SteadyTime deadline) { worker_.StopBy(deadline); }
  void SetConfig(const config::NodeConfig& config);
  // There is no valid configuration: marks the node as not ready, and does nothing else.
  void SetNoConfig();
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  void SetFacts(node::ChainFacts facts);
  // For the condition about the node's configuration.
  void SetConfigReport(const choice::Report& report);
  // For the condition about the GPUs' health; empty: none.
  void SetHealthNote(const std::string& note);

  // The value of nvidia.com/mig.config.state. Nothing: none; empty: what the node carries of ours
  // stays.
  void SetMigState(const std::optional<std::string>& state);

  // Writes an event about this node or one of its pods; without a cluster, writes nothing.
  void Notify(kube::Event event);

  // Evicts a pod of this node that uses more device memory than it may. Errors: FailedPrecondition
  // (no cluster).
  Status Evict(const slices::SliceUse& use);

  // The node's labels as last seen; null: not yet. Valid until the next call of anything else.
  const std::map<std::string, std::string>* labels() const;
  // For checking tokens, with its own rate limit; null while there is no cluster. The node must
  // outlive its use.
  kube::Client* review_client();
  // The same for claims of DRA.
  kube::Client* claims_client();
  // Of the Node object; empty: not seen yet.
  std::string node_uid() const { return writer_ ? writer_->node_uid() : std::string(); }
  // Another plugin serves the kubelet's GPUs: ours must register none.
  bool stands_back() const;
  node::NodeReport report() const;
  // Problems with labels, for people.
  std::vector<std::string> label_problems() const;

 private:
  void OpenCluster();
  void MakeSyncer();
  void OnSyncer();
  void ShowConfigReport();
  void Decide();
  void LookAtHost();
  void UpdateGpus();
  void LookSoon();
  void Look();
  void OnLook(const labels::LabelLook& look);
  void Publish(const labels::LabelLook& look);
  void PublishObject(const labels::LabelLook& look);
  void PublishFile(const labels::LabelLook& look);
  bool Publishes(config::LabelOutput output) const;
  void LogChanges(std::vector<std::string> problems);
  std::string ObjectName() const;

  EventLoop& loop_;
  const sys::Root& host_;
  const ClusterNodeOptions options_;
  const std::function<void()> changed_;
  Random random_;
  const sys::Root& own_root_;  // credentials are files of this process, not of the host

  bool is_configured_ = false;  // until then nothing is created, read or written
  bool is_gate_only_ = false;
  config::NodeConfig config_;
  std::string health_note_;
  std::optional<std::string> mig_state_ = std::string();
  std::optional<choice::Report> config_report_;  // nothing: not decided yet
  device::SnapshotPtr snapshot_;
  node::ChainFacts facts_;
  std::vector<std::string> sockets_;
  bool has_gfd_file_ = false;
  // Whether we stood back for another plugin, according to the last Node object.
  std::optional<bool> decision_;

  std::string api_problem_;
  std::unique_ptr<kube::Cluster> cluster_;
  std::unique_ptr<kube::Client> review_client_;
  std::unique_ptr<kube::Client> claims_client_;
  std::unique_ptr<EventPublisher> events_;
  std::unique_ptr<PodEvictor> evictor_;  // null: none yet
  std::unique_ptr<node::Syncer> writer_;
  std::unique_ptr<node::ObjectWriter> object_;
  std::unique_ptr<RuleWatch> rules_;

  LabelWorker worker_;
  labels::GpuHold hold_;
  bool has_remembered_ = false;
  // The cards for which gpu_host_ was read; nothing: not read.
  std::optional<std::vector<device::PciBusId>> cards_;
  labels::GpuHost gpu_host_;
  std::optional<labels::NodeClaims> gpus_;
  std::vector<std::string> label_problems_;
  std::string file_problem_;
  std::string written_file_;  // where our feature file may be
  uint64_t look_tag_ = 0;     // increases with each configuration

  Timer cluster_timer_{loop_};
  Timer look_timer_{loop_};
  Timer every_timer_{loop_};
  Timer hold_timer_{loop_};
};

}  // namespace kgpu::cluster
