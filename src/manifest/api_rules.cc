// API groups and their versions that are gone, and what takes their place. Source: Kubernetes'
// "Deprecated API Migration Guide".
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/base/strings.h"
#include "src/manifest/rules.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

enum class Move : uint8_t {
  kSame,      // the same fields
  kWorkload,  // those of apps/v1: a selector is needed
  kClaim,     // requests of claims stand in `exactly`
  kByHand,
};

struct ApiRow {
  std::string_view version;
  std::string_view kinds;  // between blanks; empty: all
  KubernetesVersion gone_by;
  std::string_view successor;  // empty: none
  Move move = Move::kByHand;
  std::string_view hint = "";
};

constexpr std::string_view kWorkloads = " Deployment DaemonSet ReplicaSet StatefulSet ";
constexpr std::string_view kClaims = " ResourceClaim ResourceClaimTemplate ";

// The first row that fits counts.
constexpr std::array<ApiRow, 40> kRows = {{
    {"extensions/v1beta1",
     " Deployment DaemonSet ReplicaSet ",
     {1, 16},
     "apps/v1",
     Move::kWorkload},
    {"extensions/v1beta1", " NetworkPolicy ", {1, 16}, "networking.k8s.io/v1", Move::kSame},
    {"extensions/v1beta1",
     " PodSecurityPolicy ",
     {1, 16},
     "",
     Move::kByHand,
     "delete it; label the namespace pod-security.kubernetes.io/enforce=…"},
    {"extensions/v1beta1",
     " Ingress ",
     {1, 22},
     "networking.k8s.io/v1",
     Move::kByHand,
     "backend becomes service.name and service.port, each path needs pathType"},
    {"extensions/v1beta1", "", {1, 22}, "", Move::kByHand},
    {"apps/v1beta1", kWorkloads, {1, 16}, "apps/v1", Move::kWorkload},
    {"apps/v1beta2", kWorkloads, {1, 16}, "apps/v1", Move::kWorkload},
    {"batch/v2alpha1", " CronJob ", {1, 21}, "batch/v1", Move::kSame},
    {"batch/v1beta1", " CronJob ", {1, 25}, "batch/v1", Move::kSame},
    {"policy/v1beta1", " PodDisruptionBudget ", {1, 25}, "policy/v1", Move::kSame},
    {"policy/v1beta1",
     " PodSecurityPolicy ",
     {1, 25},
     "",
     Move::kByHand,
     "delete it; label the namespace pod-security.kubernetes.io/enforce=…"},
    {"autoscaling/v2beta1",
     "",
     {1, 25},
     "autoscaling/v2",
     Move::kByHand,
     "targetAverageUtilization becomes target: {type: Utilization, averageUtilization: …}"},
    {"autoscaling/v2beta2", "", {1, 26}, "autoscaling/v2", Move::kSame},
    {"networking.k8s.io/v1beta1",
     " Ingress ",
     {1, 22},
     "networking.k8s.io/v1",
     Move::kByHand,
     "backend becomes service.name and service.port, each path needs pathType"},
    {"networking.k8s.io/v1beta1", " IngressClass ", {1, 22}, "networking.k8s.io/v1", Move::kSame},
    {"rbac.authorization.k8s.io/v1alpha1",
     "",
     {1, 22},
     "rbac.authorization.k8s.io/v1",
     Move::kSame},
    {"rbac.authorization.k8s.io/v1beta1", "", {1, 22}, "rbac.authorization.k8s.io/v1", Move::kSame},
    {"apiextensions.k8s.io/v1beta1",
     "",
     {1, 22},
     "apiextensions.k8s.io/v1",
     Move::kByHand,
     "each version needs a schema of its own"},
    {"admissionregistration.k8s.io/v1beta1",
     " MutatingWebhookConfiguration ValidatingWebhookConfiguration ",
     {1, 22},
     "admissionregistration.k8s.io/v1",
     Move::kByHand,
     "each webhook needs sideEffects and admissionReviewVersions"},
    {"apiregistration.k8s.io/v1beta1", "", {1, 22}, "apiregistration.k8s.io/v1", Move::kSame},
    {"certificates.k8s.io/v1beta1",
     " CertificateSigningRequest ",
     {1, 22},
     "certificates.k8s.io/v1",
     Move::kByHand,
     "signerName and usages must be given"},
    {"coordination.k8s.io/v1beta1", " Lease ", {1, 22}, "coordination.k8s.io/v1", Move::kSame},
    {"scheduling.k8s.io/v1alpha1", " PriorityClass ", {1, 22}, "scheduling.k8s.io/v1", Move::kSame},
    {"scheduling.k8s.io/v1beta1", " PriorityClass ", {1, 22}, "scheduling.k8s.io/v1", Move::kSame},
    {"storage.k8s.io/v1beta1",
     " StorageClass CSIDriver CSINode VolumeAttachment ",
     {1, 22},
     "storage.k8s.io/v1",
     Move::kSame},
    {"storage.k8s.io/v1beta1", " CSIStorageCapacity ", {1, 27}, "storage.k8s.io/v1", Move::kSame},
    {"node.k8s.io/v1beta1", " RuntimeClass ", {1, 25}, "node.k8s.io/v1", Move::kSame},
    {"discovery.k8s.io/v1beta1",
     "",
     {1, 25},
     "discovery.k8s.io/v1",
     Move::kByHand,
     "topology of an endpoint becomes nodeName and zone"},
    {"events.k8s.io/v1beta1", "", {1, 25}, "events.k8s.io/v1", Move::kByHand},
    {"flowcontrol.apiserver.k8s.io/v1beta1",
     "",
     {1, 26},
     "flowcontrol.apiserver.k8s.io/v1",
     Move::kByHand,
     "assuredConcurrencyShares becomes nominalConcurrencyShares"},
    {"flowcontrol.apiserver.k8s.io/v1beta2",
     "",
     {1, 29},
     "flowcontrol.apiserver.k8s.io/v1",
     Move::kByHand,
     "assuredConcurrencyShares becomes nominalConcurrencyShares"},
    {"flowcontrol.apiserver.k8s.io/v1beta3",
     "",
     {1, 32},
     "flowcontrol.apiserver.k8s.io/v1",
     Move::kSame},
    {"resource.k8s.io/v1alpha1",
     "",
     {1, 27},
     "resource.k8s.io/v1",
     Move::kByHand,
     "a claim names a DeviceClass: deviceClassName: gpu.nvidia.com"},
    {"resource.k8s.io/v1alpha2",
     "",
     {1, 31},
     "resource.k8s.io/v1",
     Move::kByHand,
     "a claim names a DeviceClass: deviceClassName: gpu.nvidia.com"},
    {"resource.k8s.io/v1alpha3", kClaims, {1, 33}, "resource.k8s.io/v1", Move::kClaim},
    {"resource.k8s.io/v1alpha3", " DeviceClass ", {1, 33}, "resource.k8s.io/v1", Move::kSame},
    {"resource.k8s.io/v1beta1", kClaims, {1, 38}, "resource.k8s.io/v1", Move::kClaim},
    {"resource.k8s.io/v1beta1", " DeviceClass ", {1, 38}, "resource.k8s.io/v1", Move::kSame},
    {"resource.k8s.io/v1beta1", "", {1, 38}, "resource.k8s.io/v1", Move::kByHand},
    {"resource.k8s.io/v1beta2", "", {1, 39}, "resource.k8s.io/v1", Move::kSame},
}};

bool Names(std::string_view kinds, std::string_view kind) {
  return kinds.empty() ||
         (!kind.empty() && kinds.find(fmt::format(" {} ", kind)) != std::string_view::npos);
}

const ApiRow* FindRow(std::string_view version, std::string_view kind) {
  const auto* const row = std::ranges::find_if(kRows, [version, kind](const ApiRow& candidate) {
    return candidate.version == version && Names(candidate.kinds, kind);
  });
  return row == kRows.end() ? nullptr : row;
}

Change SetText(const Path& path, std::string_view text) {
  return {Change::Kind::kSet, path, json::value(json::string_view(text.data(), text.size())), ""};
}

// apps/v1 wants a selector, which the older ones took from the pods' labels, and knows two fields
// less. False: there are no labels to take.
bool AddWorkloadFix(const json::value& object, const Path& at, Finding& finding) {
  const json::value* spec = FieldOf(&object, "spec");
  const Path spec_path = at.Key("spec");
  for (const std::string_view field : {"rollbackTo", "templateGeneration"}) {
    if (FieldOf(spec, field) != nullptr) {
      finding.fix.push_back({Change::Kind::kRemove, spec_path.Key(field), {}, ""});
    }
  }
  if (FieldOf(spec, "selector") != nullptr) {
    return true;
  }
  const json::value* labels = FieldOf(FieldOf(FieldOf(spec, "template"), "metadata"), "labels");
  if (labels == nullptr || !labels->is_object() || labels->get_object().empty()) {
    return false;
  }
  json::object selector{{"matchLabels", *labels}};
  finding.fix.push_back({Change::Kind::kSet, spec_path.Key("selector"), std::move(selector), ""});
  finding.mend += "; spec.selector is taken from the pods' labels";
  return true;
}

// What a request of a claim says stands one level deeper in resource.k8s.io/v1.
void AddClaimFix(const json::value& object, const Path& at, Finding& finding) {
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
    finding.fix.push_back(
        {Change::Kind::kSet, spec_path.Key("devices").Key("requests"), std::move(moved), ""});
    finding.mend += "; what a request asks for stands in `exactly`";
  }
}

bool AddFix(const ApiRow& row, const json::value& object, const Path& at, Finding& finding) {
  switch (row.move) {
    case Move::kSame:
      return true;
    case Move::kWorkload:
      return AddWorkloadFix(object, at, finding);
    case Move::kClaim:
      AddClaimFix(object, at, finding);
      return true;
    case Move::kByHand:
      break;
  }
  return false;
}

}  // namespace

void CheckApi(const json::value& object, const Path& at, const KubernetesVersion& target,
              Findings& findings) {
  const std::string_view version = TextOf(&object, "apiVersion");
  const std::string_view kind = TextOf(&object, "kind");
  const ApiRow* row = FindRow(version, kind);
  if (row == nullptr) {
    return;
  }
  Finding finding;
  finding.id = "api-gone";
  finding.severity = row->gone_by <= target ? Severity::kError : Severity::kWarning;
  finding.path = at.Key("apiVersion");
  finding.value = version;
  finding.gone_by = row->gone_by.str();
  finding.message = fmt::format("Kubernetes {} serves no {} of {}", finding.gone_by,
                                kind.empty() ? "kind" : Printable(kind, 60), version);
  finding.mend = row->successor.empty() ? std::string(row->hint)
                                        : fmt::format("apiVersion: {}", row->successor);
  if (finding.mend.empty()) {
    finding.mend = "look for what took its place: kubectl api-resources";
  }
  if (AddFix(*row, object, at, finding)) {
    finding.fix.push_back(SetText(finding.path, row->successor));
  } else {
    finding.fix.clear();
    finding.mend += row->successor.empty() || row->hint.empty() ? std::string()
                                                                : fmt::format("; {}", row->hint);
    if (row->move == Move::kWorkload) {
      finding.mend += "; spec.selector must name labels of the pods";
    }
  }
  findings.push_back(std::move(finding));
}

}  // namespace kgpu::manifest
