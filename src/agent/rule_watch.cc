#include "src/agent/rule_watch.h"

#include <boost/json.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/base/log.h"
#include "src/kube/resource.h"
#include "src/labels/node_feature.h"
#include "src/labels/rules.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

constexpr kube::Resource kRules{"nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules"};
constexpr kube::Resource kFeatures{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures"};
constexpr const char* kApi = "/apis/nfd.k8s-sigs.io/v1alpha1";

// A cluster without NFD's API is asked for it again; each node asks for itself.
constexpr std::chrono::minutes kAskAgain{10};
// Objects that come together are looked at together.
constexpr std::chrono::milliseconds kSettle{200};
constexpr size_t kMaxRuleObjects = 1'000;
constexpr size_t kMaxFeatureObjects = 100;

// Of what is not allowed, or not there any more, we do not ask often.
constexpr kube::BackoffOptions kBackoff{
    .first = std::chrono::seconds(1), .longest = kAskAgain, .reset_after = std::chrono::minutes(2)};

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
      changed_(std::move(changed)) {
  Ask();
}

RuleWatch::~RuleWatch() {
  loop_.CancelTimer(again_);
  loop_.CancelTimer(settle_);
}

void RuleWatch::Ask() {
  call_ = client_.Send({.path = kApi}, [this](const StatusOr<json::value>& answer) {
    const auto ended = std::move(call_);
    OnApi(answer.status());
  });
}

void RuleWatch::OnApi(const Status& status) {
  if (status.ok()) {
    Follow();
    return;
  }
  // It is not there, or not for us: then it adds nothing.
  if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied) {
    if (!std::exchange(is_known_, true)) {
      Changed();
    }
  }
  again_ = loop_.After(kAskAgain + random_.PartOf(kAskAgain / 2), [this] { Ask(); });
}

void RuleWatch::Follow() {
  const auto handlers = [this](bool is_last) {
    return kube::ReflectorHandlers{.on_changed = [this](const kube::ObjectPtr&) { Changed(); },
                                   .on_gone = [this](const kube::ObjectPtr&) { Changed(); },
                                   .on_synced =
                                       [this, is_last] {
                                         if (is_last || (rules_ && rules_->is_synced())) {
                                           Changed();
                                         }
                                       },
                                   .on_trouble =
                                       [](const Status& status) {
                                         KGPU_LOG(kDebug, "rules of the cluster",
                                                  {"reason", Message(status)});
                                       }};
  };
  rules_ = std::make_unique<kube::Reflector>(
      loop_, client_, random_,
      kube::ReflectorOptions{.selection = {.path = kRules.Collection()},
                             .max_objects = kMaxRuleObjects,
                             .max_bytes = size_t{32} << 20,
                             .backoff = kBackoff},
      handlers(false));
  features_ = std::make_unique<kube::Reflector>(
      loop_, client_, random_,
      kube::ReflectorOptions{
          .selection = {.path = kFeatures.Collection(),
                        .label_selector = fmt::format("{}={}", labels::kNodeNameLabel, node_)},
          .max_objects = kMaxFeatureObjects,
          .max_bytes = size_t{32} << 20,
          .backoff = kBackoff},
      handlers(true));
}

void RuleWatch::Changed() {
  if (settle_ == TimerId::kNone) {
    settle_ = loop_.After(kSettle, [this] {
      settle_ = TimerId::kNone;
      is_known_ = is_known_ || (rules_ && rules_->is_synced() && features_->is_synced());
      changed_();
    });
  }
}

labels::ClusterLabels RuleWatch::labels() const {
  labels::ClusterLabels found;
  if (!rules_) {
    return found;
  }
  for (const auto& [key, object] : rules_->objects()) {
    if (auto rules = labels::ReadRuleObject(*object); rules.ok()) {
      found.rules.push_back(std::move(rules->rules));
    }
  }
  for (const auto& [key, object] : features_->objects()) {
    auto feature = labels::ReadNodeFeature(*object);
    if (feature.ok() && (feature->name != own_object_ || feature->name_space != own_namespace_)) {
      found.features.push_back(*std::move(feature));
    }
  }
  labels::SortNodeFeatures(found.features, own_namespace_);
  return found;
}

std::vector<std::string> RuleWatch::problems() const {
  std::vector<std::string> problems;
  if (!rules_) {
    return problems;
  }
  for (const auto& [key, object] : rules_->objects()) {
    const auto rules = labels::ReadRuleObject(*object);
    if (!rules.ok()) {
      problems.push_back(fmt::format("NodeFeatureRule {}: {}", key, Message(rules.status())));
      continue;
    }
    problems.insert(problems.end(), rules->problems.begin(), rules->problems.end());
  }
  for (const auto& [key, object] : features_->objects()) {
    if (const auto feature = labels::ReadNodeFeature(*object); !feature.ok()) {
      problems.push_back(fmt::format("NodeFeature {}: {}", key, Message(feature.status())));
    }
  }
  return problems;
}

}  // namespace kgpu::agent
