#include "src/cluster/adopt/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using doc::View;

using Texts = std::map<std::string, std::string>;
using Before = std::map<std::string, std::optional<std::string>>;

// The decisions that a node's agent obeys: src/node/object/owners.h.
constexpr std::string_view kAdopted = "kgpu.dev/adopted";
constexpr std::string_view kReleased = "kgpu.dev/released";
constexpr std::string_view kPluginOwner = "plugin";

std::string_view OwnerOf(Component component) {
  switch (component) {
    case Component::kPlugin:
      return kPluginOwner;
    case Component::kGfd:
      return "gfd";
    case Component::kNfdWorker:
      return "nfd";
    default:
      return "";
  }
}

std::set<std::string> WordsAt(const Texts& texts, std::string_view key) {
  std::set<std::string> words;
  if (const auto found = texts.find(std::string(key)); found != texts.end()) {
    for (const std::string_view word : Split(found->second, ',')) {
      if (!Trim(word).empty()) {
        words.emplace(Trim(word));
      }
    }
  }
  return words;
}

void SetWords(Texts& texts, std::string_view key, const std::set<std::string>& words) {
  if (words.empty()) {
    texts.erase(std::string(key));
  } else {
    texts[std::string(key)] = Join({words.begin(), words.end()}, ",");
  }
}

void Restore(Texts& texts, const Before& before) {
  for (const auto& [key, value] : before) {
    if (value) {
      texts[key] = *value;
    } else {
      texts.erase(key);
    }
  }
}

// The change of a node from `node` to the same with these labels and annotations.
Patch NodePatch(const SeenNode& node, const Texts& labels, const Texts& annotations) {
  json::object from{{"labels", doc::TextMap(node.labels)},
                    {"annotations", doc::TextMap(node.annotations)}};
  json::object to{{"labels", doc::TextMap(labels)}, {"annotations", doc::TextMap(annotations)}};
  json::value diff = MergeDiff(from, to);
  if (diff.get_object().empty()) {
    return std::nullopt;
  }
  diff.get_object()["resourceVersion"] = node.version;
  return json::object{{"metadata", std::move(diff)}};
}

json::object BeforeJson(const Before& before) {
  json::object object;
  for (const auto& [key, value] : before) {
    object[key] = value ? json::value(*value) : json::value();
  }
  return object;
}

std::string RecordText(const NodeRecord& record) {
  json::object gpus;
  for (const auto& [name, count] : record.gpus) {
    gpus[name] = count;
  }
  json::object pods;
  for (const auto& [uid, ids] : record.pods) {
    pods[uid] = doc::Texts(ids);
  }
  return json::serialize(json::object{{"labels", BeforeJson(record.labels)},
                                      {"annotations", BeforeJson(record.annotations)},
                                      {"gpus", std::move(gpus)},
                                      {"pods", std::move(pods)}});
}

Status ReadBefore(const json::value& record, std::string_view key, Before& before) {
  const json::value* found = kube::FindField(record, {key});
  if (found == nullptr || !found->is_object()) {
    return InvalidArgument("{}: must be a map", key);
  }
  for (const auto& [name, value] : found->get_object()) {
    if (!value.is_null() && !value.is_string()) {
      return InvalidArgument("{}.{}: must be a text or null", key, std::string_view(name));
    }
    before[name] = value.is_null() ? std::nullopt : std::optional<std::string>(value.get_string());
  }
  return OkStatus();
}

StatusOr<NodeRecord> ReadRecord(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value value, kube::ParseObject(text, kRecordAnnotation));
  NodeRecord record;
  RETURN_IF_ERROR(ReadBefore(value, "labels", record.labels));
  RETURN_IF_ERROR(ReadBefore(value, "annotations", record.annotations));
  if (const json::value* gpus = kube::FindField(value, {"gpus"});
      gpus != nullptr && gpus->is_object()) {
    for (const auto& [name, count] : gpus->get_object()) {
      record.gpus[name] = count.is_int64() ? count.get_int64() : 0;
    }
  }
  if (const json::value* pods = kube::FindField(value, {"pods"});
      pods != nullptr && pods->is_object()) {
    for (const auto& [uid, ids] : pods->get_object()) {
      if (ids.is_array()) {
        for (const json::value& id : ids.get_array()) {
          record.pods[uid].emplace_back(id.is_string() ? std::string_view(id.get_string()) : "");
        }
      }
    }
  }
  return record;
}

NodeRecord NewRecord(const SeenNode& node, const std::vector<SeenPod>& pods) {
  NodeRecord record;
  record.gpus = node.gpus;
  for (const SeenPod& pod : pods) {
    if (pod.has_gpus && pod.is_running) {
      record.pods[pod.uid] = pod.ids;
    }
  }
  return record;
}

void Remember(const Texts& texts, std::string_view key, Before& before) {
  const auto found = texts.find(std::string(key));
  before.try_emplace(std::string(key),
                     found == texts.end() ? std::nullopt : std::optional(found->second));
}

// Affinity: our requirement in every term that can match a node.

json::object Requirement() {
  return {{"key", View(kTakenLabel)}, {"operator", "NotIn"}, {"values", json::array{"true"}}};
}

json::array* ArrayIn(json::value* value) {
  return value == nullptr ? nullptr : value->if_array();
}

json::object* ChildOf(json::object& parent, std::string_view key, bool makes) {
  json::value* child = parent.if_contains(View(key));
  if (child == nullptr || !child->is_object()) {
    if (!makes) {
      return nullptr;
    }
    child = &parent[View(key)];
    *child = json::object();
  }
  return &child->get_object();
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

json::array* TermsOf(json::object& pod_spec, bool makes) {
  json::object* affinity = ChildOf(pod_spec, "affinity", makes);
  json::object* node = affinity == nullptr ? nullptr : ChildOf(*affinity, "nodeAffinity", makes);
  json::object* required = node == nullptr ? nullptr : ChildOf(*node, kRequired, makes);
  if (required == nullptr) {
    return nullptr;
  }
  if (makes && ArrayIn(required->if_contains("nodeSelectorTerms")) == nullptr) {
    (*required)["nodeSelectorTerms"] = json::array{json::object()};
    // A term of its own: without expressions it would match nothing.
    (*required)["nodeSelectorTerms"].get_array()[0] =
        json::object{{"matchExpressions", json::array()}};
    json::array& terms = (*required)["nodeSelectorTerms"].get_array();
    terms[0].get_object()["matchExpressions"].get_array().push_back(Requirement());
  }
  return ArrayIn(required->if_contains("nodeSelectorTerms"));
}

bool IsOurs(const json::value& expression) {
  return kube::TextField(expression, {"key"}) == kTakenLabel;
}

json::array* ExpressionsOf(json::value& term) {
  return term.is_object() ? ArrayIn(term.get_object().if_contains("matchExpressions")) : nullptr;
}

void AddRequirement(json::object& pod_spec) {
  for (json::value& term : *TermsOf(pod_spec, true)) {
    // An empty term matches no node: it must stay empty.
    if (!term.is_object() || term.get_object().empty()) {
      continue;
    }
    if (ExpressionsOf(term) == nullptr) {
      term.get_object()["matchExpressions"] = json::array();
    }
    json::array& expressions = *ExpressionsOf(term);
    if (std::ranges::none_of(expressions, IsOurs)) {
      expressions.push_back(Requirement());
    }
  }
}

void EraseIfEmpty(json::object& parent, std::string_view key) {
  const json::object* child = ChildOf(parent, key, false);
  if (child != nullptr && child->empty()) {
    parent.erase(View(key));
  }
}

void RemoveRequirement(json::object& pod_spec) {
  json::array* terms = TermsOf(pod_spec, false);
  if (terms == nullptr) {
    return;
  }
  for (auto term = terms->begin(); term != terms->end();) {
    json::array* expressions = ExpressionsOf(*term);
    const size_t before = expressions == nullptr ? 0 : expressions->size();
    for (auto one = before == 0 ? nullptr : expressions->begin();
         one != nullptr && one != expressions->end();) {
      one = IsOurs(*one) ? expressions->erase(one) : one + 1;
    }
    const bool is_emptied = before > 0 && expressions->empty();
    if (is_emptied) {
      term->get_object().erase("matchExpressions");
    }
    term = is_emptied && term->get_object().empty() ? terms->erase(term) : term + 1;
  }
  if (!terms->empty()) {
    return;
  }
  json::object& affinity = *ChildOf(pod_spec, "affinity", false);
  json::object& node = *ChildOf(affinity, "nodeAffinity", false);
  node.erase(View(kRequired));
  EraseIfEmpty(affinity, "nodeAffinity");
  EraseIfEmpty(pod_spec, "affinity");
}

// The part of a DaemonSet that is changed.
json::object PartOf(const json::value& daemon_set) {
  json::object part;
  const auto take = [&](std::initializer_list<std::string_view> path, const char* name) {
    if (const json::value* found = kube::FindField(daemon_set, path)) {
      part[name] = *found;
    }
  };
  take({"spec", "updateStrategy"}, "updateStrategy");
  take({"spec", "template", "spec", "affinity"}, "affinity");
  return part;
}

json::object Excluded(json::object part) {
  part["updateStrategy"] = json::object{{"type", "OnDelete"}};
  AddRequirement(part);
  return part;
}

Patch SetPatch(const json::value& daemon_set, const json::object& to, json::value record) {
  const json::object from = PartOf(daemon_set);
  json::object diff = MergeDiff(from, to).get_object();
  json::object spec;
  if (const json::value* strategy = diff.if_contains("updateStrategy")) {
    spec["updateStrategy"] = *strategy;
  }
  if (const json::value* affinity = diff.if_contains("affinity")) {
    spec["template"] = json::object{{"spec", json::object{{"affinity", *affinity}}}};
  }
  json::object patch{
      {"metadata",
       {{"resourceVersion", View(kube::VersionOf(daemon_set))},
        {"annotations", json::object{{View(kRecordAnnotation), std::move(record)}}}}}};
  if (!spec.empty()) {
    patch["spec"] = std::move(spec);
  }
  return patch;
}

std::string_view RecordTextOf(const json::value& daemon_set) {
  return kube::TextField(daemon_set, {"metadata", "annotations", kRecordAnnotation});
}

}  // namespace

bool IsTaken(const SeenNode& node) {
  return node.annotations.contains(std::string(kRecordAnnotation));
}

StatusOr<NodeRecord> RecordOf(const SeenNode& node) {
  const auto found = node.annotations.find(std::string(kRecordAnnotation));
  if (found == node.annotations.end()) {
    return NotFound("node {}: has no annotation {}: kgpu has not taken it over", node.name,
                    kRecordAnnotation);
  }
  auto record = ReadRecord(found->second);
  if (!record.ok()) {
    return Annotate(record.status(), "node {}: annotation {}: set its labels by hand and remove it",
                    node.name, kRecordAnnotation);
  }
  return record;
}

Patch LeavePatch(const SeenNode& node, const NodePlan& plan, const std::vector<SeenPod>& pods) {
  const StatusOr<NodeRecord> known = RecordOf(node);
  NodeRecord record = known.ok() ? *known : NewRecord(node, pods);
  Texts labels = node.labels;
  Texts annotations = node.annotations;
  Remember(node.labels, kTakenLabel, record.labels);
  labels[std::string(kTakenLabel)] = "true";
  for (const Part& part : plan.parts) {
    if (!part.deploy_label.empty()) {
      Remember(node.labels, part.deploy_label, record.labels);
      labels[part.deploy_label] = "false";
    }
  }
  Remember(node.annotations, kAdopted, record.annotations);
  Remember(node.annotations, kReleased, record.annotations);
  annotations[std::string(kRecordAnnotation)] = RecordText(record);
  return NodePatch(node, labels, annotations);
}

Patch ServePatch(const SeenNode& node, const NodePlan& plan) {
  Texts annotations = node.annotations;
  std::set<std::string> adopted = WordsAt(annotations, kAdopted);
  std::set<std::string> released = WordsAt(annotations, kReleased);
  for (const Part& part : plan.parts) {
    if (const std::string owner(OwnerOf(part.component)); !owner.empty()) {
      adopted.insert(owner);
      released.erase(owner);
    }
  }
  SetWords(annotations, kAdopted, adopted);
  SetWords(annotations, kReleased, released);
  return NodePatch(node, node.labels, annotations);
}

Patch StandBackPatch(const SeenNode& node) {
  Texts annotations = node.annotations;
  std::set<std::string> adopted = WordsAt(annotations, kAdopted);
  std::set<std::string> released = WordsAt(annotations, kReleased);
  if (adopted.erase(std::string(kPluginOwner)) > 0) {
    released.emplace(kPluginOwner);
  }
  SetWords(annotations, kAdopted, adopted);
  SetWords(annotations, kReleased, released);
  return NodePatch(node, node.labels, annotations);
}

Patch ReturnPatch(const SeenNode& node, const NodeRecord& record) {
  Texts labels = node.labels;
  Restore(labels, record.labels);
  return NodePatch(node, labels, node.annotations);
}

Patch ReleasePatch(const SeenNode& node) {
  Texts annotations = node.annotations;
  std::set<std::string> released = WordsAt(annotations, kReleased);
  released.merge(WordsAt(annotations, kAdopted));
  SetWords(annotations, kAdopted, {});
  SetWords(annotations, kReleased, released);
  return NodePatch(node, node.labels, annotations);
}

Patch ForgetPatch(const SeenNode& node, const NodeRecord& record, bool keeps_owner) {
  Texts labels = node.labels;
  Texts annotations = node.annotations;
  Restore(labels, record.labels);
  if (!keeps_owner) {
    Restore(annotations, record.annotations);
  }
  annotations.erase(std::string(kRecordAnnotation));
  return NodePatch(node, labels, annotations);
}

Patch ExcludePatch(const json::value& daemon_set) {
  if (IsExcluded(daemon_set)) {
    return std::nullopt;
  }
  json::object original = PartOf(daemon_set);
  json::value record(json::serialize(original));
  return SetPatch(daemon_set, Excluded(std::move(original)), std::move(record));
}

StatusOr<Patch> RestorePatch(const json::value& daemon_set) {
  if (!IsExcluded(daemon_set)) {
    return Patch();
  }
  const auto record = kube::ParseObject(RecordTextOf(daemon_set), kRecordAnnotation);
  if (!record.ok()) {
    return Annotate(record.status(), "DaemonSet {}/{}: annotation {}: remove {} from its affinity",
                    kube::NamespaceOf(daemon_set), kube::NameOf(daemon_set), kRecordAnnotation,
                    kTakenLabel);
  }
  const json::object& original = record->get_object();
  json::object to = PartOf(daemon_set);
  if (to == Excluded(original)) {
    to = original;
  } else {
    RemoveRequirement(to);
  }
  return SetPatch(daemon_set, to, json::value());
}

bool IsExcluded(const json::value& daemon_set) {
  return !RecordTextOf(daemon_set).empty();
}

json::value MergeDiff(const json::object& from, const json::object& to) {
  json::object diff;
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) {
      diff[key] = nullptr;
    }
  }
  for (const auto& [key, value] : to) {
    const json::value* before = from.if_contains(key);
    if (before == nullptr || !before->is_object() || !value.is_object()) {
      if (before == nullptr || *before != value) {
        diff[key] = value;
      }
      continue;
    }
    json::value inner = MergeDiff(before->get_object(), value.get_object());
    if (!inner.get_object().empty()) {
      diff[key] = std::move(inner);
    }
  }
  return diff;
}

}  // namespace kgpu::adopt
