#include "testing/cluster/daemon_sets.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/cluster/node_rules.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::FlagAt;
using apiserver::ItemsAt;
using apiserver::MakeObject;
using apiserver::NumberAt;
using apiserver::ObjectAt;
using apiserver::TextAt;

// As the real controller gives them to each pod of a DaemonSet.
json::array DaemonTolerations(bool has_host_network) {
  json::array tolerations;
  const auto add = [&](const char* name, const char* effect) {
    tolerations.push_back({{"key", fmt::format("node.kubernetes.io/{}", name)},
                           {"operator", "Exists"},
                           {"effect", effect}});
  };
  add("not-ready", "NoExecute");
  add("unreachable", "NoExecute");
  for (const char* name : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) {
    add(name, "NoSchedule");
  }
  if (has_host_network) {
    add("network-unavailable", "NoSchedule");
  }
  return tolerations;
}

// The pod for any node, with the tolerations of daemons.
json::object DaemonPod(const json::object& set, const std::string& hash) {
  json::object pod = PodFromTemplate(set, "apps/v1", "DaemonSet");
  json::object& labels = MakeObject(MakeObject(pod, "metadata"), "labels");
  labels["controller-revision-hash"] = hash;
  labels["pod-template-generation"] = std::to_string(NumberAt(set, {"metadata", "generation"}, 1));
  json::object& spec = MakeObject(pod, "spec");
  json::array tolerations = ItemsAt(spec, {"tolerations"});
  for (json::value& item : DaemonTolerations(FlagAt(spec, {"hostNetwork"}))) {
    tolerations.push_back(std::move(item));
  }
  spec["tolerations"] = std::move(tolerations);
  return pod;
}

// Bound to `node` by its affinity, so that the scheduler places it.
void BindTo(json::object& pod, const std::string& node) {
  json::object& affinity = MakeObject(MakeObject(pod, "spec"), "affinity");
  json::object& required = MakeObject(MakeObject(affinity, "nodeAffinity"),
                                      "requiredDuringSchedulingIgnoredDuringExecution");
  const json::array fields = {
      {{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{doc::View(node)}}}};
  json::array terms = ItemsAt(required, {"nodeSelectorTerms"});
  if (terms.empty()) {
    terms.push_back(json::object());
  }
  for (json::value& term : terms) {
    term.as_object()["matchFields"] = fields;
  }
  required["nodeSelectorTerms"] = std::move(terms);
}

}  // namespace

int64_t ScaledValue(const json::value* value, int64_t total, int64_t otherwise, bool rounds_up) {
  if (value == nullptr) {
    return otherwise;
  }
  if (value->is_int64()) {
    return value->get_int64();
  }
  const std::string text = apiserver::PlainText(value);
  const auto percent = text.ends_with('%')
                           ? ParseUint(std::string_view(text).substr(0, text.size() - 1))
                           : std::nullopt;
  return percent ? (static_cast<int64_t>(*percent) * total + (rounds_up ? 99 : 0)) / 100
                 : otherwise;
}

DaemonSets::DaemonSets(apiserver::Api& api, const Index& index, std::vector<std::string>& problems)
    : api_(api), index_(index), writer_(api, "kube-controller-manager", problems) {
}

void DaemonSets::Sync(const ObjectKey& key) {
  const auto set = api_.Find(PathOf("apps/v1", "daemonsets", key));
  if (set == nullptr || FieldAt(set->object(), {"metadata", "deletionTimestamp"}) != nullptr) {
    judged_.erase(key);
    return;
  }
  const json::object& object = set->object();
  const json::object* form = ObjectAt(object, {"spec", "template"});
  const std::string hash = HashOf(form == nullptr ? json::object() : *form);
  const std::set<std::string>& nodes = NodesFor(key, object);
  const Pods pods = PodsOf(TextAt(object, {"metadata", "uid"}));
  Place(object, hash, nodes, pods);
  Roll(object, hash, nodes, pods);
  WriteStatus(key, object, hash, nodes, pods);
}

DaemonSets::Pods DaemonSets::PodsOf(std::string_view uid) const {
  Pods pods;
  for (const ObjectKey& key : index_.PodsOf(uid)) {
    const PodInfo& pod = *index_.Pod(key);
    if (pod.is_over()) {
      if (!pod.is_deleted) {
        pods.failed.push_back(&pod);
      }
      continue;
    }
    std::string node = pod.node;
    if (node.empty()) {  // not yet scheduled: its affinity names the node
      for (const json::value& term :
           ItemsAt(pod.object->object(),
                   {"spec", "affinity", "nodeAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
        const json::array& fields = ItemsAt(term.as_object(), {"matchFields"});
        node = fields.empty()
                   ? ""
                   : apiserver::PlainText(&ItemsAt(fields[0].as_object(), {"values"})[0]);
      }
    }
    pods.on[node].push_back(&pod);
  }
  return pods;
}

const std::set<std::string>& DaemonSets::NodesFor(const ObjectKey& key, const json::object& set) {
  Judged& judged = judged_[key];
  const std::string_view uid = TextAt(set, {"metadata", "uid"});
  const int64_t generation = NumberAt(set, {"metadata", "generation"}, 0);
  if (judged.uid != uid || judged.generation != generation) {
    judged = {.uid = std::string(uid), .generation = generation};
  }
  const json::object pod = DaemonPod(set, "");
  for (const auto& [name, node] : index_.nodes()) {
    uint64_t& revision = judged.revisions[name];
    if (revision == node.rules_revision) {
      continue;
    }
    revision = node.rules_revision;
    const json::object& object = node.object->object();
    if (MatchesNode(pod, object) && UntoleratedTaint(pod, object) == nullptr) {
      judged.nodes.insert(name);
    } else {
      judged.nodes.erase(name);
    }
  }
  std::erase_if(judged.revisions,
                [&](const auto& entry) { return index_.Node(entry.first) == nullptr; });
  std::erase_if(judged.nodes, [&](const auto& name) { return index_.Node(name) == nullptr; });
  return judged.nodes;
}

void DaemonSets::DeletePod(const PodInfo& pod) {
  if (!pod.is_deleted) {
    writer_.DeletePod(pod.object->object());
  }
}

// A pod on every node that should have one, and on no other. A taint NoSchedule that comes later
// leaves the pods that are there.
void DaemonSets::Place(const json::object& set, const std::string& hash,
                       const std::set<std::string>& nodes, const Pods& pods) {
  const json::object pod = DaemonPod(set, hash);
  const std::string collection =
      fmt::format("/api/v1/namespaces/{}/pods", TextAt(set, {"metadata", "namespace"}));
  for (const std::string& node : nodes) {
    if (!pods.on.contains(node)) {
      json::object own = pod;
      BindTo(own, node);
      writer_.Create(collection, own);
    }
  }
  for (const PodInfo* failed : pods.failed) {
    DeletePod(*failed);
  }
  for (const auto& [name, on_node] : pods.on) {
    const NodeInfo* node = index_.Node(name);
    const bool may_stay = node != nullptr && MatchesNode(pod, node->object->object()) &&
                          UntoleratedTaint(pod, node->object->object(), false) == nullptr;
    for (size_t i = may_stay ? 1 : 0; i < on_node.size(); ++i) {
      DeletePod(*on_node[i]);
    }
  }
}

void DaemonSets::Roll(const json::object& set, const std::string& hash,
                      const std::set<std::string>& nodes, const Pods& pods) {
  if (TextAt(set, {"spec", "updateStrategy", "type"}) == "OnDelete") {
    return;
  }
  const auto total = static_cast<int64_t>(nodes.size());
  const int64_t allowed = std::max<int64_t>(
      1, ScaledValue(FieldAt(set, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}),
                     total, 1, true));
  int64_t unavailable = 0;
  for (const std::string& node : nodes) {
    const auto found = pods.on.find(node);
    const bool is_available = found != pods.on.end() && found->second.front()->is_ready &&
                              !found->second.front()->is_deleted;
    unavailable += is_available ? 0 : 1;
  }
  for (const auto& [node, on_node] : pods.on) {
    const PodInfo& pod = *on_node.front();
    if (pod.hash == hash || pod.is_deleted) {
      continue;
    }
    if (!pod.is_ready) {
      DeletePod(pod);  // costs no availability
    } else if (unavailable < allowed) {
      DeletePod(pod);
      ++unavailable;
    }
  }
}

void DaemonSets::WriteStatus(const ObjectKey& key, const json::object& set, const std::string& hash,
                             const std::set<std::string>& nodes, const Pods& pods) {
  int64_t current = 0;
  int64_t ready = 0;
  int64_t updated = 0;
  int64_t misplaced = 0;
  for (const auto& [node, on_node] : pods.on) {
    const PodInfo& pod = *on_node.front();
    if (!nodes.contains(node)) {
      ++misplaced;
      continue;
    }
    ++current;
    ready += pod.is_ready && !pod.is_deleted ? 1 : 0;
    updated += pod.hash == hash ? 1 : 0;
  }
  const auto desired = static_cast<int64_t>(nodes.size());
  json::object status = {{"currentNumberScheduled", current},
                         {"desiredNumberScheduled", desired},
                         {"numberMisscheduled", misplaced},
                         {"numberReady", ready},
                         {"numberAvailable", ready},
                         {"numberUnavailable", desired - ready},
                         {"updatedNumberScheduled", updated},
                         {"observedGeneration", NumberAt(set, {"metadata", "generation"}, 0)}};
  writer_.PatchStatus(PathOf("apps/v1", "daemonsets", key), set, status);
}

}  // namespace kgpu::simcluster
