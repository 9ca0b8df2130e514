// Pools, from which allocations in the order of a stream come. With the library's lock held.
#pragma once

#include <cstdint>

#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {

// A pool takes memory of its device in larger pieces, and keeps what is freed for the next
// allocation, until it settles or is trimmed. Only the sums are of interest: as in CUDA, pieces
// need not lie side by side.
struct PoolObject {
  PoolObject* next;
  cuda_api::PoolProperties properties;
  VisibleDevice device;
  bool is_default;
  bool is_imported;
  bool is_destroyed;  // by the program; goes with its last allocation
  int reuse[3];       // the attributes from kPoolReuseFollowEvents on
  uint64_t threshold;
  uint64_t reserved;
  uint64_t reserved_high;
  uint64_t used;
  uint64_t used_high;
  uint64_t access;  // a bit for the ordinal of each device that may use its memory
  uint64_t name;    // of a pool that other processes may import
  uint32_t allocations;
  Heap heap;
};

inline constexpr uint64_t kPoolPiece = 32 << 20;

// The pool behind a handle, or null.
PoolObject* FindPool(cuda_api::MemoryPool handle);
// Null: no memory.
PoolObject* DefaultPool(cuda_api::Device ordinal);
// Returns null if there is no memory.
PoolObject* AddPool(const VisibleDevice& device, const cuda_api::PoolProperties& properties);
void DestroyPool(PoolObject* pool);
// Gives back what is kept beyond `keep` bytes.
void TrimPool(PoolObject* pool, uint64_t keep);
bool HasHandles(const PoolObject& pool);

Result AllocateFromPool(PoolObject* pool, ContextObject* context, size_t size,
                        cuda_api::DevicePointer* pointer);

}  // namespace kgpu::simcuda
