#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const std::string_view kMetaSchemas = R"(
@io.k8s.apimachinery.pkg.apis.meta.v1
ObjectMeta -- what every stored object has: its names, labels and versions
  annotations map[string] -- texts for tools and people, not selected by
  creationTimestamp time
  deletionGracePeriodSeconds int
  deletionTimestamp time -- set once the object is to go
  finalizers []string set merge -- who must agree before the object is gone
  generateName string -- the start of a name that the server completes
  generation int -- counts the changes of spec
  labels map[string] -- what selectors choose objects by
  managedFields []any -- which manager set which fields
  name string -- unique within a namespace and resource
  namespace string
  ownerReferences []OwnerReference map=uid merge=uid -- objects that this one goes with
  resourceVersion string -- the version of this state of the object
  selfLink string
  uid string -- unique over all time
OwnerReference atomic
  apiVersion string
  blockOwnerDeletion bool
  controller bool
  kind string
  name string
  uid string
LabelSelector atomic -- which objects are meant, by their labels
  matchExpressions []LabelSelectorRequirement
  matchLabels map[string]
LabelSelectorRequirement
  key string
  operator string
  values []string
Condition
  lastTransitionTime time
  message string
  observedGeneration int
  reason string
  status string
  type string
)";

}  // namespace kgpu::apiserver
