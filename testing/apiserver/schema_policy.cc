#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kPolicySchemas = R"(
@io.k8s.api.admissionregistration.v1
ValidatingAdmissionPolicy -- which changes of objects are refused
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ValidatingAdmissionPolicySpec
  status any
ValidatingAdmissionPolicySpec
  auditAnnotations []any atomic
  failurePolicy string default=Fail
  matchConditions []MatchCondition map=name merge=name
  matchConstraints MatchResources
  paramKind any atomic
  validations []Validation atomic
  variables []Variable map=name merge=name
MatchCondition
  expression string
  name string
Variable atomic
  expression string
  name string
Validation
  expression string
  message string
  messageExpression string
  reason string
MatchResources atomic
  excludeResourceRules []NamedRuleWithOperations atomic
  matchPolicy string default=Equivalent
  namespaceSelector LabelSelector default={}
  objectSelector LabelSelector default={}
  resourceRules []NamedRuleWithOperations atomic
NamedRuleWithOperations atomic
  apiGroups []string atomic
  apiVersions []string atomic
  operations []string atomic
  resourceNames []string atomic
  resources []string atomic
  scope string default=*
ValidatingAdmissionPolicyBinding -- where a policy counts
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec
  matchResources MatchResources
  paramRef any atomic
  policyName string
  validationActions []string set
@io.k8s.api.networking.v1
NetworkPolicy -- who may talk to some pods, and they to whom
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NetworkPolicySpec
NetworkPolicySpec
  egress []NetworkPolicyEgressRule atomic
  ingress []NetworkPolicyIngressRule atomic
  podSelector LabelSelector default={}
  policyTypes []string atomic
NetworkPolicyEgressRule
  ports []NetworkPolicyPort atomic
  to []NetworkPolicyPeer atomic
NetworkPolicyIngressRule
  from []NetworkPolicyPeer atomic
  ports []NetworkPolicyPort atomic
NetworkPolicyPeer
  ipBlock any
  namespaceSelector LabelSelector
  podSelector LabelSelector
NetworkPolicyPort
  endPort int
  port intstr
  protocol string default=TCP
@io.k8s.api.core.v1
ResourceQuota -- how much the objects of a namespace may request together
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ResourceQuotaSpec
  status ResourceQuotaStatus
ResourceQuotaSpec
  hard map[quantity]
  scopeSelector any atomic
  scopes []string atomic
ResourceQuotaStatus
  hard map[quantity]
  used map[quantity]
@io.k8s.api.autoscaling.v2
HorizontalPodAutoscaler -- how many pods a workload has
  apiVersion string
  kind string
  metadata ObjectMeta
  spec HorizontalPodAutoscalerSpec
  status any
HorizontalPodAutoscalerSpec
  behavior HorizontalPodAutoscalerBehavior
  maxReplicas int
  metrics []MetricSpec atomic
  minReplicas int default=1
  scaleTargetRef CrossVersionObjectReference
HorizontalPodAutoscalerBehavior
  scaleDown HPAScalingRules
  scaleUp HPAScalingRules
HPAScalingRules
  policies []any atomic
  selectPolicy string default=Max
  stabilizationWindowSeconds int
  tolerance quantity
MetricSpec
  containerResource any
  external any
  object any
  pods any
  resource ResourceMetricSource
  type string
ResourceMetricSource
  name string
  target MetricTarget
MetricTarget
  averageUtilization int
  averageValue quantity
  type string
  value quantity
CrossVersionObjectReference
  apiVersion string
  kind string
  name string
@io.k8s.api.scheduling.v1
PriorityClass -- which pods come first
  apiVersion string
  description string
  globalDefault bool
  kind string
  metadata ObjectMeta
  preemptionPolicy string default=PreemptLowerPriority
  value int
)";

}  // namespace kgpu::apiserver
