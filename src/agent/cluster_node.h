// This node in its cluster: what the agent knows becomes labels, condition and taint of the Node
// object, or a NodeFeature object, or a feature file. Without a cluster only the file remains.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/agent/event_publisher.h"
#include "src/agent/label_worker.h"
#include "src/agent/rule_watch.h"
#include "src/gpu/device/snapshot.h"
#include "src/kube/api/cluster.h"
#include "src/node/config/node_config.h"
#include "src/node/labels/gpu_hold.h"
#include "src/node/labels/gpu_labels.h"
#include "src/node/object/object_writer.h"
#include "src/node/object/syncer.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

struct ClusterNodeOptions {
  kube::ConfigSources sources;
  std::string node_name;
  std::string version;
  std::string device_plugins;  // the kubelet's folder of sockets
  std::string run_dir;         // where the last decision about them outlives a restart
  WallTime booted{};
};

// Lives on the loop's thread.
class ClusterNode {
 public:
  // `changed` is called from the loop when report() or stands_back() may have changed. `loop` and
  // `host` outlive it.
  ClusterNode(EventLoop& loop, const sys::Root& host, ClusterNodeOptions options,
              std::function<void()> changed);
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  // When its worker is to have ended.
  void StopBy(SteadyTime deadline) { worker_.StopBy(deadline); }
  void SetConfig(const config::NodeConfig& config);
  // There is no good configuration: the node is marked not ready, and nothing else.
  void SetNoConfig();
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  void SetFacts(node::ChainFacts facts);
  // For the condition about the GPUs' health; empty: nothing.
  void SetHealthNote(const std::string& note);

  // Writes an event on this node or one of its pods; nothing is written without a cluster.
  void Notify(kube::Event event);

  // To ask about tokens with, at a rate of its own; null while there is no cluster. The node
  // outlives its use.
  kube::Client* review_client();
  // The kubelet's GPUs are another plugin's: ours must register none.
  bool stands_back() const;
  node::NodeReport report() const;
  // What is wrong with labels, for people.
  std::vector<std::string> label_problems() const;

 private:
  void OpenCluster();
  void MakeSyncer();
  void OnSyncer();
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
  sys::Root own_root_;  // credentials are files of this process, not of the host

  bool is_configured_ = false;  // before that nothing is made, looked at or written
  bool is_gate_only_ = false;
  config::NodeConfig config_;
  std::string health_note_;
  device::SnapshotPtr snapshot_;
  node::ChainFacts facts_;
  std::vector<std::string> sockets_;
  bool has_gfd_file_ = false;
  // Whether another plugin was stood back for, as the Node object said last.
  std::optional<bool> decision_;

  std::string api_problem_;
  std::unique_ptr<kube::Cluster> cluster_;
  std::unique_ptr<kube::Client> review_client_;
  std::unique_ptr<EventPublisher> events_;
  std::unique_ptr<node::Syncer> writer_;
  std::unique_ptr<node::ObjectWriter> object_;
  std::unique_ptr<RuleWatch> rules_;

  LabelWorker worker_;
  labels::GpuHold hold_;
  bool has_remembered_ = false;
  // That gpu_host_ was read for; nothing: it was not.
  std::optional<std::vector<device::PciBusId>> cards_;
  labels::GpuHost gpu_host_;
  std::optional<labels::NodeClaims> gpus_;
  std::vector<std::string> label_problems_;
  std::string file_problem_;
  std::string written_file_;  // where our feature file may lie
  uint64_t look_tag_ = 0;     // rises with each configuration

  TimerId cluster_timer_ = TimerId::kNone;
  TimerId look_timer_ = TimerId::kNone;
  TimerId every_timer_ = TimerId::kNone;
  TimerId hold_timer_ = TimerId::kNone;
};

}  // namespace kgpu::agent
