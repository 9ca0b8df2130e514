// Labels and taints of nodes that are no longer there. Source: Kubernetes' "Well-Known Labels,
// Annotations and Taints".
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

struct LabelRow {
  std::string_view old_key;
  std::string_view key;
  std::string_view gone_by;  // empty: deprecated, and may go with any version
  KubernetesVersion from;    // that has the new one
  bool is_same_value = true;
};

constexpr std::array<LabelRow, 9> kLabels = {{
    {"alpha.kubernetes.io/nvidia-gpu-name", "nvidia.com/gpu.product", "1.11", {1, 8}},
    {"accelerator", "nvidia.com/gpu.product", "1.11", {1, 8}, false},
    {"node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", "1.24", {1, 20}},
    {"beta.kubernetes.io/os", "kubernetes.io/os", "", {1, 14}},
    {"beta.kubernetes.io/arch", "kubernetes.io/arch", "", {1, 14}},
    {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "", {1, 17}},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", "", {1, 17}},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "", {1, 17}},
    {"kubernetes.io/accelerator", "nvidia.com/gpu.product", "1.11", {1, 8}, false},
}};

// A toleration of a taint that is not there yet does no harm.
constexpr std::array<LabelRow, 3> kTaints = {{
    {"node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", "1.25", {1, 0}},
    {"node.alpha.kubernetes.io/notReady", "node.kubernetes.io/not-ready", "1.13", {1, 0}},
    {"node.alpha.kubernetes.io/unreachable", "node.kubernetes.io/unreachable", "1.13", {1, 0}},
}};

template <size_t n>
const LabelRow* FindRow(const std::array<LabelRow, n>& rows, std::string_view key) {
  const auto* const row = std::ranges::find(rows, key, &LabelRow::old_key);
  return row == rows.end() ? nullptr : row;
}

Match Describe(std::string_view id, const LabelRow& row, std::string_view what, Path path) {
  Match match;
  match.finding.id = id;
  match.finding.severity =
      row.gone_by.empty() || !row.is_same_value ? Severity::kWarning : Severity::kError;
  match.path = std::move(path);
  match.value = row.old_key;
  match.gone_by = row.gone_by;
  match.works_from = row.from;
  match.finding.message = row.gone_by.empty()
                              ? fmt::format("this {} is deprecated", what)
                              : fmt::format("nodes no longer have this {} by default", what);
  match.advice = fmt::format("{}{}", row.key,
                             row.is_same_value ? "" : ", with the value shown by kgpu labels");
  return match;
}

void CheckSelector(const PodSpec& pod, Matches& matches) {
  const json::value* selector = FieldOf(pod.spec, "nodeSelector");
  const json::object* fields = selector == nullptr ? nullptr : selector->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    const LabelRow* row = FindRow(kLabels, key);
    if (row == nullptr) {
      continue;
    }
    Match match = Describe("node-label-gone", *row, "label", pod.path.Key("nodeSelector").Key(key));
    if (row->is_same_value) {
      const bool has_both = FieldOf(selector, row->key) != nullptr;
      match.changes.push_back({has_both ? Change::Kind::kRemove : Change::Kind::kRename,
                               match.path,
                               {},
                               std::string(row->key)});
    }
    matches.push_back(std::move(match));
  }
}

// The terms of node affinity, required and preferred.
std::vector<Container> TermsOf(const PodSpec& pod) {
  const json::value* affinity = FieldOf(FieldOf(pod.spec, "affinity"), "nodeAffinity");
  const Path path = pod.path.Key("affinity").Key("nodeAffinity");
  const std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
  const std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  std::vector<Container> terms =
      ItemsOf(FieldOf(affinity, required), path.Key(required), "nodeSelectorTerms");
  for (const Container& weighted : ItemsOf(affinity, path, preferred)) {
    if (const json::value* term = FieldOf(weighted.value, "preference")) {
      terms.push_back({term, weighted.path.Key("preference")});
    }
  }
  return terms;
}

void CheckKey(std::string_view id, std::string_view what, const Container& item,
              const LabelRow* row, Matches& matches) {
  if (row == nullptr) {
    return;
  }
  Match match = Describe(id, *row, what, item.path.Key("key"));
  if (row->is_same_value) {
    match.changes.push_back({Change::Kind::kSet, match.path, json::value(doc::View(row->key)), ""});
  }
  matches.push_back(std::move(match));
}

bool IsToleratedAs(const std::vector<Container>& tolerations, const json::value& old,
                   std::string_view key) {
  return std::ranges::any_of(tolerations, [&old, key](const Container& toleration) {
    return TextOf(toleration.value, "key") == key &&
           TextOf(toleration.value, "effect") == TextOf(&old, "effect");
  });
}

// While nodes may still have the old taint both are tolerated.
void CheckToleration(const Container& toleration, const std::vector<Container>& all,
                     const PodSpec& pod, const KubernetesVersion& target, Matches& matches) {
  const LabelRow* row = FindRow(kTaints, TextOf(toleration.value, "key"));
  const auto gone_by = KubernetesVersion::Parse(row == nullptr ? "1.0" : row->gone_by);
  if (row == nullptr || !gone_by.ok() || *gone_by <= target) {
    CheckKey("taint-gone", "taint", toleration, row, matches);
    return;
  }
  if (IsToleratedAs(all, *toleration.value, row->key)) {
    return;
  }
  Match match = Describe("taint-gone", *row, "taint", toleration.path.Key("key"));
  match.advice = fmt::format("also {} until {}", row->key, row->gone_by);
  json::array both = *FieldOf(pod.spec, "tolerations")->if_array();
  json::object added = toleration.value->get_object();
  added["key"] = doc::View(row->key);
  both.push_back(std::move(added));
  match.changes.push_back({Change::Kind::kSet, pod.path.Key("tolerations"), std::move(both), ""});
  matches.push_back(std::move(match));
}

}  // namespace

void CheckPlacement(const PodSpec& pod, const KubernetesVersion& target, Matches& matches) {
  CheckSelector(pod, matches);
  for (const Container& term : TermsOf(pod)) {
    for (const Container& rule : ItemsOf(term.value, term.path, "matchExpressions")) {
      CheckKey("node-label-gone", "label", rule, FindRow(kLabels, TextOf(rule.value, "key")),
               matches);
    }
  }
  const std::vector<Container> tolerations = ItemsOf(pod.spec, pod.path, "tolerations");
  for (const Container& toleration : tolerations) {
    CheckToleration(toleration, tolerations, pod, target, matches);
  }
}

}  // namespace kgpu::manifest
