#include "src/node/cluster/rule_watch.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "src/kube/api/resource.h"
#include "src/node/labels/node_feature.h"
#include "src/node/labels/rules.h"

namespace kgpu::cluster {
namespace {

namespace json = boost::json;

constexpr kube::Resource kRules{"nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules"};
constexpr kube::Resource kFeatures{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures"};
constexpr const char* kApi = "/apis/nfd.k8s-sigs.io/v1alpha1";

// How often a cluster without NFD's API is asked for it again; each node asks for itself.
constexpr std::chrono::minutes kAskAgain{10};
// Before the first question: nodes that start together do not ask together.
constexpr std::chrono::seconds kStartJitter{5};
// Between two answers of the same kind: while a cluster starts, one may be wrong.
constexpr std::chrono::seconds kConfirm{5};
constexpr int kBelieved = 2;
// Objects that come together are looked at together.
constexpr std::chrono::milliseconds kRulesSettle{200};
constexpr size_t kMaxRuleObjects = 1'000;
constexpr size_t kMaxFeatureObjects = 100;
constexpr size_t kMaxBytes = size_t{32} << 20;

// Empty for a collection that is not followed.
const std::map<std::string, kube::ObjectPtr>& ObjectsOf(
    const std::unique_ptr<kube::Reflector>& reflector) {
  static const std::map<std::string, kube::ObjectPtr> kNone;
  return reflector ? reflector->objects() : kNone;
}

// The server's word that there is nothing for us.
bool IsRefusal(const Status& status) {
  return status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
}

}  // namespace

RuleWatch::RuleWatch(EventLoop& loop, kube::Client& client, Random& random, std::string node,
                     std::string own_namespace, std::string own_object,
                     std::function<void()> changed)
    : loop_(loop),
      client_(client),
      random_(random),
      node_(std::move(node)),
      own_namespace_(std::move(own_namespace)),
      own_object_(std::move(own_object)),
      changed_(std::move(changed)),
      backoff_(random),
      rules_{.path = kRules.Collection(),
             .label_selector = "",
             .max_objects = kMaxRuleObjects,
             .again = Timer(loop)},
      features_{.path = kFeatures.Collection(),
                .label_selector = fmt::format("{}={}", labels::kNodeNameLabel, node_),
                .max_objects = kMaxFeatureObjects,
                .again = Timer(loop)} {
  AskIn(random_.PartOf(kStartJitter));
}

bool RuleWatch::is_known() const {
  return has_api_ ? rules_.is_known() && features_.is_known() : absences_ >= kBelieved;
}

void RuleWatch::AskIn(std::chrono::nanoseconds delay) {
  ask_timer_.Arm(delay, [this] { Ask(); });
}

void RuleWatch::Ask() {
  call_ = client_.Send({.path = kApi}, [this](const StatusOr<json::value>& answer) {
    const auto ended = std::move(call_);
    OnApi(answer.status());
  });
}

void RuleWatch::OnApi(const Status& status) {
  if (status.ok()) {
    has_api_ = true;
    Follow(rules_);
    Follow(features_);
    return;
  }
  if (!IsRefusal(status)) {
    absences_ = 0;
    AskIn(backoff_.Next(loop_.clock().Now()));
    return;
  }
  if (++absences_ < kBelieved) {
    AskIn(kConfirm);
    return;
  }
  if (absences_ == kBelieved) {
    Changed();
  }
  AskIn(kAskAgain + random_.PartOf(kAskAgain / 2));
}

void RuleWatch::Follow(Followed& followed) {
  followed.reflector = std::make_unique<kube::Reflector>(
      loop_, client_, random_,
      kube::ReflectorOptions{
          .selection = {.path = followed.path, .label_selector = followed.label_selector},
          .max_objects = followed.max_objects,
          .max_bytes = kMaxBytes,
          .starts_from_cache = true},  // every node asks for the same
      kube::ReflectorHandlers{
          .on_changed = [this](const kube::ObjectPtr&) { Changed(); },
          .on_gone = [this](const kube::ObjectPtr&) { Changed(); },
          .on_synced =
              [this, &followed] {
                followed.refusals = 0;
                followed.refusal.clear();
                Changed();
              },
          .on_trouble = [this, &followed](const Status& status) { OnTrouble(followed, status); }});
}

// An API that does not exist or is forbidden to us is asked for again much later.
void RuleWatch::OnTrouble(Followed& followed, const Status& status) {
  if (!IsRefusal(status)) {
    followed.refusals = 0;
    return;
  }
  if (++followed.refusals < kBelieved) {
    return;
  }
  followed.refusal = std::string(Message(status));
  followed.reflector.reset();
  followed.again.Arm(kAskAgain + random_.PartOf(kAskAgain / 2),
                     [this, &followed] { Follow(followed); });
  Changed();
}

void RuleWatch::Changed() {
  labels_.reset();
  if (!settle_timer_.is_armed()) {
    settle_timer_.Arm(kRulesSettle, [this] { changed_(); });
  }
}

std::shared_ptr<const labels::ClusterLabels> RuleWatch::labels() {
  Read();
  return labels_;
}

const std::vector<std::string>& RuleWatch::problems() {
  Read();
  return problems_;
}

// Rules are compiled here, on the loop: with each change, not with each look at the host.
void RuleWatch::Read() {
  if (labels_) {
    return;
  }
  problems_.clear();
  for (const Followed* followed : {&rules_, &features_}) {
    if (!followed->refusal.empty()) {
      problems_.push_back(fmt::format("{}: {}", followed->path, followed->refusal));
    }
  }
  labels::ClusterLabels found;
  ReadRules(found);
  ReadFeatures(found);
  labels_ = std::make_shared<const labels::ClusterLabels>(std::move(found));
}

void RuleWatch::ReadRules(labels::ClusterLabels& found) {
  for (const auto& [key, object] : ObjectsOf(rules_.reflector)) {
    auto rules = labels::ReadRuleObject(*object);
    if (!rules.ok()) {
      problems_.push_back(fmt::format("NodeFeatureRule {}: {}", key, Message(rules.status())));
      continue;
    }
    std::ranges::move(rules->problems, std::back_inserter(problems_));
    found.rules.push_back(std::move(rules->rules));
  }
}

void RuleWatch::ReadFeatures(labels::ClusterLabels& found) {
  for (const auto& [key, object] : ObjectsOf(features_.reflector)) {
    auto feature = labels::ReadNodeFeature(*object);
    if (!feature.ok()) {
      problems_.push_back(fmt::format("NodeFeature {}: {}", key, Message(feature.status())));
    } else if (feature->name != own_object_ || feature->name_space != own_namespace_) {
      found.features.push_back(*std::move(feature));
    }
  }
  labels::SortNodeFeatures(found.features, own_namespace_);
}

}  // namespace kgpu::cluster
