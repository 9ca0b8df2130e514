// What this process is charged for its pools: as much as the driver has reserved for them.
#pragma once

#include <cstdint>

#include "src/preload/hook.h"

namespace kgpu::preload {

// A pool as it is charged.
struct PoolFacts {
  int account;  // kUnlimited: its memory is not of a slot, or others are charged
  cuda_api::Device device;
  bool is_managed;  // each piece is charged, as other managed memory: the pool is not
};

// The pool's facts; a pool of which we have not heard is looked for among those of the devices.
PoolFacts FactsOf(cuda_api::MemoryPool pool);
bool RememberPool(cuda_api::MemoryPool pool, const PoolFacts& facts);
// The same, unless we know the pool.
void KnowPool(cuda_api::MemoryPool pool, const PoolFacts& facts);
// The pool of cuMemAllocAsync, that of the stream's device; null if there is none.
cuda_api::MemoryPool CurrentPool(cuda_api::Stream stream);
// Bytes that the pool has reserved and nobody uses.
uint64_t SpareOf(cuda_api::MemoryPool pool);
// Brings the charge to what the pool has reserved; `charged` bytes were charged beforehand. Returns
// whether the sum is within the limit.
bool SyncPool(cuda_api::MemoryPool pool, uint64_t charged);
// Before the driver destroys it, for then its handle may be that of a new one: it gets a key of its
// own, 0 if we do not know it.
uint64_t OrphanPool(cuda_api::MemoryPool pool);
// The pool is gone, but stays charged as long as something that was allocated from it lives.
void EndPool(uint64_t orphan);
// It is not.
void RestorePool(cuda_api::MemoryPool pool, uint64_t orphan);
// Counts what lives of a pool. After the last of a destroyed one, its charge is given back.
void CountPooled(uint64_t pool, bool is_new);

// Memory that the driver has reserved for graphs of the device, beside `charged` bytes beforehand.
void SyncGraphMemory(cuda_api::Device device, uint64_t charged);
uint64_t GraphMemory(cuda_api::Device device, cuda_api::GraphMemoryAttribute attribute);

}  // namespace kgpu::preload
