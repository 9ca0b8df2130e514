// Memory that another API of the same machine has made, Vulkan for example. Source: the driver API
// reference, "External Resource Interoperability".
#include <unistd.h>

#include <cstdlib>

#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::ExternalMemory;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

struct ExternalObject {
  ExternalObject* next;
  VisibleDevice device;
  uint64_t size;
  int fd;            // ours from the import on
  uint64_t charged;  // of a file that is no object of the simulated driver
  SharedMemory memory;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit ExternalObject* externals = nullptr;

// With the lock held, here and below.
ExternalObject** FindExternal(ExternalMemory handle) {
  ExternalObject** at = &externals;
  while (*at != nullptr && reinterpret_cast<ExternalMemory>(*at) != handle) {
    at = &(*at)->next;
  }
  return at;
}

// The other API has its memory from the driver, too: here, it is this import that counts it.
Result TakeMemory(ExternalObject* external) {
  uint64_t object = 0;
  uint64_t key = 0;
  if (FindObject(external->fd, &object, &key)) {
    return Attach(object, key, &external->memory);
  }
  const off_t end = lseek(external->fd, 0, SEEK_END);
  if (end < 0 || static_cast<uint64_t>(end) < external->size) {
    return kInvalidValue;
  }
  external->charged = RoundUp(external->size, kChunkBytes);
  return Charge(external->device, external->charged);
}

Result MapBuffer(const ExternalObject& external, ContextObject* context,
                 const cuda_api::ExternalMemoryBuffer& buffer, cuda_api::DevicePointer* pointer) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = buffer.offset / page * page;
  const uint64_t mapped_size = buffer.offset - first + buffer.size;
  uint8_t* mapped = MapFile(nullptr, mapped_size, external.fd, first);
  Range range{};
  range.block = {.chunk = nullptr, .bytes = mapped, .size = mapped_size};
  range.start = reinterpret_cast<uint64_t>(mapped) + (buffer.offset - first);
  range.size = buffer.size;
  range.kind = RangeKind::kExternal;
  range.context = context;
  range.device = external.device;
  if (mapped == nullptr || AddRange(range) == nullptr) {
    UnmapMemory(mapped, mapped_size);
    return kOutOfMemory;
  }
  *pointer = range.start;
  return kSuccess;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::ExternalMemory;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::ExternalObject;
using kgpu::simcuda::FindExternal;

KGPU_CUDA cuImportExternalMemory(ExternalMemory* memory,
                                 const kgpu::cuda_api::ExternalMemoryDescription* description) {
  constexpr uint32_t kDedicated = 1;
  const ContextCall call("cuImportExternalMemory");
  const Result checked =
      call.Check(memory != nullptr && description != nullptr && description->size != 0 &&
                 (description->flags & ~kDedicated) == 0);
  if (checked != kSuccess || description->type != kgpu::cuda_api::kExternalOpaqueFd) {
    return checked != kSuccess ? checked : kgpu::cuda_api::kNotSupported;
  }
  auto* made = static_cast<ExternalObject*>(calloc(1, sizeof(ExternalObject)));
  if (made == nullptr) {
    return kgpu::cuda_api::kOutOfMemory;
  }
  made->device = call->device;
  made->size = description->size;
  made->fd = description->handle.fd;
  const Result taken = kgpu::simcuda::TakeMemory(made);
  if (taken != kSuccess) {
    free(made);
    return taken;
  }
  made->next = kgpu::simcuda::externals;
  kgpu::simcuda::externals = made;
  *memory = reinterpret_cast<ExternalMemory>(made);
  return kSuccess;
}

KGPU_CUDA cuExternalMemoryGetMappedBuffer(kgpu::cuda_api::DevicePointer* pointer,
                                          ExternalMemory memory,
                                          const kgpu::cuda_api::ExternalMemoryBuffer* buffer) {
  const ContextCall call("cuExternalMemoryGetMappedBuffer");
  const ExternalObject* external = *FindExternal(memory);
  const Result checked = call.Check(
      pointer != nullptr && buffer != nullptr && buffer->size != 0 && buffer->flags == 0 &&
      (external == nullptr ||
       (buffer->offset <= external->size && buffer->size <= external->size - buffer->offset)));
  if (checked != kSuccess || external == nullptr) {
    return checked != kSuccess ? checked : kInvalidHandle;
  }
  return kgpu::simcuda::MapBuffer(*external, call.context(), *buffer, pointer);
}

// Buffers of it stay valid until they are freed.
KGPU_CUDA cuDestroyExternalMemory(ExternalMemory memory) {
  const ContextCall call("cuDestroyExternalMemory");
  ExternalObject** at = FindExternal(memory);
  const Result checked = call.Check(true);
  if (checked != kSuccess || *at == nullptr) {
    return checked != kSuccess ? checked : kInvalidHandle;
  }
  ExternalObject* external = *at;
  *at = external->next;
  kgpu::simcuda::Detach(external->memory);
  kgpu::simcuda::Refund(external->device, external->charged);
  close(external->fd);
  free(external);
  return kSuccess;
}
