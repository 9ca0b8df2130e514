// Turns the GPUs that somebody asks for into a resource and rules for nodes. Pure functions.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/run/request.h"
#include "src/gpu/cuda/version.h"
#include "src/platform/base/status.h"

namespace kgpu::run {

// The CUDA version that an image needs, and who says so.
struct CudaNeed {
  cuda::CudaVersion version{};
  unsigned update = 0;   // 1 for 12.4.1
  std::string source{};  // "--cuda", "podman's store"
};
// "12.4", "12.4.1". Errors: InvalidArgument naming `source`.
StatusOr<CudaNeed> ParseCuda(std::string_view text, std::string_view source);

// What decides whether a run may use a node.
struct NodeGpus {
  std::string name{};
  std::map<std::string, std::string, std::less<>> labels{};
  std::map<std::string, int64_t, std::less<>> resources{};  // allocatable, with a domain
  std::optional<cuda::DriverVersion> driver{};              // from its labels
  // By kgpu's labels: model → memory in MiB, 0 if unknown. Empty: only nvidia.com/ labels.
  std::map<std::string, int64_t, std::less<>> models{};
};
NodeGpus ReadNodeGpus(const boost::json::value& node);

struct Placement {
  std::string resource{};
  boost::json::object affinity{};     // of the pod; empty: none
  std::vector<std::string> notes{};   // for people
  std::vector<std::string> models{};  // that nodes have
};

// The resource that most nodes with a wanted GPU offer, or for one GPU with so much memory the
// smallest memory slices that suffice; and the affinity that keeps the pod on
// nodes where every GPU of that resource is a wanted one, with a driver that runs `cuda`.
// Errors: FailedPrecondition: no driver of the nodes that would do otherwise runs `cuda`.
StatusOr<Placement> Place(const RunRequest& request, const std::optional<CudaNeed>& cuda,
                          const std::vector<NodeGpus>& nodes);

}  // namespace kgpu::run
