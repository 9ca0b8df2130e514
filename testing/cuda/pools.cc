#include "testing/cuda/pools.h"

#include <cstdlib>

namespace kgpu::simcuda {
namespace {

using cuda_api::kOutOfMemory;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit PoolObject* pools = nullptr;
constinit PoolObject* defaults[sim::kMaxGpus] = {};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void RaiseTo(uint64_t* high, uint64_t value) {
  *high = *high < value ? value : *high;
}

// Memory for `bytes` more.
Result Reserve(PoolObject* pool, uint64_t bytes) {
  const uint64_t most = pool->properties.maximum_size;
  const uint64_t needed = pool->used + bytes;
  if (needed < bytes || (most != 0 && needed > most)) {
    return kOutOfMemory;
  }
  if (needed <= pool->reserved) {
    return kSuccess;
  }
  Result result = kOutOfMemory;
  for (const uint64_t piece : {kPoolPiece, kChunkBytes}) {
    const uint64_t more = RoundUp(needed - pool->reserved, piece);
    if (result != kOutOfMemory || (most != 0 && more > most - pool->reserved)) {
      continue;
    }
    result = Charge(pool->device, more);
    pool->reserved += result == kSuccess ? more : 0;
  }
  RaiseTo(&pool->reserved_high, pool->reserved);
  return result;
}

void FreePool(PoolObject* pool) {
  PoolObject** at = &pools;
  while (*at != pool) {
    at = &(*at)->next;
  }
  *at = pool->next;
  RemoveAll(&pool->heap, pool->device);
  free(pool);
}

Result PlaceShared(PoolObject* pool, size_t size, Range* range) {
  const uint64_t bytes = RoundUp(size, kChunkBytes);
  const uint64_t most = pool->properties.maximum_size;
  if (bytes < size || (most != 0 && (bytes > most || pool->used > most - bytes))) {
    return kOutOfMemory;
  }
  const Result made = MakeShared(pool->device, bytes, false, &range->memory);
  if (made != kSuccess) {
    return made;
  }
  uint8_t* mapped = MapFile(nullptr, bytes, range->memory.fd, 0);
  if (mapped == nullptr) {
    Detach(range->memory);
    return kOutOfMemory;
  }
  range->block = {.chunk = nullptr, .bytes = mapped, .size = bytes};
  pool->reserved += bytes;
  RaiseTo(&pool->reserved_high, pool->reserved);
  return kSuccess;
}

Result PlaceOwn(PoolObject* pool, size_t size, Range* range) {
  const uint64_t bytes = RoundUp(size, kUnitBytes);
  const Result reserved = bytes < size ? kOutOfMemory : Reserve(pool, bytes);
  return reserved == kSuccess
             ? Place(&pool->heap, pool->device, size, Placing::kUncharged, &range->block)
             : reserved;
}

}  // namespace

bool HasHandles(const PoolObject& pool) {
  return pool.properties.handle_types != cuda_api::kHandleNone;
}

PoolObject* FindPool(cuda_api::MemoryPool handle) {
  PoolObject* at = pools;
  while (at != nullptr &&
         (reinterpret_cast<cuda_api::MemoryPool>(at) != handle || at->is_destroyed)) {
    at = at->next;
  }
  return at;
}

PoolObject* AddPool(const VisibleDevice& device, const cuda_api::PoolProperties& properties) {
  auto* pool = static_cast<PoolObject*>(calloc(1, sizeof(PoolObject)));
  if (pool != nullptr) {
    pool->next = pools;
    pool->properties = properties;
    pool->device = device;
    pool->access = uint64_t{1} << OrdinalOf(device.slot, device.gpu_instance);
    for (int& reuse : pool->reuse) {
      reuse = 1;
    }
    pools = pool;
  }
  return pool;
}

PoolObject* DefaultPool(cuda_api::Device ordinal) {
  if (defaults[ordinal] == nullptr) {
    cuda_api::PoolProperties properties{};
    properties.type = cuda_api::kPinned;
    properties.location = {.type = cuda_api::kLocationDevice, .id = ordinal};
    defaults[ordinal] = AddPool(State().devices[ordinal], properties);
    if (defaults[ordinal] != nullptr) {
      defaults[ordinal]->is_default = true;
    }
  }
  return defaults[ordinal];
}

void TrimPool(PoolObject* pool, uint64_t keep) {
  const uint64_t wanted = pool->used > keep ? pool->used : keep;
  if (HasHandles(*pool) || wanted >= pool->reserved) {
    return;
  }
  const uint64_t kept = RoundUp(wanted, kPoolPiece);
  if (kept < pool->reserved) {
    Refund(pool->device, pool->reserved - kept);
    pool->reserved = kept;
  }
}

void DestroyPool(PoolObject* pool) {
  pool->is_destroyed = true;
  TrimPool(pool, 0);
  if (pool->allocations == 0) {
    FreePool(pool);
  }
}

Result AllocateFromPool(PoolObject* pool, ContextObject* context, size_t size,
                        cuda_api::DevicePointer* pointer) {
  Range range{};
  const Result placed =
      HasHandles(*pool) ? PlaceShared(pool, size, &range) : PlaceOwn(pool, size, &range);
  if (placed != kSuccess) {
    return placed;
  }
  range.start = reinterpret_cast<uint64_t>(range.block.bytes);
  range.size = size;
  range.kind = RangeKind::kPool;
  range.context = context;
  range.device = pool->device;
  range.pool = pool;
  ++pool->allocations;
  pool->used += range.block.size;
  RaiseTo(&pool->used_high, pool->used);
  if (AddRange(range) == nullptr) {
    FreePoolBlock(range);
    return kOutOfMemory;
  }
  *pointer = range.start;
  return kSuccess;
}

void FreePoolBlock(const Range& range) {
  PoolObject* pool = range.pool;
  pool->used -= range.block.size;
  if (range.memory.object != 0) {
    UnmapMemory(range.block.bytes, range.block.size);
    pool->reserved -= range.block.size;
    Detach(range.memory);
  } else {
    Remove(&pool->heap, pool->device, range.block);
  }
  --pool->allocations;
  if (pool->is_destroyed) {
    DestroyPool(pool);
  }
}

uint64_t PoolAccess(const PoolObject& pool) {
  return pool.access;
}

void SettlePools(const VisibleDevice& device) {
  for (PoolObject* pool = pools; pool != nullptr; pool = pool->next) {
    if (IsSameMemory(pool->device, device)) {
      TrimPool(pool, pool->threshold);
    }
  }
}

void ReleasePools(const VisibleDevice& device) {
  for (PoolObject* pool = pools; pool != nullptr; pool = pool->next) {
    if (IsSameMemory(pool->device, device)) {
      TrimPool(pool, 0);
    }
  }
}

}  // namespace kgpu::simcuda
