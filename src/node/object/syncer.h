// Everything that an agent does to its Node object: one filtered watch, the gate, the writer, and
// the detection of other owners. It takes the agent's knowledge and sends requests.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/event_recorder.h"
#include "src/kube/api/reflector.h"
#include "src/node/labels/node_claims.h"
#include "src/node/object/chain.h"
#include "src/node/object/gate.h"
#include "src/node/object/health_gate.h"
#include "src/node/object/node_view.h"
#include "src/node/object/owners.h"
#include "src/node/object/pod_scan.h"
#include "src/node/object/writer.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::node {

struct SyncerOptions {
  std::string node{};
  GateOptions gate{};
  HealthGateOptions health{};
  WriterOptions writer{};
  // The first request is sent at a random time within this, so that a cluster whose nodes start
  // together does not send all of them in one second.
  std::chrono::milliseconds start_jitter{5'000};
  // After a start, labels may wait up to this long: condition and taint are written first if all of
  // them are due.
  std::chrono::milliseconds claims_jitter{5'000};
  // How often to check whether another owner still runs, while there is one.
  std::chrono::milliseconds owners_every{600'000};
  // An owner that was not found is checked once more, after one to two times this, before it counts
  // as gone: its pod disappears for a while during an update.
  std::chrono::milliseconds owners_again{60'000};
  // Owners for which an earlier syncer of this process stood back: its reported(), which are not
  // reported again.
  std::set<Owner> reported{};
};

// An event about the node; `uid` is the Node object's.
struct NodeEvent {
  bool is_warning = false;
  std::string reason{};
  std::string note{};
  std::string uid{};
};

// For kube::EventRecorder.
kube::Event EventOf(const NodeEvent& event, const std::string& node);

// Lives on the loop's thread.
class Syncer {
 public:
  struct Handlers {
    std::function<void(const NodeEvent&)> notify{};
    // report() or owners() may have changed.
    std::function<void()> changed{};
  };

  // All of them must outlive the syncer. The constructor calls no handler.
  Syncer(EventLoop& loop, kube::Client& client, Random& random, SyncerOptions options,
         Handlers handlers);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // About the node, without `allocatable`.
  void SetFacts(ChainFacts facts);
  // The GPUs, for the condition about their health.
  void SetSnapshot(device::SnapshotPtr snapshot);
  // Another problem with health monitoring, for the same condition; empty: none.
  void SetHealthNote(std::string note);
  // The condition about the node's configuration; before the first call, it stays as it is.
  void SetConfig(DesiredConfig config);
  // What the node should carry; before the first call, nothing is removed or added.
  void SetClaims(labels::NodeClaims claims);
  // Traces of other owners on the host: live sockets in the kubelet's device-plugins/ that are not
  // ours, and whether GFD's feature file exists.
  void SetHostMarks(std::vector<std::string> sockets, bool has_gfd_file);

  const Owners& owners() const { return owners_; }
  const std::set<Owner>& reported() const { return reported_; }
  NodeReport report() const;
  // The Node object as the watch brought it last; null: not seen.
  const SeenNode* seen() const { return seen_ ? &*seen_ : nullptr; }
  // The uid of the Node object, for events about it; empty: not seen.
  std::string node_uid() const { return seen_ ? seen_->uid : std::string(); }

 private:
  void StartWatch();
  void Take(boost::json::value& object);
  void OnNode();
  void OnNoNode();
  void OnWatching();
  void OnDesired();
  void LookForOwners();
  void ScanPods();
  void OnPods(StatusOr<std::vector<SeenPod>> pods);
  std::set<Owner> RunningOnlyBefore(const std::vector<SeenPod>& pods) const;
  void ArmScan(std::chrono::nanoseconds delay);
  void NotifyOwners();
  void Notify(NodeEvent event);
  void NotifyGate(const GateEvent& event) {
    Notify({.is_warning = event.is_warning, .reason = event.reason, .note = event.note});
  }

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  SyncerOptions options_;
  Handlers handlers_;
  Gate gate_;
  HealthGate health_;
  Writer writer_;
  Wanted wanted_;
  Evidence evidence_;
  Owners owners_;
  std::set<Owner> reported_;       // owners for which it stands back, as reported
  bool has_scanned_ = false;       // since traces were found
  std::set<Owner> missing_;        // in the last scan, but not in two
  std::optional<SeenNode> taken_;  // from the object that the watch has just brought
  std::optional<SeenNode> seen_;   // from the watch
  std::optional<labels::NodeClaims> first_claims_;  // while claims_timer_ runs
  std::string api_problem_ = "the API server has not been queried yet";
  std::unique_ptr<kube::Reflector> watch_;
  std::unique_ptr<PodScan> scan_;
  Timer start_timer_{loop_};
  Timer claims_timer_{loop_};
  Timer scan_timer_{loop_};
};

}  // namespace kgpu::node
