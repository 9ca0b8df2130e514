#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kPolicySchemas = R"(
@io.k8s.api.scheduling.v1
PriorityClass -- how important pods are
  apiVersion string
  kind string
  metadata ObjectMeta
  value int
  globalDefault bool
  description string
  preemptionPolicy string
@io.k8s.api.networking.v1
NetworkPolicy -- who may talk to pods
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NetworkPolicySpec
NetworkPolicySpec
  egress []any atomic
  ingress []any atomic
  podSelector LabelSelector
  policyTypes []string atomic
@io.k8s.api.admissionregistration.v1
ValidatingAdmissionPolicy -- which requests are refused
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ValidatingAdmissionPolicySpec
  status any
ValidatingAdmissionPolicySpec
  auditAnnotations []any atomic
  failurePolicy string
  matchConditions []any atomic
  matchConstraints any
  paramKind any
  validations []any atomic
  variables []any atomic
ValidatingAdmissionPolicyBinding -- where a policy holds
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec
  matchResources any
  paramRef any
  policyName string
  validationActions []string set
)";

}  // namespace kgpu::apiserver
