#include "testing/cluster/scheduler.h"

#include <boost/json.hpp>

#include <algorithm>
#include <tuple>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/time_text.h"
#include "testing/cluster/node_rules.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::FlagAt;
using apiserver::ItemsAt;
using apiserver::NumberAt;
using apiserver::TextAt;

constexpr const char* kPodCount = "pods";
constexpr int64_t kMilli = 1000;

// The node that the pod's affinity names, as a DaemonSet's do; "": none, or several terms.
std::string_view NamedNode(const json::object& pod) {
  const json::array& terms =
      ItemsAt(pod, {"spec", "affinity", "nodeAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (terms.size() != 1 || !terms[0].is_object()) {
    return "";
  }
  for (const json::value& field : ItemsAt(terms[0].get_object(), {"matchFields"})) {
    const json::array& values = ItemsAt(field.as_object(), {"values"});
    if (values.size() == 1 && values[0].is_string()) {
      return {values[0].get_string().data(), values[0].get_string().size()};
    }
  }
  return "";
}

json::object Scheduled(bool is_scheduled, const std::string& message) {
  json::object condition = {{"type", "PodScheduled"}, {"status", is_scheduled ? "True" : "False"}};
  if (!is_scheduled) {
    condition["reason"] = "Unschedulable";
    condition["message"] = message;
  }
  return condition;
}

}  // namespace

Scheduler::Scheduler(EventLoop& loop, apiserver::Api& api, const Index& index,
                     std::vector<std::string>& problems)
    : loop_(loop), index_(index), writer_(api, "kube-scheduler", problems) {
}

void Scheduler::Sync() {
  placed_.clear();
  std::vector<std::tuple<int64_t, uint64_t, ObjectKey>> queue;
  for (const ObjectKey& key : index_.unscheduled()) {
    const json::object& pod = index_.Pod(key)->object->object();
    if (ItemsAt(pod, {"spec", "schedulingGates"}).empty() &&
        TextAt(pod, {"spec", "schedulerName"}) == "default-scheduler") {
      const auto created = static_cast<uint64_t>(
          apiserver::SecondsOf(TextAt(pod, {"metadata", "creationTimestamp"})));
      queue.emplace_back(-NumberAt(pod, {"spec", "priority"}, 0), created, key);
    }
  }
  std::ranges::sort(queue);
  for (const auto& [priority, created, key] : queue) {
    const PodInfo& pod = *index_.Pod(key);
    std::map<std::string, int> misfits;
    if (const NodeInfo* node = Choose(pod, misfits); node != nullptr) {
      Bind(key, pod, *node);
    } else {
      Refuse(key, pod, misfits);
    }
  }
}

// Like the real one, stops at the first rule that a node does not meet.
std::vector<std::string> Scheduler::Misfit(const PodInfo& pod, const NodeInfo& node) const {
  const json::object& object = pod.object->object();
  const json::object& on = node.object->object();
  const json::object cordon = {{"key", "node.kubernetes.io/unschedulable"},
                               {"effect", "NoSchedule"}};
  if (FlagAt(on, {"spec", "unschedulable"}) && !Tolerates(object, cordon)) {
    return {"node(s) were unschedulable"};
  }
  if (const json::object* taint = UntoleratedTaint(object, on); taint != nullptr) {
    return {fmt::format("node(s) had untolerated taint {{{}: {}}}", TextAt(*taint, {"key"}),
                        TextAt(*taint, {"value"}))};
  }
  if (!MatchesNode(object, on)) {
    return {"node(s) didn't match Pod's node affinity/selector"};
  }
  const auto placed = placed_.find(TextAt(on, {"metadata", "name"}));
  static const Amounts kNothing;
  const Amounts& more = placed == placed_.end() ? kNothing : placed->second;
  std::vector<std::string> reasons;
  const int64_t pods = static_cast<int64_t>(node.pods.size()) * kMilli + AmountOf(more, kPodCount);
  if (node.allocatable.contains(kPodCount) &&
      pods + kMilli > AmountOf(node.allocatable, kPodCount)) {
    reasons.emplace_back("Too many pods");
  }
  for (const auto& [name, amount] : pod.requests) {
    if (amount > 0 && AmountOf(node.used, name) + AmountOf(more, name) + amount >
                          AmountOf(node.allocatable, name)) {
      reasons.push_back(fmt::format("Insufficient {}", name));
    }
  }
  return reasons;
}

const NodeInfo* Scheduler::Choose(const PodInfo& pod, std::map<std::string, int>& misfits) const {
  const json::object& object = pod.object->object();
  const std::string_view named = NamedNode(object);
  const NodeInfo* only = named.empty() ? nullptr : index_.Node(named);
  const NodeInfo* best = nullptr;
  std::tuple<int64_t, int64_t> best_score;
  const auto judge = [&](const std::string& name, const NodeInfo& node) {
    const std::vector<std::string> reasons = Misfit(pod, node);
    for (const std::string& reason : reasons) {
      ++misfits[reason];
    }
    const auto placed = placed_.find(name);
    const int64_t pods = static_cast<int64_t>(node.pods.size()) * kMilli +
                         (placed == placed_.end() ? 0 : AmountOf(placed->second, kPodCount));
    const std::tuple score{PreferenceOf(object, node.object->object()), -pods};
    if (reasons.empty() && (best == nullptr || score > best_score)) {
      best = &node;
      best_score = score;
    }
  };
  if (only != nullptr) {
    judge(std::string(named), *only);
    return best;
  }
  for (const auto& [name, node] : index_.nodes()) {
    judge(name, node);
  }
  return best;
}

void Scheduler::Bind(const ObjectKey& key, const PodInfo& pod, const NodeInfo& node) {
  const json::object& object = pod.object->object();
  const std::string name(TextAt(node.object->object(), {"metadata", "name"}));
  Amounts& placed = placed_[name];
  AddTo(placed, pod.requests);
  placed[kPodCount] += kMilli;
  const std::string path = PathOf("v1", "pods", key);
  // Its kubelet reports that a pod is scheduled, unless somebody has read that it is not.
  const bool was_refused = !ItemsAt(object, {"status", "conditions"}).empty();
  if (writer_.Patch(path, {{"spec", {{"nodeName", name}}}}) && was_refused) {
    const std::string now = apiserver::TimeText(loop_.clock().WallNow());
    writer_.PatchStatus(path, object,
                        {{"conditions", WithCondition(ItemsAt(object, {"status", "conditions"}),
                                                      Scheduled(true, ""), now)}});
  }
}

void Scheduler::Refuse(const ObjectKey& key, const PodInfo& pod,
                       const std::map<std::string, int>& misfits) {
  // Sorted as texts, the number included: as the real one sorts them.
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : misfits) {
    reasons.push_back(fmt::format("{} {}", count, reason));
  }
  std::ranges::sort(reasons);
  const size_t nodes = index_.nodes().size();
  const std::string message =
      nodes == 0 ? "no nodes available to schedule pods"
                 : fmt::format("0/{} nodes are available: {}.", nodes, Join(reasons, ", "));
  const json::object& object = pod.object->object();
  for (const json::value& item : ItemsAt(object, {"status", "conditions"})) {
    if (TextAt(item.as_object(), {"message"}) == message) {
      return;
    }
  }
  const std::string now = apiserver::TimeText(loop_.clock().WallNow());
  writer_.PatchStatus(PathOf("v1", "pods", key), object,
                      {{"conditions", WithCondition(ItemsAt(object, {"status", "conditions"}),
                                                    Scheduled(false, message), now)}});
  WriteEvent(key, pod, message);
}

void Scheduler::WriteEvent(const ObjectKey& key, const PodInfo& pod, const std::string& message) {
  const std::string now = apiserver::TimeText(loop_.clock().WallNow());
  writer_.Create(fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", key.name_space),
                 {{"metadata", {{"generateName", fmt::format("{}.", key.name)}}},
                  {"eventTime", fmt::format("{}.000000Z", now.substr(0, now.size() - 1))},
                  {"type", "Warning"},
                  {"reason", "FailedScheduling"},
                  {"action", "Scheduling"},
                  {"note", doc::View(std::string_view(message).substr(0, 1024))},
                  {"reportingController", "default-scheduler"},
                  {"reportingInstance", "default-scheduler-stub"},
                  {"regarding",
                   {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"namespace", doc::View(key.name_space)},
                    {"name", doc::View(key.name)},
                    {"uid", doc::View(pod.uid)}}}});
}

}  // namespace kgpu::simcluster
