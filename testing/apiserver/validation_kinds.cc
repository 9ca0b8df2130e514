// Rules of single kinds.
#include <algorithm>
#include <set>

#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/names.h"
#include "testing/apiserver/quantity.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

void ValidateTaint(const json::object& taint, const std::string& path,
                   std::set<std::pair<std::string, std::string>>& seen,
                   std::vector<Cause>& causes) {
  static const std::vector<std::string> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  const std::string key(TextAt(taint, {"key"}));
  const std::string effect(TextAt(taint, {"effect"}));
  if (const auto problem = LabelKeyProblem(key); problem) {
    causes.push_back(InvalidValue(fmt::format("{}.key", path), key, *problem));
  }
  if (const auto problem = LabelValueProblem(TextAt(taint, {"value"})); problem) {
    causes.push_back(
        InvalidValue(fmt::format("{}.value", path), TextAt(taint, {"value"}), *problem));
  }
  if (std::ranges::find(kEffects, effect) == kEffects.end()) {
    causes.push_back(UnsupportedValue(fmt::format("{}.effect", path), effect, kEffects));
  }
  if (!seen.emplace(key, effect).second) {
    causes.push_back(DuplicateValue(path, json::serialize(taint)));
  }
}

void ValidateResources(const json::object* resources, const std::string& path,
                       std::vector<Cause>& causes) {
  if (resources == nullptr) {
    return;
  }
  for (const auto& [key, value] : *resources) {
    const std::string name(key.data(), key.size());
    const std::string field = fmt::format("{}.{}", path, name);
    if (const auto problem = LabelKeyProblem(name); problem) {
      causes.push_back(InvalidValue(field, name, *problem));
    }
    const std::string amount = PlainText(&value);
    const auto canonical = CanonicalQuantity(amount);
    if (!canonical || canonical->starts_with('-')) {
      causes.push_back(InvalidValue(field, amount, "must be a quantity, 0 or greater"));
    } else if (name.find('/') != std::string::npos && canonical->ends_with('m')) {
      causes.push_back(InvalidValue(field, amount, "must be an integer"));
    }
  }
}

void ValidateContainers(const json::object& pod, std::vector<Cause>& causes) {
  const json::array& containers = ItemsAt(pod, {"spec", "containers"});
  if (containers.empty()) {
    causes.push_back(RequiredValue("spec.containers", ""));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < containers.size(); ++i) {
    const std::string path = fmt::format("spec.containers[{}]", i);
    const json::object none;
    const json::object& container = containers[i].is_object() ? containers[i].get_object() : none;
    const std::string name(TextAt(container, {"name"}));
    if (const auto problem = DnsLabelProblem(name); problem) {
      causes.push_back(name.empty() ? RequiredValue(fmt::format("{}.name", path), "")
                                    : InvalidValue(fmt::format("{}.name", path), name, *problem));
    }
    if (!names.insert(name).second) {
      causes.push_back(DuplicateValue(fmt::format("{}.name", path), name));
    }
    if (TextAt(container, {"image"}).empty()) {
      causes.push_back(RequiredValue(fmt::format("{}.image", path), ""));
    }
    ValidateResources(ObjectAt(container, {"resources", "limits"}),
                      fmt::format("{}.resources.limits", path), causes);
    ValidateResources(ObjectAt(container, {"resources", "requests"}),
                      fmt::format("{}.resources.requests", path), causes);
  }
}

// The spec without what may change in a pod that exists.
json::object FixedSpec(const json::object& pod) {
  const json::object* spec = ObjectAt(pod, {"spec"});
  json::object fixed = spec == nullptr ? json::object() : *spec;
  for (const char* name : {"activeDeadlineSeconds", "tolerations", "nodeName",
                           "terminationGracePeriodSeconds", "schedulingGates"}) {
    fixed.erase(name);
  }
  for (const char* name : {"containers", "initContainers"}) {
    json::value* list = fixed.if_contains(name);
    if (list == nullptr || !list->is_array()) {
      continue;
    }
    for (json::value& item : list->get_array()) {
      if (item.is_object()) {
        item.get_object().erase("image");
      }
    }
  }
  return fixed;
}

// The series is all that may change of an event.
void ValidateEventChange(const json::object& event, const json::object* before,
                         std::vector<Cause>& causes) {
  if (FieldAt(event, {"series"}) != nullptr && NumberAt(event, {"series", "count"}, 0) < 2) {
    causes.push_back(InvalidValue("series.count", "", "should be at least 2"));
  }
  for (const char* field : {"reason", "action", "note", "regarding", "type", "eventTime",
                            "reportingController", "reportingInstance"}) {
    if (before != nullptr &&
        PlainText(before->if_contains(field)) != PlainText(event.if_contains(field))) {
      causes.push_back(ForbiddenChange(field, "field is immutable"));
    }
  }
  for (const char* field : {"deprecatedCount", "deprecatedFirstTimestamp",
                            "deprecatedLastTimestamp", "deprecatedSource"}) {
    const json::value* value = event.if_contains(field);
    if (before == nullptr && value != nullptr && !value->is_null()) {
      causes.push_back(ForbiddenChange(field, "must be unset on creation"));
    }
  }
}

}  // namespace

void CheckUnchanged(const json::object& after, const json::object& before, std::string_view path,
                    std::vector<Cause>& causes) {
  const json::value* now = FieldAtDots(after, path);
  const json::value* then = FieldAtDots(before, path);
  if ((now == nullptr) != (then == nullptr) || (now != nullptr && *now != *then)) {
    causes.push_back(ForbiddenChange(path, "field is immutable"));
  }
}

void ValidateNode(const json::object& node, std::vector<Cause>& causes) {
  std::set<std::pair<std::string, std::string>> seen;
  const json::array& taints = ItemsAt(node, {"spec", "taints"});
  for (size_t i = 0; i < taints.size(); ++i) {
    if (taints[i].is_object()) {
      ValidateTaint(taints[i].get_object(), fmt::format("metadata.taints[{}]", i), seen, causes);
    }
  }
  ValidateResources(ObjectAt(node, {"status", "capacity"}), "status.capacity", causes);
  ValidateResources(ObjectAt(node, {"status", "allocatable"}), "status.allocatable", causes);
}

void ValidatePod(const json::object& pod, const json::object* before, std::vector<Cause>& causes) {
  ValidateContainers(pod, causes);
  if (before == nullptr) {
    return;
  }
  const std::string_view old_node = TextAt(*before, {"spec", "nodeName"});
  if (FixedSpec(pod) != FixedSpec(*before) ||
      (!old_node.empty() && old_node != TextAt(pod, {"spec", "nodeName"}))) {
    causes.push_back(ForbiddenChange("spec",
                                     "pod updates may not change fields other than containers' "
                                     "images, activeDeadlineSeconds and tolerations"));
  }
}

void ValidateJob(const json::object& job, const json::object* before, std::vector<Cause>& causes) {
  const std::string_view policy = TextAt(job, {"spec", "template", "spec", "restartPolicy"});
  if (policy != "Never" && policy != "OnFailure") {
    causes.push_back(
        UnsupportedValue("spec.template.spec.restartPolicy", policy, {"OnFailure", "Never"}));
  }
  for (const char* field : {"spec.template", "spec.selector", "spec.completions"}) {
    CheckUnchanged(job, before == nullptr ? job : *before, field, causes);
  }
}

void ValidateLease(const json::object& lease, std::vector<Cause>& causes) {
  const int64_t duration = NumberAt(lease, {"spec", "leaseDurationSeconds"}, 1);
  if (duration <= 0) {
    causes.push_back(InvalidValue("spec.leaseDurationSeconds", std::to_string(duration),
                                  "must be greater than 0"));
  }
  const int64_t transitions = NumberAt(lease, {"spec", "leaseTransitions"}, 0);
  if (transitions < 0) {
    causes.push_back(InvalidValue("spec.leaseTransitions", std::to_string(transitions),
                                  "must be greater than or equal to 0"));
  }
}

void ValidateNewEvent(const json::object& event, const json::object* before,
                      std::vector<Cause>& causes) {
  const auto limit = [&](const char* field, size_t most) {
    const std::string_view text = TextAt(event, {field});
    if (text.empty()) {
      causes.push_back(RequiredValue(field, ""));
    } else if (text.size() > most) {
      causes.push_back(
          InvalidValue(field, text, fmt::format("can have at most {} characters", most)));
    }
  };
  limit("reason", 128);
  limit("action", 128);
  limit("reportingInstance", 128);
  if (TextAt(event, {"eventTime"}).empty()) {
    causes.push_back(RequiredValue("eventTime", ""));
  }
  if (const auto problem = LabelKeyProblem(TextAt(event, {"reportingController"})); problem) {
    causes.push_back(
        InvalidValue("reportingController", TextAt(event, {"reportingController"}), *problem));
  }
  const std::string_view type = TextAt(event, {"type"});
  if (type != "Normal" && type != "Warning") {
    causes.push_back(InvalidValue("type", type, "has invalid value"));
  }
  if (TextAt(event, {"note"}).size() > 1024) {
    causes.push_back(InvalidValue("note", "…", "can have at most 1024 characters"));
  }
  const std::string_view about = TextAt(event, {"regarding", "namespace"});
  const std::string_view own = TextAt(event, {"metadata", "namespace"});
  if (about.empty() ? own != "default" && own != "kube-system" : about != own) {
    causes.push_back(InvalidValue("regarding.namespace", about, "does not match event.namespace"));
  }
  ValidateEventChange(event, before, causes);
}

}  // namespace kgpu::apiserver
