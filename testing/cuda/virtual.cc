// Virtual memory: address space and memory apart. Source: the driver API reference, "Virtual Memory
// Management".
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {

// Memory without an address. Mapped as often as one likes, it is the same memory everywhere: a part
// of a file.
struct Physical {
  Physical* next;
  uint32_t handles;  // that the program has
  uint32_t mappings;
  VisibleDevice device;
  cuda_api::AllocationProperties properties;
  uint64_t bytes;
  uint64_t charged;
  uint64_t offset;      // in the file of this process; unused if `memory` is an object
  SharedMemory memory;  // of allocations that have a handle for other processes
};

namespace {

using cuda_api::AllocationProperties;
using cuda_api::DevicePointer;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

struct Reservation {
  Reservation* next;
  uint64_t start;
  uint64_t size;
};

// All that is not shared with other processes.
struct Arena {
  int fd;
  uint64_t size;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit Physical* physicals = nullptr;
constinit Reservation* reservations = nullptr;
constinit Arena arena{.fd = -1, .size = 0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// Offsets are not used again: there are enough of them.
bool GrowArena(uint64_t bytes, uint64_t* offset) {
  if (arena.fd < 0) {
    constexpr unsigned kCloseOnExec = 1;
    // Not memfd_create(3): older C libraries lack it.
    arena.fd = static_cast<int>(syscall(SYS_memfd_create, "kgpu-sim-arena", kCloseOnExec));
  }
  if (arena.fd < 0 || ftruncate(arena.fd, static_cast<off_t>(arena.size + bytes)) != 0) {
    return false;
  }
  *offset = arena.size;
  arena.size += bytes;
  return true;
}

Physical* FindPhysical(cuda_api::AllocationHandle handle) {
  Physical* at = physicals;
  while (at != nullptr && (reinterpret_cast<uint64_t>(at) != handle || at->handles == 0)) {
    at = at->next;
  }
  return at;
}

void FreeUnused(Physical* physical) {
  if (physical->handles > 0 || physical->mappings > 0) {
    return;
  }
  Physical** at = &physicals;
  while (*at != physical) {
    at = &(*at)->next;
  }
  *at = physical->next;
  if (physical->memory.object != 0) {
    Detach(physical->memory);
  } else {
    (void)fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(physical->offset), static_cast<off_t>(physical->bytes));
    Refund(physical->device, physical->charged);
  }
  free(physical);
}

bool IsOnHost(const cuda_api::Location& location) {
  return location.type == cuda_api::kLocationHost || location.type == cuda_api::kLocationHostNuma ||
         location.type == cuda_api::kLocationHostNumaCurrent;
}

// kSuccess: this driver can make such memory.
Result CheckProperties(const AllocationProperties* properties) {
  if (properties == nullptr || properties->type != cuda_api::kPinned) {
    return kInvalidValue;
  }
  if (DeviceAt(properties->location) == nullptr && !IsOnHost(properties->location)) {
    return properties->location.type == cuda_api::kLocationDevice ? cuda_api::kInvalidDevice
                                                                  : kInvalidValue;
  }
  switch (properties->requested_handle_types) {
    case cuda_api::kHandleNone:
    case cuda_api::kHandlePosixFileDescriptor:
      return kSuccess;
    case cuda_api::kHandleFabric:
      return cuda_api::kNotPermitted;  // without an IMEX channel
    default:
      return cuda_api::kNotSupported;
  }
}

Result GetMemory(Physical* physical) {
  const bool is_on_host = IsOnHost(physical->properties.location);
  if (physical->properties.requested_handle_types != cuda_api::kHandleNone && !is_on_host) {
    return MakeShared(physical->device, physical->bytes, false, &physical->memory);
  }
  physical->charged = is_on_host ? 0 : physical->bytes;
  const Result charged = Charge(physical->device, physical->charged);
  if (charged == kSuccess && !GrowArena(physical->bytes, &physical->offset)) {
    Refund(physical->device, physical->charged);
    return kOutOfMemory;
  }
  return charged;
}

Result AddPhysical(const Physical& like, cuda_api::AllocationHandle* handle) {
  auto* made = static_cast<Physical*>(malloc(sizeof(Physical)));
  if (made == nullptr) {
    return kOutOfMemory;
  }
  *made = like;
  made->handles = 1;
  made->next = physicals;
  physicals = made;
  *handle = reinterpret_cast<cuda_api::AllocationHandle>(made);
  return kSuccess;
}

const Reservation* FindReservation(uint64_t start, uint64_t size) {
  const Reservation* at = reservations;
  while (at != nullptr &&
         (start < at->start || size > at->size || start - at->start > at->size - size)) {
    at = at->next;
  }
  return at;
}

// Whether [start, start + size) is exactly one mapping after the other.
bool IsMapped(uint64_t start, uint64_t size) {
  for (uint64_t at = start; at < start + size;) {
    const Range* range = FindStart(at);
    if (range == nullptr || range->kind != RangeKind::kMapped || range->size > start + size - at) {
      return false;
    }
    at += range->size;
  }
  return size > 0;
}

void* ReserveSpace(uint64_t size, uint64_t alignment, DevicePointer address) {
  uint64_t all = 0;
  if (__builtin_add_overflow(size, alignment, &all)) {
    return nullptr;
  }
  void* mapped = mmap(reinterpret_cast<void*>(address), all, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  const auto first = reinterpret_cast<uint64_t>(mapped);
  const uint64_t start = RoundUp(first, alignment);
  if (start > first) {
    munmap(mapped, start - first);
  }
  if (first + all > start + size) {
    munmap(reinterpret_cast<void*>(start + size), first + all - start - size);
  }
  return reinterpret_cast<void*>(start);
}

}  // namespace

void UnmapPhysical(const Range& range) {
  // The addresses stay reserved.
  (void)mmap(reinterpret_cast<void*>(range.start), range.size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  --range.physical->mappings;
  FreeUnused(range.physical);
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::AccessDescription;
using kgpu::cuda_api::AllocationHandle;
using kgpu::cuda_api::AllocationProperties;
using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kOutOfMemory;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::kChunkBytes;
using kgpu::simcuda::Physical;
using kgpu::simcuda::Range;
using kgpu::simcuda::RangeKind;
using kgpu::simcuda::SystemCall;

KGPU_CUDA cuMemAddressReserve(DevicePointer* pointer, size_t size, size_t alignment,
                              DevicePointer address, uint64_t flags) {
  const SystemCall call("cuMemAddressReserve");
  const Result checked = call.Check(pointer != nullptr && size != 0 && size % kChunkBytes == 0 &&
                                    (alignment & (alignment - 1)) == 0 && flags == 0);
  if (checked != kSuccess) {
    return checked;
  }
  const uint64_t aligned = alignment > kChunkBytes ? alignment : kChunkBytes;
  auto* made = static_cast<kgpu::simcuda::Reservation*>(malloc(sizeof(kgpu::simcuda::Reservation)));
  void* start = made == nullptr ? nullptr : kgpu::simcuda::ReserveSpace(size, aligned, address);
  if (start == nullptr) {
    free(made);
    return kOutOfMemory;
  }
  *made = {.next = kgpu::simcuda::reservations,
           .start = reinterpret_cast<uint64_t>(start),
           .size = size};
  kgpu::simcuda::reservations = made;
  *pointer = made->start;
  return kSuccess;
}

KGPU_CUDA cuMemAddressFree(DevicePointer pointer, size_t size) {
  const SystemCall call("cuMemAddressFree");
  if (const Result checked = call.Check(true); checked != kSuccess) {
    return checked;
  }
  kgpu::simcuda::Reservation** at = &kgpu::simcuda::reservations;
  while (*at != nullptr && ((*at)->start != pointer || (*at)->size != size)) {
    at = &(*at)->next;
  }
  if (*at == nullptr || kgpu::simcuda::HasRangeIn(pointer, size)) {
    return kInvalidValue;
  }
  kgpu::simcuda::Reservation* found = *at;
  *at = found->next;
  munmap(reinterpret_cast<void*>(pointer), size);
  free(found);
  return kSuccess;
}

KGPU_CUDA cuMemGetAllocationGranularity(size_t* granularity, const AllocationProperties* properties,
                                        kgpu::cuda_api::Granularity option) {
  const SystemCall call("cuMemGetAllocationGranularity");
  const Result checked =
      call.Check(granularity != nullptr && (option == kgpu::cuda_api::kGranularityMinimum ||
                                            option == kgpu::cuda_api::kGranularityRecommended));
  const Result result = checked == kSuccess ? kgpu::simcuda::CheckProperties(properties) : checked;
  if (result == kSuccess) {
    *granularity = kChunkBytes;
  }
  return result;
}

KGPU_CUDA cuMemCreate(AllocationHandle* handle, size_t size, const AllocationProperties* properties,
                      uint64_t flags) {
  const SystemCall call("cuMemCreate");
  Result result =
      call.Check(handle != nullptr && size != 0 && size % kChunkBytes == 0 && flags == 0);
  result = result == kSuccess ? kgpu::simcuda::CheckProperties(properties) : result;
  if (result != kSuccess) {
    return result;
  }
  Physical physical{};
  const auto* device = kgpu::simcuda::DeviceAt(properties->location);
  physical.device = device != nullptr ? *device : kgpu::simcuda::VisibleDevice{};
  physical.properties = *properties;
  physical.bytes = size;
  result = kgpu::simcuda::GetMemory(&physical);
  return result == kSuccess ? kgpu::simcuda::AddPhysical(physical, handle) : result;
}

KGPU_CUDA cuMemRelease(AllocationHandle handle) {
  const SystemCall call("cuMemRelease");
  Physical* physical = kgpu::simcuda::FindPhysical(handle);
  if (const Result checked = call.Check(physical != nullptr); checked != kSuccess) {
    return checked;
  }
  --physical->handles;
  kgpu::simcuda::FreeUnused(physical);
  return kSuccess;
}

KGPU_CUDA cuMemMap(DevicePointer pointer, size_t size, size_t offset, AllocationHandle handle,
                   uint64_t flags) {
  const SystemCall call("cuMemMap");
  Physical* physical = kgpu::simcuda::FindPhysical(handle);
  const bool is_aligned =
      size != 0 && size % kChunkBytes == 0 && pointer % kChunkBytes == 0 && offset == 0;
  const Result checked =
      call.Check(physical != nullptr && is_aligned && flags == 0 && size <= physical->bytes &&
                 kgpu::simcuda::FindReservation(pointer, size) != nullptr &&
                 !kgpu::simcuda::HasRangeIn(pointer, size));
  if (checked != kSuccess) {
    return checked;
  }
  const bool is_object = physical->memory.object != 0;
  if (kgpu::simcuda::MapFile(reinterpret_cast<void*>(pointer), size,
                             is_object ? physical->memory.fd : kgpu::simcuda::arena.fd,
                             is_object ? 0 : physical->offset) == nullptr) {
    return kOutOfMemory;
  }
  ++physical->mappings;
  Range range{};
  range.start = pointer;
  range.size = size;
  range.kind = RangeKind::kMapped;
  range.device = physical->device;
  range.physical = physical;
  if (kgpu::simcuda::AddRange(range) == nullptr) {
    kgpu::simcuda::UnmapPhysical(range);
    return kOutOfMemory;
  }
  return kSuccess;
}

KGPU_CUDA cuMemUnmap(DevicePointer pointer, size_t size) {
  const SystemCall call("cuMemUnmap");
  const Result checked = call.Check(kgpu::simcuda::IsMapped(pointer, size));
  for (uint64_t at = pointer; checked == kSuccess && at < pointer + size;) {
    Range* range = kgpu::simcuda::FindStart(at);
    at += range->size;
    kgpu::simcuda::FreeRange(range);
  }
  return checked;
}

KGPU_CUDA cuMemSetAccess(DevicePointer pointer, size_t size, const AccessDescription* accesses,
                         size_t count) {
  const SystemCall call("cuMemSetAccess");
  const Result checked =
      call.Check(accesses != nullptr && count != 0 && kgpu::simcuda::IsMapped(pointer, size));
  if (checked != kSuccess) {
    return checked;
  }
  for (size_t i = 0; i < count; ++i) {
    const bool is_device = kgpu::simcuda::DeviceAt(accesses[i].location) != nullptr;
    if (!is_device && !kgpu::simcuda::IsOnHost(accesses[i].location)) {
      return kgpu::cuda_api::kInvalidDevice;
    }
    const uint64_t bit = is_device ? uint64_t{1} << accesses[i].location.id : 0;
    for (uint64_t at = pointer; at < pointer + size;) {
      Range* range = kgpu::simcuda::FindStart(at);
      range->access = accesses[i].flags == kgpu::cuda_api::kAccessNone ? range->access & ~bit
                                                                       : range->access | bit;
      at += range->size;
    }
  }
  return kSuccess;
}

KGPU_CUDA cuMemGetAccess(uint64_t* flags, const kgpu::cuda_api::Location* location,
                         DevicePointer pointer) {
  const SystemCall call("cuMemGetAccess");
  const Range* range = kgpu::simcuda::FindRange(pointer);
  const Result checked = call.Check(flags != nullptr && location != nullptr && range != nullptr &&
                                    range->kind == RangeKind::kMapped &&
                                    kgpu::simcuda::DeviceAt(*location) != nullptr);
  if (checked == kSuccess) {
    *flags = ((range->access >> location->id) & 1) != 0 ? kgpu::cuda_api::kAccessReadWrite
                                                        : kgpu::cuda_api::kAccessNone;
  }
  return checked;
}

KGPU_CUDA cuMemRetainAllocationHandle(AllocationHandle* handle, void* address) {
  const SystemCall call("cuMemRetainAllocationHandle");
  const Range* range = kgpu::simcuda::FindRange(reinterpret_cast<uint64_t>(address));
  const Result checked =
      call.Check(handle != nullptr && range != nullptr && range->kind == RangeKind::kMapped);
  if (checked == kSuccess) {
    ++range->physical->handles;
    *handle = reinterpret_cast<AllocationHandle>(range->physical);
  }
  return checked;
}

KGPU_CUDA cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties,
                                                 AllocationHandle handle) {
  const SystemCall call("cuMemGetAllocationPropertiesFromHandle");
  const Physical* physical = kgpu::simcuda::FindPhysical(handle);
  const Result checked = call.Check(properties != nullptr && physical != nullptr);
  if (checked == kSuccess) {
    *properties = physical->properties;
  }
  return checked;
}

// The descriptor is the caller's.
KGPU_CUDA cuMemExportToShareableHandle(void* shareable, AllocationHandle handle,
                                       kgpu::cuda_api::HandleType type, uint64_t flags) {
  const SystemCall call("cuMemExportToShareableHandle");
  const Physical* physical = kgpu::simcuda::FindPhysical(handle);
  const Result checked = call.Check(shareable != nullptr && physical != nullptr && flags == 0 &&
                                    type == kgpu::cuda_api::kHandlePosixFileDescriptor &&
                                    physical->memory.object != 0);
  if (checked != kSuccess) {
    return checked;
  }
  const int fd = fcntl(physical->memory.fd, F_DUPFD_CLOEXEC, 0);
  *static_cast<int*>(shareable) = fd;
  return fd < 0 ? kgpu::cuda_api::kOperatingSystem : kSuccess;
}

KGPU_CUDA cuMemImportFromShareableHandle(AllocationHandle* handle, void* shareable,
                                         kgpu::cuda_api::HandleType type) {
  const SystemCall call("cuMemImportFromShareableHandle");
  uint64_t object = 0;
  uint64_t key = 0;
  const Result checked =
      call.Check(handle != nullptr && type == kgpu::cuda_api::kHandlePosixFileDescriptor &&
                 kgpu::simcuda::FindObject(static_cast<int>(reinterpret_cast<intptr_t>(shareable)),
                                           &object, &key));
  if (checked != kSuccess) {
    return checked;
  }
  Physical physical{};
  const Result attached = kgpu::simcuda::Attach(object, key, &physical.memory);
  if (attached != kSuccess) {
    return attached;
  }
  const auto ordinal = kgpu::simcuda::OrdinalOf(physical.memory.slot, physical.memory.gpu_instance);
  if (ordinal < 0) {
    kgpu::simcuda::Detach(physical.memory);
    return kgpu::cuda_api::kInvalidDevice;
  }
  physical.device = kgpu::simcuda::State().devices[ordinal];
  physical.bytes = physical.memory.bytes;
  physical.properties.type = kgpu::cuda_api::kPinned;
  physical.properties.requested_handle_types = kgpu::cuda_api::kHandlePosixFileDescriptor;
  physical.properties.location = {.type = kgpu::cuda_api::kLocationDevice, .id = ordinal};
  return kgpu::simcuda::AddPhysical(physical, handle);
}
