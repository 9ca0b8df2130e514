#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kWorkloadSchemas = R"(
@io.k8s.api.apps.v1
DaemonSet -- one pod on each of some nodes
  apiVersion string
  kind string
  metadata ObjectMeta
  spec DaemonSetSpec
  status DaemonSetStatus
DaemonSetSpec
  minReadySeconds int
  revisionHistoryLimit int default=10
  selector LabelSelector
  template PodTemplateSpec
  updateStrategy DaemonSetUpdateStrategy default={}
DaemonSetUpdateStrategy
  rollingUpdate RollingUpdateDaemonSet
  type string default=RollingUpdate
RollingUpdateDaemonSet
  maxSurge intstr default=0
  maxUnavailable intstr default=1
DaemonSetStatus
  collisionCount int
  conditions []Condition map=type merge=type
  currentNumberScheduled int
  desiredNumberScheduled int
  numberAvailable int
  numberMisscheduled int
  numberReady int
  numberUnavailable int
  observedGeneration int
  updatedNumberScheduled int
Deployment -- a number of equal pods
  apiVersion string
  kind string
  metadata ObjectMeta
  spec DeploymentSpec
  status DeploymentStatus
DeploymentSpec
  minReadySeconds int
  paused bool
  progressDeadlineSeconds int default=600
  replicas int default=1
  revisionHistoryLimit int default=10
  selector LabelSelector
  strategy DeploymentStrategy default={}
  template PodTemplateSpec
DeploymentStrategy
  rollingUpdate RollingUpdateDeployment
  type string default=RollingUpdate
RollingUpdateDeployment
  maxSurge intstr default=25%
  maxUnavailable intstr default=25%
DeploymentStatus
  availableReplicas int
  collisionCount int
  conditions []DeploymentCondition map=type merge=type
  observedGeneration int
  readyReplicas int
  replicas int
  terminatingReplicas int
  unavailableReplicas int
  updatedReplicas int
DeploymentCondition
  lastTransitionTime time
  lastUpdateTime time
  message string
  reason string
  status string
  type string
@io.k8s.api.policy.v1
PodDisruptionBudget -- how many of some pods may be away at a time
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PodDisruptionBudgetSpec
  status PodDisruptionBudgetStatus
PodDisruptionBudgetSpec
  maxUnavailable intstr
  minAvailable intstr
  selector LabelSelector
  unhealthyPodEvictionPolicy string
PodDisruptionBudgetStatus
  conditions []Condition map=type merge=type
  currentHealthy int
  desiredHealthy int
  disruptedPods map[time]
  disruptionsAllowed int
  expectedPods int
  observedGeneration int
)";

const std::string_view kAccessSchemas = R"(
@io.k8s.api.rbac.v1
ClusterRole -- what may be done, anywhere
  aggregationRule any
  apiVersion string
  kind string
  metadata ObjectMeta
  rules []PolicyRule
ClusterRoleBinding -- who has a ClusterRole
  apiVersion string
  kind string
  metadata ObjectMeta
  roleRef RoleRef
  subjects []Subject
Role -- what may be done in a namespace
  apiVersion string
  kind string
  metadata ObjectMeta
  rules []PolicyRule
RoleBinding -- who has a role in a namespace
  apiVersion string
  kind string
  metadata ObjectMeta
  roleRef RoleRef
  subjects []Subject
PolicyRule
  apiGroups []string
  nonResourceURLs []string
  resourceNames []string
  resources []string
  verbs []string
RoleRef atomic
  apiGroup string default=rbac.authorization.k8s.io
  kind string
  name string
Subject atomic
  apiGroup string
  kind string
  name string
  namespace string
@io.k8s.api.authentication.v1
TokenReview -- whether a token is good, and whose it is
  apiVersion string
  kind string
  metadata ObjectMeta
  spec any
  status any
@io.k8s.api.authorization.v1
SubjectAccessReview -- whether somebody may do something
  apiVersion string
  kind string
  metadata ObjectMeta
  spec any
  status any
SelfSubjectAccessReview -- whether the asker may do something
  apiVersion string
  kind string
  metadata ObjectMeta
  spec any
  status any
@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
CustomResourceDefinition -- a resource that the server is taught
  apiVersion string
  kind string
  metadata ObjectMeta
  spec CustomResourceDefinitionSpec
  status CustomResourceDefinitionStatus
CustomResourceDefinitionSpec
  conversion any default={"strategy":"None"}
  group string
  names CustomResourceDefinitionNames
  preserveUnknownFields bool
  scope string
  versions []any
CustomResourceDefinitionNames
  categories []string
  kind string
  listKind string
  plural string
  shortNames []string
  singular string
CustomResourceDefinitionStatus
  acceptedNames CustomResourceDefinitionNames
  conditions []Condition map=type
  storedVersions []string
)";

}  // namespace kgpu::apiserver
