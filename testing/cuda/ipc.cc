// Memory and events that another process has made. Source: the driver API reference, "Memory
// Management", cuIpc….
#include <cstring>

#include "testing/cuda/events.h"
#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::DevicePointer;
using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;

constexpr uint64_t kMemoryMagic = 0x306d656d75706b67;  // "gkpumem0"

// What is in a handle: a part of an object that the driver knows.
struct MemoryHandleData {
  uint64_t magic;
  uint64_t object;
  uint64_t key;
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(MemoryHandleData) <= sizeof(cuda_api::IpcMemoryHandle));

// Whether this process itself has made the object.
bool IsOwn(uint64_t object) {
  bool is_own = false;
  ForEachRange([&](const Range& range) {
    is_own = is_own || (range.kind == RangeKind::kLinear && range.block.chunk != nullptr &&
                        range.block.chunk->memory.object == object);
  });
  return is_own;
}

Result OpenMemory(ContextObject* context, const MemoryHandleData& data, DevicePointer* pointer) {
  Range range{};
  const Result attached = Attach(data.object, data.key, &range.memory);
  if (attached != kSuccess) {
    return attached;
  }
  const cuda_api::Device ordinal = OrdinalOf(range.memory.slot, range.memory.gpu_instance);
  const bool fits = data.size <= range.memory.bytes &&
                    data.offset <= range.memory.bytes - data.size && data.size > 0;
  uint8_t* mapped =
      ordinal < 0 || !fits ? nullptr : MapFile(nullptr, range.memory.bytes, range.memory.fd, 0);
  if (mapped == nullptr) {
    Detach(range.memory);
    return ordinal < 0 || !fits ? cuda_api::kMapFailed : kOutOfMemory;
  }
  range.block = {.chunk = nullptr, .bytes = mapped, .size = range.memory.bytes};
  range.start = reinterpret_cast<uint64_t>(mapped) + data.offset;
  range.size = data.size;
  range.kind = RangeKind::kIpc;
  range.context = context;
  range.device = State().devices[ordinal];
  if (AddRange(range) == nullptr) {
    UnmapMemory(mapped, range.memory.bytes);
    Detach(range.memory);
    return kOutOfMemory;
  }
  *pointer = range.start;
  return kSuccess;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::DevicePointer;
using kgpu::cuda_api::Event;
using kgpu::cuda_api::IpcEventHandle;
using kgpu::cuda_api::IpcMemoryHandle;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::MemoryHandleData;
using kgpu::simcuda::Range;
using kgpu::simcuda::RangeKind;

// As in CUDA, small allocations in the same chunk come with it.
KGPU_CUDA cuIpcGetMemHandle(IpcMemoryHandle* handle, DevicePointer pointer) {
  const ContextCall call("cuIpcGetMemHandle");
  const Range* range = kgpu::simcuda::FindRange(pointer);
  const Result checked =
      call.Check(handle != nullptr && range != nullptr && range->kind == RangeKind::kLinear);
  if (checked != kSuccess) {
    return checked;
  }
  kgpu::simcuda::Chunk* chunk = range->block.chunk;
  const Result shared = kgpu::simcuda::Share(range->device, chunk);
  if (shared != kSuccess) {
    return shared;
  }
  const MemoryHandleData data{.magic = kgpu::simcuda::kMemoryMagic,
                              .object = chunk->memory.object,
                              .key = chunk->memory.key,
                              .offset = static_cast<uint64_t>(range->block.bytes - chunk->bytes),
                              .size = range->size};
  memset(handle, 0, sizeof(*handle));
  memcpy(handle->bytes, &data, sizeof(data));
  return kSuccess;
}

KGPU_CUDA cuIpcOpenMemHandle_v2(DevicePointer* pointer, IpcMemoryHandle handle, unsigned flags) {
  const ContextCall call("cuIpcOpenMemHandle");
  const Result checked =
      call.Check(pointer != nullptr && flags == kgpu::cuda_api::kIpcLazyEnablePeerAccess);
  if (checked != kSuccess) {
    return checked;
  }
  MemoryHandleData data{};
  memcpy(&data, handle.bytes, sizeof(data));
  if (data.magic != kgpu::simcuda::kMemoryMagic) {
    return kInvalidHandle;
  }
  return kgpu::simcuda::IsOwn(data.object)
             ? kgpu::cuda_api::kInvalidContext
             : kgpu::simcuda::OpenMemory(call.context(), data, pointer);
}
KGPU_CUDA cuIpcOpenMemHandle(DevicePointer*, IpcMemoryHandle, unsigned)
    KGPU_CUDA_ALIAS(cuIpcOpenMemHandle_v2);

KGPU_CUDA cuIpcCloseMemHandle(DevicePointer pointer) {
  const ContextCall call("cuIpcCloseMemHandle");
  Range* range = kgpu::simcuda::FindStart(pointer);
  const Result checked = call.Check(range != nullptr && range->kind == RangeKind::kIpc);
  if (checked == kSuccess) {
    kgpu::simcuda::FreeRange(range);
  }
  return checked;
}

// All work is done when a call returns, so whoever opens the handle finds the event reached.
KGPU_CUDA cuIpcGetEventHandle(IpcEventHandle* handle, Event event) {
  const ContextCall call("cuIpcGetEventHandle");
  const Result checked = call.Check(handle != nullptr && event != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  return kgpu::simcuda::WriteEventHandle(event, handle) ? kSuccess : kInvalidHandle;
}
KGPU_CUDA cuIpcOpenEventHandle(Event* event, IpcEventHandle handle) {
  const ContextCall call("cuIpcOpenEventHandle");
  const Result checked = call.Check(event != nullptr);
  return checked == kSuccess ? kgpu::simcuda::OpenEventHandle(handle, event) : checked;
}
