// A small cluster in which a pod fits, and edits that break it.
#pragma once

#include <boost/json/value.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// A merge patch, as YAML, for an object by name; without a name: more objects, one per document.
struct Edit {
  std::string object{};
  std::string yaml{};
};

class World {
 public:
  // Pod team-a/train requests 2 nvidia.com/gpu; node-a has 8 of them, 4 free, and a taint that the
  // pod tolerates; node-b has no GPU.
  World();

  World& Apply(const std::vector<Edit>& edits);
  World& Forget(const std::string& kind);  // as if it had not been listed

  Dump ToDump() const;
  Report Explain(std::string_view name = "train") const;

 private:
  void Patch(const Edit& edit);

  std::vector<boost::json::value> objects_;
  std::set<std::string, std::less<>> listed_;
};

// A pod with a claim, the claim, its class and a slice with one device of node-a.
inline constexpr const char* kClaimPod =
    "spec: {containers: [{name: main}], resourceClaims: [{name: gpu, resourceClaimName: one}]}";
inline constexpr const char* kClaim =
    "kind: ResourceClaim\nmetadata: {name: one, namespace: team-a}\nspec: {devices: {requests: "
    "[{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}";
inline constexpr const char* kClass =
    "kind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\nspec: {selectors: [{cel: {expression: "
    "\"device.driver == 'gpu.nvidia.com'\"}}]}";
inline constexpr const char* kSlice =
    "kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, nodeName: node-a, "
    "pool: {name: node-a}, devices: [{name: gpu-0}]}";

// The pod's container with another `resources:` field.
Edit Resources(const std::string& yaml);

// The evidence of a reason, one line each.
std::string EvidenceOf(const Report& report, const std::string& id);
// For the pod and all nodes.
std::multiset<std::string> IdsOf(const Report& report);

}  // namespace kgpu::explain
