// A libcuda.so.1 for tests of the memory limit: it hands out numbers for pointers, and counts. One
// GPU of 80 GiB for each process. It has functions that no header knows, as a future driver would.
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <type_traits>

#include "src/gpu/cuda_abi/abi.h"

#define FAKE extern "C" __attribute__((visibility("default"))) Result

namespace cu = kgpu::cuda_api;
using cu::Result;

// fake_launches.cc
FAKE cuLaunchKernel(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, cu::Stream, void**, void**);

namespace {

constexpr uint64_t kTotal = uint64_t{80} << 30;
constexpr uint64_t kPrimary = 0x1000;            // the primary context
constexpr uint64_t kChunk = uint64_t{32} << 20;  // bytes that a pool takes from the GPU at a time

struct Pool {
  uint64_t used = 0;
  uint64_t reserved = 0;
};

struct FakeGraph {
  uint64_t bytes = 0;
};

struct Driver {
  std::mutex mutex;
  uint64_t next = 0x700000000000;
  uint64_t used = 0;
  std::map<uint64_t, uint64_t> sizes;   // of pointers and handles
  std::map<uint64_t, uint64_t> mapped;  // handles by the address they are mapped at
  std::map<uint64_t, Pool*> pool_of;    // pointers of pools
  Pool default_pool;
  Pool host_pool;
  Pool managed_pool;
  void (*meanwhile)() = nullptr;  // called once, when memory has been freed and its call goes on
  uint64_t reused = 0;            // a handle that is free meanwhile
  uint64_t graph_reserved = 0;
  bool is_initialized = false;
  int primary_users = 0;
};

Driver& State() {
  static Driver driver;
  return driver;
}

uint64_t& CurrentContext() {
  thread_local uint64_t context = 0;
  return context;
}

cu::Context ContextOf(uint64_t key) {
  return reinterpret_cast<cu::Context>(key);  // NOLINT(performance-no-int-to-ptr)
}

uint64_t Take(uint64_t size) {
  Driver& driver = State();
  const std::lock_guard lock(driver.mutex);
  if (size > kTotal - driver.used) {
    return 0;
  }
  driver.used += size;
  driver.next += (size + 0x200000) & ~uint64_t{0x1fffff};
  driver.sizes[driver.next] = size;
  return driver.next;
}

Result Drop(uint64_t key) {
  Driver& driver = State();
  const std::lock_guard lock(driver.mutex);
  const auto found = driver.sizes.find(key);
  if (found == driver.sizes.end()) {
    return cu::kInvalidValue;
  }
  driver.used -= found->second;
  driver.sizes.erase(found);
  return cu::kSuccess;
}

template <typename Handle>
Result Give(Handle* handle, uint64_t size) {
  if (!State().is_initialized) {
    return cu::kNotInitialized;
  }
  const uint64_t key = Take(size);
  if (key == 0) {
    return cu::kOutOfMemory;
  }
  if constexpr (std::is_pointer_v<Handle>) {
    *handle = reinterpret_cast<Handle>(key);  // NOLINT(performance-no-int-to-ptr)
  } else {
    *handle = static_cast<Handle>(key);
  }
  return cu::kSuccess;
}

Result GiveFromPool(cu::DevicePointer* pointer, uint64_t size, Pool* pool) {
  Driver& driver = State();
  const std::lock_guard lock(driver.mutex);
  const uint64_t spare = pool->reserved - pool->used;
  if (size > spare) {
    const uint64_t growth = (size - spare + kChunk - 1) / kChunk * kChunk;
    if (growth > kTotal - driver.used) {
      return cu::kOutOfMemory;
    }
    driver.used += growth;
    pool->reserved += growth;
  }
  pool->used += size;
  driver.next += 0x200000;
  driver.sizes[driver.next] = size;
  driver.pool_of[driver.next] = pool;
  *pointer = driver.next;
  return cu::kSuccess;
}

Result DropFromPool(cu::DevicePointer pointer) {
  Driver& driver = State();
  const std::lock_guard lock(driver.mutex);
  const auto found = driver.pool_of.find(pointer);
  if (found == driver.pool_of.end()) {
    return cu::kInvalidValue;
  }
  found->second->used -= driver.sizes[pointer];
  driver.sizes.erase(pointer);
  driver.pool_of.erase(found);
  return cu::kSuccess;
}

void Trim(Pool* pool) {
  Driver& driver = State();
  const std::lock_guard lock(driver.mutex);
  driver.used -= pool->reserved - pool->used;
  pool->reserved = pool->used;
}

// What another thread does between the end of something and that of the call that has ended it.
void Meanwhile(uint64_t free_handle) {
  void (*meanwhile)() = State().meanwhile;
  State().meanwhile = nullptr;
  if (meanwhile != nullptr) {
    State().reused = free_handle;
    meanwhile();
  }
}

// The handle that has become free, or 0.
uint64_t TakeFreeHandle() {
  const uint64_t handle = State().reused;
  State().reused = 0;
  return handle;
}

Pool* PoolOf(cu::MemoryPool pool) {
  return reinterpret_cast<Pool*>(pool);
}

}  // namespace

FAKE cuInit(unsigned) {
  State().is_initialized = true;
  return cu::kSuccess;
}
FAKE cuDeviceGetCount(int* count) {
  *count = 1;
  return cu::kSuccess;
}
FAKE cuDeviceGetUuid_v2(cu::Uuid* uuid, cu::Device device) {
  if (!State().is_initialized || device != 0) {
    return State().is_initialized ? cu::kInvalidDevice : cu::kNotInitialized;
  }
  for (uint8_t at = 0; at < 16; ++at) {
    uuid->bytes[at] = static_cast<uint8_t>(at * 17);
  }
  return cu::kSuccess;
}
FAKE cuDeviceGetAttribute(int* value, cu::Attribute attribute, cu::Device) {
  *value = attribute == cu::kMultiprocessorCount ? 100 : 2048;
  return cu::kSuccess;
}
FAKE cuDeviceTotalMem_v2(size_t* bytes, cu::Device) {
  *bytes = kTotal;
  return cu::kSuccess;
}
FAKE cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = kTotal - State().used;
  *total = kTotal;
  return cu::kSuccess;
}

FAKE cuCtxCreate_v2(cu::Context* context, unsigned, cu::Device) {
  const Result result = Give(context, 1);
  CurrentContext() = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*context) : 0;
  return result;
}
FAKE cuCtxDestroy_v2(cu::Context context) {
  CurrentContext() = 0;
  return Drop(reinterpret_cast<uint64_t>(context));
}
FAKE cuCtxGetCurrent(cu::Context* context) {
  *context = ContextOf(CurrentContext());
  return cu::kSuccess;
}
FAKE cuCtxSetCurrent(cu::Context context) {
  if (reinterpret_cast<uint64_t>(context) == kPrimary && State().primary_users == 0) {
    State().primary_users = 1;
  }
  CurrentContext() = reinterpret_cast<uint64_t>(context);
  return cu::kSuccess;
}
FAKE cuCtxGetDevice(cu::Device* device) {
  *device = 0;
  return CurrentContext() == 0 ? cu::kInvalidContext : cu::kSuccess;
}
FAKE cuCtxSynchronize() {
  Trim(&State().default_pool);
  return cu::kSuccess;
}
FAKE cuCtxSetLimit(int, size_t) {
  return cu::kSuccess;
}
FAKE cuDevicePrimaryCtxRetain(cu::Context* context, cu::Device) {
  if (!State().is_initialized) {
    return cu::kNotInitialized;
  }
  ++State().primary_users;
  *context = ContextOf(kPrimary);
  return cu::kSuccess;
}
FAKE cuDevicePrimaryCtxRelease_v2(cu::Device) {
  --State().primary_users;
  return cu::kSuccess;
}
FAKE cuDevicePrimaryCtxReset_v2(cu::Device) {
  Meanwhile(0);
  State().primary_users = 0;
  return cu::kSuccess;
}
FAKE cuDevicePrimaryCtxGetState(cu::Device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = State().primary_users > 0 ? 1 : 0;
  return cu::kSuccess;
}

FAKE cuMemAlloc_v2(cu::DevicePointer* pointer, size_t size) {
  return Give(pointer, size);
}
FAKE cuMemAlloc(cu::DevicePointerV1* pointer, uint32_t size) {
  return Give(pointer, size);
}
FAKE cuMemAllocPitch_v2(cu::DevicePointer* pointer, size_t* pitch, size_t width, size_t height,
                        unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return Give(pointer, *pitch * height);
}
FAKE cuMemAllocManaged(cu::DevicePointer* pointer, size_t size, unsigned) {
  return Give(pointer, size);
}
FAKE cuMemFree_v2(cu::DevicePointer pointer) {
  return State().pool_of.contains(pointer) ? DropFromPool(pointer) : Drop(pointer);
}
FAKE cuMemGetAddressRange_v2(cu::DevicePointer* base, size_t* size, cu::DevicePointer pointer) {
  *base = pointer;
  *size = State().sizes.contains(pointer) ? State().sizes[pointer] : 0;
  return cu::kSuccess;
}
FAKE cuMemAllocHost_v2(void** pointer, size_t size) {
  return Give(pointer, size);
}
FAKE cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  return Give(pointer, size);
}
FAKE cuMemFreeHost(void* pointer) {
  return Drop(reinterpret_cast<uint64_t>(pointer));
}
FAKE cuMemHostRegister_v2(void*, size_t, unsigned) {
  return cu::kSuccess;
}
FAKE cuMemHostUnregister(void*) {
  return cu::kSuccess;
}

FAKE cuDeviceGetMemPool(cu::MemoryPool* pool, cu::Device) {
  *pool = reinterpret_cast<cu::MemoryPool>(&State().default_pool);
  return cu::kSuccess;
}
FAKE cuDeviceGetDefaultMemPool(cu::MemoryPool* pool, cu::Device device) {
  return cuDeviceGetMemPool(pool, device);
}
FAKE cuMemGetDefaultMemPool(cu::MemoryPool* pool, cu::Location*, cu::AllocationType type) {
  *pool = reinterpret_cast<cu::MemoryPool>(type == cu::kManaged ? &State().managed_pool
                                                                : &State().host_pool);
  return cu::kSuccess;
}
FAKE cuMemPoolCreate(cu::MemoryPool* pool, const cu::PoolProperties*) {
  const uint64_t free_handle = TakeFreeHandle();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle
  *pool = free_handle != 0 ? reinterpret_cast<cu::MemoryPool>(free_handle)
                           : reinterpret_cast<cu::MemoryPool>(new Pool);
  return cu::kSuccess;
}
FAKE cuMemPoolDestroy(cu::MemoryPool pool) {
  if (PoolOf(pool) == &State().default_pool) {
    return cu::kInvalidValue;
  }
  if (PoolOf(pool)->used == 0) {
    Trim(PoolOf(pool));
    Meanwhile(reinterpret_cast<uint64_t>(pool));
  }
  return cu::kSuccess;
}
FAKE cuMemPoolTrimTo(cu::MemoryPool pool, size_t) {
  Trim(PoolOf(pool));
  return cu::kSuccess;
}
FAKE cuMemPoolGetAttribute(cu::MemoryPool pool, cu::PoolAttribute attribute, void* value) {
  const uint64_t bytes =
      attribute == cu::kPoolReservedMemoryCurrent ? PoolOf(pool)->reserved : PoolOf(pool)->used;
  memcpy(value, &bytes, sizeof(bytes));
  return cu::kSuccess;
}
FAKE cuMemAllocAsync(cu::DevicePointer* pointer, size_t size, cu::Stream) {
  return GiveFromPool(pointer, size, &State().default_pool);
}
FAKE cuMemAllocAsync_ptsz(cu::DevicePointer* pointer, size_t size, cu::Stream) {
  return GiveFromPool(pointer, size, &State().default_pool);
}
FAKE cuMemAllocFromPoolAsync(cu::DevicePointer* pointer, size_t size, cu::MemoryPool pool,
                             cu::Stream) {
  return GiveFromPool(pointer, size, PoolOf(pool));
}
FAKE cuMemFreeAsync(cu::DevicePointer pointer, cu::Stream) {
  return State().pool_of.contains(pointer) ? DropFromPool(pointer) : Drop(pointer);
}
FAKE cuStreamSynchronize(cu::Stream) {
  Trim(&State().default_pool);
  return cu::kSuccess;
}
FAKE cuMemPoolImportFromShareableHandle(cu::MemoryPool* pool, void*, cu::HandleType, uint64_t) {
  return cuMemPoolCreate(pool, nullptr);
}
FAKE cuMemPoolExportPointer(cu::PoolPointerExport* data, cu::DevicePointer pointer) {
  memset(data, 0, sizeof(*data));
  memcpy(data, &State().sizes[pointer], sizeof(uint64_t));
  return cu::kSuccess;
}
FAKE cuMemPoolImportPointer(cu::DevicePointer* pointer, cu::MemoryPool,
                            cu::PoolPointerExport* data) {
  uint64_t size = 0;
  memcpy(&size, data, sizeof(size));
  return Give(pointer, size);
}

FAKE cuMemCreate(cu::AllocationHandle* handle, size_t size, const cu::AllocationProperties*,
                 uint64_t) {
  const uint64_t free_handle = TakeFreeHandle();
  if (free_handle != 0) {
    State().sizes[free_handle] = size;
    *handle = free_handle;
    return cu::kSuccess;
  }
  return Give(handle, size);
}
FAKE cuMemRelease(cu::AllocationHandle) {
  return cu::kSuccess;  // what is mapped lives on; the test looks at the ledger only
}
FAKE cuMemMap(cu::DevicePointer pointer, size_t, size_t, cu::AllocationHandle handle, uint64_t) {
  State().mapped[pointer] = handle;
  return cu::kSuccess;
}
// A mapping as a whole, or not at all.
FAKE cuMemUnmap(cu::DevicePointer pointer, size_t size) {
  const auto found = State().mapped.find(pointer);
  if (found == State().mapped.end() || size < State().sizes[found->second]) {
    return cu::kInvalidValue;
  }
  Meanwhile(found->second);
  return cu::kSuccess;
}
// NOLINTNEXTLINE(readability-identifier-naming): a name of C
extern "C" __attribute__((visibility("default"))) void fake_meanwhile(void (*meanwhile)()) {
  State().meanwhile = meanwhile;
}
FAKE cuMemRetainAllocationHandle(cu::AllocationHandle* handle, void* pointer) {
  const auto found = State().mapped.find(reinterpret_cast<uint64_t>(pointer));
  *handle = found == State().mapped.end() ? 0 : found->second;
  return found == State().mapped.end() ? cu::kInvalidValue : cu::kSuccess;
}
// As the driver's: descriptors of one node, whatever the memory.
FAKE cuMemExportToShareableHandle(void* shareable, cu::AllocationHandle, cu::HandleType, uint64_t) {
  const int descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
  memcpy(shareable, &descriptor, sizeof(descriptor));
  return descriptor < 0 ? cu::kOperatingSystem : cu::kSuccess;
}
FAKE cuMemImportFromShareableHandle(cu::AllocationHandle* handle, void*, cu::HandleType) {
  return Give(handle, 1);
}
FAKE cuMemGetAllocationPropertiesFromHandle(cu::AllocationProperties* properties,
                                            cu::AllocationHandle) {
  *properties = {};
  properties->location = {.type = cu::kLocationDevice, .id = 0};
  return cu::kSuccess;
}

FAKE cuArrayCreate_v2(cu::Array* array, const cu::ArrayDescriptor*) {
  return Give(array, 1);
}
FAKE cuArray3DCreate_v2(cu::Array* array, const cu::Array3dDescriptor*) {
  return Give(array, 1);
}
FAKE cuArrayDestroy(cu::Array array) {
  return Drop(reinterpret_cast<uint64_t>(array));
}
FAKE cuMipmappedArrayCreate(cu::MipmappedArray* array, const cu::Array3dDescriptor*, unsigned) {
  return Give(array, 1);
}
FAKE cuMipmappedArrayDestroy(cu::MipmappedArray array) {
  return Drop(reinterpret_cast<uint64_t>(array));
}

FAKE cuIpcGetMemHandle(cu::IpcMemoryHandle* handle, cu::DevicePointer pointer) {
  memset(handle, 7, sizeof(*handle));
  memcpy(handle, &State().sizes[pointer], sizeof(uint64_t));
  return cu::kSuccess;
}
FAKE cuIpcOpenMemHandle_v2(cu::DevicePointer* pointer, cu::IpcMemoryHandle handle, unsigned) {
  uint64_t size = 0;
  memcpy(&size, &handle, sizeof(size));
  return Give(pointer, size);
}
FAKE cuIpcCloseMemHandle(cu::DevicePointer pointer) {
  return Drop(pointer);
}
FAKE cuImportExternalMemory(cu::ExternalMemory* memory, const cu::ExternalMemoryDescription*) {
  return Give(memory, 1);
}
FAKE cuDestroyExternalMemory(cu::ExternalMemory memory) {
  return Drop(reinterpret_cast<uint64_t>(memory));
}

// A graph is one allocating node.
FAKE cuGraphCreate(cu::Graph* graph, unsigned) {
  *graph = reinterpret_cast<cu::Graph>(new FakeGraph);
  return cu::kSuccess;
}
FAKE cuGraphAddMemAllocNode(cu::GraphNode* node, cu::Graph graph, const cu::GraphNode*, size_t,
                            cu::MemoryAllocationNodeParams* params) {
  reinterpret_cast<FakeGraph*>(graph)->bytes = params->size;
  *node = reinterpret_cast<cu::GraphNode>(graph);
  return cu::kSuccess;
}
FAKE cuGraphGetNodes(cu::Graph graph, cu::GraphNode* nodes, size_t* count) {
  *count = 1;
  if (nodes != nullptr) {
    nodes[0] = reinterpret_cast<cu::GraphNode>(graph);
  }
  return cu::kSuccess;
}
FAKE cuGraphNodeGetType(cu::GraphNode, int* type) {
  *type = 10;
  return cu::kSuccess;
}
FAKE cuGraphMemAllocNodeGetParams(cu::GraphNode node, cu::MemoryAllocationNodeParams* params) {
  *params = {};
  params->pool.location = {.type = cu::kLocationDevice, .id = 0};
  params->size = reinterpret_cast<FakeGraph*>(node)->bytes;
  return cu::kSuccess;
}
FAKE cuGraphInstantiateWithFlags(cu::GraphExec* exec, cu::Graph graph, uint64_t) {
  *exec = reinterpret_cast<cu::GraphExec>(graph);
  return cu::kSuccess;
}
FAKE cuGraphLaunch(cu::GraphExec exec, cu::Stream) {
  const uint64_t bytes = reinterpret_cast<FakeGraph*>(exec)->bytes;
  State().graph_reserved = bytes > State().graph_reserved ? bytes : State().graph_reserved;
  return cu::kSuccess;
}
FAKE cuGraphExecDestroy(cu::GraphExec) {
  return cu::kSuccess;
}
FAKE cuDeviceGetGraphMemAttribute(cu::Device, cu::GraphMemoryAttribute attribute, void* value) {
  const uint64_t bytes = attribute == cu::kGraphReservedMemoryCurrent ? State().graph_reserved : 0;
  memcpy(value, &bytes, sizeof(bytes));
  return cu::kSuccess;
}
FAKE cuDeviceGraphMemTrim(cu::Device) {
  State().graph_reserved = 0;
  return cu::kSuccess;
}

// A function of a driver to come.
FAKE cuMemAllocFuture(cu::DevicePointer* pointer, size_t size) {
  return Give(pointer, size);
}

FAKE cuGetExportTable(const void** table, const cu::Uuid*) {
  *table = &State();
  return cu::kSuccess;
}

namespace {

Result FindEntry(const char* name, int version, void** function) {
  struct Entry {
    const char* name;
    int since;
    void* function;
  };
  static const Entry kEntries[] = {
      {"cuInit", 2000, reinterpret_cast<void*>(&cuInit)},
      {"cuLaunchKernel", 4000, reinterpret_cast<void*>(&cuLaunchKernel)},
      {"cuMemAlloc", 3020, reinterpret_cast<void*>(&cuMemAlloc_v2)},
      {"cuMemAllocAsync", 11020, reinterpret_cast<void*>(&cuMemAllocAsync)},
      {"cuGraphInstantiate", 12000, reinterpret_cast<void*>(&cuGraphInstantiateWithFlags)},
      {"cuCtxGetCurrent", 4000, reinterpret_cast<void*>(&cuCtxGetCurrent)},
      {"cuMemAllocFuture", 14000, reinterpret_cast<void*>(&cuMemAllocFuture)},
      // As if the newest CUDA had given cuMemFree other arguments.
      {"cuMemFree", 3020, reinterpret_cast<void*>(&cuMemFree_v2)},
      {"cuMemFree", 14000, reinterpret_cast<void*>(&cuMemAllocFuture)},
  };
  *function = nullptr;
  for (const Entry& entry : kEntries) {
    if (strcmp(entry.name, name) == 0 && entry.since <= version) {
      *function = entry.function;
    }
  }
  return *function == nullptr ? cu::kNotFound : cu::kSuccess;
}

}  // namespace

FAKE cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t,
                         cu::ProcAddressStatus* status) {
  if (strcmp(name, "cuGetProcAddress") == 0) {
    *function = reinterpret_cast<void*>(&cuGetProcAddress_v2);
    return cu::kSuccess;
  }
  const Result result = FindEntry(name, version, function);
  if (status != nullptr) {
    *status = result == cu::kSuccess ? cu::kProcFound : cu::kProcNotFound;
  }
  return result;
}
