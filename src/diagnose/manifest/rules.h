// The rules: pure functions of a document. Private to this module.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/manifest/kubernetes.h"
#include "src/diagnose/manifest/match.h"

namespace kgpu::manifest {

// A pod's spec, in any kind of object.
struct PodSpec {
  const boost::json::value* spec = nullptr;
  Path path{};               // of it
  std::string_view kind;     // of the object that contains it
  std::string_view space{};  // of that object; empty: not given
};

using Matches = std::vector<Match>;

void CheckApi(const boost::json::value& object, const Path& at, const KubernetesVersion& target,
              Matches& matches);
// Custom resources of operators that kgpu does not need.
void CheckOperators(const boost::json::value& object, const Path& at, Matches& matches);
void CheckKubeletConfig(const boost::json::value& object, const Path& at,
                        const KubernetesVersion& target, Matches& matches);
// `metadata` of any object; `pod`: the pod that it belongs to, or null.
void CheckAnnotations(const boost::json::value& metadata, const Path& at, const PodSpec* pod,
                      Matches& matches);
void CheckImages(const PodSpec& pod, Matches& matches);
void CheckResources(const PodSpec& pod, Matches& matches);
void CheckDriverMounts(const PodSpec& pod, Matches& matches);
void CheckAccounting(const PodSpec& pod, Matches& matches);
void CheckPlacement(const PodSpec& pod, const KubernetesVersion& target, Matches& matches);
// GPU counts granted to a namespace: ResourceQuota, LimitRange.
void CheckCounts(const boost::json::value& object, const Path& at, Matches& matches);
// Fields from a YAML merge key, which kubectl resolves and we do not.
void CheckMergeKey(const boost::json::value& map, const Path& at, Matches& matches);
void CheckArguments(const PodSpec& pod, const KubernetesVersion& target, Matches& matches);

// A GPU, until Kubernetes 1.11.
inline constexpr std::string_view kOldGpuKey = "alpha.kubernetes.io/nvidia-gpu";
// Whether a key of resources is one of NVIDIA's GPU resources.
bool IsGpuKey(std::string_view key);
// The name of the first GPU resource in the container's limits or requests; empty: none.
std::string_view GpuKeyOf(const boost::json::value& container);
// Whether the container requests GPUs: by a resource, or by a claim of its pod.
bool AsksForGpus(const boost::json::value& container);
bool AsksForGpus(const PodSpec& pod);
// Whether a container of the pod requests GPUs by the old key, which the fix of that renames.
bool AsksByOldKey(const PodSpec& pod);
// For people: a scalar as it is written, anything else by its kind.
std::string Shown(const boost::json::value& value);

}  // namespace kgpu::manifest
