#include "src/node/claims/part.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "src/gpu/device/mig_mode.h"
#include "src/node/dra/attributes.h"
#include "src/node/dra/slices.h"
#include "src/node/pools/claims.h"
#include "src/node/sharing/sliced.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::claims {
namespace {

namespace json = boost::json;

// For the answer to the last call.
constexpr std::chrono::seconds kFarewell{5};
// Removals of MIG devices: the first, and after one that failed.
constexpr std::chrono::seconds kUnclaimedTime{5};
constexpr std::chrono::seconds kUnclaimedAgain{60};

bool ServesClaims(const node::NodeState& state) {
  return !state.stands_back() && state.config &&
         std::ranges::find(state.config->pools, config::Provider::kClaims,
                           &config::Pool::provider) != state.config->pools.end();
}

std::vector<DeviceHealth> HealthOf(const std::vector<dra::CardOffer>& cards,
                                   const std::string& pool) {
  std::vector<DeviceHealth> health;
  for (const dra::CardOffer& card : cards) {
    for (const dra::Offer& offer : card.offers) {
      health.push_back({.pool = pool,
                        .device = offer.name,
                        .is_healthy = offer.health.is_healthy,
                        .message = offer.health.is_healthy ? "" : offer.health.message});
    }
  }
  return health;
}

std::string TextOf(const std::vector<json::object>& specs) {
  std::string text;
  for (const json::object& spec : specs) {
    text += json::serialize(spec);
  }
  return text;
}

}  // namespace

ClaimPart::ClaimPart(EventLoop& loop, const sys::Root& host, ClaimPartOptions options,
                     const pods::Background& background, node::Effects& effects,
                     ClaimPartHooks hooks)
    : loop_(loop),
      host_(host),
      options_(std::move(options)),
      effects_(effects),
      hooks_(std::move(hooks)),
      random_(Random::SeedFromKernel()),
      work_(loop, options_.mig,
            {.close = [this](auto closed) { hooks_.close(std::move(closed)); },
             .open = [this] { hooks_.open(); },
             .read = [this](auto done) { hooks_.read(std::move(done)); },
             .is_in_mig_mode =
                 [this](const std::string& uuid) {
                   const device::Gpu* gpu = FindGpu(uuid);
                   return gpu != nullptr && device::IsInMigMode(*gpu);
                 },
             .is_known =
                 [this](const std::string& uuid) {
                   const node::NodeState state = effects_.now();
                   return state.injection && state.injection->plan &&
                          (uuid.empty() ||
                           std::ranges::any_of(state.injection->plan->devices,
                                               [&](const inject::PlannedDevice& device) {
                                                 return std::ranges::find(device.names, uuid) !=
                                                        device.names.end();
                                               }));
                 },
             .mps = [this](const std::string& uuid) { return hooks_.mps_health(uuid); },
             .end_mps = [this](const std::string& uuid) { return hooks_.end_mps(uuid); }}),
      preparer_(loop, host, options_.files, background,
                {.facts = [this] { return Facts(); },
                 .client = [this] { return hooks_.client(); },
                 .held = [this](const dra::Checkpoint& known) { return Held(known); },
                 .change_gpu = [this](const GpuTask& task,
                                      GpuDone done) { work_.Run(task, std::move(done)); },
                 .renew_slots = hooks_.renew_slots,
                 .changed =
                     [this] {
                       effects_.LookAtPods();
                       effects_.UpdateAgain();
                     }}) {
}

ClaimPart::~ClaimPart() = default;

void ClaimPart::StopWatching() {
  if (link_) {
    link_->StopWatching();
  }
}

void ClaimPart::Refresh(const node::NodeState& state) {
  is_serving_ = ServesClaims(state);
  hooks_.set_mps(MpsSettings());
  if (is_serving_ || !preparer_.record().claims.empty()) {
    close_timer_.Cancel();
    OpenLink();
  } else if (link_ && !close_timer_.is_armed()) {
    close_timer_.Arm(kFarewell, [this] { link_.reset(); });
  }
  if (is_serving_ && (state.assignment != offered_ || state.snapshot != snapshot_ ||
                      state.config != config_ || MadeNames() != made_)) {
    OfferAgain(state);
  } else if (!is_serving_) {
    offered_.reset();
    cards_.clear();
    resources_.clear();
  }
  if (link_) {
    link_->SetHealth(HealthOf(cards_, options_.node));
  }
  Publish();
  RemoveUnclaimed();
}

void ClaimPart::OfferAgain(const node::NodeState& state) {
  // A driver that does not answer has taken no device away.
  if (!state.snapshot || state.snapshot->driver.state != device::DriverState::kReady) {
    return MarkSilent();
  }
  offered_ = state.assignment;
  snapshot_ = state.snapshot;
  config_ = state.config;
  made_ = MadeNames();
  resources_.clear();
  std::ranges::copy_if(offered_->resources, std::back_inserter(resources_),
                       &pools::Resource::by_claims);
  dra::OfferOptions options{.made = made_};
  for (const device::Gpu& gpu : snapshot_->gpus) {
    if (!roots_.contains(gpu.pci)) {
      roots_[gpu.pci] = RootOf(gpu.pci);
    }
    if (pools::MakesMigDevices(*config_, gpu)) {
      options.partitioned.insert(gpu.uuid.str());
    }
  }
  options.pcie_roots = roots_;
  cards_ = dra::OffersOf(*snapshot_, resources_, options);
  TakeUnclaimed();
}

std::set<std::string> ClaimPart::MadeNames() const {
  std::set<std::string> names;
  for (const auto& [uid, claim] : preparer_.record().claims) {
    for (const dra::PreparedDevice& device : claim.devices) {
      if (device.made) {
        names.insert(device.device);
      }
    }
  }
  return names;
}

std::map<std::string, mps::Settings> ClaimPart::MpsSettings() const {
  std::map<std::string, mps::Settings> settings;
  for (const auto& [uid, claim] : preparer_.record().claims) {
    const bool is_ending = preparer_.IsEnding(uid);
    for (const dra::PreparedDevice& device : claim.devices) {
      // A MIG device gets its daemon once it was made, and loses it before it is removed.
      if (device.mps && !device.device_uuid.empty() && !is_ending) {
        settings[device.device_uuid] = {.threads = device.mps->threads,
                                        .memory = device.mps->memory};
      }
    }
  }
  return settings;
}

const device::Gpu* ClaimPart::FindGpu(const std::string& uuid) const {
  if (!snapshot_) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(
      snapshot_->gpus, [&](const device::Gpu& gpu) { return gpu.uuid.str() == uuid; });
  return found == snapshot_->gpus.end() ? nullptr : &*found;
}

// As before, and unhealthy; at a start, as an earlier agent has published it.
void ClaimPart::MarkSilent() {
  snapshot_.reset();
  const device::Health health = {
      .is_healthy = false,
      .reason = "DriverNotReady",
      .message = "the driver does not answer: run kgpu devices to see why"};
  for (dra::CardOffer& card : cards_) {
    for (dra::Offer& offer : card.offers) {
      offer.health = health;
      offer.device["taints"] = json::array{dra::TaintOf(health)};
    }
  }
}

// "pci0000:00" of "../../../devices/pci0000:00/0000:00:01.0/…". Source: the kernel's
// Documentation/filesystems/sysfs-pci.rst.
std::string ClaimPart::RootOf(const device::PciBusId& pci) const {
  constexpr std::string_view kDevices = "/devices/";
  const auto link = host_.ReadLink(fmt::format("sys/bus/pci/devices/{}", pci.str()));
  const size_t at = link.ok() ? link->find(kDevices) : std::string::npos;
  if (at == std::string::npos) {
    return "";
  }
  const std::string rest = link->substr(at + kDevices.size());
  const std::string root = rest.substr(0, rest.find('/'));
  return root.starts_with("pci") ? root : "";
}

// Only what is known is published: a slice without devices says that the node has none.
void ClaimPart::Publish() {
  kube::Client* client = hooks_.client();
  if (client != client_) {
    publisher_.reset();
    published_.clear();
    client_ = client;
  }
  const dra::NodeIdentity node{.name = options_.node, .uid = hooks_.node_uid()};
  const bool is_other_there = link_ && link_->is_other_there();
  // Which MIG devices are claims' own is in their record.
  if (client == nullptr || node.uid.empty() || is_other_there || !preparer_.is_loaded()) {
    return;
  }
  // As long as the kubelet sees the driver it removes no slices; without it, it does.
  if (is_serving_ ? !offered_ : !publisher_ && !link_) {
    return;
  }
  std::vector<json::object> specs =
      is_serving_ ? dra::SliceSpecs(node, cards_) : std::vector<json::object>();
  std::string text = node.uid + TextOf(specs);
  if (publisher_ && text == published_) {
    return;
  }
  if (!publisher_) {
    publisher_ =
        std::make_unique<dra::Publisher>(loop_, *client, random_, options_.node, hooks_.changed);
  }
  published_ = std::move(text);
  publisher_->SetWanted(dra::NameSlices(node, std::move(specs)));
}

// MIG devices of no claim that the pools say to remove: not offered from now on.
void ClaimPart::TakeUnclaimed() {
  unclaimed_.clear();
  for (dra::CardOffer& card : cards_) {
    const device::Gpu* gpu = FindGpu(card.gpu.str());
    if (gpu == nullptr || !pools::RemovesUnclaimed(*config_, *gpu)) {
      continue;
    }
    std::erase_if(card.offers, [this](const dra::Offer& offer) {
      if (offer.unclaimed) {
        unclaimed_.push_back(
            {.device = offer.name, .device_uuid = offer.device_uuid, .made = offer.unclaimed});
      }
      return offer.unclaimed.has_value();
    });
  }
}

// Unclaimed devices that nobody uses, and those whose removal has begun.
std::vector<dra::PreparedDevice> ClaimPart::IdleUnclaimed() const {
  const node::NodeState state = effects_.now();
  std::vector<dra::PreparedDevice> idle;
  if (!preparer_.is_loaded() || !state.pod_list.asked) {
    return idle;
  }
  std::ranges::copy_if(unclaimed_, std::back_inserter(idle), [&](const auto& device) {
    const auto is_it = [&](const pods::DeviceUse& use) {
      return use.device_id == device.device_uuid || use.claim.device == device.device;
    };
    return std::ranges::none_of(state.pods->devices, is_it) &&
           !state.pods->in_use.contains(device.device_uuid);
  });
  for (const auto& [uid, claim] : preparer_.record().claims) {
    if (claim.name.empty() && !claim.devices.empty()) {
      idle.push_back(claim.devices.front());
    }
  }
  return idle;
}

void ClaimPart::RemoveUnclaimed() {
  if (unclaimed_timer_.is_armed() || IdleUnclaimed().empty()) {
    return;
  }
  const auto wait = unclaimed_problem_.empty() ? kUnclaimedTime : kUnclaimedAgain;
  unclaimed_timer_.Arm(wait, [this] {
    for (const dra::PreparedDevice& device : IdleUnclaimed()) {
      preparer_.RemoveUnclaimed(device, [this, uuid = device.device_uuid](const Status& status) {
        const std::string problem(Message(status));
        if (std::exchange(unclaimed_problem_, problem) != problem || problem.empty()) {
          KGPU_LOG(kInfo, "MIG device of no claim", {"uuid", uuid},
                   {"removed", problem.empty() ? "yes" : problem});
        }
        RemoveUnclaimed();
      });
    }
  });
}

void ClaimPart::OpenLink() {
  if (link_) {
    return;
  }
  auto link = KubeletLink::Open(loop_, preparer_, options_.kubelet_dir, [this] {
    effects_.UpdateAgain();
    hooks_.changed();
  });
  if (link.ok()) {
    link_ = *std::move(link);
    link_problem_.clear();
  } else if (link_problem_.empty()) {
    link_problem_ = Message(link.status());
    KGPU_LOG(kError, "DRA driver not started", {"reason", link_problem_});
  }
}

StatusOr<PreparerFacts> ClaimPart::Facts() const {
  const node::NodeState state = effects_.now();
  if (!is_serving_) {
    return NotFound(
        "no pool of this node is for claims any more: delete the pod, so that the scheduler "
        "chooses again");
  }
  if (!offered_ || !snapshot_) {
    return Unavailable("the driver has not answered yet: run `kgpu devices` to see why");
  }
  if (!state.injection || !state.injection->plan) {
    return state.injection && !state.injection->plan_status.ok()
               ? state.injection->plan_status
               : Unavailable("the driver's files are still being looked for: try again");
  }
  const bool needs_slices = std::ranges::any_of(resources_, [](const pools::Resource& resource) {
    return sharing::LimitsMemory(resource.share);
  });
  ASSIGN_OR_RETURN(sharing::Places places, hooks_.places(needs_slices));
  return PreparerFacts{.pool = options_.node,
                       .cards = cards_,
                       .resources = resources_,
                       .plan = state.injection->plan,
                       .places = std::move(places)};
}

StatusOr<std::vector<dra::PreparedClaim>> ClaimPart::Held(const dra::Checkpoint& known) const {
  const node::NodeState state = effects_.now();
  if (!state.pod_list.asked && !state.pod_list.has_no_kubelet) {
    return Unavailable(
        "claims of before are not known, and the kubelet has not said yet which devices are in "
        "use: try again");
  }
  std::vector<dra::PreparedClaim> held;
  for (const pods::DeviceUse& use : state.pods->devices) {
    const auto is_it = [&](const auto& entry) {
      return entry.second.space == use.claim.claim_namespace &&
             entry.second.name == use.claim.claim;
    };
    if (use.claim.driver != dra::kDriverName || std::ranges::any_of(known.claims, is_it)) {
      continue;
    }
    dra::PreparedDevice device{.device = use.claim.device};
    for (const dra::CardOffer& card : cards_) {
      const auto offer = std::ranges::find(card.offers, use.claim.device, &dra::Offer::name);
      if (offer != card.offers.end()) {
        device.device_uuid = offer->device_uuid;
        device.slots = offer->slots;  // any of them
      }
    }
    held.push_back({.space = use.claim.claim_namespace,
                    .name = use.claim.claim,
                    .devices = {std::move(device)}});
  }
  return held;
}

bool ClaimPart::is_ready() const {
  return is_serving_ && problem().empty();
}

std::string ClaimPart::problem() const {
  if (!is_serving_) {
    return "";
  }
  if (options_.node.empty()) {
    return "claims need a cluster: set NODE_NAME";
  }
  if (!link_) {
    return link_problem_;
  }
  if (!link_->problem().empty()) {
    return link_->problem();
  }
  if (!preparer_.problem().empty()) {
    return preparer_.problem();
  }
  if (!publisher_) {
    return "the devices are not published yet: the API server has not answered";
  }
  if (!publisher_->state().is_published) {
    const std::string& why = publisher_->state().problem;
    return fmt::format("the devices are not published yet: {}",
                       why.empty() ? "the write is in progress" : why);
  }
  return hooks_.runtime_problem();
}

std::vector<std::string> ClaimPart::IdsOf(const pods::ClaimedDevice& claim) const {
  std::vector<std::string> ids;
  for (const auto& [uid, prepared] : preparer_.record().claims) {
    const bool is_it = claim.driver == dra::kDriverName && prepared.name == claim.claim &&
                       prepared.space == claim.claim_namespace;
    for (const dra::PreparedDevice& device :
         is_it ? prepared.devices : std::vector<dra::PreparedDevice>()) {
      if (device.device != claim.device || device.device_uuid.empty()) {
        continue;
      }
      if (device.slots.empty()) {
        ids.push_back(device.device_uuid);
      } else {
        ids.insert(ids.end(), device.slots.begin(), device.slots.end());
      }
    }
  }
  return ids;
}

void ClaimPart::ShowStatus(const node::NodeState& /*state*/, node::StatusPage& page) const {
  if (!is_serving_ && preparer_.record().claims.empty()) {
    return;
  }
  page.AddLine("claims", problem());
  json::array prepared;
  for (const auto& [uid, claim] : preparer_.record().claims) {
    if (claim.name.empty()) {
      continue;  // it ends, and was nobody's
    }
    json::array devices;
    for (const dra::PreparedDevice& device : claim.devices) {
      devices.push_back({{"device", device.device}, {"uuid", device.device_uuid}});
    }
    prepared.push_back({{"namespace", claim.space},
                        {"name", claim.name},
                        {"uid", uid},
                        {"devices", std::move(devices)}});
  }
  page.fields["claims"] = {{"problem", problem()}, {"prepared", std::move(prepared)}};
}

void ClaimPart::WriteSeries(const node::NodeState& /*state*/, metrics::Exposition& page) const {
  const PreparerCounts& counts = preparer_.counts();
  telemetry::Write(telemetry::Own("kgpu_claims"),
                   static_cast<double>(preparer_.record().claims.size()), page);
  telemetry::Begin(telemetry::Own("kgpu_claim_preparations_total"), page);
  page.Sample({{"result", "ok"}}, static_cast<double>(counts.prepared));
  page.Sample({{"result", "refused"}}, static_cast<double>(counts.failed));
  telemetry::Write(telemetry::Own("kgpu_resource_slice_writes_total"),
                   static_cast<double>(publisher_ ? publisher_->state().writes : 0), page);
}

}  // namespace kgpu::claims
