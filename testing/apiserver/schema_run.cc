#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kRunSchemas = R"(
@io.k8s.api.batch.v1
Job -- pods that run until enough of them have succeeded
  apiVersion string
  kind string
  metadata ObjectMeta
  spec JobSpec
  status JobStatus
JobSpec
  activeDeadlineSeconds int
  backoffLimit int default=6
  backoffLimitPerIndex int
  completionMode string default=NonIndexed
  completions int
  managedBy string
  manualSelector bool default=false
  maxFailedIndexes int
  parallelism int default=1
  podFailurePolicy any
  podReplacementPolicy string default=TerminatingOrFailed
  selector LabelSelector
  successPolicy any
  suspend bool default=false
  template PodTemplateSpec
  ttlSecondsAfterFinished int
JobStatus
  active int
  completedIndexes string
  completionTime time
  conditions []JobCondition atomic merge=type
  failed int
  failedIndexes string
  ready int
  startTime time
  succeeded int
  terminating int
  uncountedTerminatedPods any
JobCondition
  lastProbeTime time
  lastTransitionTime time
  message string
  reason string
  status string
  type string
@io.k8s.api.core.v1
Service -- one address for some pods
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ServiceSpec
  status ServiceStatus
ServiceSpec
  allocateLoadBalancerNodePorts bool
  clusterIP string
  clusterIPs []string atomic
  externalIPs []string atomic
  externalName string
  externalTrafficPolicy string
  healthCheckNodePort int
  internalTrafficPolicy string default=Cluster
  ipFamilies []string default=["IPv4"]
  ipFamilyPolicy string default=SingleStack
  loadBalancerClass string
  loadBalancerIP string
  loadBalancerSourceRanges []string atomic
  ports []ServicePort map=port,protocol:TCP merge=port
  publishNotReadyAddresses bool
  selector map[string] atomic
  sessionAffinity string default=None
  sessionAffinityConfig any
  trafficDistribution string
  type string default=ClusterIP
ServicePort
  appProtocol string
  name string
  nodePort int
  port int
  protocol string default=TCP
  targetPort intstr
ServiceStatus
  conditions []Condition map=type merge=type
  loadBalancer any
PersistentVolumeClaim -- a request for a volume that outlives pods
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PersistentVolumeClaimSpec
  status PersistentVolumeClaimStatus
PersistentVolumeClaimSpec
  accessModes []string atomic
  dataSource any atomic
  dataSourceRef any
  resources VolumeResourceRequirements
  selector LabelSelector
  storageClassName string
  volumeAttributesClassName string
  volumeMode string default=Filesystem
  volumeName string
VolumeResourceRequirements
  limits map[quantity]
  requests map[quantity]
PersistentVolumeClaimStatus!
  accessModes []string atomic
  capacity map[quantity]
  conditions []Condition map=type merge=type
  phase string
)";

}  // namespace kgpu::apiserver
