#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

// With the fields of gates that 1.36 has on; the server drops the others.
const std::string_view kResourceSchemas = R"(
@io.k8s.api.resource.v1
ResourceSlice -- devices of one pool, as their driver offers them
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ResourceSliceSpec
ResourceSliceSpec
  allNodes bool
  devices []Device atomic
  driver string
  nodeName string
  nodeSelector NodeSelector
  perDeviceNodeSelection bool
  pool ResourcePool
  sharedCounters []CounterSet atomic
ResourcePool
  generation int
  name string
  resourceSliceCount int
CounterSet
  counters map[Counter]
  name string
Counter
  value quantity
Device
  allNodes bool
  allowMultipleAllocations bool
  attributes map[DeviceAttribute]
  bindingConditions []string atomic
  bindingFailureConditions []string atomic
  bindsToNode bool
  capacity map[DeviceCapacity]
  consumesCounters []DeviceCounterConsumption atomic
  name string
  nodeName string
  nodeSelector NodeSelector
  taints []DeviceTaint atomic
DeviceAttribute
  bool bool
  int int
  string string
  version string
DeviceCapacity
  requestPolicy CapacityRequestPolicy
  value quantity
CapacityRequestPolicy
  default quantity
  validRange CapacityRequestPolicyRange
  validValues []quantity atomic
CapacityRequestPolicyRange
  max quantity
  min quantity
  step quantity
DeviceCounterConsumption
  counterSet string
  counters map[Counter]
DeviceTaint
  effect string
  key string
  timeAdded time
  value string
DeviceClass -- a kind of device that claims ask for
  apiVersion string
  kind string
  metadata ObjectMeta
  spec DeviceClassSpec
DeviceClassSpec
  config []DeviceClassConfiguration atomic
  extendedResourceName string
  selectors []DeviceSelector atomic
DeviceClassConfiguration
  opaque OpaqueDeviceConfiguration
OpaqueDeviceConfiguration
  driver string
  parameters any
DeviceSelector
  cel CELDeviceSelector
CELDeviceSelector
  expression string
ResourceClaimTemplate -- makes a claim for each pod that names it
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ResourceClaimTemplateSpec
ResourceClaimTemplateSpec
  metadata ObjectMeta
  spec ResourceClaimSpec
ResourceClaim -- devices that pods ask for together
  apiVersion string
  kind string
  metadata ObjectMeta
  spec ResourceClaimSpec
  status ResourceClaimStatus
ResourceClaimSpec
  devices DeviceClaim
DeviceClaim
  config []DeviceClaimConfiguration atomic
  constraints []DeviceConstraint atomic
  requests []DeviceRequest atomic
DeviceClaimConfiguration
  opaque OpaqueDeviceConfiguration
  requests []string atomic
DeviceConstraint
  distinctAttribute string
  matchAttribute string
  requests []string atomic
DeviceRequest
  exactly ExactDeviceRequest
  firstAvailable []DeviceSubRequest atomic
  name string
ExactDeviceRequest
  adminAccess bool
  allocationMode string default=ExactCount
  capacity CapacityRequirements
  count int
  deviceClassName string
  selectors []DeviceSelector atomic
  tolerations []DeviceToleration atomic
DeviceSubRequest
  allocationMode string default=ExactCount
  capacity CapacityRequirements
  count int
  deviceClassName string
  name string
  selectors []DeviceSelector atomic
  tolerations []DeviceToleration atomic
CapacityRequirements
  requests map[quantity]
DeviceToleration
  effect string
  key string
  operator string default=Equal
  tolerationSeconds int
  value string
ResourceClaimStatus
  allocation AllocationResult
  devices []AllocatedDeviceStatus map=driver,device,pool,shareID
  reservedFor []ResourceClaimConsumerReference map=uid merge=uid
AllocationResult
  allocationTimestamp time
  devices DeviceAllocationResult
  nodeSelector NodeSelector
DeviceAllocationResult
  config []DeviceAllocationConfiguration atomic
  results []DeviceRequestAllocationResult atomic
DeviceAllocationConfiguration
  opaque OpaqueDeviceConfiguration
  requests []string atomic
  source string
DeviceRequestAllocationResult
  adminAccess bool
  bindingConditions []string atomic
  bindingFailureConditions []string atomic
  consumedCapacity map[quantity]
  device string
  driver string
  pool string
  request string
  shareID string
  tolerations []DeviceToleration atomic
AllocatedDeviceStatus
  conditions []Condition map=type
  data any
  device string
  driver string
  networkData any
  pool string
  shareID string
ResourceClaimConsumerReference
  apiGroup string
  name string
  resource string
  uid string
)";

}  // namespace kgpu::apiserver
