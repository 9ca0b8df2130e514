// How much memory there is: the slice, not the GPU.
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

uint32_t Narrow(uint64_t value) {
  return value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value);
}

// Free memory is what the limit leaves, but no more than the GPU really has.
void ShowSlice(int account, uint64_t* free, uint64_t* total) {
  if (account < 0) {
    return;
  }
  NotePoolChange();
  RefreshPools();
  const uint64_t limit = LimitOf(account).limits.memory;
  const uint64_t used = UsedOf(account);
  const uint64_t left = used < limit ? limit - used : 0;
  *free = left < *free ? left : *free;
  *total = limit < *total ? limit : *total;
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Result result = KGPU_CALL_REAL(MemGetInfoFn, cuMemGetInfo_v2, free, total);
  if (result == cu::kSuccess) {
    uint64_t shown_free = *free;
    uint64_t shown_total = *total;
    ShowSlice(CurrentAccount(), &shown_free, &shown_total);
    *free = shown_free;
    *total = shown_total;
  }
  return result;
}
KGPU_STAND_IN cuMemGetInfo(uint32_t* free, uint32_t* total) {
  size_t wide_free = 0;
  size_t wide_total = 0;
  const Result result = free == nullptr || total == nullptr
                            ? cu::kInvalidValue
                            : cuMemGetInfo_v2(&wide_free, &wide_total);
  if (result == cu::kSuccess) {
    *free = Narrow(wide_free);
    *total = Narrow(wide_total);
  }
  return result;
}

KGPU_STAND_IN cuDeviceTotalMem_v2(size_t* bytes, cu::Device device) {
  const Result result = KGPU_CALL_REAL(DeviceTotalMemFn, cuDeviceTotalMem_v2, bytes, device);
  const int account = result == cu::kSuccess ? AccountOf(device) : kUnlimited;
  if (account >= 0 && LimitOf(account).limits.memory < *bytes) {
    *bytes = LimitOf(account).limits.memory;
  }
  return result;
}
KGPU_STAND_IN cuDeviceTotalMem(uint32_t* bytes, cu::Device device) {
  size_t wide = 0;
  const Result result = bytes == nullptr ? cu::kInvalidValue : cuDeviceTotalMem_v2(&wide, device);
  if (result == cu::kSuccess) {
    *bytes = Narrow(wide);
  }
  return result;
}
