#include "src/cluster/controller/watches.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/cluster/controller/config_map.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using kube::ObjectPtr;
using kube::Reflector;
using kube::ReflectorHandlers;
using kube::ReflectorOptions;

constexpr kube::Resource kDaemonSets{"apps", "v1", "daemonsets"};
constexpr kube::Resource kMaps{"", "v1", "configmaps"};
constexpr size_t kMostNodes = 20'000;
constexpr size_t kMostPods = 400'000;
constexpr size_t kMostBytes = size_t{1} << 30;
// Whole objects are in memory one chunk at a time. A node may have 50 KB, a pod has less; and at 20
// requests a second a large cluster should be read within half a minute.
constexpr size_t kNodeChunk = 200;
constexpr size_t kPodChunk = 500;
// The events of the time when a watch was broken arrive within it.
constexpr std::chrono::seconds kCatchUp{1};

}  // namespace

Watches::Watches(EventLoop& loop, kube::Client& client, Random& random, std::string space,
                 Model& model, WatchHandlers handlers)
    : loop_(loop),
      client_(client),
      random_(random),
      space_(std::move(space)),
      model_(model),
      handlers_(std::move(handlers)) {
  FollowPolicies();
  FollowPods();
  FollowNamespace();
}

bool Watches::is_synced() const {
  const std::vector<const Reflector*> all = {policies_.get(), nodes_.get(), pods_.get(),
                                             driver_set_.get(), config_map_.get()};
  return std::ranges::all_of(
      all, [](const Reflector* one) { return one != nullptr && one->is_synced(); });
}

void Watches::OnTrouble(const Status& status) {
  trouble_ = Message(status);
  if (handlers_.on_trouble) {
    handlers_.on_trouble(status);
  }
}

bool Watches::is_current() const {
  return watching_ && loop_.clock().Now() - *watching_ >= kCatchUp;
}

std::unique_ptr<Reflector> Watches::Follow(ReflectorOptions options, ReflectorHandlers handlers) {
  if (!handlers.on_watching) {
    handlers.on_watching = [this] { trouble_.clear(); };
  }
  if (!handlers.on_trouble) {
    handlers.on_trouble = [this](const Status& status) { OnTrouble(status); };
  }
  if (!handlers.on_synced) {
    handlers.on_synced = [this] { handlers_.on_changed(); };
  }
  options.max_bytes = kMostBytes;
  return std::make_unique<Reflector>(loop_, client_, random_, std::move(options),
                                     std::move(handlers));
}

void Watches::FollowPolicies() {
  policies_ = Follow({.selection = {.path = policy::kGpuPolicies.Collection()}},
                     {.on_changed =
                          [this](const ObjectPtr& object) {
                            if (model_.PutPolicy(*object, loop_.clock().Now(), false)) {
                              handlers_.on_changed();
                            }
                          },
                      .on_gone =
                          [this](const ObjectPtr& object) {
                            model_.RemovePolicy(kube::NameOf(*object));
                            handlers_.on_changed();
                          },
                      .on_synced =
                          [this] {
                            if (nodes_ == nullptr) {
                              FollowNodes();
                            }
                            handlers_.on_changed();
                          }});
}

void Watches::FollowLabels() {
  if (nodes_ != nullptr && !std::ranges::includes(keys_, model_.label_keys())) {
    nodes_.reset();
    watching_.reset();
    FollowNodes();
  }
}

void Watches::FollowNodes() {
  keys_ = model_.label_keys();
  nodes_ = Follow({.selection = {.path = kube::kNodes.Collection()},
                   .chunk = kNodeChunk,
                   .max_objects = kMostNodes,
                   .trim = [this](json::value& node) { fleet::TrimNode(node, keys_); }},
                  {.on_changed =
                       [this](const ObjectPtr& node) {
                         if (model_.PutNode(*node, loop_.clock().Now(), false)) {
                           handlers_.on_changed();
                         }
                       },
                   .on_gone =
                       [this](const ObjectPtr& node) {
                         const std::string name(kube::NameOf(*node));
                         model_.RemoveNode(name);
                         handlers_.on_node_gone(name);
                         handlers_.on_changed();
                       },
                   .on_synced =
                       [this] {
                         ForgetNodes();
                         handlers_.on_changed();
                       },
                   .on_watching =
                       [this] {
                         trouble_.clear();
                         watching_ = loop_.clock().Now();
                       },
                   .on_trouble =
                       [this](const Status& status) {
                         watching_.reset();
                         OnTrouble(status);
                       }});
}

// Nodes of an earlier watch that no longer exist.
void Watches::ForgetNodes() {
  std::vector<std::string> gone;
  for (const auto& [name, entry] : model_.nodes()) {
    if (!nodes_->objects().contains(name)) {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) {
    model_.RemoveNode(name);
    handlers_.on_node_gone(name);
  }
}

void Watches::FollowPods() {
  pods_ = Follow({.selection = {.path = kube::kPods.Collection()},
                  .chunk = kPodChunk,
                  .max_objects = kMostPods,
                  .keeps = &fleet::IsRelevantPod,
                  .trim = &fleet::TrimPod},
                 {.on_changed =
                      [this](const ObjectPtr& pod) {
                        if (model_.PutPod(pod)) {
                          handlers_.on_changed();
                        }
                      },
                  .on_gone =
                      [this](const ObjectPtr& pod) {
                        if (model_.RemovePod(*pod)) {
                          handlers_.on_changed();
                        }
                      }});
}

void Watches::FollowNamespace() {
  // One object, which the model gets as it is, or null.
  const auto follow = [this](std::string path, std::string_view name,
                             void (Model::*set)(const json::value*)) {
    const auto put = [this, set](const json::value* object) {
      (model_.*set)(object);
      handlers_.on_changed();
    };
    return Follow({.selection = {.path = std::move(path),
                                 .field_selector = fmt::format("metadata.name={}", name)}},
                  {.on_changed = [put](const ObjectPtr& object) { put(object.get()); },
                   .on_gone = [put](const ObjectPtr&) { put(nullptr); }});
  };
  driver_set_ = follow(kDaemonSets.Collection(space_), fleet::kDriverName, &Model::SetDriverSet);
  config_map_ = follow(kMaps.Collection(space_), kConfigMapName, &Model::SetConfigMap);
}

}  // namespace kgpu::controller
