#include "src/node/object/syncer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/log.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

std::string LeftTo(Owner owner) {
  static constexpr std::array<std::string_view, 4> kWords = {
      "the labels feature.node.kubernetes.io/…", "the labels nvidia.com/…",
      "the resources nvidia.com/…", "what it sets"};
  return std::string(kWords.at(static_cast<size_t>(owner)));
}

}  // namespace

kube::Event EventOf(const NodeEvent& event, const std::string& node) {
  return {.is_warning = event.is_warning,
          .reason = event.reason,
          .action = "Verifying",
          .note = event.note,
          .regarding = {.api_version = "v1", .kind = "Node", .name = node, .uid = event.uid}};
}

Syncer::Syncer(EventLoop& loop, kube::Client& client, Random& random, SyncerOptions options,
               Handlers handlers)
    : loop_(loop),
      client_(client),
      random_(random),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      gate_(
          loop, options_.gate, [this] { OnDesired(); },
          [this](const GateEvent& event) { NotifyGate(event); }),
      health_(loop, options_.health, [this] { OnDesired(); }),
      writer_(loop, client, random, options_.writer, [this] { handlers_.changed(); }),
      reported_(options_.reported) {
  start_timer_.Arm(random_.PartOf(options_.start_jitter), [this] { StartWatch(); });
}

Syncer::~Syncer() = default;

void Syncer::SetFacts(ChainFacts facts) {
  gate_.SetFacts(std::move(facts));
}

void Syncer::SetSnapshot(device::SnapshotPtr snapshot) {
  health_.SetSnapshot(std::move(snapshot));
}

void Syncer::SetHealthNote(std::string note) {
  health_.SetNote(std::move(note));
}

void Syncer::SetConfig(DesiredConfig config) {
  wanted_.config = std::move(config);
  writer_.SetWanted(wanted_);
}

void Syncer::SetClaims(labels::NodeClaims claims) {
  if (wanted_.claims) {
    wanted_.claims = std::move(claims);
    writer_.SetWanted(wanted_);
    return;
  }
  first_claims_ = std::move(claims);
  if (!claims_timer_.is_armed()) {
    claims_timer_.Arm(random_.PartOf(options_.claims_jitter), [this] {
      wanted_.claims = std::exchange(first_claims_, std::nullopt);
      writer_.SetWanted(wanted_);
    });
  }
}

void Syncer::SetHostMarks(std::vector<std::string> sockets, bool has_gfd_file) {
  evidence_.sockets = std::move(sockets);
  evidence_.has_gfd_file = has_gfd_file;
  LookForOwners();
}

void Syncer::OnDesired() {
  wanted_.gate = gate_.desired();
  wanted_.health = health_.desired();
  writer_.SetWanted(wanted_);
  handlers_.changed();
}

void Syncer::StartWatch() {
  kube::ReflectorOptions watch;
  watch.selection = {.path = kube::kNodes.Collection(),
                     .field_selector = fmt::format("metadata.name={}", options_.node)};
  watch.keeps_managed_fields = true;
  watch.trim = [this](json::value& object) { Take(object); };
  watch_ = std::make_unique<kube::Reflector>(
      loop_, client_, random_, std::move(watch),
      kube::ReflectorHandlers{.on_changed = [this](const kube::ObjectPtr&) { OnNode(); },
                              .on_gone = [this](const kube::ObjectPtr&) { OnNoNode(); },
                              .on_synced =
                                  [this] {
                                    if (watch_->objects().empty()) {
                                      OnNoNode();
                                    }
                                  },
                              .on_watching = [this] { OnWatching(); },
                              .on_trouble =
                                  [this](const Status& status) {
                                    api_problem_ = fmt::format("API server: {}", Message(status));
                                    gate_.SetNodeUnknown();
                                    handlers_.changed();
                                  }});
}

// All that matters here; what is left is what the watch goes on from. A node's managed fields and
// images are tens of kilobytes of JSON, and the watch's copy lives as long as the agent.
void Syncer::Take(json::value& object) {
  StatusOr<SeenNode> node = ReadNode(object);
  if (!node.ok()) {
    return;  // the selector names one node: skip one without a name
  }
  object = json::object{
      {"metadata", {{"name", node->name}, {"uid", node->uid}, {"resourceVersion", node->version}}}};
  taken_ = *std::move(node);
}

void Syncer::OnNode() {
  if (!taken_) {
    return;
  }
  api_problem_.clear();
  const SeenNode& node = seen_.emplace(*std::move(taken_));
  taken_.reset();
  evidence_.node = &node;
  LookForOwners();
  writer_.SetNode(node);
  gate_.SetNode(node);
  health_.SetNode(node);
  handlers_.changed();
}

// Nothing may have changed while the API server was away: then no event shows that it is back.
void Syncer::OnWatching() {
  if (!seen_) {
    return OnNoNode();
  }
  if (!api_problem_.empty()) {
    api_problem_.clear();
    gate_.SetNode(*seen_);
    // A write that failed while the server was away need not wait for its next try.
    writer_.TryNow();
    handlers_.changed();
  }
}

void Syncer::OnNoNode() {
  seen_.reset();
  evidence_.node = nullptr;
  api_problem_ = fmt::format(
      "node {}: not found: it appears when the kubelet registers; check the name (--node-name)",
      options_.node);
  writer_.SetNode(std::nullopt);
  handlers_.changed();
}

void Syncer::LookForOwners() {
  if (!HasMarks(evidence_)) {
    // Nothing points to other owners: there is no need to look for pods.
    evidence_.pods.reset();
    has_scanned_ = false;
    missing_.clear();
    scan_.reset();
    scan_timer_.Cancel();
  } else if (!evidence_.pods && !scan_ && !scan_timer_.is_armed() && seen_) {
    ArmScan(std::chrono::nanoseconds(0));
  }
  Owners owners = FindOwners(evidence_);
  if (owners != owners_) {
    owners_ = std::move(owners);
    writer_.SetOwners(owners_);
    handlers_.changed();
  }
  // Marks alone may be old: they are reported when the pods have been asked for.
  if (seen_ && (has_scanned_ || !HasMarks(evidence_))) {
    NotifyOwners();
  }
}

void Syncer::ArmScan(std::chrono::nanoseconds delay) {
  scan_timer_.Arm(delay, [this] { ScanPods(); });
}

void Syncer::ScanPods() {
  scan_ = std::make_unique<PodScan>(client_, options_.node,
                                    [this](StatusOr<std::vector<SeenPod>> pods) {
                                      scan_.reset();
                                      OnPods(std::move(pods));
                                    });
}

void Syncer::OnPods(StatusOr<std::vector<SeenPod>> pods) {
  const std::set<Owner> missing = pods.ok() ? RunningOnlyBefore(*pods) : std::set<Owner>();
  const bool is_sure = std::ranges::includes(missing_, missing);
  if (!is_sure) {
    missing_ = missing;
    return ArmScan(options_.owners_again + random_.PartOf(options_.owners_again));
  }
  // Jitter: so that the nodes of a cluster do not come to ask together.
  ArmScan(options_.owners_every + random_.PartOf(options_.owners_every / 4));
  has_scanned_ = true;
  if (pods.ok()) {
    missing_.clear();
    evidence_.pods = *std::move(pods);
  } else {
    KGPU_LOG(kDebug, "pods not listed", {"reason", Message(pods.status())});
  }
  LookForOwners();
}

// Who would count as gone if these were the pods.
std::set<Owner> Syncer::RunningOnlyBefore(const std::vector<SeenPod>& pods) const {
  Evidence evidence = evidence_;
  evidence.pods = pods;
  const Owners now = FindOwners(evidence);
  std::set<Owner> missing;
  for (const OwnerFound& before : FindOwners(evidence_).found) {
    const OwnerFound* found = now.Find(before.owner);
    if (before.is_running && (found == nullptr || !found->is_running)) {
      missing.insert(before.owner);
    }
  }
  return missing;
}

void Syncer::NotifyOwners() {
  for (const Owner owner : {Owner::kNfd, Owner::kGfd, Owner::kPlugin}) {
    const bool stands_back = owners_.StandsBackFor(owner);
    if (reported_.contains(owner) == stands_back) {
      continue;
    }
    if (stands_back) {
      reported_.insert(owner);
    } else {
      reported_.erase(owner);
    }
    const bool is_adopted = owners_.adopted.contains(owner);
    if (stands_back) {
      Notify(
          {false, "StandingBack",
           fmt::format(
               "{} is installed: kgpu leaves {} to it; to take over: `kgpu node adopt --from {}`",
               TitleOf(owner), LeftTo(owner), ToString(owner))});
    } else {
      Notify(
          {false, is_adopted ? "TakenOver" : "OwnerGone",
           fmt::format("{}: kgpu now sets {}{}",
                       is_adopted ? "as requested" : fmt::format("{} was removed", TitleOf(owner)),
                       LeftTo(owner),
                       is_adopted
                           ? ""
                           : ", except keys it left behind, which `kgpu node adopt` takes over")});
    }
  }
}

void Syncer::Notify(NodeEvent event) {
  event.uid = node_uid();
  KGPU_LOG(kInfo, "node event", {"reason", event.reason}, {"note", event.note});
  handlers_.notify(event);
}

NodeReport Syncer::report() const {
  NodeReport report;
  report.node = options_.node;
  report.chain = gate_.chain();
  report.is_ready = gate_.is_ready();
  report.desired = gate_.desired();
  // A write's answer is newer than the watch.
  report.seen = writer_.node() ? writer_.node() : seen_;
  report.api_problem = api_problem_;
  report.owners = owners_;
  report.writer = writer_.state();
  return report;
}

}  // namespace kgpu::node
