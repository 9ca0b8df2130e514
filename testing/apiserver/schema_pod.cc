#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kPodSchemas = R"(
@io.k8s.api.core.v1
Pod -- containers that run together on one node
  apiVersion string
  kind string
  metadata ObjectMeta
  spec PodSpec -- what should run
  status PodStatus -- what runs
PodTemplateSpec
  metadata ObjectMeta
  spec PodSpec
PodSpec -- what should run, and where
  activeDeadlineSeconds int
  affinity Affinity
  automountServiceAccountToken bool
  containers []Container map=name merge=name -- what runs in the pod
  dnsConfig any
  dnsPolicy string default=ClusterFirst
  enableServiceLinks bool
  ephemeralContainers []Container map=name merge=name
  hostAliases []HostAlias map=ip merge=ip
  hostIPC bool
  hostNetwork bool
  hostPID bool
  hostUsers bool
  hostname string
  hostnameOverride string
  imagePullSecrets []LocalObjectReference map=name merge=name
  initContainers []Container map=name merge=name
  nodeName string -- the node on which the pod runs
  nodeSelector map[string] atomic -- labels that the node must have
  os any
  overhead map[quantity]
  preemptionPolicy string
  priority int
  priorityClassName string
  readinessGates []any
  resourceClaims []PodResourceClaim map=name merge=name
  resources ResourceRequirements
  restartPolicy string default=Always
  runtimeClassName string
  schedulerName string default=default-scheduler
  schedulingGates []PodSchedulingGate map=name merge=name
  securityContext PodSecurityContext default={}
  serviceAccount string
  serviceAccountName string
  setHostnameAsFQDN bool
  shareProcessNamespace bool
  subdomain string
  terminationGracePeriodSeconds int default=30
  tolerations []Toleration -- taints that the pod may live with
  topologySpreadConstraints []TopologySpreadConstraint map=topologyKey,whenUnsatisfiable merge=topologyKey
  volumes []Volume map=name merge=name
  workloadRef any
HostAlias
  hostnames []string
  ip string
PodResourceClaim
  name string
  resourceClaimName string
  resourceClaimTemplateName string
PodSchedulingGate
  name string
Affinity
  nodeAffinity NodeAffinity
  podAffinity PodAffinity
  podAntiAffinity PodAffinity
NodeAffinity
  preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector
PreferredSchedulingTerm
  preference NodeSelectorTerm
  weight int
NodeSelector atomic
  nodeSelectorTerms []NodeSelectorTerm
NodeSelectorTerm atomic
  matchExpressions []NodeSelectorRequirement
  matchFields []NodeSelectorRequirement
NodeSelectorRequirement
  key string
  operator string
  values []string
PodAffinity
  preferredDuringSchedulingIgnoredDuringExecution []any
  requiredDuringSchedulingIgnoredDuringExecution []any
TopologySpreadConstraint
  labelSelector LabelSelector
  matchLabelKeys []string
  maxSkew int
  minDomains int
  nodeAffinityPolicy string
  nodeTaintsPolicy string
  topologyKey string
  whenUnsatisfiable string
Toleration -- a taint that a pod may live with
  effect string
  key string
  operator string
  tolerationSeconds int
  value string
PodSecurityContext!
  fsGroup int
  fsGroupChangePolicy string
  runAsGroup int
  runAsNonRoot bool
  runAsUser int
  seLinuxOptions any
  seccompProfile any
  supplementalGroups []int
  sysctls []any
Container -- one program of a pod
  args []string
  command []string
  env []EnvVar map=name merge=name
  envFrom []any
  image string
  imagePullPolicy string
  lifecycle any
  livenessProbe Probe
  name string
  ports []ContainerPort map=containerPort,protocol:TCP merge=containerPort
  readinessProbe Probe
  resizePolicy []any
  resources ResourceRequirements default={}
  restartPolicy string
  restartPolicyRules []any
  securityContext SecurityContext
  startupProbe Probe
  stdin bool
  stdinOnce bool
  targetContainerName string
  terminationMessagePath string default=/dev/termination-log
  terminationMessagePolicy string default=File
  tty bool
  volumeDevices []VolumeDevice map=devicePath merge=devicePath
  volumeMounts []VolumeMount map=mountPath merge=mountPath
  workingDir string
EnvVar
  name string
  value string
  valueFrom EnvVarSource
EnvVarSource
  configMapKeyRef KeySelector
  fieldRef ObjectFieldSelector
  fileKeyRef any
  resourceFieldRef ResourceFieldSelector
  secretKeyRef KeySelector
KeySelector atomic
  key string
  name string
  optional bool
ObjectFieldSelector atomic
  apiVersion string default=v1
  fieldPath string
ResourceFieldSelector atomic
  containerName string
  divisor quantity default=0
  resource string
Probe -- whether a container lives, or is ready
  exec any
  failureThreshold int default=3
  grpc any
  httpGet HTTPGetAction
  initialDelaySeconds int
  periodSeconds int default=10
  successThreshold int default=1
  tcpSocket TCPSocketAction
  terminationGracePeriodSeconds int
  timeoutSeconds int default=1
HTTPGetAction
  host string
  httpHeaders []any
  path string default=/
  port intstr
  scheme string default=HTTP
TCPSocketAction
  host string
  port intstr
ContainerPort
  containerPort int
  hostIP string
  hostPort int
  name string
  protocol string default=TCP
ResourceRequirements -- what a container needs and may use
  claims []ResourceClaim map=name
  limits map[quantity]
  requests map[quantity]
ResourceClaim
  name string
  request string
SecurityContext!
  allowPrivilegeEscalation bool
  capabilities any
  privileged bool
  readOnlyRootFilesystem bool
  runAsGroup int
  runAsNonRoot bool
  runAsUser int
VolumeDevice
  devicePath string
  name string
VolumeMount
  mountPath string
  mountPropagation string
  name string
  readOnly bool
  recursiveReadOnly string
  subPath string
  subPathExpr string
PodStatus! -- what runs of a pod
  conditions []PodCondition map=type merge=type
  containerStatuses []ContainerStatus
  ephemeralContainerStatuses []ContainerStatus
  extendedResourceClaimStatus any
  hostIP string
  hostIPs []any
  initContainerStatuses []ContainerStatus
  message string
  nominatedNodeName string
  observedGeneration int
  phase string
  podIP string
  podIPs []PodIP map=ip merge=ip
  qosClass string
  reason string
  resourceClaimStatuses []PodResourceClaimStatus map=name merge=name
  startTime time
PodIP
  ip string
PodResourceClaimStatus
  name string
  resourceClaimName string
PodCondition
  lastProbeTime time
  lastTransitionTime time
  message string
  observedGeneration int
  reason string
  status string
  type string
ContainerStatus!
  containerID string
  image string
  imageID string
  lastState any
  name string
  ready bool
  restartCount int
  started bool
  state any
)";

const std::string_view kVolumeSchemas = R"(
@io.k8s.api.core.v1
Volume! -- files that containers of a pod can mount
  configMap ConfigMapVolumeSource
  csi any
  downwardAPI DownwardAPIVolumeSource
  emptyDir any
  hostPath HostPathVolumeSource
  name string
  persistentVolumeClaim any
  projected ProjectedVolumeSource
  secret SecretVolumeSource
HostPathVolumeSource
  path string
  type string default=
ConfigMapVolumeSource
  defaultMode int default=420
  items []KeyToPath
  name string
  optional bool
SecretVolumeSource
  defaultMode int default=420
  items []KeyToPath
  optional bool
  secretName string
KeyToPath
  key string
  mode int
  path string
DownwardAPIVolumeSource
  defaultMode int default=420
  items []DownwardAPIVolumeFile
DownwardAPIVolumeFile
  fieldRef ObjectFieldSelector
  mode int
  path string
  resourceFieldRef ResourceFieldSelector
ProjectedVolumeSource
  defaultMode int default=420
  sources []VolumeProjection
VolumeProjection!
  downwardAPI DownwardAPIProjection
  serviceAccountToken ServiceAccountTokenProjection
DownwardAPIProjection
  items []DownwardAPIVolumeFile
ServiceAccountTokenProjection
  audience string
  expirationSeconds int default=3600
  path string
)";

}  // namespace kgpu::apiserver
