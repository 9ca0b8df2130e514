#include "testing/cluster/cluster.h"

#include <boost/json.hpp>

#include <set>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/cluster/budgets.h"
#include "testing/cluster/daemon_sets.h"
#include "testing/cluster/deployments.h"
#include "testing/cluster/index.h"
#include "testing/cluster/jobs.h"
#include "testing/cluster/node_rules.h"
#include "testing/cluster/scheduler.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::Change;
using apiserver::ChangeType;
using apiserver::ItemsAt;
using apiserver::NumberAt;
using apiserver::ObjectAt;
using apiserver::TextAt;

constexpr const char* kDaemonSets = "daemonsets.apps";
constexpr const char* kDeployments = "deployments.apps";
constexpr const char* kJobs = "jobs.batch";
constexpr const char* kBudgets = "poddisruptionbudgets.policy";
constexpr const char* kClaims = "persistentvolumeclaims";

std::string StorageOfKind(std::string_view kind) {
  return kind == "DaemonSet"    ? kDaemonSets
         : kind == "Deployment" ? kDeployments
         : kind == "Job"        ? kJobs
                                : "";
}

}  // namespace

class Cluster::Impl {
 public:
  Impl(EventLoop& loop, apiserver::Api& api, ClusterOptions options)
      : loop_(loop),
        api_(api),
        options_(std::move(options)),
        daemon_sets_(api, index_, problems_),
        deployments_(loop, api, index_, problems_),
        jobs_(
            loop, api, index_,
            [this](const ObjectKey& key, std::chrono::nanoseconds delay) { Later(key, delay); },
            options_.job_backoff, problems_),
        budgets_(api, index_, problems_),
        scheduler_(loop, api, index_, problems_),
        kubelets_(loop, api, index_, options_.script, problems_),
        controller_writer_(api, "kube-controller-manager", problems_) {
    for (const char* storage :
         {"nodes", "pods", kDaemonSets, kDeployments, kJobs, kBudgets, kClaims}) {
      for (const auto& [key, object] : api.store().All(storage)) {
        Observe({.revision = object->revision(),
                 .type = ChangeType::kAdded,
                 .storage = storage,
                 .key = key,
                 .object = object,
                 .previous = nullptr});
      }
    }
    observer_ = api.AddObserver([this](const Change& change) { Observe(change); });
  }

  ~Impl() {
    api_.RemoveObserver(observer_);
    loop_.CancelTimer(timer_);
    for (const auto& [key, timer] : later_) {
      loop_.CancelTimer(timer);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  apiserver::Api& api() { return api_; }
  Kubelets& kubelets() { return kubelets_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Observe(const Change& change) {
    const bool is_watched = change.storage == "pods" || change.storage == "nodes" ||
                            change.storage == kDaemonSets || change.storage == kDeployments ||
                            change.storage == kJobs || change.storage == kBudgets ||
                            change.storage == kClaims;
    if (!is_watched) {
      return;
    }
    dirty_[change.storage].insert(change.key);
    // Most changes of nodes concern no DaemonSet.
    has_new_rules_ =
        has_new_rules_ || (change.storage == "nodes" &&
                           (change.type != ChangeType::kModified || change.previous == nullptr ||
                            !HasSameRules(change.object->object(), change.previous->object())));
    if (change.storage == "pods") {
      MarkOwners(change.object->object(), change.key.name_space);
    }
    if (change.storage == "pods" || change.storage == "nodes") {
      changes_.push_back(change);
    }
    if (timer_ == TimerId::kNone) {
      timer_ = loop_.After(options_.sync_delay, [this] { Sync(); });
    }
  }

  void MarkOwners(const json::object& pod, const std::string& name_space) {
    for (const json::value& owner : ItemsAt(pod, {"metadata", "ownerReferences"})) {
      const std::string storage = StorageOfKind(TextAt(owner.as_object(), {"kind"}));
      if (!storage.empty()) {
        dirty_[storage].insert({name_space, std::string(TextAt(owner.as_object(), {"name"}))});
      }
    }
  }

  // Controllers act on one state of the index: what they change is in it for the next one.
  void Refresh() {
    for (const Change& change : std::exchange(changes_, {})) {
      index_.Apply(change);
    }
  }

  void Sync() {
    timer_ = TimerId::kNone;
    auto dirty = std::exchange(dirty_, {});
    Refresh();
    for (const ObjectKey& node : dirty["nodes"]) {
      SyncNode(node.name);
    }
    if (std::exchange(has_new_rules_, false)) {
      for (const auto& [key, set] : api_.store().All(kDaemonSets)) {
        dirty[kDaemonSets].insert(key);
      }
    }
    SyncAll(dirty[kDaemonSets], [this](const ObjectKey& key) { daemon_sets_.Sync(key); });
    SyncAll(dirty[kDeployments], [this](const ObjectKey& key) { deployments_.Sync(key); });
    SyncAll(dirty[kJobs], [this](const ObjectKey& key) { jobs_.Sync(key); });
    SyncAll(dirty[kClaims], [this](const ObjectKey& key) { BindClaim(key); });
    scheduler_.Sync();
    Refresh();
    SyncAll(dirty["pods"], [this](const ObjectKey& key) { kubelets_.Sync(key); });
    if (!dirty["pods"].empty()) {
      for (const auto& [key, budget] : api_.store().All(kBudgets)) {
        dirty[kBudgets].insert(key);
      }
    }
    SyncAll(dirty[kBudgets], [this](const ObjectKey& key) { budgets_.Sync(key); });
  }

  void SyncAll(const std::set<ObjectKey>& keys, const std::function<void(const ObjectKey&)>& sync) {
    for (const ObjectKey& key : keys) {
      sync(key);
    }
    Refresh();
  }

  void Later(const ObjectKey& job, std::chrono::nanoseconds delay) {
    TimerId& timer = later_[job];
    loop_.CancelTimer(timer);
    timer = loop_.After(delay, [this, job] {
      later_.erase(job);
      dirty_[kJobs].insert(job);
      if (timer_ == TimerId::kNone) {
        timer_ = loop_.After(options_.sync_delay, [this] { Sync(); });
      }
    });
  }

  // A node that is gone takes its pods along; a taint NoExecute takes those that do not tolerate
  // it.
  void SyncNode(const std::string& name) {
    const NodeInfo* node = index_.Node(name);
    if (node == nullptr) {
      for (const auto& [key, pod] : index_.pods()) {
        if (pod.node == name) {
          controller_writer_.DeletePod(pod.object->object(), true);
        }
      }
      return;
    }
    for (const ObjectKey& key : node->pods) {
      const PodInfo& pod = *index_.Pod(key);
      const json::object& object = pod.object->object();
      if (!pod.is_deleted && !pod.is_over() &&
          UntoleratedTaint(object, node->object->object(), false) != nullptr) {
        controller_writer_.DeletePod(object);
      }
    }
    kubelets_.SyncNode(name);
  }

  void BindClaim(const ObjectKey& key) {
    const std::string path = PathOf("v1", kClaims, key);
    const StoredPtr claim = api_.Find(path);
    if (claim == nullptr || TextAt(claim->object(), {"status", "phase"}) == "Bound") {
      return;
    }
    const json::object& object = claim->object();
    const json::object* requests = ObjectAt(object, {"spec", "resources", "requests"});
    controller_writer_.Patch(
        path,
        {{"spec", {{"volumeName", fmt::format("pvc-{}", TextAt(object, {"metadata", "uid"}))}}}});
    controller_writer_.PatchStatus(
        path, object,
        {{"phase", "Bound"},
         {"accessModes", ItemsAt(object, {"spec", "accessModes"})},
         {"capacity", requests == nullptr ? json::object() : *requests}});
  }

  EventLoop& loop_;
  apiserver::Api& api_;
  ClusterOptions options_;
  std::vector<std::string> problems_;
  Index index_;
  DaemonSets daemon_sets_;
  Deployments deployments_;
  Jobs jobs_;
  Budgets budgets_;
  Scheduler scheduler_;
  Kubelets kubelets_;
  Writer controller_writer_;
  uint64_t observer_ = 0;
  std::vector<Change> changes_;  // that the index does not have yet
  std::map<std::string, std::set<ObjectKey>, std::less<>> dirty_;  // by storage
  bool has_new_rules_ = false;                                     // of a node
  TimerId timer_ = TimerId::kNone;
  std::map<ObjectKey, TimerId> later_;
};

Cluster::Cluster(EventLoop& loop, apiserver::Api& api, ClusterOptions options)
    : impl_(std::make_unique<Impl>(loop, api, std::move(options))) {
}

Cluster::~Cluster() = default;

Status Cluster::AddNode(const NodeTemplate& node) {
  json::object capacity = doc::TextMap(node.resources);
  json::object object = {{"apiVersion", "v1"},
                         {"kind", "Node"},
                         {"metadata", {{"name", node.name}, {"labels", doc::TextMap(node.labels)}}},
                         {"spec", {{"taints", node.taints}}},
                         {"status", {{"capacity", capacity}, {"allocatable", capacity}}}};
  object["metadata"].as_object()["labels"].as_object()["kubernetes.io/hostname"] = node.name;
  return impl_->api().Do("POST", "/api/v1/nodes", object).status();
}

void Cluster::SetScript(PodScript script) {
  impl_->kubelets().SetScript(std::move(script));
}

const std::vector<std::string>& Cluster::problems() const {
  return impl_->problems();
}

}  // namespace kgpu::simcluster
