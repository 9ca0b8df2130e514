// The part that serves pools by DRA: publishes their devices as ResourceSlices, and prepares claims
// for the kubelet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/node/claims/gpu_work.h"
#include "src/node/claims/kubelet_link.h"
#include "src/node/claims/preparer.h"
#include "src/node/dra/offer.h"
#include "src/node/dra/publisher.h"
#include "src/node/mps/text.h"
#include "src/node/part/part.h"
#include "src/node/pods/background.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"

namespace kgpu::claims {

struct ClaimPartOptions {
  std::string node{};  // empty: there is no cluster
  std::string kubelet_dir = "/var/lib/kubelet";
  ClaimFilesOptions files{};
  GpuWorkOptions mig{};
};

// The functions of the rest of the agent that it uses.
struct ClaimPartHooks {
  // Null while there is no cluster.
  std::function<kube::Client*()> client{};
  // Of the Node object; empty: not seen yet.
  std::function<std::string()> node_uid{};
  // Errors: Unavailable (the files of memory slices, which are needed, are not written yet).
  std::function<StatusOr<sharing::Places>(bool needs_slices)> places{};
  std::function<Status(std::span<const std::string> ids)> renew_slots{};
  // As in GpuWorkHooks.
  std::function<void(std::function<void()> closed)> close{};
  std::function<void()> open{};
  std::function<void(std::function<void()> done)> read{};
  // Of MpsSharing.
  std::function<void(std::map<std::string, mps::Settings>)> set_mps{};
  std::function<device::Health(const std::string& uuid)> mps_health{};
  std::function<bool(const std::string& uuid)> end_mps{};
  // Why the runtime could not use CDI devices, with the fix; empty: it can, or is not known.
  std::function<std::string()> runtime_problem{};
  // problem() or is_ready() may have changed.
  std::function<void()> changed{};
};

// Lives on the loop's thread.
class ClaimPart final : public node::Part {
 public:
  // All references must outlive it, `host` also what `background` runs.
  ClaimPart(EventLoop& loop, const sys::Root& host, ClaimPartOptions options,
            const pods::Background& background, node::Effects& effects, ClaimPartHooks hooks);
  ~ClaimPart() override;

  void OnShown(const node::NodeState& state) override { Refresh(state); }
  void Update(const node::NodeState& state) override { Refresh(state); }
  void ShowStatus(const node::NodeState& state, node::StatusPage& page) const override;
  void WriteSeries(const node::NodeState& state, metrics::Exposition& page) const override;

  // A pool of the configuration is served by DRA.
  bool is_serving() const { return is_serving_; }
  // The kubelet knows the driver and the scheduler its devices.
  bool is_ready() const;
  // Why not, with the fix; empty: it is ready, or serves nothing.
  std::string problem() const;
  void StopWatching();
  // The slots that a prepared claim has of a device, or the device's UUID; empty: not ours.
  std::vector<std::string> IdsOf(const pods::ClaimedDevice& claim) const;

 private:
  void Refresh(const node::NodeState& state);
  void OfferAgain(const node::NodeState& state);
  std::set<std::string> MadeNames() const;
  std::map<std::string, mps::Settings> MpsSettings() const;
  const device::Gpu* FindGpu(const std::string& uuid) const;
  void MarkSilent();
  void Publish();
  void TakeUnclaimed();
  std::vector<dra::PreparedDevice> IdleUnclaimed() const;
  void RemoveUnclaimed();
  void OpenLink();
  StatusOr<PreparerFacts> Facts() const;
  StatusOr<std::vector<dra::PreparedClaim>> Held(const dra::Checkpoint& known) const;
  std::string RootOf(const device::PciBusId& pci) const;

  EventLoop& loop_;
  const sys::Root& host_;
  const ClaimPartOptions options_;
  node::Effects& effects_;
  const ClaimPartHooks hooks_;
  Random random_;
  bool is_serving_ = false;
  std::shared_ptr<const pools::Assignment> offered_;  // that cards_ was made of
  device::SnapshotPtr snapshot_;
  std::shared_ptr<const config::NodeConfig> config_;  // the same
  std::set<std::string> made_;                        // the same: MIG devices of claims, by name
  std::vector<dra::CardOffer> cards_;
  std::vector<pools::Resource> resources_;  // of claims
  std::map<device::PciBusId, std::string> roots_;
  kube::Client* client_ = nullptr;  // of publisher_
  std::string published_;           // the specs that publisher_ was given, as text
  GpuWork work_;
  Preparer preparer_;
  std::unique_ptr<KubeletLink> link_;
  std::unique_ptr<dra::Publisher> publisher_;
  std::string link_problem_;
  Timer close_timer_{loop_};
  std::vector<dra::PreparedDevice> unclaimed_;  // as cards_; not in these
  std::string unclaimed_problem_;               // of the last removal
  Timer unclaimed_timer_{loop_};
};

}  // namespace kgpu::claims
