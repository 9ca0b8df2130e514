// The addresses that mean something to CUDA: one range for each allocation, mapping or
// registration. With the library's lock held.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "testing/cuda/heap.h"

namespace kgpu::simcuda {

struct ContextObject;
struct PoolObject;
struct Physical;

enum class RangeKind : uint8_t {
  kLinear,      // cuMemAlloc, cuMemAllocPitch
  kManaged,     // cuMemAllocManaged
  kHost,        // cuMemHostAlloc, cuMemAllocHost
  kRegistered,  // cuMemHostRegister
  kPool,        // cuMemAllocAsync, cuMemAllocFromPoolAsync
  kPoolImport,  // cuMemPoolImportPointer
  kMapped,      // cuMemMap
  kIpc,         // cuIpcOpenMemHandle
  kExternal,    // cuExternalMemoryGetMappedBuffer
  kGraph,       // an allocation node that has run
};

struct Range {
  uint64_t start;
  uint64_t size;
  RangeKind kind;
  uint32_t flags;          // of the function that made it
  uint64_t id;             // unique in the process
  ContextObject* context;  // whose it is: it ends with it
  uint64_t context_id;
  VisibleDevice device;  // of memory of the host: the device that was current
  Block block;           // kLinear, kManaged, kHost, kPool
  SharedMemory memory;   // kPool with handles, kPoolImport, kIpc
  uint64_t charged;      // bytes that this range alone has charged
  uint64_t access;       // kMapped: a bit for the ordinal of each device that may use it
  PoolObject* pool;
  Physical* physical;  // kMapped
  uint64_t offset;     // in it
};

// The range with `address` in it, or null. Cost: a binary search.
Range* FindRange(uint64_t address);
// The range that starts at `address`, or null.
Range* FindStart(uint64_t address);
// Whether any range has a byte of these.
bool HasRangeIn(uint64_t start, uint64_t size);
// A copy of `range` with an id of its own; null: no memory.
Range* AddRange(const Range& range);
void RemoveRange(Range* range);
// Calls `visit` with each range; it must not add or remove any.
template <typename Visit>
void ForEachRange(Visit&& visit);

// The sorted table behind these. In the header for ForEachRange alone.
struct RangeTable {
  Range** items;
  uint32_t count;
  uint32_t capacity;
  Range* last_found;
};
RangeTable& Ranges();

template <typename Visit>
void ForEachRange(Visit&& visit) {
  for (uint32_t i = 0; i < Ranges().count; ++i) {
    visit(*Ranges().items[i]);
  }
}

// Gives back what a range has, and removes it.
void FreeRange(Range* range);
// The parts of that for memory of a pool, of cuMemMap and of a graph.
void FreePoolBlock(const Range& range);
void UnmapPhysical(const Range& range);
void FreeGraphMemory(const Range& range);

}  // namespace kgpu::simcuda
