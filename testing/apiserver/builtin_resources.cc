// Which resources are served, and what is special about each.
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {
namespace {

std::vector<Resource> CoreResources() {
  return {
      {.plural = "namespaces",
       .singular = "namespace",
       .kind = "Namespace",
       .short_names = {"ns"},
       .is_namespaced = false,
       .has_status = true,
       .selectable = {"status.phase"}},
      {.plural = "nodes",
       .singular = "node",
       .kind = "Node",
       .short_names = {"no"},
       .is_namespaced = false,
       .has_status = true,
       .selectable = {"spec.unschedulable"}},
      {.plural = "pods",
       .singular = "pod",
       .kind = "Pod",
       .short_names = {"po"},
       .categories = {"all"},
       .has_status = true,
       .subresources = {"eviction", "log", "proxy"},
       .selectable = {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                      "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
                      "status.nominatedNodeName"}},
      {.plural = "events",
       .singular = "event",
       .kind = "Event",
       .short_names = {"ev"},
       .selectable = {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                      "involvedObject.uid", "involvedObject.apiVersion",
                      "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                      "reportingComponent", "source", "type"}},
      {.plural = "configmaps", .singular = "configmap", .kind = "ConfigMap", .short_names = {"cm"}},
      {.plural = "secrets", .singular = "secret", .kind = "Secret", .selectable = {"type"}},
      {.plural = "serviceaccounts",
       .singular = "serviceaccount",
       .kind = "ServiceAccount",
       .short_names = {"sa"},
       .subresources = {"token"}},
  };
}

std::vector<Resource> WorkloadResources() {
  return {
      {.group = "apps",
       .plural = "daemonsets",
       .singular = "daemonset",
       .kind = "DaemonSet",
       .short_names = {"ds"},
       .categories = {"all"},
       .has_status = true,
       .has_generation = true},
      {.group = "apps",
       .plural = "deployments",
       .singular = "deployment",
       .kind = "Deployment",
       .short_names = {"deploy"},
       .categories = {"all"},
       .has_status = true,
       .has_generation = true},
      {.group = "policy",
       .plural = "poddisruptionbudgets",
       .singular = "poddisruptionbudget",
       .kind = "PodDisruptionBudget",
       .short_names = {"pdb"},
       .has_status = true,
       .has_generation = true},
      {.group = "coordination.k8s.io",
       .plural = "leases",
       .singular = "lease",
       .kind = "Lease",
       .needs_version_to_update = true},
      {.group = "events.k8s.io",
       .plural = "events",
       .singular = "event",
       .kind = "Event",
       .short_names = {"ev"},
       .selectable = {"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
                      "reason", "reportingController", "type"},
       .form = StoredForm::kCoreEvent,
       .storage = "events"},
  };
}

// Work with an end; how workloads are reached, and where they write.
std::vector<Resource> RunResources() {
  return {
      {.group = "batch",
       .plural = "jobs",
       .singular = "job",
       .kind = "Job",
       .categories = {"all"},
       .has_status = true,
       .has_generation = true},
      {.plural = "services",
       .singular = "service",
       .kind = "Service",
       .short_names = {"svc"},
       .categories = {"all"},
       .has_status = true},
      {.plural = "persistentvolumeclaims",
       .singular = "persistentvolumeclaim",
       .kind = "PersistentVolumeClaim",
       .short_names = {"pvc"},
       .has_status = true},
  };
}

std::vector<Resource> AccessResources() {
  const std::string rbac = "rbac.authorization.k8s.io";
  return {
      {.group = rbac,
       .plural = "clusterroles",
       .singular = "clusterrole",
       .kind = "ClusterRole",
       .is_namespaced = false},
      {.group = rbac,
       .plural = "clusterrolebindings",
       .singular = "clusterrolebinding",
       .kind = "ClusterRoleBinding",
       .is_namespaced = false},
      {.group = rbac, .plural = "roles", .singular = "role", .kind = "Role"},
      {.group = rbac, .plural = "rolebindings", .singular = "rolebinding", .kind = "RoleBinding"},
      {.group = "apiextensions.k8s.io",
       .plural = "customresourcedefinitions",
       .singular = "customresourcedefinition",
       .kind = "CustomResourceDefinition",
       .short_names = {"crd", "crds"},
       .categories = {"api-extensions"},
       .is_namespaced = false,
       .has_status = true,
       .has_generation = true},
      {.group = "authentication.k8s.io",
       .plural = "tokenreviews",
       .singular = "tokenreview",
       .kind = "TokenReview",
       .is_namespaced = false,
       .is_review = true},
      {.group = "authorization.k8s.io",
       .plural = "subjectaccessreviews",
       .singular = "subjectaccessreview",
       .kind = "SubjectAccessReview",
       .is_namespaced = false,
       .is_review = true},
      {.group = "authorization.k8s.io",
       .plural = "selfsubjectaccessreviews",
       .singular = "selfsubjectaccessreview",
       .kind = "SelfSubjectAccessReview",
       .is_namespaced = false,
       .is_review = true},
  };
}

std::vector<Resource> PolicyResources() {
  const std::string admission = "admissionregistration.k8s.io";
  return {
      {.group = admission,
       .plural = "validatingadmissionpolicies",
       .singular = "validatingadmissionpolicy",
       .kind = "ValidatingAdmissionPolicy",
       .categories = {"api-extensions"},
       .is_namespaced = false,
       .has_status = true,
       .has_generation = true},
      {.group = admission,
       .plural = "validatingadmissionpolicybindings",
       .singular = "validatingadmissionpolicybinding",
       .kind = "ValidatingAdmissionPolicyBinding",
       .categories = {"api-extensions"},
       .is_namespaced = false,
       .has_generation = true},
      {.group = "networking.k8s.io",
       .plural = "networkpolicies",
       .singular = "networkpolicy",
       .kind = "NetworkPolicy",
       .short_names = {"netpol"},
       .has_generation = true},
      {.group = "scheduling.k8s.io",
       .plural = "priorityclasses",
       .singular = "priorityclass",
       .kind = "PriorityClass",
       .short_names = {"pc"},
       .is_namespaced = false},
      {.plural = "resourcequotas",
       .singular = "resourcequota",
       .kind = "ResourceQuota",
       .short_names = {"quota"},
       .has_status = true},
      {.group = "autoscaling",
       .version = "v2",
       .plural = "horizontalpodautoscalers",
       .singular = "horizontalpodautoscaler",
       .kind = "HorizontalPodAutoscaler",
       .short_names = {"hpa"},
       .categories = {"all"},
       .has_status = true},
  };
}

std::vector<Resource> DeviceResources() {
  const std::string group = "resource.k8s.io";
  return {
      {.group = group,
       .plural = "resourceslices",
       .singular = "resourceslice",
       .kind = "ResourceSlice",
       .is_namespaced = false,
       .has_generation = true,
       .selectable = {"spec.nodeName", "spec.driver"}},
      {.group = group,
       .plural = "deviceclasses",
       .singular = "deviceclass",
       .kind = "DeviceClass",
       .is_namespaced = false,
       .has_generation = true},
      {.group = group,
       .plural = "resourceclaims",
       .singular = "resourceclaim",
       .kind = "ResourceClaim",
       .has_status = true},
      {.group = group,
       .plural = "resourceclaimtemplates",
       .singular = "resourceclaimtemplate",
       .kind = "ResourceClaimTemplate"},
  };
}

}  // namespace

std::vector<Resource> BuiltinResources() {
  std::vector<Resource> all;
  for (std::vector<Resource>& some :
       std::vector{CoreResources(), WorkloadResources(), RunResources(), AccessResources(),
                   PolicyResources(), DeviceResources()}) {
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace kgpu::apiserver
