#include "src/preload/pools.h"

#include <initializer_list>

namespace kgpu::preload {

namespace cu = cuda_api;

namespace {

// What `is_mine` says of a pool's record.
enum PoolCharge : uint32_t { kOfOthers = 0, kByReserve = 1, kByPiece = 2 };

constexpr uint32_t kMaxTrimmed = 64;  // pools that are trimmed before something is refused

uint64_t KeyOf(cu::MemoryPool pool) {
  return reinterpret_cast<uint64_t>(pool);
}

uint64_t PoolValue(cu::MemoryPool pool, cu::PoolAttribute attribute) {
  auto* get = Helper<cu::MemPoolAttributeFn>(kMemPoolGetAttribute);
  uint64_t value = 0;
  return get != nullptr && get(pool, attribute, &value) == cu::kSuccess ? value : 0;
}

// The device whose default or current pool it is; -1 if it is none's.
cu::Device FindDevice(cu::MemoryPool pool) {
  auto* count_devices = Helper<cu::DeviceGetCountFn>(kDeviceGetCount);
  int count = 0;
  if (count_devices == nullptr || count_devices(&count) != cu::kSuccess) {
    return -1;
  }
  for (const HelperId id : {kDeviceGetDefaultMemPool, kDeviceGetMemPool}) {
    auto* get = Helper<cu::DeviceGetMemPoolFn>(id);
    for (cu::Device device = 0; get != nullptr && device < count; ++device) {
      cu::MemoryPool found = nullptr;
      if (get(&found, device) == cu::kSuccess && found == pool) {
        return device;
      }
    }
  }
  return -1;
}

// Drivers before CUDA 12.8 only say which context the stream is of.
cu::Device DeviceOfContext(cu::Stream stream) {
  using StreamGetCtxFn = Result(cu::Stream stream, cu::Context * context);
  auto* get = Helper<StreamGetCtxFn>(kStreamGetCtx);
  auto* push = Helper<cu::CtxPushCurrentFn>(kCtxPushCurrent);
  auto* pop = Helper<cu::CtxPopCurrentFn>(kCtxPopCurrent);
  cu::Context context = nullptr;
  const bool is_known = get != nullptr && get(stream, &context) == cu::kSuccess;
  if (!is_known || reinterpret_cast<uint64_t>(context) == CurrentContext() || push == nullptr ||
      pop == nullptr || push(context) != cu::kSuccess) {
    return CurrentDevice();
  }
  const cu::Device device = CurrentDevice();
  (void)pop(&context);
  return device;
}

// Where the stream's work runs: not always on the current device.
cu::Device DeviceOf(cu::Stream stream) {
  using StreamGetDeviceFn = Result(cu::Stream stream, cu::Device * device);
  if (reinterpret_cast<uintptr_t>(stream) <= cu::kStreamPerThread) {
    return CurrentDevice();
  }
  auto* get = Helper<StreamGetDeviceFn>(kStreamGetDevice);
  cu::Device device = -1;
  return get != nullptr && get(stream, &device) == cu::kSuccess ? device : DeviceOfContext(stream);
}

}  // namespace

bool RememberPool(cu::MemoryPool pool, const PoolFacts& facts) {
  return Remember({.kind = Kind::kPool,
                   .device = facts.account < 0 ? 0 : static_cast<uint32_t>(facts.account),
                   .key = KeyOf(pool),
                   .size = 0,
                   .owner = static_cast<uint64_t>(facts.device),
                   .extent = 0,
                   .uses = 1,
                   .is_mine = facts.account < 0  ? kOfOthers
                              : facts.is_managed ? kByPiece
                                                 : kByReserve});
}

void KnowPool(cu::MemoryPool pool, const PoolFacts& facts) {
  Process* process = CurrentProcess();
  if (process == nullptr || facts.account == kRefused) {
    return;
  }
  {
    const Guard guard(process->lock);
    if (process->records.Find(Kind::kPool, KeyOf(pool)) != nullptr) {
      return;
    }
  }
  (void)RememberPool(pool, facts);
}

PoolFacts FactsOf(cu::MemoryPool pool) {
  Process* process = CurrentProcess();
  if (process == nullptr || pool == nullptr) {
    return {.account = pool == nullptr ? CurrentAccount() : kRefused,
            .device = CurrentDevice(),
            .is_managed = false};
  }
  {
    const Guard guard(process->lock);
    const Record* record = process->records.Find(Kind::kPool, KeyOf(pool));
    if (record != nullptr) {
      return {
          .account = record->is_mine != kOfOthers ? static_cast<int>(record->device) : kUnlimited,
          .device = static_cast<cu::Device>(record->owner),
          .is_managed = record->is_mine == kByPiece};
    }
  }
  PoolFacts facts{};
  facts.device = FindDevice(pool);
  facts.device = facts.device < 0 ? CurrentDevice() : facts.device;
  facts.account = facts.device < 0 ? CurrentAccount() : AccountOf(facts.device);
  if (facts.account != kRefused && !RememberPool(pool, facts)) {
    facts.account = kRefused;
  }
  return facts;
}

cu::MemoryPool CurrentPool(cu::Stream stream) {
  auto* get = Helper<cu::DeviceGetMemPoolFn>(kDeviceGetMemPool);
  cu::MemoryPool pool = nullptr;
  const cu::Device device = DeviceOf(stream);
  return get != nullptr && device >= 0 && get(&pool, device) == cu::kSuccess ? pool : nullptr;
}

uint64_t SpareOf(cu::MemoryPool pool) {
  if (pool == nullptr) {
    return 0;
  }
  const uint64_t reserved = PoolValue(pool, cu::kPoolReservedMemoryCurrent);
  const uint64_t used = PoolValue(pool, cu::kPoolUsedMemoryCurrent);
  return used < reserved ? reserved - used : 0;
}

bool SyncPool(cu::MemoryPool pool, uint64_t charged) {
  Process* process = CurrentProcess();
  int account = kUnlimited;
  uint64_t before = charged;
  uint64_t after = charged;
  {
    // The driver is asked with the lock held, so that two threads cannot swap their answers.
    const Guard guard(process->lock);
    Record* record = process->records.Find(Kind::kPool, KeyOf(pool));
    if (record != nullptr && record->is_mine == kByReserve && record->uses != 0) {
      account = static_cast<int>(record->device);
      before = Plus(record->size, charged);
      after = PoolValue(pool, cu::kPoolReservedMemoryCurrent);
      record->size = after;
    }
  }
  if (account < 0 || after <= before) {
    Adjust(account, before, after);
    return true;
  }
  if (Charge(account, after - before) == cu::kSuccess) {
    return true;
  }
  ChargeAnyway(account, after - before);
  return false;
}

namespace {

// Adds the pool under another key, which what lives of it gets to know. With the lock held.
void Rename(Process* process, Record pool, uint64_t key) {
  const uint64_t before = pool.key;
  pool.key = key;
  (void)process->records.Add(pool);
  if (pool.extent == 0) {
    return;
  }
  process->records.RemoveIf([&](Record& pooled) {
    const bool is_its = pooled.kind == Kind::kPooled && pooled.owner == before;
    pooled.owner = is_its ? key : pooled.owner;
    return false;
  });
}

}  // namespace

uint64_t OrphanPool(cu::MemoryPool pool) {
  Process* process = CurrentProcess();
  Record record{};
  const Guard guard(process->lock);
  if (!process->records.Take(Kind::kPool, KeyOf(pool), &record)) {
    return 0;
  }
  record.uses = 0;
  const uint64_t orphan = Records::kFirstOrphan + process->orphans++;
  Rename(process, record, orphan);
  return orphan;
}

void EndPool(uint64_t orphan) {
  Process* process = CurrentProcess();
  Record record{};
  {
    const Guard guard(process->lock);
    const Record* found = process->records.Find(Kind::kPool, orphan);
    if (found == nullptr || found->extent > 0) {
      return;
    }
    (void)process->records.Take(Kind::kPool, orphan, &record);
  }
  if (record.is_mine != 0) {
    GiveBack(static_cast<int>(record.device), record.size);
  }
}

void RestorePool(cu::MemoryPool pool, uint64_t orphan) {
  Process* process = CurrentProcess();
  Record newer{};
  {
    const Guard guard(process->lock);
    Record record{};
    if (!process->records.Take(Kind::kPool, orphan, &record)) {
      return;
    }
    // Whoever used it meanwhile has it charged a second time.
    if (process->records.Take(Kind::kPool, KeyOf(pool), &newer)) {
      record.extent += newer.extent;
    }
    record.uses = 1;
    Rename(process, record, KeyOf(pool));
  }
  GiveBack(static_cast<int>(newer.device), newer.size);
}

void CountPooled(uint64_t pool, bool is_new) {
  Process* process = CurrentProcess();
  Record record{};
  bool is_gone = false;
  {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kPool, pool);
    if (found == nullptr) {
      return;
    }
    found->extent += is_new ? 1 : 0;
    found->extent -= !is_new && found->extent > 0 ? 1 : 0;
    is_gone =
        found->uses == 0 && found->extent == 0 && process->records.Take(Kind::kPool, pool, &record);
  }
  if (is_gone && record.is_mine != 0) {
    GiveBack(static_cast<int>(record.device), record.size);
  }
}

uint64_t GraphMemory(cu::Device device, cu::GraphMemoryAttribute attribute) {
  auto* get = Helper<cu::DeviceGraphMemAttributeFn>(kDeviceGetGraphMemAttribute);
  uint64_t value = 0;
  return get != nullptr && get(device, attribute, &value) == cu::kSuccess ? value : 0;
}

void SyncGraphMemory(cu::Device device, uint64_t charged) {
  const int account = AccountOf(device);
  if (account < 0) {
    return;
  }
  Process* process = CurrentProcess();
  uint64_t before = 0;
  uint64_t after = 0;
  {
    const Guard guard(process->lock);
    before = Plus(process->graph_memory[device], charged);
    after = GraphMemory(device, cu::kGraphReservedMemoryCurrent);
    process->graph_memory[device] = after;
  }
  Adjust(account, before, after);
}

void NotePoolChange() {
  Process* process = CurrentProcess();
  if (process != nullptr) {
    __atomic_store_n(&process->has_pool_changes, true, __ATOMIC_RELAXED);
  }
}

namespace {

// Calls `visit(pool)` for up to kMaxTrimmed pools without holding the lock.
template <typename Visit>
void ForEachPool(int account, Visit&& visit) {
  Process* process = CurrentProcess();
  uint64_t pools[kMaxTrimmed];
  uint32_t count = 0;
  {
    const Guard guard(process->lock);
    process->records.RemoveIf([&](const Record& record) {
      const bool is_meant = record.kind == Kind::kPool && record.is_mine == kByReserve &&
                            record.uses != 0 &&
                            (account < 0 || static_cast<int>(record.device) == account);
      if (is_meant && count < kMaxTrimmed) {
        pools[count++] = record.key;
      }
      return false;
    });
  }
  for (uint32_t at = 0; at < count; ++at) {
    visit(reinterpret_cast<cu::MemoryPool>(pools[at]));  // NOLINT(performance-no-int-to-ptr)
  }
}

template <typename Visit>
void ForEachGraphDevice(Visit&& visit) {
  for (cu::Device device = 0; device < static_cast<cu::Device>(kMaxOrdinals); ++device) {
    if (CurrentProcess()->graph_memory[device] != 0) {
      visit(device);
    }
  }
}

}  // namespace

void RefreshPools() {
  Process* process = CurrentProcess();
  if (process == nullptr || !__atomic_load_n(&process->has_pool_changes, __ATOMIC_RELAXED) ||
      !__atomic_exchange_n(&process->has_pool_changes, false, __ATOMIC_RELAXED)) {
    return;
  }
  ForEachPool(kUnlimited, [](cu::MemoryPool pool) { (void)SyncPool(pool, 0); });
  if (__atomic_load_n(&process->has_graph_memory, __ATOMIC_RELAXED)) {
    ForEachGraphDevice([](cu::Device device) { SyncGraphMemory(device, 0); });
  }
}

void TrimPools(int account) {
  Process* process = CurrentProcess();
  ForEachPool(account, [](cu::MemoryPool pool) {
    (void)KGPU_CALL_REAL(MemPoolTrimToFn, cuMemPoolTrimTo, pool, size_t{0});
    (void)SyncPool(pool, 0);
  });
  if (!__atomic_load_n(&process->has_graph_memory, __ATOMIC_RELAXED)) {
    return;
  }
  ForEachGraphDevice([&](cu::Device device) {
    if (AccountOf(device) == account) {
      (void)KGPU_CALL_REAL(DeviceGraphMemTrimFn, cuDeviceGraphMemTrim, device);
      SyncGraphMemory(device, 0);
    }
  });
}

}  // namespace kgpu::preload
