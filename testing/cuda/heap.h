// Where memory lies: chunks of address space, real memory only where somebody has written. As in
// CUDA, small allocations share chunks of 2 MiB, and larger ones are whole chunks. With the
// library's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "testing/cuda/account.h"
#include "testing/cuda/visible_device.h"

namespace kgpu::simcuda {

inline constexpr uint64_t kChunkBytes = 2 << 20;
inline constexpr uint64_t kUnitBytes = 512;  // every address is a multiple of it
inline constexpr uint64_t kUnits = kChunkBytes / kUnitBytes;

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t to) {
  return (bytes + to - 1) / to * to;
}

struct Chunk {
  Chunk* next;
  uint8_t* bytes;
  uint64_t size;
  uint64_t charged;  // bytes; 0 in the heap of a pool, which counts by itself
  bool is_shared;    // holds small allocations
  uint32_t used_units;
  uint32_t first_free;  // no unit below it is free
  uint64_t units[kUnits / 64];
  SharedMemory memory;  // object 0: memory of this process alone
};

struct Heap {
  Chunk* chunks;
};

// A piece of a chunk.
struct Block {
  Chunk* chunk;
  uint8_t* bytes;
  uint64_t size;  // in multiples of kUnitBytes
};

enum class Placing : uint8_t {
  kCharged,    // on the device that is given
  kUncharged,  // somebody else counts it
  kLow,        // charged, with an address of 32 bits
};

// kOutOfMemory: the device, or the address space, has not that much.
cuda_api::Result Place(Heap* heap, const VisibleDevice& device, uint64_t size, Placing placing,
                       Block* block);
void Remove(Heap* heap, const VisibleDevice& device, const Block& block);
void RemoveAll(Heap* heap, const VisibleDevice& device);

// Makes the chunk memory that other processes can attach to; what is in it stays.
cuda_api::Result Share(const VisibleDevice& device, Chunk* chunk);

// Address space and memory, zeroed; null: there is none.
uint8_t* MapMemory(uint64_t size);
// The same from a file; `address` null: anywhere.
uint8_t* MapFile(void* address, uint64_t size, int fd, uint64_t offset);
void UnmapMemory(void* bytes, uint64_t size);

}  // namespace kgpu::simcuda
