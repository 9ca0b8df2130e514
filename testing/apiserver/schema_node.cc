#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kNodeSchemas = R"(
@io.k8s.api.core.v1
Node -- a machine that runs pods
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NodeSpec -- how the node should be
  status NodeStatus -- how the node is, as its kubelet and others report
NodeSpec -- how a node should be
  configSource any
  externalID string
  podCIDR string
  podCIDRs []string set merge
  providerID string -- the machine's name at its cloud
  taints []Taint -- what keeps pods off this node
  unschedulable bool -- true: no new pods come here
Taint -- keeps away pods that do not tolerate it
  effect string -- NoSchedule, PreferNoSchedule or NoExecute
  key string
  timeAdded time
  value string
NodeStatus -- how a node is
  addresses []NodeAddress map=type merge=type
  allocatable map[quantity] -- what pods may use of the capacity
  capacity map[quantity] -- all that the node has of each resource
  conditions []NodeCondition map=type merge=type -- claims about the node's health
  config any
  daemonEndpoints NodeDaemonEndpoints
  declaredFeatures []string
  features any
  images []ContainerImage
  nodeInfo NodeSystemInfo
  phase string
  runtimeHandlers []any
  volumesAttached []any
  volumesInUse []string
NodeAddress
  address string
  type string
NodeCondition -- one claim about a node's health
  lastHeartbeatTime time
  lastTransitionTime time -- when status last changed
  message string
  reason string
  status string -- True, False or Unknown
  type string
NodeDaemonEndpoints
  kubeletEndpoint DaemonEndpoint
DaemonEndpoint
  Port int
ContainerImage
  names []string
  sizeBytes int
NodeSystemInfo
  architecture string
  bootID string
  containerRuntimeVersion string
  kernelVersion string
  kubeProxyVersion string
  kubeletVersion string
  machineID string
  operatingSystem string
  osImage string
  swap any
  systemUUID string
Namespace -- a part of the cluster in which names are unique
  apiVersion string
  kind string
  metadata ObjectMeta
  spec NamespaceSpec
  status NamespaceStatus
NamespaceSpec
  finalizers []string
NamespaceStatus
  conditions []NamespaceCondition map=type merge=type
  phase string
NamespaceCondition
  lastTransitionTime time
  message string
  reason string
  status string
  type string
ObjectReference atomic -- names another object
  apiVersion string
  fieldPath string
  kind string
  name string
  namespace string
  resourceVersion string
  uid string
LocalObjectReference atomic
  name string
ConfigMap -- texts and bytes for pods
  apiVersion string
  binaryData map[byte]
  data map[string]
  immutable bool
  kind string
  metadata ObjectMeta
Secret -- texts and bytes that not everybody may read
  apiVersion string
  data map[byte]
  immutable bool
  kind string
  metadata ObjectMeta
  stringData map[string]
  type string default=Opaque
ServiceAccount -- who a pod is to the API server
  apiVersion string
  automountServiceAccountToken bool
  imagePullSecrets []LocalObjectReference
  kind string
  metadata ObjectMeta
  secrets []ObjectReference map=name merge=name
Event -- something that happened to an object
  action string
  apiVersion string
  count int
  eventTime microtime
  firstTimestamp time
  involvedObject ObjectReference
  kind string
  lastTimestamp time
  message string
  metadata ObjectMeta
  reason string
  related ObjectReference
  reportingComponent string
  reportingInstance string
  series EventSeries
  source EventSource
  type string
EventSeries
  count int
  lastObservedTime microtime
EventSource
  component string
  host string
@io.k8s.api.events.v1
Event -- something that happened to an object
  action string
  apiVersion string
  deprecatedCount int
  deprecatedFirstTimestamp time
  deprecatedLastTimestamp time
  deprecatedSource EventSource
  eventTime microtime
  kind string
  metadata ObjectMeta
  note string
  reason string
  regarding ObjectReference
  related ObjectReference
  reportingController string
  reportingInstance string
  series EventSeries
  type string
EventSeries
  count int
  lastObservedTime microtime
@io.k8s.api.coordination.v1
Lease -- says who holds a role, and until when
  apiVersion string
  kind string
  metadata ObjectMeta
  spec LeaseSpec
LeaseSpec
  acquireTime microtime
  holderIdentity string
  leaseDurationSeconds int
  leaseTransitions int
  preferredHolder string
  renewTime microtime
  strategy string
)";

}  // namespace kgpu::apiserver
