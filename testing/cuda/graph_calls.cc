// The functions for graphs, as far as memory and launches need them. Source: the driver API
// reference, "Graph Management".
#include "testing/cuda/graphs.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::Graph;
using cuda_api::GraphExec;
using cuda_api::GraphNode;
using cuda_api::kInvalidDevice;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

// The nodes that another one waits for.
struct Dependencies {
  const GraphNode* nodes;
  size_t count;
};

// The graph to which a node can be added after these, or null.
GraphObject* Extensible(Graph handle, const Dependencies& after) {
  GraphObject* graph = FindGraph(handle, false);
  if (graph == nullptr || (after.nodes == nullptr && after.count > 0)) {
    return nullptr;
  }
  for (size_t i = 0; i < after.count; ++i) {
    if (!HasNode(*graph, after.nodes[i])) {
      return nullptr;
    }
  }
  return graph;
}

Result Add(const ContextCall& call, GraphNode* node, Graph handle, const Dependencies& after,
           const NodeObject& wanted) {
  GraphObject* graph = Extensible(handle, after);
  const Result checked = call.Check(node != nullptr && graph != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  *node = reinterpret_cast<GraphNode>(AddNode(graph, wanted));
  return *node == nullptr ? kOutOfMemory : kSuccess;
}

Result AddKernel(GraphNode* node, Graph graph, const Dependencies& after,
                 const cuda_api::KernelNodeParams& params) {
  const ContextCall call("cuGraphAddKernelNode");
  const Result checked = call.Check(params.extra == nullptr);
  NodeObject wanted{};
  wanted.type = cuda_api::kNodeKernel;
  const auto function =
      params.function != nullptr ? params.function : static_cast<cuda_api::Function>(params.kernel);
  const Result prepared = checked == kSuccess
                              ? PrepareLaunch(call.context(), function, params.grid, params.block,
                                              params.arguments, &wanted.launch)
                              : checked;
  return prepared == kSuccess ? Add(call, node, graph, after, wanted) : prepared;
}

Result AddAllocation(GraphNode* node, Graph graph, const Dependencies& after,
                     cuda_api::MemoryAllocationNodeParams* params) {
  const ContextCall call("cuGraphAddMemAllocNode");
  const Result checked = call.Check(node != nullptr && params != nullptr && params->size != 0 &&
                                    Extensible(graph, after) != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  const VisibleDevice* device = DeviceAt(params->pool.location);
  if (device == nullptr || params->pool.type != cuda_api::kPinned) {
    return device == nullptr ? kInvalidDevice : kInvalidValue;
  }
  if (params->pool.handle_types != cuda_api::kHandleNone) {
    return cuda_api::kNotSupported;
  }
  NodeObject wanted{};
  wanted.type = cuda_api::kNodeMemoryAllocation;
  wanted.space = MakeSpace(*device, params->size);
  if (wanted.space == nullptr) {
    return kOutOfMemory;
  }
  params->pointer = wanted.space->start;
  wanted.params = *params;
  wanted.params.accesses = nullptr;
  wanted.params.access_count = 0;
  const Result added = Add(call, node, graph, after, wanted);
  ReleaseSpace(wanted.space);  // the node has it now
  return added;
}

Result AddFree(GraphNode* node, Graph graph, const Dependencies& after,
               cuda_api::DevicePointer pointer) {
  const ContextCall call("cuGraphAddMemFreeNode");
  const Result checked = call.Check(FindSpace(pointer) != nullptr);
  NodeObject wanted{};
  wanted.type = cuda_api::kNodeMemoryFree;
  wanted.freed = pointer;
  return checked == kSuccess ? Add(call, node, graph, after, wanted) : checked;
}

Result AddAny(GraphNode* node, Graph graph, const Dependencies& after,
              cuda_api::GraphNodeParams* params) {
  if (params == nullptr) {
    return kInvalidValue;
  }
  switch (params->type) {
    case cuda_api::kNodeKernel:
      return AddKernel(node, graph, after, params->kernel);
    case cuda_api::kNodeMemoryAllocation:
      return AddAllocation(node, graph, after, &params->allocation);
    case cuda_api::kNodeMemoryFree:
      return AddFree(node, graph, after, params->freed);
  }
  return cuda_api::kNotSupported;
}

Result Instantiate(GraphExec* exec, Graph handle, uint64_t flags) {
  const ContextCall call("cuGraphInstantiate");
  const GraphObject* graph = FindGraph(handle, false);
  const Result checked = call.Check(exec != nullptr && graph != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  GraphObject* made = AddGraph(true);
  bool is_good = made != nullptr;
  for (uint32_t i = 0; is_good && i < graph->count; ++i) {
    is_good = AddNode(made, *graph->nodes[i]) != nullptr;
  }
  if (!is_good) {
    if (made != nullptr) {
      DestroyGraph(made);
    }
    return kOutOfMemory;
  }
  made->flags = flags;
  *exec = reinterpret_cast<GraphExec>(made);
  return kSuccess;
}

Result DestroyHandle(const char* name, const void* handle, bool is_exec) {
  const SystemCall call(name);
  GraphObject* graph = FindGraph(handle, is_exec);
  const Result checked = call.Check(graph != nullptr);
  if (checked == kSuccess) {
    DestroyGraph(graph);
  }
  return checked;
}

// Calls `visit` with the memory of each context on the device.
template <typename Visit>
void ForEachGraphMemory(const VisibleDevice& device, Visit&& visit) {
  for (ContextObject* at = State().contexts; at != nullptr; at = at->next) {
    if (at->id != 0 && IsSameMemory(at->device, device)) {
      visit(at->graphs);
    }
  }
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::Device;
using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::Graph;
using kgpu::cuda_api::GraphExec;
using kgpu::cuda_api::GraphMemoryAttribute;
using kgpu::cuda_api::GraphNode;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::MemoryAllocationNodeParams;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::DeviceCall;
using kgpu::simcuda::GraphMemory;
using kgpu::simcuda::SystemCall;

KGPU_CUDA cuGraphCreate(Graph* graph, unsigned flags) {
  const SystemCall call("cuGraphCreate");
  const Result checked = call.Check(graph != nullptr && flags == 0);
  if (checked != kSuccess) {
    return checked;
  }
  *graph = reinterpret_cast<Graph>(kgpu::simcuda::AddGraph(false));
  return *graph == nullptr ? kgpu::cuda_api::kOutOfMemory : kSuccess;
}
KGPU_CUDA cuGraphDestroy(Graph graph) {
  return kgpu::simcuda::DestroyHandle("cuGraphDestroy", graph, false);
}

KGPU_CUDA cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* after,
                                  size_t after_count,
                                  const kgpu::cuda_api::KernelNodeParams* params) {
  return params == nullptr ? kInvalidValue
                           : kgpu::simcuda::AddKernel(node, graph, {after, after_count}, *params);
}
KGPU_CUDA cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* after,
                               size_t after_count,
                               const kgpu::cuda_api::KernelNodeParamsV1* params) {
  if (params == nullptr) {
    return kInvalidValue;
  }
  return kgpu::simcuda::AddKernel(node, graph, {after, after_count},
                                  {.function = params->function,
                                   .grid = {params->grid[0], params->grid[1], params->grid[2]},
                                   .block = {params->block[0], params->block[1], params->block[2]},
                                   .shared_bytes = params->shared_bytes,
                                   .arguments = params->arguments,
                                   .extra = params->extra,
                                   .kernel = nullptr,
                                   .context = nullptr});
}
KGPU_CUDA cuGraphAddMemAllocNode(GraphNode* node, Graph graph, const GraphNode* after,
                                 size_t after_count, MemoryAllocationNodeParams* params) {
  return kgpu::simcuda::AddAllocation(node, graph, {after, after_count}, params);
}
KGPU_CUDA cuGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* after,
                                size_t after_count, DevicePointer pointer) {
  return kgpu::simcuda::AddFree(node, graph, {after, after_count}, pointer);
}
KGPU_CUDA cuGraphAddNode(GraphNode* node, Graph graph, const GraphNode* after, size_t after_count,
                         kgpu::cuda_api::GraphNodeParams* params) {
  return kgpu::simcuda::AddAny(node, graph, {after, after_count}, params);
}
KGPU_CUDA cuGraphAddNode_v2(GraphNode* node, Graph graph, const GraphNode* after, const void*,
                            size_t after_count, kgpu::cuda_api::GraphNodeParams* params) {
  return kgpu::simcuda::AddAny(node, graph, {after, after_count}, params);
}

KGPU_CUDA cuGraphMemAllocNodeGetParams(GraphNode node, MemoryAllocationNodeParams* params) {
  const SystemCall call("cuGraphMemAllocNodeGetParams");
  const auto* found = kgpu::simcuda::FindNode(node, kgpu::cuda_api::kNodeMemoryAllocation);
  const Result checked = call.Check(found != nullptr && params != nullptr);
  if (checked == kSuccess) {
    *params = found->params;
  }
  return checked;
}
KGPU_CUDA cuGraphMemFreeNodeGetParams(GraphNode node, DevicePointer* pointer) {
  const SystemCall call("cuGraphMemFreeNodeGetParams");
  const auto* found = kgpu::simcuda::FindNode(node, kgpu::cuda_api::kNodeMemoryFree);
  const Result checked = call.Check(found != nullptr && pointer != nullptr);
  if (checked == kSuccess) {
    *pointer = found->freed;
  }
  return checked;
}

KGPU_CUDA cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, uint64_t flags) {
  return kgpu::simcuda::Instantiate(exec, graph, flags);
}
KGPU_CUDA cuGraphInstantiate_v2(GraphExec* exec, Graph graph, GraphNode*, char*, size_t) {
  return kgpu::simcuda::Instantiate(exec, graph, 0);
}
KGPU_CUDA cuGraphInstantiate(GraphExec*, Graph, GraphNode*, char*, size_t)
    KGPU_CUDA_ALIAS(cuGraphInstantiate_v2);
KGPU_CUDA cuGraphInstantiateWithParams(GraphExec* exec, Graph graph,
                                       kgpu::cuda_api::GraphInstantiateParams* params) {
  if (params == nullptr) {
    return kInvalidValue;
  }
  const Result result = kgpu::simcuda::Instantiate(exec, graph, params->flags);
  params->error_node = nullptr;
  params->result = result == kSuccess ? 0 : 1;
  return result;
}
KGPU_CUDA cuGraphInstantiateWithParams_ptsz(GraphExec*, Graph,
                                            kgpu::cuda_api::GraphInstantiateParams*)
    KGPU_CUDA_ALIAS(cuGraphInstantiateWithParams);
KGPU_CUDA cuGraphExecDestroy(GraphExec exec) {
  return kgpu::simcuda::DestroyHandle("cuGraphExecDestroy", exec, true);
}

KGPU_CUDA cuGraphLaunch(GraphExec exec, Stream) {
  const ContextCall call("cuGraphLaunch");
  const auto* graph = kgpu::simcuda::FindGraph(exec, true);
  const Result checked = call.Check(graph != nullptr);
  return checked == kSuccess ? kgpu::simcuda::LaunchGraph(*graph, call.context()) : checked;
}
KGPU_CUDA cuGraphLaunch_ptsz(GraphExec, Stream) KGPU_CUDA_ALIAS(cuGraphLaunch);

KGPU_CUDA cuDeviceGraphMemTrim(Device ordinal) {
  const DeviceCall call("cuDeviceGraphMemTrim", ordinal);
  const Result checked = call.Check(true);
  if (checked == kSuccess) {
    kgpu::simcuda::ForEachGraphMemory(call.device(), [&](GraphMemory& memory) {
      kgpu::simcuda::Refund(call.device(), memory.reserved - memory.used);
      memory.reserved = memory.used;
    });
  }
  return checked;
}

KGPU_CUDA cuDeviceGetGraphMemAttribute(Device ordinal, GraphMemoryAttribute attribute,
                                       void* value) {
  const DeviceCall call("cuDeviceGetGraphMemAttribute", ordinal);
  const Result checked =
      call.Check(value != nullptr && attribute >= kgpu::cuda_api::kGraphUsedMemoryCurrent &&
                 attribute <= kgpu::cuda_api::kGraphReservedMemoryHigh);
  if (checked != kSuccess) {
    return checked;
  }
  uint64_t sum = 0;
  kgpu::simcuda::ForEachGraphMemory(call.device(), [&](const GraphMemory& memory) {
    const uint64_t values[] = {memory.used, memory.used_high, memory.reserved,
                               memory.reserved_high};
    sum += values[attribute];
  });
  *static_cast<uint64_t*>(value) = sum;
  return kSuccess;
}

KGPU_CUDA cuDeviceSetGraphMemAttribute(Device ordinal, GraphMemoryAttribute attribute,
                                       void* value) {
  const DeviceCall call("cuDeviceSetGraphMemAttribute", ordinal);
  const bool is_used = attribute == kgpu::cuda_api::kGraphUsedMemoryHigh;
  const Result checked =
      call.Check(value != nullptr && *static_cast<const uint64_t*>(value) == 0 &&
                 (is_used || attribute == kgpu::cuda_api::kGraphReservedMemoryHigh));
  if (checked == kSuccess) {
    kgpu::simcuda::ForEachGraphMemory(call.device(), [&](GraphMemory& memory) {
      memory.used_high = is_used ? memory.used : memory.used_high;
      memory.reserved_high = is_used ? memory.reserved_high : memory.reserved;
    });
  }
  return checked;
}
