// Annotations that nothing reads any more.
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

struct AnnotationRow {
  std::string_view key;  // a head of the key where it ends with a slash
  std::string_view gone_by;
  std::string_view fix;
  bool goes = true;  // may be removed; else its content must move elsewhere
};

constexpr std::string_view kCritical = "scheduler.alpha.kubernetes.io/critical-pod";

constexpr std::array<AnnotationRow, 9> kAnnotationRows = {{
    {kCritical, "1.16", "priorityClassName of the pod"},
    {"scheduler.alpha.kubernetes.io/tolerations", "1.8", "tolerations of the pod", false},
    {"scheduler.alpha.kubernetes.io/affinity", "1.8", "affinity of the pod", false},
    {"scheduler.alpha.kubernetes.io/nvidiaGPU", "1.11", "nothing: it has no replacement"},
    {"experimental.kubernetes.io/", "1.11", "nothing: the driver's files come with the GPU"},
    {"pod.alpha.kubernetes.io/init-containers", "1.8", "initContainers of the pod", false},
    {"pod.beta.kubernetes.io/init-containers", "1.8", "initContainers of the pod", false},
    {"seccomp.security.alpha.kubernetes.io/pod", "1.27", "securityContext.seccompProfile", false},
    {"container.seccomp.security.alpha.kubernetes.io/", "1.27",
     "securityContext.seccompProfile of the container", false},
}};

const AnnotationRow* FindAnnotationRow(std::string_view key) {
  const auto* const found = std::ranges::find_if(kAnnotationRows, [key](const AnnotationRow& row) {
    return row.key.ends_with('/') ? key.starts_with(row.key) : key == row.key;
  });
  return found == kAnnotationRows.end() ? nullptr : found;
}

std::string_view PriorityOf(std::string_view kind) {
  return kind == "DaemonSet" ? "system-node-critical" : "system-cluster-critical";
}

}  // namespace

void CheckAnnotations(const json::value& metadata, const Path& at, const PodSpec* pod,
                      Matches& matches) {
  const json::value* annotations = FieldOf(&metadata, "annotations");
  const json::object* fields = annotations == nullptr ? nullptr : annotations->if_object();
  for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    const auto& field = *(fields->begin() + i);
    const std::string_view key(field.key().data(), field.key().size());
    const AnnotationRow* row = FindAnnotationRow(key);
    if (row == nullptr) {
      continue;
    }
    Match match;
    match.finding.id = "annotation-gone";
    match.finding.severity = Severity::kWarning;
    match.path = at.Key("annotations").Key(key);
    match.value = Shown(field.value());
    match.gone_by = row->gone_by;
    match.finding.message = "nothing reads this annotation any more";
    match.advice = row->fix;
    if (row->goes) {
      match.changes.push_back({Change::Kind::kRemove, match.path, {}, ""});
    }
    const bool says_priority =
        FieldOf(pod == nullptr ? nullptr : pod->spec, "priorityClassName") != nullptr;
    // Elsewhere the annotation never meant anything, and a priority would.
    const bool meant_it = pod != nullptr && pod->space == "kube-system";
    if (row->key == kCritical && !meant_it) {
      match.advice = "remove it: outside of kube-system it had no effect";
    }
    if (row->key == kCritical && meant_it && !says_priority) {
      const std::string_view priority = PriorityOf(pod->kind);
      match.advice = fmt::format("priorityClassName: {}", priority);
      match.changes.push_back({Change::Kind::kSet, pod->path.Key("priorityClassName"),
                               json::value(json::string_view(priority.data(), priority.size())),
                               ""});
    }
    matches.push_back(std::move(match));
  }
}

}  // namespace kgpu::manifest
