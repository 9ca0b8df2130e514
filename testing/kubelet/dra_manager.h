// The kubelet's work on ResourceClaims: prepares them before a pod starts, unprepares them after
// the last pod, and remembers both over restarts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/claim_object.h"
#include "testing/kubelet/dra_health.h"
#include "testing/kubelet/dra_plugins.h"
#include "testing/kubelet/dra_state.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/pod.h"
#include "testing/kubelet/world.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class DraManager {
 public:
  struct Hooks {
    // UIDs of the pods whose claims must stay prepared; nothing until all pods are known.
    std::function<std::optional<std::set<std::string>>()> active_pods;
    // The health of a device of this pod changed.
    std::function<void(const std::string& pod_uid)> on_health;
  };
  using Done = std::function<void(const Status&)>;
  using Cancel = std::function<void()>;

  // `world` must outlive this.
  DraManager(World& world, const ClientSetting& setting, Hooks hooks);
  ~DraManager();
  DraManager(const DraManager&) = delete;
  DraManager& operator=(const DraManager&) = delete;

  // Restores what the previous kubelet wrote, and has all slices of the node deleted. Errors:
  // InvalidArgument (a damaged file).
  Status Start();

  DraPlugins& plugins() { return plugins_; }

  // Prepares all claims of a pod, once before its sandbox is created. `done` runs on the loop,
  // never before the return. The result cancels the call in progress, which then fails.
  Cancel Prepare(const PodSpec& pod, Done done);
  // Unprepares the claims that no other pod uses. The same about `done`.
  void Unprepare(const std::string& pod_uid, Done done);

  // CDI ids of the devices that a container's references cover. Errors: Internal (a claim is
  // unknown).
  StatusOr<std::vector<std::string>> CdiIds(const PodSpec& pod,
                                            const ContainerSpec& container) const;
  // All devices of the claims that a container refers to, for the pod resources API: a claim
  // without devices has one entry without a driver. Nothing if any claim is unknown.
  std::vector<ClaimedDevice> ClaimedBy(const PodSpec& pod, const ContainerSpec& container) const;
  // Entries of allocatedResourcesStatus.
  std::vector<ResourceHealth> HealthOf(const PodSpec& pod, const ContainerSpec& container) const;

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;
  using Name = std::pair<std::string, std::string>;  // namespace, name

  StatusOr<std::vector<ClaimObject>> Check(const PodSpec& pod) const;
  StatusOr<ClaimObject> CheckClaim(const PodSpec& pod, const PodClaim& claim) const;
  Status Record(const PodSpec& pod, Work& work);
  void AddToBatches(const ClaimState& claim, Work& work);
  void Next(const WorkPtr& work);
  Status Take(const std::vector<ClaimKey>& claims, const std::string& driver,
              const ClaimReplies& replies, const Work& work);
  void End(const WorkPtr& work, const Status& status);
  Status Commit(const Work& work);
  Status Save() const;
  void Reconcile();
  void OnHealth(const std::string& driver, const std::vector<HealthReport>& reports);
  // The claim behind a container's reference; null if the kubelet does not know it (yet).
  const ClaimState* Find(const PodSpec& pod, const std::string& pod_claim) const;

  World& world_;
  Hooks hooks_;
  DraHealth health_;
  DraPlugins plugins_;
  std::map<Name, ClaimState> claims_;
  std::minstd_rand random_;
  size_t reconciling_ = 0;  // pods whose claims are being unprepared
  TimerId timer_ = TimerId::kNone;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
