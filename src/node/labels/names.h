// What Kubernetes takes as keys and values of labels, annotations, taints and extended resources,
// and which namespaces of keys a node's features may use. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::labels {

// Where features of a node live; keys that name no namespace get this one.
inline constexpr std::string_view kFeatureNamespace = "feature.node.kubernetes.io";
inline constexpr std::string_view kProfileNamespace = "profile.node.kubernetes.io";
// Of an annotation that a rule makes.
inline constexpr size_t kMaxAnnotationBytes = 1024;

// What stands in front of the first slash; "" when there is none. The rest.
std::string_view NamespaceOf(std::string_view key);
std::string_view BaseOf(std::string_view key);
// "feature.node.kubernetes.io/<key>" for a key without a namespace, else the key.
std::string WholeKey(std::string_view key);

// "name" or "name.space/name": at most 63 of letters, digits and -_. that begin and end with a
// letter or digit, behind a lower-case DNS name of at most 253. Errors: InvalidArgument with the
// fix; the text begins with the key. Source: IsQualifiedName of k8s.io/apimachinery.
Status CheckKey(std::string_view key);
// At most 63 of letters, digits and -_., begun and ended by a letter or digit; may be empty.
Status CheckLabelValue(std::string_view value);
// A quantity that is a whole number and not negative: "8", "93Mi", "1.5Gi", "2e3".
Status CheckWholeQuantity(std::string_view text);
// Whether two such quantities are the same amount: the API server keeps "2048Mi" as "2Gi". What is
// no such quantity is only the same as its own text.
bool IsSameQuantity(std::string_view a, std::string_view b);
// NoSchedule, PreferNoSchedule or NoExecute.
Status CheckTaintEffect(std::string_view effect);

// kubernetes.io and what is below it belong to Kubernetes, but for the features of nodes.
enum class NamespaceUse { kLabel, kOther };
bool IsReserved(std::string_view name_space, NamespaceUse use);

}  // namespace kgpu::labels
