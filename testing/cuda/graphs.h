// Graphs of kernels and of allocations and frees. With the library's lock held.
#pragma once

#include <cstdint>

#include "testing/cuda/launches.h"

namespace kgpu::simcuda {

// The addresses of an allocation node. The memory comes and goes, the addresses stay as long as a
// node, or memory, has them.
struct GraphSpace {
  GraphSpace* next;
  uint64_t start;
  uint64_t size;   // as requested
  uint64_t bytes;  // of memory
  VisibleDevice device;
  uint32_t users;
};

struct NodeObject {
  cuda_api::GraphNodeType type;
  Launch launch;                                // of a kernel
  GraphSpace* space;                            // of an allocation
  cuda_api::MemoryAllocationNodeParams params;  // of an allocation
  cuda_api::DevicePointer freed;                // of a free
};

// Nodes in the order in which they were added, which is one that their dependencies allow: they can
// name earlier ones only.
struct GraphObject {
  GraphObject* next;
  NodeObject** nodes;
  uint32_t count;
  uint32_t capacity;
  bool is_exec;
  uint64_t flags;  // of cuGraphInstantiateWithFlags
};

GraphObject* FindGraph(const void* handle, bool is_exec);
// Null: no memory.
GraphObject* AddGraph(bool is_exec);
// Null: no memory. Adds a copy of `node`.
NodeObject* AddNode(GraphObject* graph, const NodeObject& node);
void DestroyGraph(GraphObject* graph);
// The node behind a handle, or null.
const NodeObject* FindNode(const void* handle, cuda_api::GraphNodeType type);
bool HasNode(const GraphObject& graph, const void* handle);

// Null: no memory.
GraphSpace* MakeSpace(const VisibleDevice& device, uint64_t size);
GraphSpace* FindSpace(uint64_t start);
void ReleaseSpace(GraphSpace* space);

// Runs the nodes one after the other.
Result LaunchGraph(const GraphObject& graph, ContextObject* context);

}  // namespace kgpu::simcuda
