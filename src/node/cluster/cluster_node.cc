#include "src/node/cluster/cluster_node.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/node/labels/feature_files.h"
#include "src/node/labels/gpu_labels.h"
#include "src/node/labels/model_affinity.h"
#include "src/node/labels/node_feature.h"
#include "src/node/layouts/mig_label.h"
#include "src/node/object/host_facts.h"
#include "src/platform/base/log.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cluster {
namespace {

namespace json = boost::json;

// Credentials may come later than the agent.
constexpr std::chrono::seconds kOpenAgain{60};
// Changes that come together are looked at together.
constexpr std::chrono::milliseconds kLookDelay{50};
constexpr size_t kMaxProblems = 100;
// Of the watch of the Node object: the nodes of a cluster may start together. Without a
// configuration, the node waits for its labels.
constexpr std::chrono::milliseconds kUsualJitter{5'000};
constexpr std::chrono::milliseconds kGateOnlyJitter{2'000};
constexpr const char* kOurs = "kgpu\n";
constexpr const char* kOther = "other\n";

std::optional<bool> RememberedDecision(const std::string& run_dir) {
  const auto folder = sys::Root::Open(run_dir);
  const auto text = folder.ok() ? folder->ReadFile(kDecisionFile, 16) : folder.status();
  if (text.ok() && (*text == kOurs || *text == kOther)) {
    return *text == kOther;
  }
  return std::nullopt;
}

// Labels that the GPUs make, of those the node carries of ours.
labels::NodeClaims RememberedGpus(const node::SeenNode& node) {
  labels::NodeClaims claims;
  const auto take = [](const node::SeenKeys& keys, std::initializer_list<std::string_view> heads,
                       std::map<std::string, std::string>& out) {
    for (const std::string& key : keys.ours) {
      const auto value = keys.values.find(key);
      const bool is_gpus = std::ranges::any_of(
          heads, [&key](std::string_view head) { return key.starts_with(head); });
      if (is_gpus && value != keys.values.end()) {
        out.insert(*value);
      }
    }
  };
  take(node.labels, {"nvidia.com/", labels::kModelLabelPrefix}, claims.labels);
  take(node.annotations, {labels::kGpusAnnotation}, claims.annotations);
  return claims;
}

std::vector<device::PciBusId> CardsOf(const device::Snapshot& snapshot) {
  std::vector<device::PciBusId> cards;
  cards.reserve(snapshot.gpus.size());
  for (const device::Gpu& gpu : snapshot.gpus) {
    cards.push_back(gpu.pci);
  }
  return cards;
}

}  // namespace

ClusterNode::ClusterNode(EventLoop& loop, const sys::Root& host, const sys::Root& own,
                         ClusterNodeOptions options, std::function<void()> changed)
    : loop_(loop),
      host_(host),
      options_(std::move(options)),
      changed_(std::move(changed)),
      random_(Random::SeedFromKernel()),
      own_root_(own),
      worker_(loop, host, {.node_name = options_.node_name},
              [this](const labels::LabelLook& look) { OnLook(look); }) {
  sockets_ = node::ForeignPluginSockets(options_.device_plugins);
  OpenCluster();
  if (cluster_) {
    decision_ = RememberedDecision(options_.run_dir);
  }
}

void ClusterNode::OpenCluster() {
  auto cluster = options_.node_name.empty()
                     ? InvalidArgument("cannot determine this host's name: set NODE_NAME")
                     : kube::Cluster::Open(loop_, random_, own_root_,
                                           {.sources = options_.sources,
                                            .client = {.user_agent = "kgpu/" + options_.version}});
  if (!cluster.ok()) {
    if (std::string problem(Message(cluster.status())); problem != api_problem_) {
      if (cluster.status().code() == StatusCode::kNotFound) {
        KGPU_LOG(kInfo, "cluster not used", {"reason", problem});
      } else {
        KGPU_LOG(kWarning, "cluster not used", {"reason", problem});
      }
      api_problem_ = std::move(problem);
    }
    cluster_timer_.Arm(kOpenAgain, [this] { OpenCluster(); });
    return;
  }
  api_problem_.clear();
  cluster_ = *std::move(cluster);
  KGPU_LOG(kInfo, "cluster", {"server", cluster_->server()}, {"from", cluster_->source()},
           {"node", options_.node_name});
  events_ = std::make_unique<EventPublisher>(
      loop_, cluster_->NewClient({.user_agent = "kgpu/" + options_.version}), random_,
      options_.node_name);
  if (is_configured_) {
    MakeSyncer();
  }
}

std::string ClusterNode::ObjectName() const {
  return fmt::format("kgpu-{}", options_.node_name);
}

void ClusterNode::MakeSyncer() {
  if (!cluster_) {
    return;
  }
  const std::set<node::Owner> reported = writer_ ? writer_->reported() : std::set<node::Owner>();
  writer_.reset();
  writer_ = std::make_unique<node::Syncer>(
      loop_, cluster_->client(), random_,
      node::SyncerOptions{.node = options_.node_name,
                          .gate = {.sets_condition = config_.gate.condition,
                                   .sets_taint = config_.gate.taint,
                                   .booted = options_.booted},
                          .health = {.sets_condition = config_.gate.condition},
                          .start_jitter = is_gate_only_ ? kGateOnlyJitter : kUsualJitter,
                          .reported = reported},
      node::Syncer::Handlers{.notify =
                                 [this](const node::NodeEvent& event) {
                                   events_->Record(node::EventOf(event, options_.node_name));
                                 },
                             .changed = [this] { OnSyncer(); }});
  writer_->SetHostMarks(sockets_, has_gfd_file_);
  writer_->SetFacts(facts_);
  if (snapshot_) {
    writer_->SetSnapshot(snapshot_);
  }
  writer_->SetHealthNote(health_note_);
  ShowConfigReport();
  rules_.reset();
  if (config_.labels.rule_objects && Publishes(config::LabelOutput::kNode)) {
    rules_ = std::make_unique<RuleWatch>(loop_, cluster_->client(), random_, options_.node_name,
                                         cluster_->space(), ObjectName(), [this] { LookSoon(); });
  }
}

void ClusterNode::OnSyncer() {
  if (!has_remembered_) {
    if (const auto seen = writer_->report().seen) {
      has_remembered_ = true;
      hold_.SetRemembered(RememberedGpus(*seen));
      UpdateGpus();
    }
  }
  Decide();
  changed_();
}

void ClusterNode::SetConfig(const config::NodeConfig& config) {
  const bool is_syncer_new = !is_configured_ || is_gate_only_ || config_.gate != config.gate ||
                             config_.labels.outputs != config.labels.outputs ||
                             config_.labels.rule_objects != config.labels.rule_objects;
  config_ = config;
  is_configured_ = true;
  is_gate_only_ = false;
  ++look_tag_;
  worker_.SetConfig(config.labels);
  if (is_syncer_new) {
    MakeSyncer();
  }
  LookAtHost();
  UpdateGpus();
  LookSoon();
}

void ClusterNode::SetNoConfig() {
  if (!is_configured_) {
    is_configured_ = true;
    is_gate_only_ = true;
    config_ = config::DefaultNodeConfig();
    config_.labels.rule_objects = false;
    MakeSyncer();
  }
}

void ClusterNode::SetSnapshot(const device::SnapshotPtr& snapshot) {
  snapshot_ = snapshot;
  if (writer_) {
    writer_->SetSnapshot(snapshot_);
  }
  UpdateGpus();
}

void ClusterNode::SetHealthNote(const std::string& note) {
  health_note_ = note;
  if (writer_) {
    writer_->SetHealthNote(note);
  }
}

void ClusterNode::SetMigState(const std::optional<std::string>& state) {
  if (std::exchange(mig_state_, state) != state) {
    UpdateGpus();
  }
}

void ClusterNode::SetConfigReport(const choice::Report& report) {
  if (config_report_ != report) {
    config_report_ = report;
    ShowConfigReport();
  }
}

void ClusterNode::ShowConfigReport() {
  if (!writer_ || !config_report_ || config_report_->state == choice::State::kWaiting) {
    return;
  }
  node::DesiredConfig desired;
  const auto condition = choice::ConditionOf(*config_report_);
  if (condition && config_.gate.condition) {
    desired.condition =
        node::ConditionText{condition->status == "True", condition->reason, condition->message};
  }
  writer_->SetConfig(std::move(desired));
}

const std::map<std::string, std::string>* ClusterNode::labels() const {
  const node::SeenNode* seen = writer_ ? writer_->seen() : nullptr;
  return seen == nullptr ? nullptr : &seen->labels.values;
}

void ClusterNode::SetFacts(node::ChainFacts facts) {
  facts_ = std::move(facts);
  if (stands_back()) {
    facts_.plugin_owner = std::string(node::TitleOf(node::Owner::kPlugin));
  }
  if (writer_) {
    writer_->SetFacts(facts_);
  }
}

void ClusterNode::Notify(kube::Event event) {
  if (!events_) {
    return;
  }
  if (writer_) {
    events_->SetNodeUid(writer_->node_uid());
  }
  events_->Record(std::move(event));
}

Status ClusterNode::Evict(const slices::SliceUse& use) {
  if (!cluster_) {
    return FailedPrecondition("there is no cluster to evict the pod from: {}", api_problem_);
  }
  if (!evictor_) {
    evictor_ = std::make_unique<PodEvictor>(
        loop_, cluster_->NewClient({.user_agent = "kgpu/" + options_.version}),
        [this](kube::Event event) { Notify(std::move(event)); });
  }
  evictor_->Evict(use);
  return OkStatus();
}

// The last decision holds until the node is heard again: when the syncer is made again, after a
// restart, while the API server is away. Before the first decision the sockets tell.
bool ClusterNode::stands_back() const {
  return decision_.value_or(!sockets_.empty());
}

void ClusterNode::Decide() {
  if (!writer_ || !writer_->report().seen) {
    return;
  }
  const bool stands_back = writer_->owners().StandsBackFor(node::Owner::kPlugin);
  if (decision_ == stands_back) {
    return;
  }
  decision_ = stands_back;
  const Status written =
      sys::WriteFileAtomically(fmt::format("{}/{}", options_.run_dir, kDecisionFile),
                               stands_back ? kOther : kOurs, 0600, sys::Durability::kMemory);
  if (!written.ok()) {
    KGPU_LOG(kWarning, "after a restart the agent cannot tell who owns the GPUs",
             {"reason", Message(written)});
  }
}

kube::Client* ClusterNode::review_client() {
  if (!review_client_ && cluster_) {
    review_client_ = cluster_->NewClient(
        {.gate = {.burst = 20, .max_waiting = 64}, .user_agent = "kgpu/" + options_.version});
  }
  return review_client_.get();
}

kube::Client* ClusterNode::claims_client() {
  if (!claims_client_ && cluster_) {
    // The kubelet asks for each pod that starts, and the pods of a node may start together.
    claims_client_ = cluster_->NewClient(
        {.gate = {.per_second = 50, .burst = 200}, .user_agent = "kgpu/" + options_.version});
  }
  return claims_client_.get();
}

node::NodeReport ClusterNode::report() const {
  if (writer_) {
    return writer_->report();
  }
  node::NodeReport report;
  report.node = options_.node_name;
  report.chain = node::CheckChain(facts_);
  report.is_ready = node::Worst(*report.chain) == node::LinkState::kOk;
  report.api_problem = api_problem_.empty() ? "not configured yet" : api_problem_;
  return report;
}

// Finds out whose parts are on this host, and when to look at its features next.
void ClusterNode::LookAtHost() {
  sockets_ = node::ForeignPluginSockets(options_.device_plugins);
  has_gfd_file_ = node::HasGfdFile(host_);
  if (writer_) {
    writer_->SetHostMarks(sockets_, has_gfd_file_);
  }
  changed_();
  // Nodes that started together must not look and write at the same time for ever.
  const auto every = config_.labels.every;
  every_timer_.Arm(every - every / 10 + random_.PartOf(every / 5), [this] {
    LookAtHost();
    LookSoon();
  });
}

void ClusterNode::UpdateGpus() {
  hold_timer_.Cancel();
  if (!snapshot_ || !is_configured_) {
    return;
  }
  std::optional<labels::NodeClaims> gpus = labels::NodeClaims();
  if (config_.labels.gpus) {
    if (std::vector<device::PciBusId> cards = CardsOf(*snapshot_); cards_ != cards) {
      gpu_host_ = labels::ReadGpuHost(host_, *snapshot_);
      cards_ = std::move(cards);
    }
    const bool has_gpus = !snapshot_->gpus.empty() || !snapshot_->unmanaged.empty();
    gpus = hold_.Update(snapshot_->driver.state, has_gpus,
                        labels::GpuClaims(*snapshot_, config_, gpu_host_), loop_.clock().Now());
    layouts::AddMigState(mig_state_, writer_ ? writer_->seen() : nullptr, gpus);
    if (const auto next = hold_.next()) {
      hold_timer_.Arm(*next - loop_.clock().Now(), [this] { UpdateGpus(); });
    }
  }
  if (gpus_ != gpus) {
    gpus_ = std::move(gpus);
    LookSoon();
  }
}

void ClusterNode::LookSoon() {
  if (!look_timer_.is_armed()) {
    look_timer_.Arm(kLookDelay, [this] { Look(); });
  }
}

void ClusterNode::Look() {
  // Until every source has reported, nothing is removed from the node.
  if (is_gate_only_ || !gpus_ || (rules_ && !rules_->is_known())) {
    return;
  }
  labels::LookOptions options;
  options.gpus = *gpus_;
  options.now = loop_.clock().WallNow();
  options.tag = look_tag_;
  options.wants_all_features = Publishes(config::LabelOutput::kNodeFeature);
  if (rules_) {
    options.cluster = rules_->labels();
  }
  worker_.Look(std::move(options));
}

void ClusterNode::OnLook(const labels::LabelLook& look) {
  if (look.tag != look_tag_) {
    return;  // an answer for the previous configuration; the next one is on its way
  }
  std::vector<std::string> problems = look.labels.problems;
  if (rules_) {
    const std::vector<std::string> more = rules_->problems();
    problems.insert(problems.end(), more.begin(), more.end());
  }
  LogChanges(std::move(problems));
  if (look.publishes) {
    Publish(look);
  }
}

bool ClusterNode::Publishes(config::LabelOutput output) const {
  const auto& outputs = config_.labels.outputs;
  return std::ranges::find(outputs, output) != outputs.end();
}

void ClusterNode::Publish(const labels::LabelLook& look) {
  if (writer_) {
    writer_->SetClaims(Publishes(config::LabelOutput::kNode) ? look.labels.claims
                                                             : labels::NodeClaims());
    PublishObject(look);
  }
  PublishFile(look);
}

void ClusterNode::PublishObject(const labels::LabelLook& look) {
  const bool is_wanted = Publishes(config::LabelOutput::kNodeFeature);
  // One that is not wanted may still be there, from before a restart: where there is such an API.
  if (!is_wanted && !object_ && (!rules_ || !rules_->has_api())) {
    return;
  }
  if (!object_) {
    object_ = std::make_unique<node::ObjectWriter>(
        loop_, cluster_->client(), random_,
        node::ObjectWriterOptions{.path = fmt::format("/apis/{}/namespaces/{}/nodefeatures/{}",
                                                      labels::kNfdGroupVersion, cluster_->space(),
                                                      ObjectName())});
  }
  if (!is_wanted) {
    object_->SetWanted(std::nullopt);
    return;
  }
  labels::NodeFeature feature;
  feature.name = ObjectName();
  feature.name_space = cluster_->space();
  feature.node = options_.node_name;
  feature.features = look.features;
  feature.labels = look.labels.own_labels;
  object_->SetWanted(labels::PrintNodeFeature(feature, look.unpublished));
}

void ClusterNode::PublishFile(const labels::LabelLook& look) {
  const bool is_wanted = Publishes(config::LabelOutput::kFile);
  Status status;
  // Also at the start: it may be an earlier configuration's.
  if (written_file_.empty()) {
    written_file_ = config_.labels.file;
  }
  if ((!is_wanted || written_file_ != config_.labels.file) &&
      labels::IsOwnFeatureFile(host_, written_file_)) {
    const auto [folder, name] = labels::SplitFilePath(written_file_);
    status = labels::RemoveFeatureFile(host_, folder, name);
  }
  if (is_wanted) {
    written_file_ = config_.labels.file;
    const auto [folder, name] = labels::SplitFilePath(written_file_);
    status = labels::WriteFeatureFile(host_, folder, look.labels.own_labels, name).status();
  }
  if (std::string problem(Message(status)); problem != file_problem_) {
    if (!problem.empty()) {
      KGPU_LOG(kWarning, "feature file not updated", {"reason", problem});
    }
    file_problem_ = std::move(problem);
  }
}

std::vector<std::string> ClusterNode::label_problems() const {
  std::vector<std::string> problems = label_problems_;
  if (std::string slow = worker_.problem(); !slow.empty()) {
    problems.push_back(std::move(slow));
  }
  return problems;
}

void ClusterNode::LogChanges(std::vector<std::string> problems) {
  problems.resize(std::min(problems.size(), kMaxProblems));
  for (const std::string& problem : problems) {
    if (std::ranges::find(label_problems_, problem) == label_problems_.end()) {
      KGPU_LOG(kWarning, "labels", {"problem", problem});
    }
  }
  label_problems_ = std::move(problems);
}

}  // namespace kgpu::cluster
