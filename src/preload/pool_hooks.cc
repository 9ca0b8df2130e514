// Memory in the order of a stream, and the pools that it comes from.
#include "src/preload/gates.h"
#include "src/preload/pools.h"

#include <initializer_list>

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

struct PoolRequest {
  cu::MemoryPool pool;
  cu::DevicePointer* pointer;
  size_t size;
  cu::Stream stream;
};

// The pool grew by more than was asked for, and over the limit.
Result Undo(const PoolRequest& request) {
  (void)KGPU_CALL_REAL(MemFreeAsyncFn, cuMemFreeAsync, *request.pointer, request.stream);
  (void)KGPU_CALL_REAL(StreamSynchronizeFn, cuStreamSynchronize, request.stream);
  (void)KGPU_CALL_REAL(MemPoolTrimToFn, cuMemPoolTrimTo, request.pool, size_t{0});
  (void)SyncPool(request.pool, 0);
  *request.pointer = 0;
  return cu::kOutOfMemory;
}

// In full, wherever it lies, and until it is freed: no context takes it along.
template <typename Call>
Result AllocateManaged(int account, const PoolRequest& request, Call&& call) {
  return Allocate(account, Kind::kLinear, request.size, 0, [&](uint64_t* key) {
    const Result result = call();
    *key = result == cu::kSuccess ? *request.pointer : 0;
    return result;
  });
}

// The pool is charged, by what the driver reserves for it; the pointer is remembered for the case
// that the pool is destroyed first. Without a pool that could be asked, the pointer is charged.
template <typename Call>
Result AllocateFromPool(const PoolRequest& request, Call&& call) {
  const PoolFacts facts = FactsOf(request.pool);
  if (facts.account == kUnlimited) {
    return call();
  }
  if (facts.is_managed) {
    return AllocateManaged(facts.account, request, call);
  }
  uint64_t ahead = facts.account < 0 || SpareOf(request.pool) >= request.size ? 0 : request.size;
  const Result begun = Begin(facts.account, ahead);
  if (begun != cu::kSuccess) {
    return begun;
  }
  const Result result = call();
  Record record{.kind = Kind::kPooled,
                .device = static_cast<uint32_t>(facts.account),
                .key = result == cu::kSuccess ? *request.pointer : 0,
                .size = request.pool == nullptr ? ahead : 0,
                .owner = reinterpret_cast<uint64_t>(request.pool),
                .extent = 0,
                .uses = 1,
                .is_mine = 1};
  End(record, result);
  if (result == cu::kSuccess) {
    CountPooled(record.owner, true);
  }
  const bool is_within = SyncPool(request.pool, ahead);
  if (result == cu::kSuccess && !is_within) {
    if (TakeRecord(Kind::kPooled, record.key, &record)) {
      Settle(record);
      CountPooled(record.owner, false);
    }
    return Undo(request);
  }
  return result;
}

template <typename Call>
Result FreeInOrder(cu::DevicePointer pointer, Call&& call) {
  Record record{};
  bool is_found = false;
  for (const Kind kind : {Kind::kPooled, Kind::kLinear, Kind::kOpened}) {
    is_found = is_found || TakeRecord(kind, pointer, &record);
  }
  const Result result = call();
  if (is_found) {
    result == cu::kSuccess ? Settle(record) : PutBack(record);
  }
  if (result == cu::kSuccess && record.kind == Kind::kPooled) {
    CountPooled(record.owner, false);
  }
  NotePoolChange();
  return result;
}

constexpr PoolFacts kOthersPool{.account = kUnlimited, .device = -1, .is_managed = false};

// Managed memory may come to a device from any place; what is neither on a device nor on the host
// may be there as well.
PoolFacts FactsOfPlace(cu::AllocationType type, const cu::Location& location) {
  const bool is_managed = type == cu::kManaged;
  switch (location.type) {
    case cu::kLocationDevice:
      return {.account = AccountOf(location.id), .device = location.id, .is_managed = is_managed};
    case cu::kLocationHost:
    case cu::kLocationHostNuma:
    case cu::kLocationHostNumaCurrent:
      if (!is_managed) {
        return kOthersPool;
      }
      break;
    default:
      break;
  }
  return {.account = CurrentAccount(), .device = CurrentDevice(), .is_managed = is_managed};
}

template <typename Call>
Result CreatePool(cu::MemoryPool* pool, const PoolFacts& facts, Call&& call) {
  if (facts.account == kRefused) {
    return Charge(kRefused, 0);
  }
  const Result result = call();
  if (result == cu::kSuccess && !RememberPool(*pool, facts)) {
    (void)KGPU_CALL_REAL(MemPoolDestroyFn, cuMemPoolDestroy, *pool);
    return cu::kOutOfMemory;
  }
  return result;
}

// Memory of a pool of another process. Whoever of this container has exported it pays for it.
Result ImportPointer(cu::DevicePointer* pointer, cu::MemoryPool pool, cu::PoolPointerExport* data) {
  const int account = CurrentAccount();
  if (account == kRefused) {
    return Charge(account, 0);
  }
  const Result result =
      KGPU_CALL_REAL(MemPoolImportPointerFn, cuMemPoolImportPointer, pointer, pool, data);
  if (result != cu::kSuccess) {
    return result;
  }
  const Result charged = AddOpened(account, *pointer, NameOf(data, sizeof(*data)));
  if (charged != cu::kSuccess) {
    (void)KGPU_CALL_REAL(MemFreeFn, cuMemFree_v2, *pointer);
    *pointer = 0;
  }
  return charged;
}

Result AllocateAsync(HookId id, cu::DevicePointer* pointer, size_t size, cu::Stream stream) {
  return AllocateFromPool(
      {.pool = CurrentPool(stream), .pointer = pointer, .size = size, .stream = stream},
      [&] { return CallReal<cu::MemAllocAsyncFn>(id, pointer, size, stream); });
}

Result AllocateFromPoolAsync(HookId id, cu::DevicePointer* pointer, size_t size,
                             cu::MemoryPool pool, cu::Stream stream) {
  return AllocateFromPool({.pool = pool, .pointer = pointer, .size = size, .stream = stream}, [&] {
    return CallReal<cu::MemAllocFromPoolAsyncFn>(id, pointer, size, pool, stream);
  });
}

// The pools of a place that nobody creates.
Result GetPool(HookId id, cu::MemoryPool* pool, cu::Location* location, cu::AllocationType type) {
  using GetPoolFn = Result(cu::MemoryPool * pool, cu::Location * location, cu::AllocationType type);
  const Result result = CallReal<GetPoolFn>(id, pool, location, type);
  if (result == cu::kSuccess) {
    KnowPool(*pool, FactsOfPlace(type, *location));
  }
  return result;
}

// Pools return memory to the driver when the host waits for the device.
Result AfterWait(Result result) {
  RefreshPools();
  return result;
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuMemAllocAsync(cu::DevicePointer* pointer, size_t size, cu::Stream stream) {
  return AllocateAsync(k_cuMemAllocAsync, pointer, size, stream);
}
KGPU_STAND_IN cuMemAllocAsync_ptsz(cu::DevicePointer* pointer, size_t size, cu::Stream stream) {
  return AllocateAsync(k_cuMemAllocAsync_ptsz, pointer, size, stream);
}
KGPU_STAND_IN cuMemAllocFromPoolAsync(cu::DevicePointer* pointer, size_t size, cu::MemoryPool pool,
                                      cu::Stream stream) {
  return AllocateFromPoolAsync(k_cuMemAllocFromPoolAsync, pointer, size, pool, stream);
}
KGPU_STAND_IN cuMemAllocFromPoolAsync_ptsz(cu::DevicePointer* pointer, size_t size,
                                           cu::MemoryPool pool, cu::Stream stream) {
  return AllocateFromPoolAsync(k_cuMemAllocFromPoolAsync_ptsz, pointer, size, pool, stream);
}
KGPU_STAND_IN cuMemFreeAsync(cu::DevicePointer pointer, cu::Stream stream) {
  return FreeInOrder(
      pointer, [&] { return KGPU_CALL_REAL(MemFreeAsyncFn, cuMemFreeAsync, pointer, stream); });
}
KGPU_STAND_IN cuMemFreeAsync_ptsz(cu::DevicePointer pointer, cu::Stream stream) {
  return FreeInOrder(pointer, [&] {
    return KGPU_CALL_REAL(MemFreeAsyncFn, cuMemFreeAsync_ptsz, pointer, stream);
  });
}

KGPU_STAND_IN cuMemPoolCreate(cu::MemoryPool* pool, const cu::PoolProperties* properties) {
  const PoolFacts facts =
      properties == nullptr ? kOthersPool : FactsOfPlace(properties->type, properties->location);
  return CreatePool(pool, facts, [&] {
    return KGPU_CALL_REAL(MemPoolCreateFn, cuMemPoolCreate, pool, properties);
  });
}
KGPU_STAND_IN cuMemPoolDestroy(cu::MemoryPool pool) {
  const uint64_t orphan = CurrentProcess() == nullptr ? 0 : OrphanPool(pool);
  const Result result = KGPU_CALL_REAL(MemPoolDestroyFn, cuMemPoolDestroy, pool);
  if (orphan != 0) {
    result == cu::kSuccess ? EndPool(orphan) : RestorePool(pool, orphan);
  }
  return result;
}
KGPU_STAND_IN cuMemGetDefaultMemPool(cu::MemoryPool* pool, cu::Location* location,
                                     cu::AllocationType type) {
  return GetPool(k_cuMemGetDefaultMemPool, pool, location, type);
}
KGPU_STAND_IN cuMemGetMemPool(cu::MemoryPool* pool, cu::Location* location,
                              cu::AllocationType type) {
  return GetPool(k_cuMemGetMemPool, pool, location, type);
}
KGPU_STAND_IN cuMemPoolTrimTo(cu::MemoryPool pool, size_t bytes_to_keep) {
  const Result result = KGPU_CALL_REAL(MemPoolTrimToFn, cuMemPoolTrimTo, pool, bytes_to_keep);
  NotePoolChange();
  return AfterWait(result);
}
KGPU_STAND_IN cuMemPoolImportFromShareableHandle(cu::MemoryPool* pool, void* handle,
                                                 cu::HandleType type, uint64_t flags) {
  return CreatePool(pool, kOthersPool, [&] {
    return KGPU_CALL_REAL(MemPoolImportFromShareableHandleFn, cuMemPoolImportFromShareableHandle,
                          pool, handle, type, flags);
  });
}
KGPU_STAND_IN cuMemPoolExportPointer(cu::PoolPointerExport* data, cu::DevicePointer pointer) {
  const Result result =
      KGPU_CALL_REAL(MemPoolExportPointerFn, cuMemPoolExportPointer, data, pointer);
  if (result == cu::kSuccess) {
    OfferMemory(Kind::kPooled, pointer, NameOf(data, sizeof(*data)));
  }
  return result;
}
KGPU_STAND_IN cuMemPoolImportPointer(cu::DevicePointer* pointer, cu::MemoryPool pool,
                                     cu::PoolPointerExport* data) {
  return ImportPointer(pointer, pool, data);
}

KGPU_STAND_IN cuStreamSynchronize(cu::Stream stream) {
  WatchStream({stream, false});
  return AfterWait(KGPU_CALL_REAL(StreamSynchronizeFn, cuStreamSynchronize, stream));
}
KGPU_STAND_IN cuStreamSynchronize_ptsz(cu::Stream stream) {
  WatchStream({stream, true});
  return AfterWait(KGPU_CALL_REAL(StreamSynchronizeFn, cuStreamSynchronize_ptsz, stream));
}
KGPU_STAND_IN cuEventSynchronize(cu::Event event) {
  WatchEvent(event);
  return AfterWait(KGPU_CALL_REAL(EventSynchronizeFn, cuEventSynchronize, event));
}
KGPU_STAND_IN cuCtxSynchronize() {
  WatchContext(nullptr);
  return AfterWait(KGPU_CALL_REAL(CtxSynchronizeFn, cuCtxSynchronize));
}
KGPU_STAND_IN cuCtxSynchronize_v2(cu::Context context) {
  WatchContext(context);
  return AfterWait(KGPU_CALL_REAL(CtxDestroyFn, cuCtxSynchronize_v2, context));
}
