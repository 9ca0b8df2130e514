// API groups and their versions that are gone, and what takes their place.
#include <boost/json.hpp>

#include <string>
#include <utility>

#include "src/diagnose/manifest/api_table.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

Change SetText(const Path& path, std::string_view text) {
  return {Change::Kind::kSet, path, json::value(json::string_view(text.data(), text.size())), ""};
}

// Keeps the default of older versions: an apply must not replace anybody's pods.
void KeepUpdates(const json::value& object, const Path& at, Match& match) {
  const std::string_view kind = TextOf(&object, "kind");
  const std::string_view version = TextOf(&object, "apiVersion");
  const bool was_on_delete = (kind == "DaemonSet" && version == "extensions/v1beta1") ||
                             (kind == "StatefulSet" && version == "apps/v1beta1");
  const json::value* spec = FieldOf(&object, "spec");
  if (!was_on_delete || spec == nullptr || !spec->is_object() ||
      FieldOf(spec, "updateStrategy") != nullptr) {
    return;
  }
  match.changes.push_back({Change::Kind::kSet, at.Key("spec").Key("updateStrategy"),
                           json::object{{"type", "OnDelete"}}, ""});
  match.advice += "; updateStrategy: {type: OnDelete}, its previous default";
}

// Whether a budget's selector is there and empty: it took no pod, and takes all of them now.
bool HasEmptySelector(const json::value& object) {
  const json::value* selector = FieldOf(FieldOf(&object, "spec"), "selector");
  const json::value* labels = FieldOf(selector, "matchLabels");
  const json::value* rules = FieldOf(selector, "matchExpressions");
  const bool has_labels = labels != nullptr && labels->is_object() && !labels->get_object().empty();
  const bool has_rules = rules != nullptr && rules->is_array() && !rules->get_array().empty();
  return selector != nullptr && !has_labels && !has_rules;
}

// apps/v1 wants a selector, which the older ones took from the pods' labels, and knows two fields
// less. False: there are no labels to take.
bool AddWorkloadFix(const json::value& object, const Path& at, Match& match) {
  const json::value* spec = FieldOf(&object, "spec");
  const Path spec_path = at.Key("spec");
  for (const std::string_view field : {"rollbackTo", "templateGeneration"}) {
    if (FieldOf(spec, field) != nullptr) {
      match.changes.push_back({Change::Kind::kRemove, spec_path.Key(field), {}, ""});
    }
  }
  KeepUpdates(object, at, match);
  if (FieldOf(spec, "selector") != nullptr) {
    return true;
  }
  const json::value* labels = FieldOf(FieldOf(FieldOf(spec, "template"), "metadata"), "labels");
  if (labels == nullptr || !labels->is_object() || labels->get_object().empty()) {
    return false;
  }
  json::object selector{{"matchLabels", *labels}};
  match.changes.push_back({Change::Kind::kSet, spec_path.Key("selector"), std::move(selector), ""});
  match.advice += "; spec.selector is copied from the pods' labels";
  return true;
}

// In resource.k8s.io/v1 the fields of a claim's request are one level deeper.
void AddClaimFix(const json::value& object, const Path& at, Match& match) {
  const bool is_template = TextOf(&object, "kind") == "ResourceClaimTemplate";
  Path spec_path = at.Key("spec");
  const json::value* spec = FieldOf(&object, "spec");
  if (is_template) {
    spec = FieldOf(spec, "spec");
    spec_path = spec_path.Key("spec");
  }
  const json::value* list = FieldOf(FieldOf(spec, "devices"), "requests");
  const json::array* requests = list == nullptr ? nullptr : list->if_array();
  if (requests == nullptr) {
    return;
  }
  json::array moved;
  for (const json::value& request : *requests) {
    const json::object* fields = request.if_object();
    if (fields == nullptr || fields->contains("exactly") || fields->contains("firstAvailable")) {
      moved.push_back(request);
      continue;
    }
    json::object outer;
    json::object exactly;
    for (const auto& field : *fields) {
      (field.key() == "name" ? outer : exactly).emplace(field.key(), field.value());
    }
    outer.emplace("exactly", std::move(exactly));
    moved.push_back(std::move(outer));
  }
  if (moved != *requests) {
    match.changes.push_back(
        {Change::Kind::kSet, spec_path.Key("devices").Key("requests"), std::move(moved), ""});
    match.advice += "; the fields of a request move to `exactly`";
  }
}

bool AddFix(const ApiRow& row, const json::value& object, const Path& at, Match& match) {
  switch (row.move) {
    case Move::kSame:
      return true;
    case Move::kWorkload:
      return AddWorkloadFix(object, at, match);
    case Move::kClaim:
      AddClaimFix(object, at, match);
      return true;
    case Move::kBudget:
      if (HasEmptySelector(object)) {
        match.advice += "; its empty selector matched no pod, and would now match all";
        return false;
      }
      return true;
    case Move::kByHand:
      break;
  }
  return false;
}

}  // namespace

void CheckApi(const json::value& object, const Path& at, const KubernetesVersion& target,
              Matches& matches) {
  const std::string_view version = TextOf(&object, "apiVersion");
  const std::string_view kind = TextOf(&object, "kind");
  const ApiRow* row = FindApi(version, kind);
  if (row == nullptr) {
    return;
  }
  Match match;
  match.finding.id = "api-gone";
  match.finding.severity = row->gone_by <= target ? Severity::kError : Severity::kWarning;
  match.path = at.Key("apiVersion");
  match.value = version;
  match.gone_by = row->gone_by.str();
  match.works_from = row->served_from;
  match.finding.message = fmt::format("Kubernetes {} does not serve {} of {}", match.gone_by,
                                      kind.empty() ? "kind" : Printable(kind, 60), version);
  match.advice = row->successor.empty() ? std::string(row->hint)
                                        : fmt::format("apiVersion: {}", row->successor);
  if (match.advice.empty()) {
    match.advice = "find the replacement: kubectl api-resources";
  }
  if (target < row->served_from && !row->successor.empty()) {
    match.finding.severity = Severity::kInfo;  // there is nothing to be done yet
  }
  if (AddFix(*row, object, at, match)) {
    match.changes.push_back(SetText(match.path, row->successor));
  } else {
    match.changes.clear();
    match.advice += row->successor.empty() || row->hint.empty() ? std::string()
                                                                : fmt::format("; {}", row->hint);
    if (row->move == Move::kWorkload) {
      match.advice += "; spec.selector must match labels of the pods";
    }
  }
  matches.push_back(std::move(match));
}

}  // namespace kgpu::manifest
