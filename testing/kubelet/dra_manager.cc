#include "testing/kubelet/dra_manager.h"

#include <algorithm>
#include <iterator>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {
namespace {

bool Covers(const std::string& request, const PreparedDevice& device) {
  return request.empty() || device.requests.empty() ||
         std::ranges::find(device.requests, request) != device.requests.end();
}

std::string ResourceId(const std::string& driver, const PreparedDevice& device) {
  return device.cdi_ids.empty() ? fmt::format("{}/{}/{}", driver, device.pool, device.device)
                                : device.cdi_ids.front();
}

}  // namespace

// One call of Prepare or Unprepare: a batch of claims for each driver, one after the other.
struct DraManager::Work {
  struct Batch {
    std::string driver;
    std::vector<ClaimKey> claims;
  };
  bool is_prepare = false;
  Done done;
  std::vector<Batch> batches;
  std::vector<ClaimKey> claims;  // to be marked or forgotten at the end
  bool is_cancelled = false;
  Cancel cancel;  // of the call in progress

  const char* method() const {
    return is_prepare ? "NodePrepareResources" : "NodeUnprepareResources";
  }
};

DraManager::DraManager(World& world, const ClientSetting& setting, Hooks hooks)
    : world_(world),
      hooks_(std::move(hooks)),
      health_(world.loop.clock(), world.constants.health_timeout),
      plugins_(setting, world.constants,
               {.on_health = [this](const auto& driver,
                                    const auto& reports) { OnHealth(driver, reports); },
                .on_health_end = [this](const auto& driver) { health_.Forget(driver); },
                .on_gone =
                    [this](const auto& driver) {
                      if (world_.claims != nullptr) {
                        world_.claims->WipeSlices(driver);
                      }
                      world_.Changed();
                    },
                .on_change = [this] { world_.Changed(); }}),
      random_(world.seed) {
}

DraManager::~DraManager() {
  world_.loop.CancelTimer(timer_);
}

Status DraManager::Start() {
  const std::string path = world_.layout.dra_state();
  const StatusOr<std::string> text = ReadTextFile(path, kDraStateLimit);
  if (text.status().code() != StatusCode::kNotFound) {
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(const std::vector<ClaimState> claims, ParseDraState(*text, path));
    for (const ClaimState& claim : claims) {
      claims_[{claim.key.name_space, claim.key.name}] = claim;
    }
  }
  if (world_.claims != nullptr) {
    world_.claims->WipeSlices("");
  }
  timer_ = world_.loop.After(world_.constants.claims_period, [this] { Reconcile(); });
  return OkStatus();
}

StatusOr<ClaimObject> DraManager::CheckClaim(const PodSpec& pod, const PodClaim& claim) const {
  if (world_.claims == nullptr) {
    return FailedPrecondition("fetch ResourceClaim {}: the stub has no API server", claim.claim);
  }
  const StatusOr<std::string> text = world_.claims->GetClaim(pod.name_space, claim.claim);
  if (!text.ok()) {
    return Annotate(text.status(), "fetch ResourceClaim {}", claim.claim);
  }
  ASSIGN_OR_RETURN(ClaimObject object,
                   ParseClaimObject(*text, fmt::format("ResourceClaim {}", claim.claim)));
  if (claim.is_generated && !object.owners.contains(pod.uid)) {
    return FailedPrecondition("ResourceClaim {} was not created for pod {} (pod is not owner)",
                              claim.claim, pod.name);
  }
  if (!object.reserved_for.contains(pod.uid)) {
    return FailedPrecondition("pod {} ({}) is not allowed to use ResourceClaim {} ({})", pod.name,
                              pod.uid, claim.claim, object.uid);
  }
  if (!object.is_allocated) {
    return FailedPrecondition("ResourceClaim {}: not allocated", claim.claim);
  }
  for (const std::string& driver : object.drivers) {
    RETURN_IF_ERROR(plugins_.Find(driver).status());
  }
  return object;
}

StatusOr<std::vector<ClaimObject>> DraManager::Check(const PodSpec& pod) const {
  std::vector<ClaimObject> objects;
  for (const PodClaim& claim : pod.claims) {
    ASSIGN_OR_RETURN(ClaimObject object, CheckClaim(pod, claim));
    objects.push_back(std::move(object));
  }
  return objects;
}

void DraManager::AddToBatches(const ClaimState& claim, Work& work) {
  work.claims.push_back(claim.key);
  for (const auto& [driver, devices] : claim.drivers) {
    auto batch = std::ranges::find(work.batches, driver, &Work::Batch::driver);
    if (batch == work.batches.end()) {
      work.batches.push_back({.driver = driver, .claims = {}});
      batch = std::prev(work.batches.end());
    }
    batch->claims.push_back(claim.key);
  }
}

// The record begins once all checks have passed: a pod that failed them can always be deleted.
Status DraManager::Record(const PodSpec& pod, Work& work) {
  ASSIGN_OR_RETURN(const std::vector<ClaimObject> objects, Check(pod));
  for (const ClaimObject& object : objects) {
    const auto [place, is_new] = claims_.try_emplace({object.name_space, object.name});
    ClaimState& claim = place->second;
    if (is_new) {
      claim.key = {.name_space = object.name_space, .uid = object.uid, .name = object.name};
      for (const std::string& driver : object.drivers) {
        claim.drivers[driver];
      }
    } else if (claim.key.uid != object.uid) {
      return FailedPrecondition(
          "old ResourceClaim with same name {} and different UID {} still exists (previous pod "
          "force-deleted?!)",
          object.name, claim.key.uid);
    }
    claim.pods.insert(pod.uid);
    RETURN_IF_ERROR(Save());
    if (!claim.is_prepared) {
      AddToBatches(claim, work);
    }
  }
  return OkStatus();
}

DraManager::Cancel DraManager::Prepare(const PodSpec& pod, Done done) {
  auto work = std::make_shared<Work>();
  work->is_prepare = true;
  work->done = std::move(done);
  const Status status = Record(pod, *work);
  std::shuffle(work->batches.begin(), work->batches.end(), random_);
  world_.loop.Post(lifeline_.Guard([this, work, status] {
    if (status.ok()) {
      Next(work);
    } else {
      End(work, status);
    }
  }));
  return [weak = std::weak_ptr(work)] {
    if (const WorkPtr busy = weak.lock()) {
      busy->is_cancelled = true;
      if (busy->cancel) {
        busy->cancel();
      }
    }
  };
}

void DraManager::Unprepare(const std::string& pod_uid, Done done) {
  auto work = std::make_shared<Work>();
  work->done = std::move(done);
  for (auto& [name, claim] : claims_) {
    if (!claim.pods.contains(pod_uid)) {
      continue;
    }
    if (claim.pods.size() > 1) {
      claim.pods.erase(pod_uid);
    } else {
      AddToBatches(claim, *work);
    }
  }
  std::shuffle(work->batches.begin(), work->batches.end(), random_);
  world_.loop.Post(lifeline_.Guard([this, work] { Next(work); }));
}

void DraManager::Next(const WorkPtr& work) {
  if (work->is_cancelled) {
    End(work, MakeStatus(StatusCode::kCancelled, "context canceled"));
    return;
  }
  if (work->batches.empty()) {
    End(work, Commit(*work));
    return;
  }
  const Work::Batch batch = std::move(work->batches.back());
  work->batches.pop_back();
  const StatusOr<DraPlugin*> plugin = plugins_.Find(batch.driver);
  if (!plugin.ok()) {
    End(work, plugin.status());
    return;
  }
  auto on_reply = lifeline_.Guard([this, work, batch](const StatusOr<ClaimReplies>& replies) {
    work->cancel = nullptr;
    const Status status = replies.ok() ? Take(batch.claims, batch.driver, *replies, *work)
                                       : Annotate(replies.status(), "{}", work->method());
    if (status.ok()) {
      Next(work);
    } else {
      End(work, status);
    }
  });
  work->cancel = work->is_prepare ? (*plugin)->Prepare(batch.claims, std::move(on_reply))
                                  : (*plugin)->Unprepare(batch.claims, std::move(on_reply));
}

Status DraManager::Take(const std::vector<ClaimKey>& claims, const std::string& driver,
                        const ClaimReplies& replies, const Work& work) {
  for (const auto& [uid, reply] : replies) {
    const auto asked = std::ranges::find(claims, uid, &ClaimKey::uid);
    if (asked == claims.end()) {
      return Internal("{} returned result for unknown claim UID {}", work.method(), uid);
    }
    if (!reply.error.empty()) {
      return Internal("{} failed for ResourceClaim {}: {}", work.method(), asked->name,
                      reply.error);
    }
    const auto claim = claims_.find({asked->name_space, asked->name});
    if (!work.is_prepare || claim == claims_.end() || claim->second.key.uid != uid) {
      continue;
    }
    // Appended, as in the kubelet: after a round that failed, a device is listed twice.
    std::vector<PreparedDevice>& devices = claim->second.drivers[driver];
    devices.insert(devices.end(), reply.devices.begin(), reply.devices.end());
  }
  if (replies.size() != claims.size()) {
    return Internal("{} skipped {} ResourceClaims", work.method(), claims.size() - replies.size());
  }
  return OkStatus();
}

Status DraManager::Commit(const Work& work) {
  for (const ClaimKey& key : work.claims) {
    const auto claim = claims_.find({key.name_space, key.name});
    if (claim == claims_.end() || claim->second.key.uid != key.uid) {
      continue;
    }
    if (work.is_prepare) {
      claim->second.is_prepared = true;
    } else {
      claims_.erase(claim);
    }
  }
  return Save();
}

void DraManager::End(const WorkPtr& work, const Status& status) {
  std::exchange(work->done, nullptr)(status);
}

Status DraManager::Save() const {
  std::vector<ClaimState> claims;
  claims.reserve(claims_.size());
  for (const auto& [name, claim] : claims_) {
    claims.push_back(claim);
  }
  return Annotate(sys::WriteFileAtomically(world_.layout.dra_state(), PrintDraState(claims), 0600),
                  "checkpoint ResourceClaim state");
}

// Pods that vanished while nobody unprepared their claims.
void DraManager::Reconcile() {
  timer_ = TimerId::kNone;
  const auto done = [this](const Status& status) {
    if (!status.ok()) {
      KGPU_LOG(kInfo, "claims of a vanished pod not unprepared", {"reason", Message(status)});
    }
    if (--reconciling_ == 0) {
      timer_ = world_.loop.After(world_.constants.claims_period, [this] { Reconcile(); });
    }
  };
  reconciling_ = 1;
  if (const auto active = hooks_.active_pods()) {
    std::set<std::string> vanished;
    for (const auto& [name, claim] : claims_) {
      std::ranges::set_difference(claim.pods, *active, std::inserter(vanished, vanished.end()));
    }
    for (const std::string& uid : vanished) {
      ++reconciling_;
      Unprepare(uid, done);
    }
  }
  done(OkStatus());
}

void DraManager::OnHealth(const std::string& driver, const std::vector<HealthReport>& reports) {
  const std::set<DraHealth::DeviceName> changed = health_.Update(driver, reports);
  std::set<std::string> pods;
  for (const auto& [name, claim] : claims_) {
    const auto devices = claim.drivers.find(driver);
    if (devices != claim.drivers.end() &&
        std::ranges::any_of(devices->second, [&changed](const PreparedDevice& device) {
          return changed.contains({device.pool, device.device});
        })) {
      pods.insert(claim.pods.begin(), claim.pods.end());
    }
  }
  for (const std::string& uid : pods) {
    hooks_.on_health(uid);
  }
}

const ClaimState* DraManager::Find(const PodSpec& pod, const std::string& pod_claim) const {
  const auto named = std::ranges::find(pod.claims, pod_claim, &PodClaim::name);
  if (named == pod.claims.end()) {
    return nullptr;
  }
  const auto claim = claims_.find({pod.name_space, named->claim});
  return claim == claims_.end() ? nullptr : &claim->second;
}

StatusOr<std::vector<std::string>> DraManager::CdiIds(const PodSpec& pod,
                                                      const ContainerSpec& container) const {
  std::vector<std::string> ids;
  for (const ClaimReference& reference : container.claim_references) {
    const ClaimState* claim = Find(pod, reference.claim);
    if (claim == nullptr) {
      return Internal("unable to get claim info for {} of container {}", reference.claim,
                      container.name);
    }
    for (const auto& [driver, devices] : claim->drivers) {
      for (const PreparedDevice& device : devices) {
        if (Covers(reference.request, device)) {
          ids.insert(ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
        }
      }
    }
  }
  return ids;
}

std::vector<ClaimedDevice> DraManager::ClaimedBy(const PodSpec& pod,
                                                 const ContainerSpec& container) const {
  std::vector<ClaimedDevice> listed;
  for (const PodClaim& pod_claim : pod.claims) {
    if (std::ranges::find(container.claim_references, pod_claim.name, &ClaimReference::claim) ==
        container.claim_references.end()) {
      continue;
    }
    const ClaimState* claim = Find(pod, pod_claim.name);
    if (claim == nullptr) {
      return {};
    }
    const size_t before = listed.size();
    for (const auto& [driver, devices] : claim->drivers) {
      for (const PreparedDevice& device : devices) {
        listed.push_back({.claim = claim->key.name,
                          .driver = driver,
                          .pool = device.pool,
                          .device = device.device,
                          .cdi_ids = device.cdi_ids,
                          .share_id = device.share_id});
      }
    }
    if (listed.size() == before) {
      listed.push_back({.claim = claim->key.name, .driver = "", .pool = "", .device = ""});
    }
  }
  return listed;
}

std::vector<ResourceHealth> DraManager::HealthOf(const PodSpec& pod,
                                                 const ContainerSpec& container) const {
  std::vector<ResourceHealth> entries;
  for (const ClaimReference& reference : container.claim_references) {
    const ClaimState* claim = Find(pod, reference.claim);
    if (claim == nullptr) {
      continue;
    }
    const std::string resource =
        "claim:" + reference.claim + (reference.request.empty() ? "" : "/" + reference.request);
    std::set<std::string> seen;
    for (const auto& [driver, devices] : claim->drivers) {
      for (const PreparedDevice& device : devices) {
        const std::string id = ResourceId(driver, device);
        if (!Covers(reference.request, device) || !seen.insert(id).second) {
          continue;
        }
        const DraHealth::Shown shown = health_.Find(driver, {device.pool, device.device});
        entries.push_back(
            {.resource = resource, .id = id, .health = shown.health, .message = shown.message});
      }
    }
  }
  return entries;
}

}  // namespace kgpu::kubelet
