#include "testing/cuda/heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace kgpu::simcuda {
namespace {

using cuda_api::kOutOfMemory;
using cuda_api::kSuccess;
using cuda_api::Result;

constexpr uint64_t kSmall = kChunkBytes / 2;
constexpr uint64_t kMost = uint64_t{1} << 46;  // bytes; no GPU has more, and no sum wraps

// Where a program with addresses of 32 bits looks for free space: above its own code, below the
// usual places of libraries.
constexpr uint64_t kLowFirst = 0x20000000;
constexpr uint64_t kLowEnd = 0xf0000000;

uint8_t* Map(void* address, uint64_t size, int more_flags) {
  void* mapped = mmap(address, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<uint8_t*>(mapped);
}

uint8_t* MapLow(uint64_t size) {
  for (uint64_t at = kLowFirst; at < kLowEnd && size < kLowEnd - at; at += 64 * kChunkBytes) {
    uint8_t* mapped = Map(reinterpret_cast<void*>(at), size, 0);
    if (mapped == nullptr || reinterpret_cast<uint64_t>(mapped) + size <= kLowEnd) {
      return mapped;
    }
    UnmapMemory(mapped, size);
  }
  return nullptr;
}

Chunk* MakeChunk(uint64_t size, bool is_low) {
  auto* chunk = static_cast<Chunk*>(calloc(1, sizeof(Chunk)));
  uint8_t* bytes = is_low ? MapLow(size) : MapMemory(size);
  if (chunk == nullptr || bytes == nullptr) {
    free(chunk);
    UnmapMemory(bytes, size);
    return nullptr;
  }
  chunk->bytes = bytes;
  chunk->size = size;
  return chunk;
}

void FreeChunk(Chunk* chunk, const VisibleDevice& device) {
  UnmapMemory(chunk->bytes, chunk->size);
  if (chunk->memory.object != 0) {
    Detach(chunk->memory);
  } else {
    Refund(device, chunk->charged);
  }
  free(chunk);
}

bool IsUsed(const Chunk& chunk, uint64_t unit) {
  return ((chunk.units[unit / 64] >> (unit % 64)) & 1) != 0;
}

void Mark(Chunk* chunk, uint64_t first, uint64_t count, bool is_used) {
  for (uint64_t unit = first; unit < first + count;) {
    const uint64_t shift = unit % 64;
    const uint64_t left = first + count - unit;
    const uint64_t bits = left < 64 - shift ? left : 64 - shift;
    const uint64_t mask = (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << shift;
    uint64_t& word = chunk->units[unit / 64];
    word = is_used ? word | mask : word & ~mask;
    unit += bits;
  }
}

// The first of `count` free units, or kUnits. Goes over whole words where it can.
uint64_t FindUnits(const Chunk& chunk, uint64_t count) {
  uint64_t run = 0;
  for (uint64_t unit = chunk.first_free; unit < kUnits;) {
    const uint64_t word = chunk.units[unit / 64];
    if (unit % 64 == 0 && (word == 0 || word == ~uint64_t{0})) {
      run = word == 0 ? run + 64 : 0;
      unit += 64;
    } else {
      run = IsUsed(chunk, unit) ? 0 : run + 1;
      ++unit;
    }
    if (run >= count) {
      return unit - run;
    }
  }
  return kUnits;
}

bool PlaceIn(Chunk* chunk, uint64_t size, Block* block) {
  const uint64_t count = size / kUnitBytes;
  const uint64_t first = count > kUnits - chunk->used_units ? kUnits : FindUnits(*chunk, count);
  if (first == kUnits) {
    return false;
  }
  Mark(chunk, first, count, true);
  chunk->used_units += static_cast<uint32_t>(count);
  if (first == chunk->first_free) {
    chunk->first_free += static_cast<uint32_t>(count);
  }
  *block = {.chunk = chunk, .bytes = chunk->bytes + first * kUnitBytes, .size = size};
  return true;
}

Result AddChunk(Heap* heap, const VisibleDevice& device, uint64_t size, Placing placing) {
  const uint64_t charged = placing == Placing::kUncharged ? 0 : size;
  if (const Result result = Charge(device, charged); result != kSuccess) {
    return result;
  }
  Chunk* chunk = MakeChunk(size, placing == Placing::kLow);
  if (chunk == nullptr) {
    Refund(device, charged);
    return kOutOfMemory;
  }
  chunk->charged = charged;
  chunk->next = heap->chunks;
  heap->chunks = chunk;
  return kSuccess;
}

// Which pages of 2 MiB from `from` on somebody has written to: one entry a page. All of them if the
// kernel does not tell. Source: proc(5), /proc/PID/pagemap.
constexpr uint64_t kInMemoryOrSwap = uint64_t{3} << 62;
constexpr uint64_t kMostPages = kChunkBytes / 4096;
void ReadPages(int map, const uint8_t* from, uint64_t page, uint64_t (&entries)[kMostPages]) {
  const size_t size = kChunkBytes / page * sizeof(uint64_t);
  const auto place = static_cast<off_t>(reinterpret_cast<uint64_t>(from) / page * sizeof(uint64_t));
  if (map < 0 || pread(map, entries, size, place) != static_cast<ssize_t>(size)) {
    memset(entries, 0xff, sizeof(entries));
  }
}

// Sizes are multiples of kChunkBytes. What nobody has written to costs nothing afterwards either.
void CopyPages(const uint8_t* from, uint8_t* to, uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  uint64_t entries[kMostPages];
  for (uint64_t at = 0; at < size; at += page) {
    if (at % kChunkBytes == 0) {
      ReadPages(map, from + at, page, entries);
    }
    if ((entries[at % kChunkBytes / page] & kInMemoryOrSwap) != 0) {
      memcpy(to + at, from + at, page);
    }
  }
  if (map >= 0) {
    close(map);
  }
}

}  // namespace

uint8_t* MapMemory(uint64_t size) {
  return Map(nullptr, size, 0);
}

uint8_t* MapFile(void* address, uint64_t size, int fd, uint64_t offset) {
  void* mapped =
      mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | (address == nullptr ? 0 : MAP_FIXED),
           fd, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? nullptr : static_cast<uint8_t*>(mapped);
}

void UnmapMemory(void* bytes, uint64_t size) {
  if (bytes != nullptr) {
    munmap(bytes, size);
  }
}

Result Place(Heap* heap, const VisibleDevice& device, uint64_t size, Placing placing,
             Block* block) {
  if (size > kMost) {
    return kOutOfMemory;
  }
  const bool is_small = size <= kSmall && placing != Placing::kLow;
  const uint64_t rounded = RoundUp(size, kUnitBytes);
  for (Chunk* chunk = heap->chunks; is_small && chunk != nullptr; chunk = chunk->next) {
    const bool fits = chunk->is_shared && (chunk->charged != 0) == (placing == Placing::kCharged);
    if (fits && PlaceIn(chunk, rounded, block)) {
      return kSuccess;
    }
  }
  const Result result = AddChunk(heap, device, RoundUp(size, kChunkBytes), placing);
  if (result != kSuccess) {
    return result;
  }
  heap->chunks->is_shared = is_small;
  if (is_small) {
    (void)PlaceIn(heap->chunks, rounded, block);
  } else {
    *block = {.chunk = heap->chunks, .bytes = heap->chunks->bytes, .size = rounded};
  }
  return kSuccess;
}

void Remove(Heap* heap, const VisibleDevice& device, const Block& block) {
  Chunk* chunk = block.chunk;
  if (chunk->is_shared) {
    const uint64_t first = static_cast<uint64_t>(block.bytes - chunk->bytes) / kUnitBytes;
    const uint64_t count = block.size / kUnitBytes;
    Mark(chunk, first, count, false);
    chunk->used_units -= static_cast<uint32_t>(count);
    chunk->first_free =
        first < chunk->first_free ? static_cast<uint32_t>(first) : chunk->first_free;
    // The oldest one stays if it costs nothing: the next allocation comes soon.
    if (chunk->used_units > 0 || (chunk->charged == 0 && chunk->next == nullptr)) {
      return;
    }
  }
  Chunk** at = &heap->chunks;
  while (*at != chunk) {
    at = &(*at)->next;
  }
  *at = chunk->next;
  FreeChunk(chunk, device);
}

void RemoveAll(Heap* heap, const VisibleDevice& device) {
  while (heap->chunks != nullptr) {
    Chunk* chunk = heap->chunks;
    heap->chunks = chunk->next;
    FreeChunk(chunk, device);
  }
}

Result Share(const VisibleDevice& device, Chunk* chunk) {
  if (chunk->memory.object != 0) {
    return kSuccess;
  }
  SharedMemory memory{};
  if (const Result result = MakeShared(device, chunk->size, true, &memory); result != kSuccess) {
    return result;
  }
  chunk->memory = memory;
  uint8_t* copy = MapFile(nullptr, chunk->size, memory.fd, 0);
  if (copy == nullptr) {
    return kOutOfMemory;
  }
  CopyPages(chunk->bytes, copy, chunk->size);
  UnmapMemory(copy, chunk->size);
  return MapFile(chunk->bytes, chunk->size, memory.fd, 0) == nullptr ? kOutOfMemory : kSuccess;
}

}  // namespace kgpu::simcuda
