// The functions for pools. Source: the driver API reference, "Stream Ordered Memory Allocator".
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/cuda/capture.h"
#include "testing/cuda/events.h"
#include "testing/cuda/pools.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidDevice;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;
using cuda_api::MemoryPool;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit PoolObject* current_pools[sim::kMaxGpus] = {};  // null: the default one

constexpr char kPoolFile[] = "kgpu-sim-pool-";

// What cuMemPoolExportPointer writes.
struct PointerData {
  uint64_t pool;
  uint64_t object;
  uint64_t key;
  uint64_t size;
};
static_assert(sizeof(PointerData) <= sizeof(cuda_api::PoolPointerExport));

MemoryPool HandleOf(PoolObject* pool) {
  return reinterpret_cast<MemoryPool>(pool);
}

PoolObject* CurrentPool(cuda_api::Device ordinal) {
  return current_pools[ordinal] != nullptr ? current_pools[ordinal] : DefaultPool(ordinal);
}

Result AllocateAsync(const char* name, cuda_api::DevicePointer* pointer, size_t size,
                     const MemoryPool* handle, cuda_api::Stream stream) {
  const ContextCall call(name);
  const Result checked = call.Check(pointer != nullptr && size != 0);
  if (checked != kSuccess) {
    return checked;
  }
  const cuda_api::Device ordinal = ContextOfStream(stream, call.context())->ordinal;
  PoolObject* pool = handle != nullptr ? FindPool(*handle) : CurrentPool(ordinal);
  if (pool == nullptr || pool->is_imported) {
    return kInvalidValue;
  }
  if (GraphObject* graph = CapturingGraph(stream); graph != nullptr) {
    return CaptureAllocation(graph, pool->device, size, pointer);
  }
  return AllocateFromPool(pool, call.context(), size, pointer);
}

Result FreeAsync(cuda_api::DevicePointer pointer, cuda_api::Stream stream) {
  const ContextCall call("cuMemFreeAsync");
  const Result checked = call.Check(true);
  if (checked != kSuccess || pointer == 0) {
    return checked;
  }
  if (GraphObject* graph = CapturingGraph(stream); graph != nullptr) {
    return CaptureFree(graph, pointer);
  }
  Range* range = FindStart(pointer);
  const bool is_good = range != nullptr &&
                       (range->kind == RangeKind::kPool || range->kind == RangeKind::kPoolImport ||
                        range->kind == RangeKind::kGraph);
  if (is_good) {
    FreeRange(range);
  }
  return is_good ? kSuccess : kInvalidValue;
}

uint64_t* CounterOf(PoolObject* pool, cuda_api::PoolAttribute attribute) {
  switch (attribute) {
    case cuda_api::kPoolReleaseThreshold:
      return &pool->threshold;
    case cuda_api::kPoolReservedMemoryCurrent:
      return &pool->reserved;
    case cuda_api::kPoolReservedMemoryHigh:
      return &pool->reserved_high;
    case cuda_api::kPoolUsedMemoryCurrent:
      return &pool->used;
    case cuda_api::kPoolUsedMemoryHigh:
      return &pool->used_high;
    default:
      return nullptr;
  }
}

int* SwitchOf(PoolObject* pool, cuda_api::PoolAttribute attribute) {
  const int index = attribute - cuda_api::kPoolReuseFollowEvents;
  return index >= 0 && index < 3 ? &pool->reuse[index] : nullptr;
}

Result SetAttribute(PoolObject* pool, cuda_api::PoolAttribute attribute, const void* value) {
  if (int* flag = SwitchOf(pool, attribute); flag != nullptr) {
    memcpy(flag, value, sizeof(*flag));
    return kSuccess;
  }
  uint64_t number = 0;
  memcpy(&number, value, sizeof(number));
  switch (attribute) {
    case cuda_api::kPoolReleaseThreshold:
      pool->threshold = number;
      return kSuccess;
    case cuda_api::kPoolReservedMemoryHigh:
      pool->reserved_high = pool->reserved;
      return number == 0 ? kSuccess : kInvalidValue;
    case cuda_api::kPoolUsedMemoryHigh:
      pool->used_high = pool->used;
      return number == 0 ? kSuccess : kInvalidValue;
    default:
      return kInvalidValue;
  }
}

Result Create(MemoryPool* handle, const cuda_api::PoolProperties& properties) {
  const VisibleDevice* device = DeviceAt(properties.location);
  if (properties.type != cuda_api::kPinned || device == nullptr) {
    return device == nullptr ? kInvalidDevice : kInvalidValue;
  }
  if (properties.handle_types != cuda_api::kHandleNone &&
      properties.handle_types != cuda_api::kHandlePosixFileDescriptor) {
    return cuda_api::kNotSupported;
  }
  PoolObject* pool = AddPool(*device, properties);
  if (pool == nullptr) {
    return kOutOfMemory;
  }
  // Of this process and this moment: enough to tell pools apart.
  pool->name = (static_cast<uint64_t>(getpid()) << 32) ^ sim::NowBootNs();
  *handle = HandleOf(pool);
  return kSuccess;
}

// A file that has nothing but a name: "kgpu-sim-pool-NAME-SLOT-INSTANCE".
Result Export(const PoolObject& pool, int* fd) {
  constexpr unsigned kCloseOnExec = 1;
  char name[96];
  (void)snprintf(name, sizeof(name), "%s%llu-%u-%u", kPoolFile,
                 static_cast<unsigned long long>(pool.name), pool.device.slot,
                 pool.device.gpu_instance);
  *fd = static_cast<int>(syscall(SYS_memfd_create, name, kCloseOnExec));
  return *fd < 0 ? cuda_api::kOperatingSystem : kSuccess;
}

Result Import(int fd, MemoryPool* handle) {
  char link[64];
  char path[128];
  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  path[size > 0 ? size : 0] = '\0';
  const char* at = strstr(path, kPoolFile);
  if (at == nullptr) {
    return kInvalidValue;
  }
  char* end = nullptr;
  const uint64_t name = strtoull(at + sizeof(kPoolFile) - 1, &end, 10);
  const unsigned long slot = *end == '-' ? strtoul(end + 1, &end, 10) : 0;
  const unsigned long instance = *end == '-' ? strtoul(end + 1, &end, 10) : 0;
  const cuda_api::Device ordinal =
      OrdinalOf(static_cast<uint32_t>(slot), static_cast<uint32_t>(instance));
  if (ordinal < 0) {
    return kInvalidDevice;
  }
  cuda_api::PoolProperties properties{};
  properties.type = cuda_api::kPinned;
  properties.handle_types = cuda_api::kHandlePosixFileDescriptor;
  properties.location = {.type = cuda_api::kLocationDevice, .id = ordinal};
  PoolObject* pool = AddPool(State().devices[ordinal], properties);
  if (pool == nullptr) {
    return kOutOfMemory;
  }
  pool->is_imported = true;
  pool->name = name;
  *handle = HandleOf(pool);
  return kSuccess;
}

Result ImportPointer(PoolObject* pool, const cuda_api::PoolPointerExport& exported,
                     ContextObject* context, cuda_api::DevicePointer* pointer) {
  PointerData data{};
  memcpy(&data, exported.bytes, sizeof(data));
  if (data.pool != pool->name) {
    return kInvalidValue;
  }
  Range range{};
  const Result attached = Attach(data.object, data.key, &range.memory);
  if (attached != kSuccess) {
    return attached;
  }
  uint8_t* mapped = MapFile(nullptr, range.memory.bytes, range.memory.fd, 0);
  range.block = {.chunk = nullptr, .bytes = mapped, .size = range.memory.bytes};
  range.start = reinterpret_cast<uint64_t>(mapped);
  range.size = data.size < range.memory.bytes ? data.size : range.memory.bytes;
  range.kind = RangeKind::kPoolImport;
  range.context = context;
  range.device = pool->device;
  range.pool = pool;
  if (mapped == nullptr || AddRange(range) == nullptr) {
    UnmapMemory(mapped, range.memory.bytes);
    Detach(range.memory);
    return kOutOfMemory;
  }
  ++pool->allocations;
  pool->used += range.block.size;
  pool->reserved += range.block.size;
  *pointer = range.start;
  return kSuccess;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::Device;
using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::HandleType;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kOutOfMemory;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::MemoryPool;
using kgpu::cuda_api::PoolAttribute;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::DeviceCall;
using kgpu::simcuda::FindPool;
using kgpu::simcuda::PoolObject;
using kgpu::simcuda::Range;
using kgpu::simcuda::SystemCall;

KGPU_CUDA cuMemAllocAsync(DevicePointer* pointer, size_t size, Stream stream) {
  return kgpu::simcuda::AllocateAsync("cuMemAllocAsync", pointer, size, nullptr, stream);
}
KGPU_CUDA cuMemAllocAsync_ptsz(DevicePointer*, size_t, Stream) KGPU_CUDA_ALIAS(cuMemAllocAsync);
KGPU_CUDA cuMemAllocFromPoolAsync(DevicePointer* pointer, size_t size, MemoryPool pool,
                                  Stream stream) {
  return kgpu::simcuda::AllocateAsync("cuMemAllocFromPoolAsync", pointer, size, &pool, stream);
}
KGPU_CUDA cuMemAllocFromPoolAsync_ptsz(DevicePointer*, size_t, MemoryPool, Stream)
    KGPU_CUDA_ALIAS(cuMemAllocFromPoolAsync);
KGPU_CUDA cuMemFreeAsync(DevicePointer pointer, Stream stream) {
  return kgpu::simcuda::FreeAsync(pointer, stream);
}
KGPU_CUDA cuMemFreeAsync_ptsz(DevicePointer, Stream) KGPU_CUDA_ALIAS(cuMemFreeAsync);

KGPU_CUDA cuMemPoolCreate(MemoryPool* handle, const kgpu::cuda_api::PoolProperties* properties) {
  const SystemCall call("cuMemPoolCreate");
  const Result checked = call.Check(handle != nullptr && properties != nullptr);
  return checked == kSuccess ? kgpu::simcuda::Create(handle, *properties) : checked;
}

KGPU_CUDA cuMemPoolDestroy(MemoryPool handle) {
  const SystemCall call("cuMemPoolDestroy");
  PoolObject* pool = FindPool(handle);
  const Result checked = call.Check(pool != nullptr && !pool->is_default);
  if (checked != kSuccess) {
    return checked;
  }
  for (PoolObject*& current : kgpu::simcuda::current_pools) {
    current = current == pool ? nullptr : current;
  }
  kgpu::simcuda::DestroyPool(pool);
  return kSuccess;
}

KGPU_CUDA cuMemPoolTrimTo(MemoryPool handle, size_t keep) {
  const SystemCall call("cuMemPoolTrimTo");
  PoolObject* pool = FindPool(handle);
  const Result checked = call.Check(pool != nullptr);
  if (checked == kSuccess) {
    kgpu::simcuda::TrimPool(pool, keep);
  }
  return checked;
}

KGPU_CUDA cuMemPoolSetAttribute(MemoryPool handle, PoolAttribute attribute, void* value) {
  const SystemCall call("cuMemPoolSetAttribute");
  PoolObject* pool = FindPool(handle);
  const Result checked = call.Check(pool != nullptr && value != nullptr);
  return checked == kSuccess ? kgpu::simcuda::SetAttribute(pool, attribute, value) : checked;
}

KGPU_CUDA cuMemPoolGetAttribute(MemoryPool handle, PoolAttribute attribute, void* value) {
  const SystemCall call("cuMemPoolGetAttribute");
  PoolObject* pool = FindPool(handle);
  if (const Result checked = call.Check(pool != nullptr && value != nullptr); checked != kSuccess) {
    return checked;
  }
  const int* flag = kgpu::simcuda::SwitchOf(pool, attribute);
  const uint64_t* counter = kgpu::simcuda::CounterOf(pool, attribute);
  if (flag != nullptr) {
    memcpy(value, flag, sizeof(*flag));
  } else if (counter != nullptr) {
    memcpy(value, counter, sizeof(*counter));
  }
  return flag != nullptr || counter != nullptr ? kSuccess : kInvalidValue;
}

KGPU_CUDA cuMemPoolSetAccess(MemoryPool handle, const kgpu::cuda_api::AccessDescription* accesses,
                             size_t count) {
  const SystemCall call("cuMemPoolSetAccess");
  PoolObject* pool = FindPool(handle);
  if (const Result checked = call.Check(pool != nullptr && (accesses != nullptr || count == 0));
      checked != kSuccess) {
    return checked;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto* device = kgpu::simcuda::DeviceAt(accesses[i].location);
    const bool is_revoked = accesses[i].flags == kgpu::cuda_api::kAccessNone;
    // A device can always use its own memory.
    if (device == nullptr || (is_revoked && kgpu::simcuda::IsSameMemory(*device, pool->device))) {
      return kgpu::cuda_api::kInvalidDevice;
    }
    const uint64_t bit = uint64_t{1} << accesses[i].location.id;
    pool->access = is_revoked ? pool->access & ~bit : pool->access | bit;
  }
  return kSuccess;
}

KGPU_CUDA cuMemPoolGetAccess(kgpu::cuda_api::AccessFlags* flags, MemoryPool handle,
                             kgpu::cuda_api::Location* location) {
  const SystemCall call("cuMemPoolGetAccess");
  const PoolObject* pool = FindPool(handle);
  const Result checked = call.Check(flags != nullptr && pool != nullptr && location != nullptr &&
                                    kgpu::simcuda::DeviceAt(*location) != nullptr);
  if (checked == kSuccess) {
    *flags = ((pool->access >> location->id) & 1) != 0 ? kgpu::cuda_api::kAccessReadWrite
                                                       : kgpu::cuda_api::kAccessNone;
  }
  return checked;
}

KGPU_CUDA cuMemPoolExportToShareableHandle(void* handle, MemoryPool pool_handle, HandleType type,
                                           uint64_t flags) {
  const SystemCall call("cuMemPoolExportToShareableHandle");
  const PoolObject* pool = FindPool(pool_handle);
  const Result checked = call.Check(handle != nullptr && pool != nullptr && flags == 0 &&
                                    type == kgpu::cuda_api::kHandlePosixFileDescriptor &&
                                    kgpu::simcuda::HasHandles(*pool) && !pool->is_imported);
  return checked == kSuccess ? kgpu::simcuda::Export(*pool, static_cast<int*>(handle)) : checked;
}

KGPU_CUDA cuMemPoolImportFromShareableHandle(MemoryPool* pool, void* handle, HandleType type,
                                             uint64_t flags) {
  const SystemCall call("cuMemPoolImportFromShareableHandle");
  const Result checked = call.Check(pool != nullptr && flags == 0 &&
                                    type == kgpu::cuda_api::kHandlePosixFileDescriptor);
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  return checked == kSuccess ? kgpu::simcuda::Import(fd, pool) : checked;
}

KGPU_CUDA cuMemPoolExportPointer(kgpu::cuda_api::PoolPointerExport* data, DevicePointer pointer) {
  const SystemCall call("cuMemPoolExportPointer");
  const Range* range = kgpu::simcuda::FindStart(pointer);
  const Result checked =
      call.Check(data != nullptr && range != nullptr &&
                 range->kind == kgpu::simcuda::RangeKind::kPool && range->memory.object != 0);
  if (checked == kSuccess) {
    const kgpu::simcuda::PointerData exported{.pool = range->pool->name,
                                              .object = range->memory.object,
                                              .key = range->memory.key,
                                              .size = range->size};
    memset(data, 0, sizeof(*data));
    memcpy(data->bytes, &exported, sizeof(exported));
  }
  return checked;
}

KGPU_CUDA cuMemPoolImportPointer(DevicePointer* pointer, MemoryPool handle,
                                 kgpu::cuda_api::PoolPointerExport* data) {
  const ContextCall call("cuMemPoolImportPointer");
  PoolObject* pool = FindPool(handle);
  const Result checked =
      call.Check(pointer != nullptr && pool != nullptr && pool->is_imported && data != nullptr);
  return checked == kSuccess ? kgpu::simcuda::ImportPointer(pool, *data, call.context(), pointer)
                             : checked;
}

KGPU_CUDA cuDeviceGetDefaultMemPool(MemoryPool* pool, Device ordinal) {
  const DeviceCall call("cuDeviceGetDefaultMemPool", ordinal);
  const Result checked = call.Check(pool != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  *pool = kgpu::simcuda::HandleOf(kgpu::simcuda::DefaultPool(ordinal));
  return *pool == nullptr ? kOutOfMemory : kSuccess;
}

KGPU_CUDA cuDeviceGetMemPool(MemoryPool* pool, Device ordinal) {
  const DeviceCall call("cuDeviceGetMemPool", ordinal);
  const Result checked = call.Check(pool != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  *pool = kgpu::simcuda::HandleOf(kgpu::simcuda::CurrentPool(ordinal));
  return *pool == nullptr ? kOutOfMemory : kSuccess;
}

KGPU_CUDA cuDeviceSetMemPool(Device ordinal, MemoryPool handle) {
  const DeviceCall call("cuDeviceSetMemPool", ordinal);
  PoolObject* pool = FindPool(handle);
  const Result checked = call.Check(pool != nullptr && !pool->is_imported &&
                                    kgpu::simcuda::IsSameMemory(pool->device, call.device()));
  if (checked == kSuccess) {
    kgpu::simcuda::current_pools[ordinal] = pool;
  }
  return checked;
}
