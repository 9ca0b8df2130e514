// Linear memory of the device, managed memory, pinned memory of the host.
#include "src/preload/pools.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

constexpr uint64_t kPitchStep = 512;  // bytes; every GPU's pitch is a multiple of it or less

template <typename Fn, typename Pointer, typename Size>
Result AllocateLinear(HookId id, Pointer* pointer, Size size) {
  return Allocate(CurrentAccount(), Kind::kLinear, size, CurrentContext(), [&](uint64_t* key) {
    const Result result = CallReal<Fn>(id, pointer, size);
    *key = result == cu::kSuccess ? *pointer : 0;
    return result;
  });
}

// What a row really takes is known afterwards.
void AdjustPitch(int account, uint64_t key, uint64_t size) {
  Process* process = CurrentProcess();
  uint64_t charged = size;
  {
    const Guard guard(process->lock);
    Record* record = process->records.Find(Kind::kLinear, key);
    if (record != nullptr) {
      charged = record->size;
      record->size = size;
    }
  }
  size > charged ? ChargeAnyway(account, size - charged) : GiveBack(account, charged - size);
}

template <typename Fn, typename Pointer, typename Size>
Result AllocatePitch(HookId id, Pointer* pointer, Size* pitch, Size width, Size height,
                     unsigned element_size) {
  const int account = CurrentAccount();
  const uint64_t guess = Times(RoundUp(width, kPitchStep), height);
  const Result result =
      Allocate(account, Kind::kLinear, guess, CurrentContext(), [&](uint64_t* key) {
        const Result got = CallReal<Fn>(id, pointer, pitch, width, height, element_size);
        *key = got == cu::kSuccess ? *pointer : 0;
        return got;
      });
  if (result == cu::kSuccess && account >= 0) {
    AdjustPitch(account, *pointer, Times(*pitch, height));
  }
  return result;
}

// Without the slot's say so, memory of the host is nobody's concern.
template <typename Call>
Result AllocateHost(uint64_t size, Call&& call) {
  int account = CurrentAccount();
  account = account < 0 || IsPinnedCounted(account) ? account : kUnlimited;
  return Allocate(account, Kind::kHost, size, CurrentContext(), call);
}

// Memory of pools, and of those of other processes, may be freed by any of these, too.
template <typename Call>
Result FreeDevice(uint64_t pointer, Call&& call) {
  Record record{};
  const bool is_found = TakeFirst({Kind::kLinear, Kind::kPooled}, pointer, &record) ||
                        TakeRecord(Kind::kOpened, pointer, &record);
  const Result result = call();
  if (!is_found) {
    return result;
  }
  if (result != cu::kSuccess) {
    PutBack(record);
    return result;
  }
  Settle(record);
  if (record.kind == Kind::kPooled) {
    CountPooled(record.owner, false);
    NotePoolChange();
    RefreshPools();
    NotePoolChange();  // what the pool keeps now may go back when the host waits
  }
  return result;
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuMemAlloc(cu::DevicePointerV1* pointer, uint32_t size) {
  return AllocateLinear<cu::MemAllocV1Fn>(k_cuMemAlloc, pointer, size);
}
KGPU_STAND_IN cuMemAlloc_v2(cu::DevicePointer* pointer, size_t size) {
  return AllocateLinear<cu::MemAllocFn>(k_cuMemAlloc_v2, pointer, size);
}
KGPU_STAND_IN cuMemAllocPitch(cu::DevicePointerV1* pointer, uint32_t* pitch, uint32_t width,
                              uint32_t height, unsigned element_size) {
  return AllocatePitch<cu::MemAllocPitchV1Fn>(k_cuMemAllocPitch, pointer, pitch, width, height,
                                              element_size);
}
KGPU_STAND_IN cuMemAllocPitch_v2(cu::DevicePointer* pointer, size_t* pitch, size_t width,
                                 size_t height, unsigned element_size) {
  return AllocatePitch<cu::MemAllocPitchFn>(k_cuMemAllocPitch_v2, pointer, pitch, width, height,
                                            element_size);
}

// In full, whether it lies on the device or not: it may come there at any time.
KGPU_STAND_IN cuMemAllocManaged(cu::DevicePointer* pointer, size_t size, unsigned flags) {
  return Allocate(CurrentAccount(), Kind::kLinear, size, CurrentContext(), [&](uint64_t* key) {
    const Result result =
        KGPU_CALL_REAL(MemAllocManagedFn, cuMemAllocManaged, pointer, size, flags);
    *key = result == cu::kSuccess ? *pointer : 0;
    return result;
  });
}

KGPU_STAND_IN cuMemFree(cu::DevicePointerV1 pointer) {
  return FreeDevice(pointer, [&] { return KGPU_CALL_REAL(MemFreeV1Fn, cuMemFree, pointer); });
}
KGPU_STAND_IN cuMemFree_v2(cu::DevicePointer pointer) {
  return FreeDevice(pointer, [&] { return KGPU_CALL_REAL(MemFreeFn, cuMemFree_v2, pointer); });
}

KGPU_STAND_IN cuMemAllocHost(void** pointer, uint32_t size) {
  return AllocateHost(size, [&](uint64_t* key) {
    const Result result = KGPU_CALL_REAL(MemAllocHostV1Fn, cuMemAllocHost, pointer, size);
    *key = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*pointer) : 0;
    return result;
  });
}
KGPU_STAND_IN cuMemAllocHost_v2(void** pointer, size_t size) {
  return AllocateHost(size, [&](uint64_t* key) {
    const Result result = KGPU_CALL_REAL(MemAllocHostFn, cuMemAllocHost_v2, pointer, size);
    *key = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*pointer) : 0;
    return result;
  });
}
KGPU_STAND_IN cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return AllocateHost(size, [&](uint64_t* key) {
    const Result result = KGPU_CALL_REAL(MemHostAllocFn, cuMemHostAlloc, pointer, size, flags);
    *key = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*pointer) : 0;
    return result;
  });
}
KGPU_STAND_IN cuMemFreeHost(void* pointer) {
  return Free(Kind::kHost, reinterpret_cast<uint64_t>(pointer),
              [&] { return KGPU_CALL_REAL(MemFreeHostFn, cuMemFreeHost, pointer); });
}
KGPU_STAND_IN cuMemHostRegister(void* pointer, size_t size, unsigned flags) {
  return AllocateHost(size, [&](uint64_t* key) {
    *key = reinterpret_cast<uint64_t>(pointer);
    return KGPU_CALL_REAL(MemHostRegisterFn, cuMemHostRegister, pointer, size, flags);
  });
}
KGPU_STAND_IN cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  return AllocateHost(size, [&](uint64_t* key) {
    *key = reinterpret_cast<uint64_t>(pointer);
    return KGPU_CALL_REAL(MemHostRegisterFn, cuMemHostRegister_v2, pointer, size, flags);
  });
}
KGPU_STAND_IN cuMemHostUnregister(void* pointer) {
  return Free(Kind::kHost, reinterpret_cast<uint64_t>(pointer),
              [&] { return KGPU_CALL_REAL(MemHostUnregisterFn, cuMemHostUnregister, pointer); });
}
