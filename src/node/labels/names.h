// Valid keys and values of labels, annotations, taints and extended resources in Kubernetes, and
// the key namespaces that a node's features may use. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::labels {

// The namespace of node features; keys without a namespace get this one.
inline constexpr std::string_view kFeatureNamespace = "feature.node.kubernetes.io";
inline constexpr std::string_view kProfileNamespace = "profile.node.kubernetes.io";
// Limit for an annotation that a rule makes.
inline constexpr size_t kMaxAnnotationBytes = 1024;

// The part before the first slash, "" if there is none; and the rest.
std::string_view NamespaceOf(std::string_view key);
std::string_view BaseOf(std::string_view key);
// "feature.node.kubernetes.io/<key>" for a key without a namespace, else the key.
std::string WholeKey(std::string_view key);

// "name" or "name.space/name": at most 63 letters, digits and -_. characters, with a letter or
// digit at both ends, after a lower-case DNS name of at most 253. Errors: InvalidArgument with the
// fix; the text starts with the key. Source: IsQualifiedName of k8s.io/apimachinery.
Status CheckKey(std::string_view key);
// At most 63 letters, digits and -_. characters, a letter or digit at both ends; may be empty.
Status CheckLabelValue(std::string_view value);
// A non-negative quantity that is a whole number: "8", "93Mi", "1.5Gi", "2e3".
Status CheckWholeQuantity(std::string_view text);
// Whether two such quantities are the same amount: the API server stores "2048Mi" as "2Gi".
// Anything else is only equal to the same text.
bool IsSameQuantity(std::string_view a, std::string_view b);
// NoSchedule, PreferNoSchedule or NoExecute.
Status CheckTaintEffect(std::string_view effect);

// kubernetes.io and its subdomains belong to Kubernetes, except for node features.
enum class NamespaceUse { kLabel, kOther };
bool IsReserved(std::string_view name_space, NamespaceUse use);

}  // namespace kgpu::labels
