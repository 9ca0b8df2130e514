// The kinds of objects that functions consist of.
#pragma once

#include "src/kube/api/resource.h"

namespace kgpu::functions {

inline constexpr kube::Resource kDeployments{"apps", "v1", "deployments"};
inline constexpr kube::Resource kServices{"", "v1", "services"};
inline constexpr kube::Resource kSecrets{"", "v1", "secrets"};
inline constexpr kube::Resource kConfigMaps{"", "v1", "configmaps"};
inline constexpr kube::Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies"};
inline constexpr kube::Resource kPodScalers{"autoscaling", "v2", "horizontalpodautoscalers"};
inline constexpr kube::Resource kScaledObjects{"keda.sh", "v1alpha1", "scaledobjects"};

}  // namespace kgpu::functions
