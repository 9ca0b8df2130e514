// What is in a graph.
#include <initializer_list>

#include "testing/cuda/graphs.h"
#include "testing/cuda/library.h"

using kgpu::cuda_api::Graph;
using kgpu::cuda_api::GraphNode;
using kgpu::cuda_api::GraphNodeType;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::SystemCall;

// Without `nodes`, `count` gets their number; else up to `count` of them are stored.
KGPU_CUDA cuGraphGetNodes(Graph graph, GraphNode* nodes, size_t* count) {
  const SystemCall call("cuGraphGetNodes");
  const auto* found = kgpu::simcuda::FindGraph(graph, false);
  const Result checked = call.Check(found != nullptr && count != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  for (size_t at = 0; nodes != nullptr && at < *count; ++at) {
    nodes[at] = at < found->count ? reinterpret_cast<GraphNode>(found->nodes[at]) : nullptr;
  }
  *count = nodes == nullptr || *count > found->count ? found->count : *count;
  return kSuccess;
}

KGPU_CUDA cuGraphNodeGetType(GraphNode node, GraphNodeType* type) {
  const SystemCall call("cuGraphNodeGetType");
  for (const GraphNodeType candidate :
       {kgpu::cuda_api::kNodeKernel, kgpu::cuda_api::kNodeMemoryAllocation,
        kgpu::cuda_api::kNodeMemoryFree}) {
    if (type != nullptr && kgpu::simcuda::FindNode(node, candidate) != nullptr) {
      *type = candidate;
      return call.Check(true);
    }
  }
  return call.Check(false);
}
