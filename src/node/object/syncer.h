// All that one agent does to its Node object: one filtered watch, the gate, the writer, and who
// else is here. What the agent knows flows in, requests flow out.
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

namespace kgpu::node {

struct SyncerOptions {
  std::string node{};
  GateOptions gate{};
  HealthGateOptions health{};
  WriterOptions writer{};
  // The first request is sent somewhere within this time, so that a cluster whose nodes start
  // together is not asked by all in one second.
  std::chrono::milliseconds start_jitter{5'000};
  // The labels of an agent that has just started may wait as long: the condition and the taint go
  // first, where both have to be written.
  std::chrono::milliseconds claims_jitter{5'000};
  // How often it is looked whether another owner still runs, while there is one.
  std::chrono::milliseconds owners_every{600'000};
  // One that was not found is looked for once more, after this time to twice as long, before it
  // counts as gone: its pod is away for a while when it is updated.
  std::chrono::milliseconds owners_again{60'000};
  // Whom an earlier syncer of this process stood back for: its reported(), not to be reported
  // again.
  std::set<Owner> reported{};
};

// What becomes an event on the node; `uid` is the Node object's.
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

  // All of them outlive the syncer. Nothing is called from here.
  Syncer(EventLoop& loop, kube::Client& client, Random& random, SyncerOptions options,
         Handlers handlers);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Of the node, without `allocatable`.
  void SetFacts(ChainFacts facts);
  // Of the GPUs, for the condition about their health.
  void SetSnapshot(device::SnapshotPtr snapshot);
  // What else is wrong with how health is watched, for the same condition; empty: nothing.
  void SetHealthNote(std::string note);
  // What the node should carry; until it is known, nothing is taken back or added.
  void SetClaims(labels::NodeClaims claims);
  // What the host tells of other owners: sockets in the kubelet's device-plugins/ that somebody
  // answers on and that are not ours, and whether GFD's feature file is there.
  void SetHostMarks(std::vector<std::string> sockets, bool has_gfd_file);

  const Owners& owners() const { return owners_; }
  const std::set<Owner>& reported() const { return reported_; }
  NodeReport report() const;
  // Of the Node object, for events on it; empty: it was not seen.
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
  std::set<Owner> reported_;       // whom it stands back for, as reported
  bool has_scanned_ = false;       // since there are marks
  std::set<Owner> missing_;        // by the last scan, and not yet by two
  std::optional<SeenNode> taken_;  // out of the object that the watch has just brought
  std::optional<SeenNode> seen_;   // of the watch
  std::optional<labels::NodeClaims> first_claims_;  // while claims_timer_ runs
  std::string api_problem_ = "the API server has not been queried yet";
  std::unique_ptr<kube::Reflector> watch_;
  std::unique_ptr<PodScan> scan_;
  TimerId start_timer_ = TimerId::kNone;
  TimerId claims_timer_ = TimerId::kNone;
  TimerId scan_timer_ = TimerId::kNone;
};

}  // namespace kgpu::node
