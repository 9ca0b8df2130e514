#include "testing/cuda/graphs.h"

#include <sys/mman.h>

#include <cstdlib>

#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::kNodeKernel;
using cuda_api::kNodeMemoryAllocation;
using cuda_api::kNodeMemoryFree;
using cuda_api::kOutOfMemory;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit GraphObject* graphs = nullptr;
constinit GraphSpace* spaces = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool MapSpace(const GraphSpace& space, int protection) {
  return mmap(reinterpret_cast<void*>(space.start), space.bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

Range* AllocationAt(uint64_t start) {
  Range* range = FindStart(start);
  return range != nullptr && range->kind == RangeKind::kGraph ? range : nullptr;
}

void RaiseTo(uint64_t* high, uint64_t value) {
  *high = *high < value ? value : *high;
}

// The most that the graph uses at a time, and whether what it allocates is free and what it frees
// is there.
Result FindPeak(const GraphObject& graph, const ContextObject& context, uint64_t* peak) {
  uint64_t used = context.graphs.used;
  *peak = used;
  for (uint32_t i = 0; i < graph.count; ++i) {
    const NodeObject& node = *graph.nodes[i];
    if (node.type == kNodeMemoryAllocation) {
      const Range* old = AllocationAt(node.space->start);
      if (old != nullptr && (graph.flags & cuda_api::kGraphAutoFreeOnLaunch) == 0) {
        return kInvalidValue;
      }
      used += old != nullptr ? 0 : node.space->bytes;
    }
    const GraphSpace* freed = node.type == kNodeMemoryFree ? FindSpace(node.freed) : nullptr;
    used -= freed != nullptr && freed->bytes <= used ? freed->bytes : 0;
    RaiseTo(peak, used);
  }
  return kSuccess;
}

Result ReserveUpTo(ContextObject* context, uint64_t bytes) {
  GraphMemory& memory = context->graphs;
  if (bytes <= memory.reserved) {
    return kSuccess;
  }
  const Result charged = Charge(context->device, bytes - memory.reserved);
  if (charged == kSuccess) {
    memory.reserved = bytes;
    RaiseTo(&memory.reserved_high, bytes);
  }
  return charged;
}

Result RunAllocation(ContextObject* context, GraphSpace* space) {
  if (Range* old = AllocationAt(space->start); old != nullptr) {
    FreeRange(old);
  }
  Range range{};
  range.start = space->start;
  range.size = space->size;
  range.kind = RangeKind::kGraph;
  range.context = context;
  range.device = space->device;
  if (!MapSpace(*space, PROT_READ | PROT_WRITE) || AddRange(range) == nullptr) {
    return kOutOfMemory;
  }
  ++space->users;
  context->graphs.used += space->bytes;
  RaiseTo(&context->graphs.used_high, context->graphs.used);
  return kSuccess;
}

Result RunFree(uint64_t pointer) {
  Range* range = AllocationAt(pointer);
  if (range == nullptr) {
    return kInvalidValue;
  }
  FreeRange(range);
  return kSuccess;
}

Result RunNode(const NodeObject& node, ContextObject* context) {
  switch (node.type) {
    case kNodeKernel:
      return RunLaunch(context, node.launch);
    case kNodeMemoryAllocation:
      return RunAllocation(context, node.space);
    case kNodeMemoryFree:
      return RunFree(node.freed);
  }
  return kInvalidValue;
}

}  // namespace

GraphObject* FindGraph(const void* handle, bool is_exec) {
  GraphObject* at = graphs;
  while (at != nullptr && (at != handle || at->is_exec != is_exec)) {
    at = at->next;
  }
  return at;
}

GraphObject* AddGraph(bool is_exec) {
  auto* graph = static_cast<GraphObject*>(calloc(1, sizeof(GraphObject)));
  if (graph != nullptr) {
    graph->is_exec = is_exec;
    graph->next = graphs;
    graphs = graph;
  }
  return graph;
}

NodeObject* AddNode(GraphObject* graph, const NodeObject& node) {
  if (graph->count == graph->capacity) {
    const uint32_t capacity = graph->capacity == 0 ? 16 : graph->capacity * 2;
    void* bigger = realloc(static_cast<void*>(graph->nodes), capacity * sizeof(NodeObject*));
    if (bigger == nullptr) {
      return nullptr;
    }
    graph->nodes = static_cast<NodeObject**>(bigger);
    graph->capacity = capacity;
  }
  auto* made = static_cast<NodeObject*>(malloc(sizeof(NodeObject)));
  if (made == nullptr) {
    return nullptr;
  }
  *made = node;
  if (made->space != nullptr) {
    ++made->space->users;
  }
  graph->nodes[graph->count++] = made;
  return made;
}

void DestroyGraph(GraphObject* graph) {
  GraphObject** at = &graphs;
  while (*at != graph) {
    at = &(*at)->next;
  }
  *at = graph->next;
  for (uint32_t i = 0; i < graph->count; ++i) {
    if (graph->nodes[i]->space != nullptr) {
      ReleaseSpace(graph->nodes[i]->space);
    }
    free(graph->nodes[i]);
  }
  free(static_cast<void*>(graph->nodes));
  free(graph);
}

bool HasNode(const GraphObject& graph, const void* handle) {
  for (uint32_t i = 0; i < graph.count; ++i) {
    if (graph.nodes[i] == handle) {
      return true;
    }
  }
  return false;
}

const NodeObject* FindNode(const void* handle, cuda_api::GraphNodeType type) {
  for (const GraphObject* at = graphs; at != nullptr; at = at->next) {
    if (!at->is_exec && HasNode(*at, handle)) {
      const auto* node = static_cast<const NodeObject*>(handle);
      return node->type == type ? node : nullptr;
    }
  }
  return nullptr;
}

GraphSpace* MakeSpace(const VisibleDevice& device, uint64_t size) {
  auto* space = static_cast<GraphSpace*>(calloc(1, sizeof(GraphSpace)));
  const uint64_t bytes = RoundUp(size, kChunkBytes);
  void* mapped =
      space == nullptr || bytes < size
          ? MAP_FAILED
          : mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    free(space);
    return nullptr;
  }
  *space = {.next = spaces,
            .start = reinterpret_cast<uint64_t>(mapped),
            .size = size,
            .bytes = bytes,
            .device = device,
            .users = 1};
  spaces = space;
  return space;
}

GraphSpace* FindSpace(uint64_t start) {
  GraphSpace* at = spaces;
  while (at != nullptr && at->start != start) {
    at = at->next;
  }
  return at;
}

void ReleaseSpace(GraphSpace* space) {
  if (--space->users > 0) {
    return;
  }
  GraphSpace** at = &spaces;
  while (*at != space) {
    at = &(*at)->next;
  }
  *at = space->next;
  munmap(reinterpret_cast<void*>(space->start), space->bytes);
  free(space);
}

void FreeGraphMemory(const Range& range) {
  GraphSpace* space = FindSpace(range.start);
  range.context->graphs.used -= space->bytes;
  (void)MapSpace(*space, PROT_NONE);
  ReleaseSpace(space);
}

void ReleaseGraphMemory(ContextObject* context) {
  Refund(context->device, context->graphs.reserved);
  context->graphs = {};
}

Result LaunchGraph(const GraphObject& graph, ContextObject* context) {
  uint64_t peak = 0;
  Result result = FindPeak(graph, *context, &peak);
  result = result == kSuccess ? ReserveUpTo(context, peak) : result;
  for (uint32_t i = 0; result == kSuccess && i < graph.count; ++i) {
    result = RunNode(*graph.nodes[i], context);
  }
  return result;
}

}  // namespace kgpu::simcuda
