// Contexts: what they cost, and the end of all that belongs to one.
#include "src/preload/gates.h"
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

constexpr uint64_t kPrimaryIsComing = 1;  // no handle has this value

template <typename Call>
Result CreateContext(cu::Device device, cu::Context* context, Call&& call) {
  const int account = AccountOf(device);
  if (account == kUnlimited) {
    return call();
  }
  Result result = TakeFoundContext(account) ? cu::kSuccess : ChargeContext(account);
  if (result != cu::kSuccess) {
    return result;
  }
  result = call();
  const bool is_known =
      result == cu::kSuccess && Remember({.kind = Kind::kContext,
                                          .device = static_cast<uint32_t>(account),
                                          .key = reinterpret_cast<uint64_t>(*context),
                                          .size = 0,
                                          .owner = 0,
                                          .extent = 0,
                                          .uses = 1,
                                          .is_mine = 1});
  // Without a record it stays charged until the process ends, which errs on the safe side.
  if (result != cu::kSuccess && !is_known) {
    GiveBackContext(account);
  }
  return result;
}

template <typename Call>
Result DestroyContext(cu::Context context, Call&& call) {
  const auto key = reinterpret_cast<uint64_t>(context);
  Record record{};
  const bool is_ours = TakeRecord(Kind::kContext, key, &record);
  ForgetLaunches(context);
  const Result result = call();
  if (result != cu::kSuccess) {
    if (is_ours) {
      PutBack(record);
    }
    return result;
  }
  ForgetContext(key);
  if (is_ours) {
    Settle(record);
    GiveBackContext(static_cast<int>(record.device));
  }
  return result;
}

// Only the first of all users makes the context.
Result RetainPrimary(cu::Context* context, cu::Device device) {
  const int account = AccountOf(device);
  if (account == kUnlimited) {
    return KGPU_CALL_REAL(DevicePrimaryCtxRetainFn, cuDevicePrimaryCtxRetain, context, device);
  }
  if (account == kRefused) {
    return Charge(account, 0);
  }
  uint64_t* primary = &CurrentProcess()->primary[device];
  uint64_t seen = 0;
  const bool is_first = __atomic_compare_exchange_n(primary, &seen, kPrimaryIsComing, false,
                                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  Result result = cu::kSuccess;
  if (is_first && !TakeFoundContext(account)) {
    result = ChargeContext(account);
  }
  if (result != cu::kSuccess) {
    __atomic_store_n(primary, 0, __ATOMIC_RELAXED);
    return result;
  }
  result = KGPU_CALL_REAL(DevicePrimaryCtxRetainFn, cuDevicePrimaryCtxRetain, context, device);
  if (result == cu::kSuccess) {
    __atomic_store_n(primary, reinterpret_cast<uint64_t>(*context), __ATOMIC_RELAXED);
  } else if (is_first) {
    __atomic_store_n(primary, 0, __ATOMIC_RELAXED);
    GiveBackContext(account);
  }
  return result;
}

bool IsPrimaryActive(cu::Device device) {
  auto* state = Helper<cu::DevicePrimaryCtxGetStateFn>(kDevicePrimaryCtxGetState);
  unsigned flags = 0;
  int is_active = 0;
  return state != nullptr && state(device, &flags, &is_active) == cu::kSuccess && is_active != 0;
}

// The primary context while there is one, else 0. CUDA's runtime gets it in a way that we do not
// see, but the driver names it again.
uint64_t PrimaryOf(cu::Device device) {
  cu::Context context = nullptr;
  if (!IsPrimaryActive(device) || KGPU_CALL_REAL(DevicePrimaryCtxRetainFn, cuDevicePrimaryCtxRetain,
                                                 &context, device) != cu::kSuccess) {
    return 0;
  }
  (void)KGPU_CALL_REAL(DevicePrimaryCtxReleaseFn, cuDevicePrimaryCtxRelease_v2, device);
  return reinterpret_cast<uint64_t>(context);
}

// `call` releases or resets it: if it is gone afterwards, so is all that was in it. Only of a
// reset, which always ends it, launches are forgotten before their events are gone: whoever
// releases it again and again, while others have it, would need new ones each time.
template <typename Call>
Result LeavePrimary(cu::Device device, bool is_reset, Call&& call) {
  const int account = AccountOf(device);
  const uint64_t context = account < 0 ? 0 : PrimaryOf(device);
  auto* handle = reinterpret_cast<cu::Context>(context);  // NOLINT(performance-no-int-to-ptr)
  if (is_reset && context != 0) {
    ForgetLaunches(handle);
  }
  const Result result = call();
  if (result != cu::kSuccess || context == 0 || IsPrimaryActive(device)) {
    return result;
  }
  ForgetLaunches(handle);
  ForgetContext(context);
  const bool was_charged =
      __atomic_exchange_n(&CurrentProcess()->primary[device], 0, __ATOMIC_RELAXED) != 0;
  if (was_charged || TakeFoundContext(account)) {
    GiveBackContext(account);
  }
  return result;
}

// CUlimit, and what a context has of each before anybody asks.
enum ContextLimit : int { kStackSize = 0, kPrintBuffer = 1, kMallocHeap = 2 };
constexpr cu::Attribute kThreadsPerMultiprocessor = static_cast<cu::Attribute>(39);
constexpr uint64_t kUsualStack = 1024;
constexpr uint64_t kUsualPrintBuffer = 1 << 20;
constexpr uint64_t kUsualHeap = 8 << 20;

uint64_t ThreadsOf(cu::Device device) {
  auto* get = Helper<cu::DeviceGetAttributeFn>(kDeviceGetAttribute);
  int multiprocessors = 0;
  int threads = 0;
  if (get == nullptr || get(&multiprocessors, cu::kMultiprocessorCount, device) != cu::kSuccess ||
      get(&threads, kThreadsPerMultiprocessor, device) != cu::kSuccess) {
    return 0;
  }
  return static_cast<uint64_t>(multiprocessors) * static_cast<uint64_t>(threads);
}

// Bytes of the device beyond those of every context.
uint64_t ReserveOf(int limit, uint64_t value) {
  switch (limit) {
    case kStackSize:
      return value > kUsualStack ? Times(value - kUsualStack, ThreadsOf(CurrentDevice())) : 0;
    case kPrintBuffer:
      return value > kUsualPrintBuffer ? value - kUsualPrintBuffer : 0;
    case kMallocHeap:
      return value > kUsualHeap ? value - kUsualHeap : 0;
    default:
      return 0;
  }
}

uint64_t SizeOf(const Record* record) {
  return record == nullptr ? 0 : record->size;
}

// Brings the record of what cuCtxSetLimit reserves to its new size, of which `ahead` bytes have
// been charged beforehand.
void KeepReserve(const Record& reserve, uint64_t ahead) {
  Process* process = CurrentProcess();
  uint64_t before = 0;
  {
    const Guard guard(process->lock);
    before = SizeOf(process->records.Find(reserve.kind, reserve.key));
    if (!process->records.Add(reserve)) {
      return;  // stays charged until the process ends: the safe side
    }
  }
  Adjust(static_cast<int>(reserve.device), Plus(before, ahead), reserve.size);
}

// The driver replaces what it has reserved: only growth is charged beforehand.
Result SetLimit(int limit, size_t value) {
  using CtxSetLimitFn = Result(int limit, size_t value);
  const int account = CurrentAccount();
  if (account == kUnlimited || limit < kStackSize || limit > kMallocHeap) {
    return CallReal<CtxSetLimitFn>(k_cuCtxSetLimit, limit, value);
  }
  Process* process = CurrentProcess();
  if (account == kRefused || process == nullptr) {
    return Begin(kRefused, 0);
  }
  const uint64_t context = CurrentContext();
  const Record reserve{.kind = Kind::kReserve,
                       .device = static_cast<uint32_t>(account),
                       .key = context * 8 + static_cast<uint64_t>(limit),
                       .size = ReserveOf(limit, value),
                       .owner = context,
                       .extent = 0,
                       .uses = 1,
                       .is_mine = 1};
  uint64_t before = 0;
  {
    const Guard guard(process->lock);
    before = SizeOf(process->records.Find(reserve.kind, reserve.key));
  }
  const uint64_t ahead = reserve.size > before ? reserve.size - before : 0;
  const Result begun = ahead > 0 ? Begin(account, ahead) : ChargeFirstContext(account);
  if (begun != cu::kSuccess) {
    return begun;
  }
  const Result result = CallReal<CtxSetLimitFn>(k_cuCtxSetLimit, limit, value);
  if (result == cu::kSuccess) {
    KeepReserve(reserve, ahead);
  } else {
    GiveBack(account, ahead);
  }
  return result;
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuCtxCreate(cu::Context* context, unsigned flags, cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateFn, cuCtxCreate, context, flags, device);
  });
}
KGPU_STAND_IN cuCtxCreate_v2(cu::Context* context, unsigned flags, cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateFn, cuCtxCreate_v2, context, flags, device);
  });
}
KGPU_STAND_IN cuCtxCreate_v3(cu::Context* context, cu::ExecAffinityParam* affinities, int count,
                             unsigned flags, cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateV3Fn, cuCtxCreate_v3, context, affinities, count, flags, device);
  });
}
KGPU_STAND_IN cuCtxCreate_v4(cu::Context* context, cu::ContextCreateParams* params, unsigned flags,
                             cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateV4Fn, cuCtxCreate_v4, context, params, flags, device);
  });
}
KGPU_STAND_IN cuGLCtxCreate(cu::Context* context, unsigned flags, cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateFn, cuGLCtxCreate, context, flags, device);
  });
}
KGPU_STAND_IN cuGLCtxCreate_v2(cu::Context* context, unsigned flags, cu::Device device) {
  return CreateContext(device, context, [&] {
    return KGPU_CALL_REAL(CtxCreateFn, cuGLCtxCreate_v2, context, flags, device);
  });
}

KGPU_STAND_IN cuCtxAttach(cu::Context* context, unsigned flags) {
  const Result result = CallReal<Result(cu::Context*, unsigned)>(k_cuCtxAttach, context, flags);
  Process* process = result == cu::kSuccess ? CurrentProcess() : nullptr;
  if (process != nullptr) {
    const Guard guard(process->lock);
    Record* record = process->records.Find(Kind::kContext, reinterpret_cast<uint64_t>(*context));
    if (record != nullptr) {
      ++record->uses;
    }
  }
  return result;
}
KGPU_STAND_IN cuCtxDetach(cu::Context context) {
  const auto call = [&] { return KGPU_CALL_REAL(CtxDestroyFn, cuCtxDetach, context); };
  Process* process = CurrentProcess();
  bool is_last = true;
  if (process != nullptr) {
    const Guard guard(process->lock);
    Record* record = process->records.Find(Kind::kContext, reinterpret_cast<uint64_t>(context));
    is_last = record == nullptr || --record->uses == 0;
  }
  return is_last ? DestroyContext(context, call) : call();
}
KGPU_STAND_IN cuCtxDestroy(cu::Context context) {
  return DestroyContext(context,
                        [&] { return KGPU_CALL_REAL(CtxDestroyFn, cuCtxDestroy, context); });
}
KGPU_STAND_IN cuCtxDestroy_v2(cu::Context context) {
  return DestroyContext(context,
                        [&] { return KGPU_CALL_REAL(CtxDestroyFn, cuCtxDestroy_v2, context); });
}
KGPU_STAND_IN cuCtxSetLimit(int limit, size_t value) {
  return SetLimit(limit, value);
}

KGPU_STAND_IN cuDevicePrimaryCtxRetain(cu::Context* context, cu::Device device) {
  return RetainPrimary(context, device);
}
KGPU_STAND_IN cuDevicePrimaryCtxRelease(cu::Device device) {
  return LeavePrimary(device, false, [&] {
    return KGPU_CALL_REAL(DevicePrimaryCtxReleaseFn, cuDevicePrimaryCtxRelease, device);
  });
}
KGPU_STAND_IN cuDevicePrimaryCtxRelease_v2(cu::Device device) {
  return LeavePrimary(device, false, [&] {
    return KGPU_CALL_REAL(DevicePrimaryCtxReleaseFn, cuDevicePrimaryCtxRelease_v2, device);
  });
}
KGPU_STAND_IN cuDevicePrimaryCtxReset(cu::Device device) {
  return LeavePrimary(device, true, [&] {
    return KGPU_CALL_REAL(DevicePrimaryCtxResetFn, cuDevicePrimaryCtxReset, device);
  });
}
KGPU_STAND_IN cuDevicePrimaryCtxReset_v2(cu::Device device) {
  return LeavePrimary(device, true, [&] {
    return KGPU_CALL_REAL(DevicePrimaryCtxResetFn, cuDevicePrimaryCtxReset_v2, device);
  });
}
