// The compiled-in types in a compact notation:
//   @io.k8s.api.core.v1                   the package of the types that follow
//   NodeSpec -- how a node should be      a struct and its flags; "NodeSpec!" may have other fields
//     podCIDR string                      a field
//     taints []Taint atomic -- why        its flags and description
// Types: string int number bool intstr quantity time microtime byte any, a struct's name, []T,
// map[T]. Flags: atomic; set; map=KEY[:DEFAULT],…; merge or merge=KEY (strategic patches);
// default=VALUE, which the server fills in. Both are as in Kubernetes: an apply conflicts with what
// another manager has set in an atomic value, defaults included.
// A struct is looked for in its package first, then anywhere.
#pragma once

#include <string_view>

namespace kgpu::apiserver {

extern const std::string_view kMetaSchemas;
extern const std::string_view kNodeSchemas;
extern const std::string_view kPodSchemas;
extern const std::string_view kVolumeSchemas;
extern const std::string_view kWorkloadSchemas;
extern const std::string_view kRunSchemas;
extern const std::string_view kAccessSchemas;
extern const std::string_view kPolicySchemas;
extern const std::string_view kResourceSchemas;

}  // namespace kgpu::apiserver
